"""What each form of an export holds: guards for spreadsheets, XLSX, Markdown, LaTeX, BibTeX."""

import csv
import io
import zipfile
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store import sheets
from store.copying import BYTE_ORDER_MARK
from store.db import Store
from store.errors import ExportFailed
from store.export import ExportFormat, export
from store.latex import MOST_ROWS_OF_TABULAR, escaped
from tests.store_samples import a_record, a_run, done, made

openpyxl = pytest.importorskip("openpyxl")

FORMULAS = (
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "＝1+1",
    "-1-1",
    "+1+1",
    "--1",
    "=",
)


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = made(tmp_path_factory.mktemp("forms"), a_run())
    records = [a_record(i) for i in range(1, 4)]
    store.save("run1", records, [done(record) for record in records])
    return store.path


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def text_of(database: Path, folder: Path, sql: str, format: ExportFormat) -> str:
    export(database, sql, str(folder / "file"), format=format, force=True)
    return (folder / "file").read_text(encoding="utf-8")


def for_spreadsheets(database: Path, target: Path, sql: str) -> list[list[str]]:
    export(database, sql, str(target), for_spreadsheets=True, force=True)
    text = target.read_bytes().decode()
    assert text.startswith(BYTE_ORDER_MARK)
    separator = "\t" if target.suffix == ".tsv" else ","
    return list(csv.reader(io.StringIO(text.removeprefix(BYTE_ORDER_MARK), newline=""), delimiter=separator))


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
@pytest.mark.parametrize("text", FORMULAS)
def test_a_spreadsheet_gets_no_formula(database: Path, tmp_path: Path, text: str, suffix: str) -> None:
    sql = f'SELECT {literal(text)} AS "=name"'
    assert for_spreadsheets(database, tmp_path / f"a.{suffix}", sql) == [["'=name"], ["'" + text]]


def test_numbers_and_other_text_stay_as_they_are(database: Path, tmp_path: Path) -> None:
    sql = """SELECT -1 AS i, -1.5::DOUBLE AS f, -2.50::DECIMAL(5, 2) AS d, '-3.1' AS t, '+3.1e-7' AS e, '-2%' AS p,
        'a=b' AS a, NULL AS n, '' AS z, ' =1' AS s, [-1] AS l, true AS b, DATE '2026-01-02' AS day"""
    expected = "-1 -1.5 -2.50 -3.1 +3.1e-7 -2% a=b".split()
    assert for_spreadsheets(database, tmp_path / "a.csv", sql)[1] == [
        *expected,
        *("", "", " =1", "[-1]", "true", "2026-01-02"),
    ]


@settings(deadline=None, max_examples=10)
@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])) | st.from_regex(r"[=+@-]\S*"), min_size=1))
def test_a_guarded_cell_is_the_text_or_has_an_apostrophe_more(database: Path, texts: list[str]) -> None:
    target = database.parent / "guarded.csv"
    sql = f"SELECT i, unnest([{', '.join(map(literal, texts))}]) AS t FROM range(1) t(i)"
    cells = [cell for _, cell in for_spreadsheets(database, target, sql)[1:]]
    for text, cell in zip(texts, cells, strict=True):
        begins_so = text.startswith(tuple("=+-@\t\r\n＝＋－＠"))
        assert cell == ("'" + text if begins_so and not is_number(text) else text)


def is_number(text: str) -> bool:
    try:
        return (
            text.isascii() and text == text.strip() and "_" not in text and Decimal(text.removesuffix("%")).is_finite()
        )
    except ArithmeticError:
        return False


@pytest.mark.parametrize("format", ["jsonl", "parquet", "markdown", "latex", "bibtex"])
def test_other_formats_are_not_for_spreadsheets(database: Path, tmp_path: Path, format: ExportFormat) -> None:
    with pytest.raises(ExportFailed, match="csv, tsv, xlsx are"):
        export(database, "claims", str(tmp_path / "a"), format=format, for_spreadsheets=True)


@pytest.mark.parametrize("guarded", [False, True])
def test_text_in_a_sheet_is_never_a_formula_a_link_or_a_number(database: Path, tmp_path: Path, guarded: bool) -> None:
    texts = (*FORMULAS[:4], "{=1}", "https://example.org/", "internal:A1", "#N/A", "12", "1e5", "TRUE", "2026-01-01")
    sql = f"SELECT unnest([{', '.join(map(literal, texts))}]) AS t"
    export(database, sql, str(tmp_path / "a.xlsx"), for_spreadsheets=guarded)
    cells = next(iter(openpyxl.load_workbook(tmp_path / "a.xlsx").active.columns))[1:]
    assert [(cell.value, cell.data_type, cell.hyperlink) for cell in cells] == [(text, "s", None) for text in texts]


