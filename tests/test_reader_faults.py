"""What is told of files that are broken, wrongly named, or made to do harm; and that nothing else is ever raised."""

import gzip
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extract.errors import InputError
from extract.readers import Notices, encodings, opening, read, trees, xlsx
from tests import reader_samples as samples

ENTRY = "@article{a, title = {T}, abstract = {One.}}\n"
RIS = "TY  - JOUR\nTI  - T\nAB  - One.\nER  -\n"
LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE feed [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
    "<feed><entry><summary>&b;</summary></entry></feed>"
)
ELSEWHERE = (
    '<?xml version="1.0"?><!DOCTYPE feed [<!ENTITY a SYSTEM "file:///etc/hostname">]>'
    "<feed><entry><summary>&a;</summary></entry></feed>"
)
LONG = b'{"abstract": "' + b"x" * (10 << 20) + b'"}\n'

MALFORMED: list[tuple[str, str | bytes, int, str]] = [
    # name, content, records that are read all the same, what is said
    ("cut.json", '[{"abstract": "One."}, {"abstract": "Tw', 1, "line 1: not JSON: Unterminated string"),
    ("open.json", '[{"abstract": "One."},\n', 1, "line 2: not JSON: the list isn't closed; is the file whole?"),
    ("comma.json", '[{"abstract": "One."}\n{"abstract": "Two."}]', 1, "line 2: not JSON: found '{' after an item"),
    ("numbers.json", '[{"abstract": "One."}, 7]', 1, "record 2 is int; expected an object"),
    ("word.json", '{"abstract": One}', 0, "line 1: not JSON: Expecting value"),
    ("cut.jsonl", '{"abstract": "One."}\n{"abstract": "Tw', 1, "line 2: not JSON: Unterminated string"),
    ("list.jsonl", '{"abstract": "One."}\n["Two."]\n', 1, "line 2: found list; expected an object a line"),
    ("deep.jsonl", '{"abstract": "One."}\n' + "[" * 100_000 + "\n", 1, "line 2: not JSON: nested too deep"),
    ("digits.jsonl", '{"abstract": "One."}\n{"n": ' + "1" * 5_000 + "}\n", 1, "line 2: not JSON: Exceeds the limit"),
    ("long.jsonl", b'{"abstract": "One."}\n' + LONG, 1, "line 2: a line of over 8 MiB"),
    ("long.txt", b"One.\n\n" + b"word " * (2 << 20), 1, "line 3: a line of over 8 MiB"),
    ("quote.csv", 'id,abstract\n1,"One, never closed\n2,Two.\n', 1, "line 2: not a row: a quote isn't closed"),
    ("inner.csv", 'abstract,id\n"a "b", c",1\nTwo.,2\n', 1, "line 2: not a row: ',' expected after"),
    ("more.csv", "id,abstract\n1,One, two.\n2,Two.\n", 1, "line 2: found 3 fields; expected 2 as in the header"),
    ("fewer.csv", "id,title,abstract\n1,One.\n2,T,Two.\n", 1, "line 2: found 2 fields; expected 3 as in the header"),
    ("header.csv", "id,title\n1,One.\n", 0, "no column for the abstract among 'id', 'title'; name it with --text"),
    ("empty.csv", "id,abstract\n1,\n2,\n", 0, "no abstract in it: 2 records without one"),
    ("only.csv", "id,abstract\n", 0, "no abstract in it, read as table; expected records with an abstract"),
    ("mixed.csv", b"id,abstract\n1,caf\xc3\xa9\n2,caf\xe9\n", 2, "line 3: not UTF-8: byte 0xe9 at offset 25"),
    ("brace.bib", ENTRY + "@article{b, abstract = {Two.\n" + ENTRY.replace("{a", "{c"), 2, "line 2: not an entry"),
    ("nokey.bib", ENTRY + "@article{title = {T}}\n", 1, "line 2: not an entry: Expected comma after entry key"),
    ("comma.bib", "@article{b, abstract = {One} year = 3}\n" + ENTRY, 1, "line 1: the abstract goes on after its end"),
    ("twice.bib", "@article{b, abstract = {One}, abstract = {Two}}\n", 1, ""),
    ("titles.bib", "@article{a, title = {T}}\n", 0, "no abstract in it: 1 record without one, read as bibtex"),
    ("prose.bib", "One paper, and no entry.\n", 0, "isn't what '.bib' says: 'One paper, and no entry.'"),
    ("cut.ris", RIS + "TY  - JOUR\nAB  - Two, cut", 1, "line 5: the record isn't closed; expected a line 'ER  -'"),
    ("prose.ris", "One paper.\n", 0, "expected records from 'TY  - ' to 'ER  - '"),
    ("prose.nbib", "One paper.\n", 0, "expected records that begin with 'PMID- '"),
    ("cut.xml", samples.PUBMED[:-200], 1, "line 11: not XML: unclosed token; is the file whole?"),
    ("tags.xml", samples.ATOM.replace("</feed>", "</fed>"), 2, "line 10: not XML: mismatched tag; is the file whole?"),
    ("laughs.xml", LAUGHS, 0, "declares entities or names another file, which isn't read"),
    ("elsewhere.xml", ELSEWHERE, 0, "declares entities or names another file, which isn't read"),
    ("page.html", "<!DOCTYPE html><html><p>One.</p></html>", 0, "begins with <html>; expected PubMed's"),
    ("other.xml", "<?xml version='1.0'?><library/>", 0, "begins with <library>; expected PubMed's"),
    ("coded.xml", '<?xml version="1.0" encoding="klingon"?><feed></feed>', 0, "not XML"),
    ("table.csv", samples.workbook()[:-30], 0, "not a workbook"),
    ("named.xlsx", "id,abstract\n1,One.\n", 0, "isn't what '.xlsx' says: 'id,abstract'"),
    ("named.parquet", "id,abstract\n1,One.\n", 0, "isn't what '.parquet' says"),
    ("cut.parquet", b"PAR1 and nothing more PAR1", 0, "not Parquet that can be read"),
    ("cut.txt.gz", gzip.compress(b"One.\n\n" * 9_000)[:60], 0, "is cut off: its .gz ends after"),
    ("broken.txt.gz", gzip.compress(b"One.")[:-8] + b"\0" * 8, 0, "is a broken .gz: CRC check failed"),
    ("twice.gz", gzip.compress(gzip.compress(b"One.")), 0, "is packed by gzip twice; unpack it once"),
    ("paper.pdf", b"%PDF-1.7 \0", 0, "is a PDF; expected its text"),
    ("what.dat", b"\x01\x02\0\x03 binary", 0, "is binary (a NUL at byte 2); expected UTF-8 text"),
    ("bom.txt", b"\xef\xbb\xbf\n", 0, "is empty; expected abstracts"),
    ("half.txt", "One.\n\nTwo.".encode("utf-16")[:-1], 1, "line 3: no abstract in 'Two\ufffd'"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "content", "count", "said"), MALFORMED, ids=[case[0] for case in MALFORMED])
