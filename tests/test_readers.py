"""Readers: what is a record, where it stood, and what a broken file is told."""

import gzip
import io
import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract.errors import InputError
from extract.readers import Columns, Notices, check_inputs, read
from extract.readers.notices import NoticeKind
from extract.readers.paragraphs import is_heading
from extract.readers.text import record_id
from store.rows import Record

ROOT = Path(__file__).parents[1]


def records(path: Path, content: str | bytes) -> list[Record]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(read([str(path)]))


def test_the_seeds_are_19_abstracts_under_a_heading() -> None:
    found = list(read([str(ROOT / "seeds" / "neurips_2026_papers.txt")]))
    assert len(found) == 19
    assert {r.meta["heading"] for r in found} == {"NeurIPS 2026 Papers"}
    gold = [json.loads(line) for line in (ROOT / "seeds" / "gold.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [r.text for r in found] == [row["abstract"] for row in gold]


def test_paragraphs_are_joined_and_keep_where_they_stood(tmp_path: Path) -> None:
    found = records(tmp_path / "a.txt", "\ufeffOne line\n  wrapped here.\r\n\r\n\n \nAnother\u2028one, whole.\n")
    assert [(r.text, r.locator) for r in found] == [
        ("One line wrapped here.", "line 1"),
        ("Another\u2028one, whole.", "line 6"),
    ]
    assert found[0].meta == {"raw": "One line\n  wrapped here."}


@pytest.mark.parametrize("line", ["NeurIPS 2026 Papers", "# Accepted papers.", "Session 3: Graphs"])
def test_a_heading_is_not_an_abstract(line: str) -> None:
    assert is_heading(line)


@pytest.mark.parametrize("line", ["We sort.", "A " * 13, "Can graphs forget?"])
def test_a_sentence_is_not_a_heading(line: str) -> None:
    assert not is_heading(line)


def test_json_lines_take_the_usual_names(tmp_path: Path) -> None:
    rows = [
        {"id": 7, "title": " T ", "abstract": " First. ", "venue": "X", "year": 2025, "authors": ["left out"]},
        {"paperId": "p2", "summary": "Second.", "abstract": None},
        {"id": "none", "abstract": "  "},
        {"id": True, "text": "Third."},
    ]
    found = records(tmp_path / "a.jsonl", "\n".join(map(json.dumps, rows)) + "\n\n")
    assert [(r.source_id, r.title, r.text, r.locator) for r in found] == [
        ("7", "T", "First.", "line 1"),
        ("p2", None, "Second.", "line 2"),
        (None, None, "Third.", "line 4"),
    ]
    assert found[0].meta == {"venue": "X", "year": 2025}


def test_several_inputs_are_read_in_order_and_lazily(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("One.\n\nTwo.", encoding="utf-8")
    (tmp_path / "b.txt").write_bytes(b"bro\0ken")
    stream = read([str(tmp_path / "a.txt"), str(tmp_path / "b.txt")])
    assert [next(stream).text, next(stream).text] == ["One.", "Two."]
    with pytest.raises(InputError, match="is binary"):
        next(stream)


def test_inputs_are_checked_without_reading_them(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("One.\n\nTwo.", encoding="utf-8")
    (tmp_path / "b.txt").write_bytes(b"bro\0ken")
    [source] = check_inputs([str(tmp_path / "a.txt")])
    assert (source.path, source.size) == (tmp_path / "a.txt", 10)
    with pytest.raises(InputError, match="is binary"):
        check_inputs([str(tmp_path / "a.txt"), str(tmp_path / "b.txt")])
    assert [(source.path, source.size) for source in check_inputs(["-"])] == [(None, None)]


def test_a_file_that_is_named_twice_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("One.", encoding="utf-8")
    assert len(list(read([str(path), str(path), str(tmp_path / "*.txt")]))) == 1


def test_a_folder_gives_its_files_by_name_and_says_which_gave_nothing(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / ".hidden").mkdir()
    for name, text in {
        "b.txt": "Two.", "sub/a.jsonl": '{"abstract": "Three."}', "a.txt": "One.", "c.bib": "@misc{k, title={T}}",
        "picture.png": "PNG.", ".hidden/x.txt": "Hidden.", ".x.txt": "Hidden.",
    }.items():  # fmt: skip
        (tmp_path / name).write_text(text, encoding="utf-8")
    notices = Notices()
    assert [r.text for r in read([str(tmp_path)], notices=notices)] == ["One.", "Two.", "Three."]
    assert notices.counts == {"no_abstract": 1, "file": 1}
    assert "c.bib: no abstract in it: 1 record without one, read as bibtex" in "\n".join(notices.lines())


def test_a_pattern_gives_what_matches(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "c.jsonl"):
        (tmp_path / name).write_text("{}" if "json" in name else f"Paper {name}.", encoding="utf-8")
    assert [r.text for r in read([str(tmp_path / "*.txt")])] == ["Paper a.txt.", "Paper b.txt."]
    with pytest.raises(InputError, match="no file matches"):
        list(read([str(tmp_path / "*.csv")]))


def test_a_link_in_a_folder_is_not_followed_to_another(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret.txt").write_text("A secret.", encoding="utf-8")
    (tmp_path / "in" / "a.txt").write_text("One.", encoding="utf-8")
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out", target_is_directory=True)
    assert [r.text for r in read([str(tmp_path / "in")])] == ["One."]


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch, packed: bool) -> None:
    content = b'{"abstract": "One."}\n{"abstract": "Two."}\n'
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(gzip.compress(content) if packed else content)))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert [(r.text, r.source, r.locator) for r in read(["-"])] == [
        ("One.", "standard input", "line 1"),
        ("Two.", "standard input", "line 2"),
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty; expected abstracts"),
        (b" \n\t\n", "is empty; expected abstracts"),
        (b"ab\0cd", "is binary (a NUL at byte 2); expected UTF-8 text"),
        (b"Only a heading", "no abstract in it"),
        (b'{"abstract": \n', "not JSON: Expecting value at column 1"),
        (b'{"title": "T"}\n', "no abstract in it: 1 record without one"),
    ],
)
def test_a_file_that_gives_nothing_is_told_what_where_and_the_way_out(
    tmp_path: Path, content: bytes, said: str
) -> None:
    with pytest.raises(InputError) as raised:
        records(tmp_path / "in", content)
    assert said in str(raised.value) and str(tmp_path / "in") in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("content", "kind", "said"),
    [
        (b"One.\n\nTwo \xe9t\xe9.", "encoding", "line 3: not UTF-8: byte 0xe9 at offset 10"),
        (b'{"abstract": "One."}\n{"abstract": \n', "broken", "line 2: not JSON"),
        (b'{"abstract": "One."}\n[1]\n', "broken", "line 2: found list; expected an object a line"),
        (b'{"abstract": "One."}\n{"title": "T"}\n', "no_abstract", "line 2: no abstract in 'T'"),
    ],
)
def test_what_is_wrong_with_one_record_is_a_notice_and_stops_a_strict_reading(
    tmp_path: Path, content: bytes, kind: NoticeKind, said: str
) -> None:
    path, notices = tmp_path / "in", Notices()
    path.write_bytes(content)
    assert next(read([str(path)], notices=notices)).text == "One."
    assert list(read([str(path)], notices=notices))
    assert notices.counts == {kind: 1} and said in notices.shown[kind][0]
    if kind == "no_abstract":
        assert len(list(read([str(path)], notices=Notices(strict=True)))) == 1
    else:
        with pytest.raises(InputError, match=re.escape(said)):
            list(read([str(path)], notices=Notices(strict=True)))


