import csv
import io
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.errors import MissingDatabase, QueryFailed, QueryRefused, StoreError
from store.formats import FORMATS, Format, format_rows
from store.query import Result, open_readonly, run_query
from tests.store_samples import a_record, a_run, done, made


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("query")
    store = made(folder, a_run())
    records = [a_record(i) for i in range(1, 4)]
    store.save("run1", records, [done(record) for record in records])
    return store.path


def answer(path: Path, sql: str) -> list[tuple[object, ...]]:
    return list(run_query(path, sql).rows)


def shown(path: Path, sql: str, format: Format, width: int | None = None) -> str:
    return "".join(format_rows(run_query(path, sql), format, width))


# --- what is run


def test_an_answer_has_its_columns_types_and_rows(database: Path) -> None:
    result = run_query(database, "SELECT title, value, 1 AS one FROM claims ORDER BY value; -- the end")
    assert result.columns == ("title", "value", "one")
    assert result.types == ("VARCHAR", "DOUBLE", "INTEGER")
    assert (result.count, result.cut) == (3, False)
    assert list(result.rows) == [("Paper 1", 1.5, 1), ("Paper 2", 2.5, 1), ("Paper 3", 3.5, 1)]


@pytest.mark.parametrize(("limit", "rows", "cut"), [(0, 0, True), (2, 2, True), (3, 3, False), (9, 3, False)])
def test_a_limit_cuts_and_says_so(database: Path, limit: int, rows: int, cut: bool) -> None:
    result = run_query(database, "FROM claims", limit=limit)
    assert (len(list(result.rows)), result.count, result.cut) == (rows, rows, cut)


@pytest.mark.parametrize(
    "sql",
    [
        "FROM papers",
        "TABLE papers",
        "VALUES (1)",
        "WITH p AS (FROM papers) SELECT * FROM p",
        "SHOW TABLES",
        "DESCRIBE claims",
        "SUMMARIZE claims",
        "EXPLAIN FROM papers",
        "PIVOT claims ON unit USING count(*) GROUP BY title",
        "SELECT meta->>'year' FROM records",
        "SELECT 'a;b' -- ; c",
        "FROM duckdb_views() WHERE NOT internal",
    ],
)
def test_what_only_reads_is_run(database: Path, sql: str) -> None:
    assert answer(database, sql)


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("", "no SQL"),
        ("  ; -- nothing", "no SQL"),
        ("SELECT 1; SELECT 2", "2 statements"),
        ("SELECT 1; DROP TABLE records", "2 statements"),
        ("DROP TABLE records", "DROP is not allowed"),
        ("INSERT INTO prompts VALUES ('a', 'b', 1, 'c') RETURNING name", "INSERT"),
        ("UPDATE runs SET status = 'x'", "UPDATE"),
        ("DELETE FROM runs", "DELETE"),
        ("WITH x AS (SELECT 1) DELETE FROM runs", "not allowed"),
        ("EXPLAIN ANALYZE DELETE FROM runs", "can't change"),
        ("CREATE TEMP TABLE t AS SELECT 1", "CREATE"),
        ("CREATE VIEW v AS SELECT 1", "CREATE"),
        ("ATTACH 'other.duckdb' AS other", "ATTACH"),
        ("ATTACH ':memory:' AS other", "ATTACH"),
        ("COPY runs TO 'out.csv'", "COPY"),
        ("COPY runs FROM 'in.csv'", "COPY"),
        ("EXPORT DATABASE 'folder'", "EXPORT"),
        ("SET threads = 1", "SET"),
        ("SET enable_external_access = true", "SET"),
        ("RESET lock_configuration", "RESET"),
        ("PRAGMA threads = 1", "PRAGMA"),
        ("PRAGMA database_list", "PRAGMA"),
        ("INSTALL httpfs", "INSTALL"),
        ("LOAD httpfs", "LOAD"),
        ("CALL pragma_version()", "CALL"),
        ("BEGIN", "BEGIN"),
        ("CHECKPOINT", "CHECKPOINT"),
        ("USE memory", "USE"),
        ("PREPARE p AS SELECT 1", "PREPARE"),
        ("FROM read_csv('{file}')", "no access to files"),
        ("FROM '{file}'", "no access to files"),
        ("FROM read_text('{file}')", "no access to files"),
        ("FROM read_json('{file}')", "no access to files"),
        ("FROM read_parquet('https://example.org/a.parquet')", "no access to files"),
        ("FROM glob('*')", "no access to files"),
        ("FROM sniff_csv('{file}')", "no access to files"),
        ("SELECT * FROM query('FROM read_csv(''{file}'')')", "no access to files"),
    ],
)
def test_what_would_change_or_reach_out_is_refused(database: Path, sql: str, why: str) -> None:
    secret = database.with_name("secret.csv")
    secret.write_text("a,b\n1,2\n")
    before = database.read_bytes()
    with pytest.raises(QueryRefused, match="only one statement that reads") as caught:
        answer(database, sql.replace("{file}", str(secret)))
    assert why in caught.value.reason
    assert "\n" not in str(caught.value)
    assert database.read_bytes() == before
    assert sorted(path.name for path in database.parent.iterdir()) == ["claims.duckdb", "secret.csv"]


