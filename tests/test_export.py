import csv
import errno
import json
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from store.copying import COPY_FORMATS
from store.errors import ExportFailed, MissingDatabase, QueryFailed, QueryRefused
from store.export import EXPORT_FORMATS, SUFFIXES, ExportFormat, export
from tests.store_samples import a_record, a_run, done, made, rows


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = made(tmp_path_factory.mktemp("export"), a_run())
    records = [a_record(i) for i in range(1, 4)]
    store.save("run1", records, [done(record) for record in records])
    return store.path


def read_back(path: Path) -> list[tuple[object, ...]]:
    reader = {".csv": "read_csv", ".tsv": "read_csv", ".jsonl": "read_json", ".parquet": "read_parquet"}[path.suffix]
    con = duckdb.connect()
    try:
        return con.execute(f"FROM {reader}('{path}')").fetchall()
    finally:
        con.close()


@pytest.mark.parametrize("format", COPY_FORMATS)
def test_a_view_comes_back_as_it_was(database: Path, tmp_path: Path, format: str) -> None:
    target = tmp_path / f"claims.{format}"
    assert export(database, "claims", str(target)) == 3
    assert sorted(read_back(target), key=str) == sorted(rows(database, "FROM claims"), key=str)
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_csv_and_tsv_are_plain(database: Path, tmp_path: Path) -> None:
    sql = """SELECT 'é, "x"' AS a, NULL AS n, '' AS e, E'l\\nm' AS l, [1, 2] AS list, {'k': 'v'} AS s, [{'q': 1}] AS ls,
        true AS t, meta FROM records LIMIT 1"""
    assert export(database, sql, str(tmp_path / "a.csv")) == 1
    assert (tmp_path / "a.csv").read_bytes().decode() == (
        "a,n,e,l,list,s,ls,t,meta\n"
        '"é, ""x""",,"","l\nm","[1,2]","{""k"":""v""}","[{""q"":1}]",true,"{""year"": 2026}"\n'
    )
    export(database, sql, str(tmp_path / "a.tsv"))
    with open(tmp_path / "a.tsv", encoding="utf-8", newline="") as file:
        assert list(csv.reader(file, delimiter="\t", strict=True))[1] == [
            *('é, "x"', "", "", "l\nm", "[1,2]", '{"k":"v"}', '[{"q":1}]', "true", '{"year": 2026}')
        ]


def test_json_lines_are_json(database: Path, tmp_path: Path) -> None:
    sql = "SELECT 1 AS a, 2 AS a, 'nan'::DOUBLE AS f, [1] AS l, meta, E'\\x1b' AS c FROM records LIMIT 1"
    export(database, sql, str(tmp_path / "a.jsonl"))
    text = (tmp_path / "a.jsonl").read_text(encoding="utf-8")
    expected = {"a": 1, "a_1": 2, "f": None, "l": [1], "meta": {"year": 2026}, "c": "\x1b"}

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    assert json.loads(text, parse_constant=refuse) == expected
    assert "\x1b" not in text


def test_parquet_keeps_types(database: Path, tmp_path: Path) -> None:
    export(database, "SELECT [{'q': 1}] AS l, NULL::INTEGER AS n, started_at FROM runs", str(tmp_path / "a.parquet"))
    assert read_back(tmp_path / "a.parquet") == rows(database, "SELECT [{'q': 1}], NULL, started_at FROM runs")


@pytest.mark.parametrize(
    "what",
    ["SELECT * FROM papers;", "FROM papers -- all of them", "papers", "PAPERS ", "DESCRIBE papers", "SHOW TABLES"],
)
def test_what_can_be_exported(database: Path, tmp_path: Path, what: str) -> None:
    target = tmp_path / "it's here.csv"
    assert export(database, what, str(target)) > 0


def test_order_is_kept(database: Path, tmp_path: Path) -> None:
    sql = "SELECT i FROM range(300000) t(i) ORDER BY hash(i)"
    assert export(database, sql, str(tmp_path / "a.csv")) == 300_000
    written = (tmp_path / "a.csv").read_text().split()[1:]
    assert [int(i) for i in written] == [i for (i,) in rows(database, sql)]


def test_a_target_that_is_there_is_kept_unless_forced(database: Path, tmp_path: Path) -> None:
    target = tmp_path / "claims.csv"
    target.write_text("mine")
    with pytest.raises(ExportFailed, match="--force") as caught:
        export(database, "claims", str(target))
    assert caught.value.target == str(target)
    assert target.read_text() == "mine"
    with pytest.raises(QueryFailed):
        export(database, "SELECT error('late')", str(target), force=True)
    assert target.read_text() == "mine"
    assert export(database, "claims", str(target), force=True) == 3
    assert target.read_text().startswith("record_id,")
    assert [path.name for path in tmp_path.iterdir()] == ["claims.csv"]