def test_numbers_days_and_times_in_a_sheet_are_theirs(database: Path, tmp_path: Path) -> None:
    sql = """SELECT -1 AS i, 0.1::DOUBLE AS f, 2.50::DECIMAL(5, 2) AS d, true AS b, DATE '2026-01-02' AS day,
        TIMESTAMP '2026-01-02 03:04:05.678' AS t, DATE '1815-12-10' AS early, 10::HUGEINT ** 20 AS float,
        12345678901234567890::HUGEINT AS huge, 'nan'::DOUBLE AS nan, '\\xff'::BLOB AS blob, TIME '01:02:03' AS clock,
        {'a': [1, NULL]} AS nested, meta FROM records LIMIT 1"""
    export(database, sql, str(tmp_path / "a.xlsx"))
    row = list(openpyxl.load_workbook(tmp_path / "a.xlsx").active.rows)[1]
    assert [cell.value if not cell.is_date else cell.value.isoformat() for cell in row] == [
        *(-1, 0.1, 2.5, True, "2026-01-02T00:00:00", "2026-01-02T03:04:05.678000", "1815-12-10", 1e20),
        *("12345678901234567890", "nan", "\\xFF", "01:02:03", '{"a":[1,null]}', '{"year": 2026}'),
    ]


def test_a_sheet_knows_null_from_the_empty_text(database: Path, tmp_path: Path) -> None:
    export(database, "SELECT 1 AS one, NULL AS n, '' AS e, 2 AS two", str(tmp_path / "a.xlsx"))
    sheet = zipfile.ZipFile(tmp_path / "a.xlsx").read("xl/worksheets/sheet1.xml").decode()
    assert 'r="B2"' not in sheet and '<c r="C2" t="inlineStr"><is><t></t></is></c>' in sheet


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT 1 AS n FROM range(1048576)", "holds 1,048,575 rows below its header, and these are 1,048,576; export"),
        ("SELECT COLUMNS(*) FROM wide", "holds 3 columns, and these are 4"),
        ("SELECT 'x' AS a, repeat('y', 32768) AS long", "in column 'long' of row 1 has more than the 32,767 char"),
        ("SELECT repeat('😀', 16384) AS astral", "in column 'astral' of row 1"),
        (f'SELECT 1 AS "{"n" * 32768}"', "the name of column 1"),
    ],
)
def test_what_does_not_fit_in_a_sheet_is_an_error(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sql: str, said: str
) -> None:
    if "wide" in sql:
        monkeypatch.setattr(sheets, "MOST_COLUMNS", 3)
        sql = "SELECT 1, 2, 3, 4"
    with pytest.raises(ExportFailed) as caught:
        export(database, sql, str(tmp_path / "a.xlsx"))
    assert said in str(caught.value) and str(tmp_path / "a.xlsx") in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_what_just_fits_in_a_sheet_is_whole(database: Path, tmp_path: Path) -> None:
    export(database, "SELECT repeat('y', 32767) AS long, repeat('😀', 16383) AS astral", str(tmp_path / "a.xlsx"))
    row = list(openpyxl.load_workbook(tmp_path / "a.xlsx").active.values)[1]
    assert row == ("y" * 32767, "😀" * 16383)


def test_markdown_is_a_table(database: Path, tmp_path: Path) -> None:
    sql = "SELECT 'a|b' AS t, 1.5 AS n, NULL AS z, E'l\\nm' AS l"
    assert text_of(database, tmp_path, sql, "markdown") == (
        "| t | n | z | l |\n| --- | ---: | --- | --- |\n| a\\|b | 1.5 |  | l m |\n"
    )


def test_latex_is_a_tabular(database: Path, tmp_path: Path) -> None:
    sql = "SELECT quote, value, unit AS the_unit, NULL AS none, '[1]' AS bracket FROM claims ORDER BY value LIMIT 2"
    assert text_of(database, tmp_path, sql, "latex") == (
        "% \\usepackage{booktabs}\n"
        "\\begin{tabular}{lrlll}\n"
        "\\toprule\n"
        "quote & value & the\\_unit & none & bracket \\\\\n"
        "\\midrule\n"
        "1.5\\textbackslash{}\\% & 1.5 & \\% &  & {[}1] \\\\\n"
        "2.5\\textbackslash{}\\% & 2.5 & \\% &  & {[}1] \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}\n"
    )