def test_what_is_said_of_a_malformed_file(
    tmp_path: Path, name: str, content: str | bytes, count: int, said: str
) -> None:
    path, notices, found = tmp_path / name, Notices(), 0
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    messages = list[str]()
    try:
        for _ in read([str(path)], notices=notices):
            found += 1
    except InputError as e:
        messages.append(str(e))
    messages += [line for lines in notices.shown.values() for line in lines]
    assert found == count
    assert any(said in message for message in messages) or not said, messages
    assert all(message.startswith(str(path)) and "\n" not in message for message in messages)
    assert bool(messages) == bool(said)


def test_a_strict_reading_stops_at_the_first_broken_record(tmp_path: Path) -> None:
    path = tmp_path / "quote.csv"
    path.write_text('id,abstract\n1,One.\n2,"Two, never closed\n3,Three.\n', encoding="utf-8")
    stream = read([str(path)], notices=Notices(strict=True))
    assert next(stream).text == "One."
    with pytest.raises(InputError, match="line 3: not a row: a quote isn't closed"):
        next(stream)


def test_a_quote_that_is_not_doubled_is_read_where_it_is_plain(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,abstract\n1,"We call it "order", of sorts"\n2,"A "new" way, ""so"" said."\n', encoding="utf-8")
    notices = Notices()
    assert [r.text for r in read([str(path)], notices=notices)] == ['A "new" way, "so" said.']
    assert notices.counts == {"broken": 1}


def test_utf16_without_a_mark_is_guessed_and_said(tmp_path: Path) -> None:
    path, notices = tmp_path / "a.txt", Notices()
    path.write_bytes("One paper.\n\nTwo papers.".encode("utf-16-le"))
    assert [r.text for r in read([str(path)], notices=notices)] == ["One paper.", "Two papers."]
    assert "no byte order mark; read as UTF-16-LE" in notices.shown["encoding"][0]


def test_lines_may_end_as_they_did_on_old_macs(tmp_path: Path) -> None:
    path, notices = tmp_path / "a.csv", Notices()
    path.write_bytes(b"\xef\xbb\xbfid,abstract\r1,One.\r2,Two \xe9.\r")
    assert [(r.text, r.locator) for r in read([str(path)], notices=notices)] == [
        ("One.", "line 2"),
        ("Two é.", "line 3"),
    ]
    assert "line 3: not UTF-8: byte 0xe9 at offset 28" in notices.shown["encoding"][0]


def test_windows_letters_in_a_json_document_are_read_and_said(tmp_path: Path) -> None:
    path, notices = tmp_path / "a.json", Notices()
    path.write_bytes('[{"abstract": "Une idée à “part”."}]'.encode("cp1252"))
    assert [r.text for r in read([str(path)], notices=notices)] == ["Une idée à “part”."]
    assert "not UTF-8: byte 0xe9 at offset 21" in notices.shown["encoding"][0]


def test_half_surrogates_and_control_characters_stay_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"abstract": "One \\ud800 \\u0000.", "title": "\\udfff", "track": "\\ud801"}', encoding="utf-8")
    [record] = read([str(path)])
    assert (record.text, record.title, record.meta["track"]) == ("One \ud800 \0.", "\udfff", "\ud801")
    assert json.loads(json.dumps(dict(record.meta)))["track"] == "\ud801"