@pytest.mark.parametrize(
    ("what", "name", "kind", "said"),
    [
        (
            "clams",
            "a.csv",
            QueryFailed,
            "the views are baselines, claims, datasets, failures, headline_numbers, latest, ",
        ),
        (
            "claims",
            "a.docx",
            ExportFailed,
            "use one of .csv, .tsv, .jsonl, .parquet, .ndjson, .xlsx, .md, .tex, .bib, or --format",
        ),
        ("claims", "a", ExportFailed, "tells no format"),
        ("claims", "no/folder/a.csv", ExportFailed, "there is no folder"),
        ("SELECT nope FROM claims", "a.csv", QueryFailed, '"nope" not found'),
        ("DELETE FROM runs", "a.csv", QueryRefused, "DELETE"),
        ("SELECT 1; SELECT 2", "a.csv", QueryRefused, "2 statements"),
        ("SELECT 1) TO 'b.csv'; --", "a.csv", QueryFailed, "syntax error"),
        ("FROM read_text('secret.txt')", "a.csv", QueryRefused, "no access to files"),
        ("COPY claims TO 'b.csv'", "a.csv", QueryRefused, "COPY"),
        ("", "a.csv", QueryRefused, "no SQL"),
    ],
)
def test_what_is_refused_leaves_nothing(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, name: str, kind: type, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.txt").write_text("secret")
    with pytest.raises(kind) as caught:
        export(database, what, name)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["secret.txt"]


def test_a_folder_and_a_missing_database_are_said(database: Path, tmp_path: Path) -> None:
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ExportFailed, match="it is a folder"):
        export(database, "claims", str(tmp_path / "folder.csv"))
    with pytest.raises(MissingDatabase):
        export(tmp_path / "none.duckdb", "claims", str(tmp_path / "a.csv"))
    assert [path.name for path in tmp_path.iterdir()] == ["folder.csv"]


def test_a_format_may_be_named(database: Path, tmp_path: Path) -> None:
    assert export(database, "papers", str(tmp_path / "papers.txt"), format="tsv") == 3
    assert (tmp_path / "papers.txt").read_text().startswith("record_id\tsource_id")


def test_standard_output(database: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    read: Callable[[], bytes] = lambda: capfdbinary.readouterr().out  # noqa: E731
    assert export(database, "SELECT title, NULL AS n, '' AS e FROM papers ORDER BY 1 LIMIT 1", "-") == 1
    assert read() == b'title,n,e\nPaper 1,,""\n'
    export(database, "SELECT 'a\tb' AS t, 1 AS n", "-", format="tsv")
    assert read() == b't\tn\n"a\tb"\t1\n'
    export(database, "SELECT 1 AS n", "-", format="jsonl")
    assert read() == b'{"n":1}\n'


@pytest.mark.parametrize("format", EXPORT_FORMATS)
def test_standard_output_gets_what_a_file_would(
    database: Path, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], format: ExportFormat
) -> None:
    sql = "SELECT record_id, value, meta, NULL AS n FROM claims JOIN records USING (record_id) ORDER BY 1"
    assert export(database, sql, "-", format=format) == 3
    written = capfdbinary.readouterr().out
    export(database, sql, str(tmp_path / "file"), format=format)
    if format == "xlsx":  # it holds the time at which it was made
        assert written.startswith(b"PK")
    else:
        assert written == (tmp_path / "file").read_bytes()


@pytest.mark.parametrize("format", ["parquet", "xlsx"])
def test_a_terminal_gets_no_binary(database: Path, monkeypatch: pytest.MonkeyPatch, format: ExportFormat) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    with pytest.raises(ExportFailed, match="not for a terminal; name a file"):
        export(database, "papers", "-", format=format)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_failed_export_leaves_what_was_there(database: Path, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"claims{suffix}"
    target.write_text("mine")
    failing = "SELECT record_id, CASE WHEN i = 9000 THEN error('late') END AS e FROM records, range(10000) t(i)"
    with pytest.raises(QueryFailed, match="late"):
        export(database, failing, str(target), force=True)
    assert target.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == [target.name]
    assert export(database, "claims", str(target), force=True) == 3
    assert target.read_bytes() != b"mine"


@contextmanager
def little_room() -> Iterator[None]:
    """A disk on which a file of more than 50,000 bytes has no place, for a block: the tests' own log may be longer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("format", EXPORT_FORMATS)
def test_a_full_disk_is_said_and_nothing_is_left(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: ExportFormat
) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    sql = "SELECT record_id, hash(i || record_id) AS a, hash(i) AS b FROM records, range(3000) t(i)"
    with pytest.raises(ExportFailed) as caught, little_room():
        export(database, sql, str(tmp_path / "claims"), format=format)
    assert str(caught.value) == f"can't export to {tmp_path / 'claims'}: {os.strerror(errno.EFBIG)}"
    assert [path.name for path in tmp_path.rglob("*")] == ["temporary"]


def test_the_database_and_devices_are_never_written(database: Path) -> None:
    before = database.read_bytes()
    with pytest.raises(ExportFailed, match="it is the database"):
        export(database, "claims", str(database), force=True, format="csv")
    assert database.read_bytes() == before
    with pytest.raises(ExportFailed, match="no plain file"):
        export(database, "claims", "/dev/null", force=True, format="csv")


def test_a_place_that_may_not_be_written_is_said(database: Path) -> None:
    with pytest.raises(ExportFailed, match="can't export"):
        export(database, "claims", "/proc/claims.csv")