@pytest.mark.parametrize(("rows", "environment"), [(MOST_ROWS_OF_TABULAR, "tabular"), (1500, "longtable")])
def test_many_rows_are_a_longtable_and_long_text_a_paragraph(
    database: Path, tmp_path: Path, rows: int, environment: str
) -> None:
    sql = f"SELECT i, repeat('word ', 9) AS t FROM range({rows}) t(i)"
    written = text_of(database, tmp_path, sql, "latex")
    assert f"\\begin{{{environment}}}{{rp{{0.3\\linewidth}}}}\n" in written
    assert written.endswith(f"\\end{{{environment}}}\n")
    assert [line.split(" ")[0] for line in written.splitlines() if "word" in line] == [str(i) for i in range(rows)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$\\alpha$ & 5%", "\\$\\textbackslash{}alpha\\$ \\& 5\\%"),
        ("a_b #1 {x} ~ ^", "a\\_b \\#1 \\textbraceleft{}x\\textbraceright{} \\textasciitilde{} \\textasciicircum{}"),
        ("<a|b>", "\\textless{}a\\textbar{}b\\textgreater{}"),
        ("1--2 ``q'' ?` !`", "1-{}-2 `{}`q'{}' ?{}` !{}`"),
        ("l\r\n\n\x00m\x1b", "l \u2400m\u241b"),
        ("naïve – 😀", "naïve – 😀"),
    ],
)
def test_latex_is_escaped(text: str, expected: str) -> None:
    assert escaped(text) == expected


@settings(deadline=None)
@given(st.text())
def test_no_text_is_a_command_of_latex(text: str) -> None:
    left = escaped(text)
    for command in ("backslash", "braceleft", "braceright", "asciitilde", "asciicircum", "less", "greater", "bar"):
        left = left.replace(f"\\text{command}{{}}", "")
    for character in "&%$#_":
        left = left.replace("\\" + character, "")
    left = left.replace("{}", "")
    assert not set(left) & set("\\{}$&#^_~%\n")


@pytest.fixture
def cited(tmp_path: Path) -> Store:
    """Two records whose sources say more or less of them, one of them with two claims."""
    store = made(tmp_path, a_run())
    first = replace(
        a_record(1),
        source_id="10.1000/a_b {1}",
        title="Lanterns & the $K$-means of {BERT}",
        meta={"year": "2025-06-01", "DOI": "https://doi.org/10.1000/a_b", "authors": ["Ada Doe", "Bo Roe"]},
    )
    second = replace(a_record(2), source_id=None, title=None, meta={"year": None, "url": "https://a.org/{x}", "doi": 1})
    store.save("run1", [first, second], [done(first), done(second)])
    return store


def test_bibtex_has_an_entry_a_record_with_its_claims(cited: Store, tmp_path: Path) -> None:
    sql = """SELECT record_id, method, task, unnest([quote, '7 {']) AS quote, unit, NULL AS metric, start, model
        FROM claims ORDER BY ALL DESC"""
    assert text_of(cited.path, tmp_path, sql, "bibtex") == (
        "@misc{sha256:00000002,\n"
        "  doi = {1},\n"
        "  note = {method: Lantern, task: question answering, unit: \\%; quote: 7 \\textbraceleft{};"
        " quote: 2.5\\textbackslash{}\\%}\n"
        "}\n\n"
        "@misc{10.1000/a-b-1,\n".replace("a-b", "a_b")
        + "  title = {{Lanterns \\& the \\$K\\$-means of \\textbraceleft{}BERT\\textbraceright{}}},\n"
        "  author = {Ada Doe and Bo Roe},\n"
        "  year = {2025},\n"
        "  doi = {10.1000/a_b},\n"
        "  note = {method: Lantern, task: question answering, unit: \\%; quote: 7 \\textbraceleft{};"
        " quote: 1.5\\textbackslash{}\\%}\n"
        "}\n\n"
    )
    assert export(cited.path, sql, str(tmp_path / "a.bib")) == 4


def test_a_bibtex_parser_reads_it(cited: Store, tmp_path: Path) -> None:
    bibtexparser = pytest.importorskip("bibtexparser", minversion="2.0")
    for i in (3, 4):
        odd = replace(a_record(i), source_id="same, {id}", title='An "odd" } title, @article{x, = \\% # ~')
        cited.save("run1", [odd], [done(odd)])
    library = bibtexparser.parse_string(text_of(cited.path, tmp_path, "FROM claims ORDER BY record_id", "bibtex"))
    assert not library.failed_blocks
    assert [entry.key for entry in library.entries] == [
        *("10.1000/a_b-1", "sha256:00000002", "same-id", "same-id_2"),
    ]


@pytest.mark.parametrize("sql", ["SELECT title FROM papers", "SELECT 1 AS record"])
def test_bibtex_needs_a_record(database: Path, tmp_path: Path, sql: str) -> None:
    with pytest.raises(ExportFailed, match="needs a column record_id"):
        export(database, sql, str(tmp_path / "a.bib"))
    assert list(tmp_path.iterdir()) == []


def test_bibtex_of_records_alone_has_no_note(cited: Store, tmp_path: Path) -> None:
    written = text_of(cited.path, tmp_path, "SELECT record_id FROM records ORDER BY 1 DESC LIMIT 1", "bibtex")
    assert written == "@misc{sha256:00000002,\n  doi = {1}\n}\n\n"
    assert text_of(cited.path, tmp_path, "SELECT NULL AS record_id", "bibtex") == ""