def test_a_gz_bomb_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "FREE_BYTES", 1 << 20)
    path = tmp_path / "bomb.txt.gz"
    path.write_bytes(gzip.compress(b"One more line of it.\n" * 400_000))
    with pytest.raises(InputError, match="unpacks to over 100 times its size, as no text does"):
        list(read([str(path)]))


def test_a_workbook_bomb_is_bounded_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "FREE_BYTES", 1 << 20)
    path = tmp_path / "bomb.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b" " * (8 << 20))
    with pytest.raises(InputError, match=r"unpacks to 8,388,608 bytes, over what is read of a workbook"):
        list(read([str(path)]))


def test_a_zip_that_is_no_workbook_is_told(tmp_path: Path) -> None:
    path = tmp_path / "papers.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("papers.bib", ENTRY)
    with pytest.raises(InputError, match="is a zip archive, not a workbook; unpack it"):
        list(read([str(path)]))


def test_xml_without_an_end_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "MAX_ELEMENT", 1 << 18)
    path = tmp_path / "a.xml"
    path.write_text("<feed><entry><summary>" + "more " * 200_000, encoding="utf-8")
    with pytest.raises(InputError, match="of XML without a record"):
        list(read([str(path)]))


def test_a_path_in_a_file_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("A secret.", encoding="utf-8")
    path = tmp_path / "a.jsonl"
    row = {"abstract": "One.", "file": str(tmp_path / "secret.txt"), "url": f"file://{tmp_path}/secret.txt"}
    path.write_text(json.dumps(row), encoding="utf-8")
    [record] = read([str(path)])
    assert record.text == "One." and "A secret" not in repr(record)


def test_a_parquet_with_a_pattern_for_a_name_is_that_file_alone(tmp_path: Path) -> None:
    content = samples.parquet(tmp_path)
    for name in ("a.parquet", "[a].parquet"):
        (tmp_path / name).write_bytes(content)
    assert len(list(read([str(tmp_path / "[a].parquet")]))) == 2