def test_the_connection_itself_is_fenced(database: Path) -> None:
    """Were a statement to pass the check, DuckDB would refuse it all the same."""
    for sql in ("SET threads = 1", "COPY runs TO 'out.csv'", "DELETE FROM runs", "ATTACH 'x.duckdb'", "FROM 'a.csv'"):
        with pytest.raises((QueryRefused, QueryFailed)), open_readonly(database) as con:
            con.execute(sql)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELEC 1", 'syntax error at or near "SELEC"'),
        ("FROM clams", 'Table with name clams does not exist! Did you mean "claims"?'),
        ("SELECT valu FROM claims", 'Referenced column "valu" not found'),
        ("SELECT valu FROM claims", 'Candidate bindings: "value"'),
        ("SELECT getenv('HOME')", "getenv does not exist"),
        ("SELECT CAST(title AS INTEGER) FROM claims", "Could not convert string 'Paper"),
        ("SELECT error(chr(27) || '[31m' || chr(10) || 'red')", "\u241b[31m"),
    ],
)
def test_what_duckdb_cannot_answer_is_said_in_one_line(database: Path, sql: str, said: str) -> None:
    with pytest.raises(QueryFailed) as caught:
        answer(database, sql)
    assert said in str(caught.value)
    assert str(caught.value).isprintable()


def test_there_must_be_a_database(tmp_path: Path) -> None:
    with pytest.raises(MissingDatabase):
        run_query(tmp_path / "none.duckdb", "SELECT 1")
    assert list(tmp_path.iterdir()) == []


def test_the_file_is_free_before_the_first_row_is_used(database: Path) -> None:
    result = run_query(database, "FROM claims")
    con = duckdb.connect(database)  # for writing, as a run does
    con.close()
    assert len(list(result.rows)) == 3