def test_the_notices_say_how_many_and_the_first_few() -> None:
    notices = Notices()
    own = notices.for_file("a.csv")
    for line in range(1, 8):
        own.broken("found 2 fields; expected 3", line)
    own.no_abstract("line 9", "A letter")
    assert list(notices.lines()) == [
        "7 records broken and left out, the first 5:",
        *(f"  a.csv, line {line}: found 2 fields; expected 3" for line in range(1, 6)),
        "1 record without an abstract:",
        "  a.csv: line 9: no abstract in 'A letter'",
    ]


def test_columns_may_be_named(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("Number,What it says,Called\n3,One.,T\n", encoding="utf-8")
    with pytest.raises(InputError, match="no column for the abstract among 'Number', 'What it says', 'Called'"):
        list(read([str(path)]))
    [record] = read([str(path)], Columns(text="What it says", id="Number", title="called"))
    assert (record.text, record.source_id, record.title, record.meta) == ("One.", "3", "T", {})
    with pytest.raises(InputError, match="no column 'Nr', as --id-column says; the columns are 'Number'"):
        list(read([str(path)], Columns(text="What it says", id="Nr")))


def test_a_file_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder without a file to read"):
        list(read([str(tmp_path)]))
    with pytest.raises(InputError, match="no such file"):
        list(read([str(tmp_path / "absent")]))
    with pytest.raises(InputError, match="no such file"):
        list(read(["a\0b"]))
    with pytest.raises(InputError, match="is no file's name"):
        list(read([""]))


@given(st.text(min_size=1))
def test_the_id_is_of_the_words_not_of_the_white_space(text: str) -> None:
    assert record_id(text) == record_id(f"  {text}\n")
    assert record_id(text) == record_id(text.replace(" ", "\n \t"))
    assert record_id(text) != record_id(text + "x")


def test_the_id_is_the_same_for_composed_and_decomposed_letters() -> None:
    assert record_id("na\u00efve") == record_id("nai\u0308ve") == "r1-" + record_id("na\u00efve")[3:]
    assert len(record_id("x")) == 23