@pytest.mark.parametrize("blank_lines", [0, 3])
def test_a_document_that_comes_in_many_blocks_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blank_lines: int
) -> None:
    monkeypatch.setattr(encodings, "_BLOCK", 7)
    path, wanted = tmp_path / "a.json", [f"Abstract é “{n}”." for n in range(20)]
    rows = [{"abstract": text, "n": n} for n, text in enumerate(wanted)]
    text = json.dumps(rows, ensure_ascii=False, indent=1).replace("},", "}," + "\n" * blank_lines)
    path.write_text(text, encoding="utf-8")
    assert [r.text for r in read([str(path)])] == wanted
    assert [r.meta["n"] for r in read([str(path)])] == list(range(20))


CONTENTS = {name: text.encode() for name, text in samples.TEXTS.items()} | {"book.xlsx": samples.workbook()}
INSERTS = st.one_of(
    st.binary(max_size=6),
    st.sampled_from([b'"', b"{", b"}", b"<", b"&x;", b"\n", b"\0", b"\xff\xfe", b"\\", b"$", b"[[[", b"\r", b"TY  - "]),
)


@st.composite
def damaged(draw: st.DrawFn) -> tuple[str, bytes]:
    """A sample with pieces cut out and put in, perhaps cut off, perhaps under another name."""
    name = draw(st.sampled_from(sorted(CONTENTS)))
    content = bytearray(CONTENTS[name])
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(content)))
        content[place : place + draw(st.integers(0, 20))] = draw(INSERTS)
    if draw(st.booleans()):
        del content[draw(st.integers(0, len(content))) :]
    return draw(st.sampled_from([name, name, "a.csv", "a.json", "a.bib", "a"])), bytes(content)


def nothing_else_is_raised(folder: Path, name: str, content: bytes) -> None:
    path = folder / name
    path.write_bytes(content)
    try:
        for record in read([str(path)], notices=Notices()):
            # half a surrogate pair stays as it is: the extractor refuses it, in a row of its own
            record.text.encode("utf-8", "surrogatepass")
            json.dumps(dict(record.meta), ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")
            assert record.text.strip() == record.text != ""
    except InputError as e:
        assert "\n" not in str(e)
    finally:
        path.unlink()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged")


@settings(deadline=None, max_examples=300)
@given(damaged())
def test_a_damaged_file_raises_nothing_but_an_input_error(folder: Path, case: tuple[str, bytes]) -> None:
    nothing_else_is_raised(folder, *case)


@settings(deadline=None, max_examples=100)
@given(st.sampled_from([*sorted(CONTENTS), "a.parquet", "a.gz", "a"]), st.binary(max_size=200))
def test_any_bytes_raise_nothing_but_an_input_error(folder: Path, name: str, content: bytes) -> None:
    nothing_else_is_raised(folder, name, content)
    for magic in (b"PAR1", b"PK\x03\x04", b"\x1f\x8b\x08", b"<feed>", b"[{", b"{", b"@article{a,"):
        nothing_else_is_raised(folder, name, magic + content)


def cell(make: Callable[[str], str]) -> st.SearchStrategy[str]:
    """Text that a CSV of ours can hold as it is: no line ends, nothing that would be cleaned."""
    plain = st.text(st.characters(codec="ascii", min_codepoint=32, exclude_characters="&<\x7f"), min_size=1)
    return plain.map(lambda text: " ".join(text.split())).filter(bool).map(make)


@settings(deadline=None, max_examples=100)
@given(st.lists(cell(lambda text: f"We say {text}"), min_size=1, max_size=5), st.sampled_from(",;\t|"))
def test_a_csv_gives_back_what_was_written(folder: Path, texts: list[str], delimiter: str) -> None:
    import csv

    path = folder / "written.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(["id", "abstract", "title"])
        writer.writerows([n, text, "T"] for n, text in enumerate(texts))
    assert [r.text for r in read([str(path)])] == [re.sub(r"\s+", " ", text).strip() for text in texts]