def test_more_rows_than_are_held_in_memory(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("store.query._BYTES_IN_MEMORY", 1000)
    result = run_query(database, "SELECT range AS i, 'row ' || range AS t FROM range(12345)")
    assert result.count == 12345
    assert [row[0] for row in result.rows] == list(range(12345))


def test_threads_ask_at_the_same_time(database: Path) -> None:
    answers: list[object] = []
    threads = [
        threading.Thread(target=lambda: answers.extend(answer(database, "SELECT count(*) FROM claims")))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [(3,)] * 6


def test_a_large_answer_may_spill_beside_the_file(database: Path) -> None:
    sql = "SELECT count(*) FROM (SELECT md5(i::VARCHAR) AS h FROM range(200000) t(i) ORDER BY h)"
    assert answer(database, sql) == [(200000,)]


# --- how it looks

NESTED = """SELECT 1 AS i, NULL AS n, '' AS e, 'a,"b"' AS q, [1, 2] AS l, {'k': 'v|w', 'd': DATE '2026-01-02'} AS s,
    true AS t, '{"x": [null]}'::JSON AS j, 'nan'::DOUBLE AS f, 1.50::DECIMAL(4,2) AS d,
    TIMESTAMP '2026-01-02 03:04:05' AS w"""


def test_csv(database: Path) -> None:
    assert shown(database, NESTED, "csv") == (
        "i,n,e,q,l,s,t,j,f,d,w\n"
        '1,,"","a,""b""","[1,2]","{""k"":""v|w"",""d"":""2026-01-02""}",true,"{""x"": [null]}",nan,1.50,'
        "2026-01-02 03:04:05\n"
    )


def test_csv_is_what_duckdb_writes(database: Path, tmp_path: Path) -> None:
    sql = """SELECT *, NULL AS none, '' AS empty, E'a\\tb' AS tab, E'a\\r\\nb' AS lines, ' sp ' AS space, true AS yes,
        '# a' AS hash, 0.1::DOUBLE + 0.2 AS odd, 1e20 AS big, -0.0::DOUBLE AS zero, DATE '2026-01-02' AS day
        FROM claims"""
    con = duckdb.connect(database)
    con.execute(f"COPY ({sql}) TO '{tmp_path}/theirs.csv' (HEADER)")
    con.close()
    with open(tmp_path / "theirs.csv", encoding="utf-8", newline="") as file:
        assert shown(database, sql, "csv") == file.read()


def test_json_and_json_lines(database: Path) -> None:
    expected = {
        **{"i": 1, "n": None, "e": "", "q": 'a,"b"', "l": [1, 2], "s": {"k": "v|w", "d": "2026-01-02"}, "t": True},
        **{"j": {"x": [None]}, "f": None, "d": 1.5, "w": "2026-01-02 03:04:05"},
    }
    assert json.loads(shown(database, NESTED, "json")) == [expected]
    assert json.loads(shown(database, NESTED, "jsonl")) == expected
    assert json.loads(shown(database, "SELECT 1 AS a, 2 AS a, 3 AS a_1", "jsonl")) == {"a": 1, "a_1": 2, "a_1_1": 3}
    assert shown(database, "FROM claims WHERE false", "json") == "[]\n"
    assert shown(database, "FROM claims WHERE false", "jsonl") == ""
    lines = shown(database, "SELECT title FROM claims ORDER BY 1", "jsonl")
    assert lines == "".join(f'{{"title": "Paper {i}"}}\n' for i in (1, 2, 3))


def test_markdown(database: Path) -> None:
    assert shown(database, "SELECT 'a|b' AS x, 1 AS \"n|m\", NULL AS z, E'c\\nd' AS y", "markdown") == (
        "| x | n\\|m | z | y |\n| --- | ---: | --- | --- |\n| a\\|b | 1 |  | c d |\n"
    )


def test_a_table_lines_up_and_folds_to_the_width(database: Path) -> None:
    sql = "SELECT title, value, repeat('long ', 12) AS words FROM claims ORDER BY value"
    wide = shown(database, sql, "table")
    assert wide.splitlines()[0].split() == ["title", "value", "words"]
    assert "Paper 1" in wide
    assert "long " * 11 in wide
    narrow = shown(database, sql, "table", width=40)
    assert max(map(len, narrow.splitlines())) <= 40
    assert narrow.count("long") == 36
    assert shown(database, "SELECT '[bold]x[/bold]' AS markup", "table").splitlines()[-1].strip() == "[bold]x[/bold]"


ATTACK = "chr(27) || '[2J' || chr(155) || '31m' || chr(7) || chr(13) || chr(8238) || 'x' || chr(0)"


@pytest.mark.parametrize("format", ["table", "markdown"])
def test_no_control_character_of_the_data_reaches_a_terminal(database: Path, format: Format) -> None:
    text = shown(database, f"SELECT {ATTACK} AS a, [{ATTACK}] AS l, {{'k': {ATTACK}}} AS s, 1 AS \"\x1b[0m\"", format)
    assert all(char.isprintable() for char in text.replace("\n", ""))
    assert "\u241b[2J\ufffd31m\u2407" in text


def test_json_escapes_controls_and_csv_keeps_them(database: Path) -> None:
    for format in ("json", "jsonl"):
        text = shown(database, f"SELECT {ATTACK} AS a", format)
        assert not any(ord(char) < 32 or 127 <= ord(char) < 160 for char in text.replace("\n", ""))
        value = json.loads(text)
        assert (value[0] if format == "json" else value)["a"] == "\x1b[2J\x9b31m\x07\r\u202ex\x00"
    assert "\x1b[2J" in shown(database, f"SELECT {ATTACK} AS a", "csv")


def made_of(values: list[list[str | None]]) -> Result:
    width = len(values[0])
    return Result([f"c{i}" for i in range(width)], ["VARCHAR"] * width, iter([tuple(v) for v in values]), len(values))


TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.none() | st.text(st.characters(exclude_categories=["Cs"])), min_size=width, max_size=width),
        min_size=1,
    )
)


@given(TABLES)
@settings(deadline=None)
def test_csv_read_back_is_what_was_written(values: list[list[str | None]]) -> None:
    text = "".join(format_rows(made_of(values), "csv"))
    read = list(csv.reader(io.StringIO(text, newline=""), strict=True))[1:]
    # Python's reader doesn't tell NULL from the empty text, and skips a line that is empty.
    assert [row for row in read if row] == [[cell or "" for cell in row] for row in values if row != [None]]


@given(TABLES)
@settings(deadline=None)
def test_json_lines_read_back_are_what_was_written(values: list[list[str | None]]) -> None:
    text = "".join(format_rows(made_of(values), "jsonl"))
    assert [list(json.loads(line).values()) for line in text.split("\n")[:-1]] == values


def test_all_but_a_table_are_made_row_by_row() -> None:
    def endless() -> Iterator[tuple[int]]:
        yield (1,)
        raise StoreError("the second row was asked for")

    for format in FORMATS:
        if format != "table":
            text = ""
            with pytest.raises(StoreError):
                for piece in format_rows(Result(["a"], ["INTEGER"], endless(), 2), format):
                    text += piece
            assert "1" in text
