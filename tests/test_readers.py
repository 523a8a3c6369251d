"""Readers: what is a record, where it stood, and what a broken file is told."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extract.errors import InputError
from extract.readers import read
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
    (tmp_path / "b.txt").write_bytes(b"\xff broken")
    stream = read([str(tmp_path / "a.txt"), str(tmp_path / "b.txt")])
    assert [next(stream).text, next(stream).text] == ["One.", "Two."]
    with pytest.raises(InputError, match="not UTF-8"):
        next(stream)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty; expected abstracts"),
        (b" \n\t\n", "is empty; expected abstracts"),
        (b"ab\0cd", "is binary (a NUL at byte 2); expected UTF-8 text"),
        (b"One.\n\nTwo \xe9t\xe9.", "line 3: not UTF-8: byte 0xe9 at offset 10; save it as UTF-8"),
        (b"Only a heading", "no abstract in it"),
        (b'{"abstract": "One."}\n{"abstract": \n', "line 2: not JSON"),
        (b'{"abstract": "One."}\n[1]\n', "line 2: found list; expected an object a line"),
        (b'{"title": "T"}\n', "no abstract in it"),
    ],
)
def test_a_broken_file_is_told_what_where_and_the_way_out(tmp_path: Path, content: bytes, said: str) -> None:
    with pytest.raises(InputError) as raised:
        records(tmp_path / "in", content)
    assert said in str(raised.value) and str(tmp_path / "in") in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_folder_and_a_missing_file_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder; name the files in it"):
        list(read([str(tmp_path)]))
    with pytest.raises(InputError, match="no such file"):
        list(read([str(tmp_path / "absent")]))


@given(st.text(min_size=1))
def test_the_id_is_of_the_words_not_of_the_white_space(text: str) -> None:
    assert record_id(text) == record_id(f"  {text}\n")
    assert record_id(text) == record_id(text.replace(" ", "\n \t"))
    assert record_id(text) != record_id(text + "x")


def test_the_id_is_the_same_for_composed_and_decomposed_letters() -> None:
    assert record_id("na\u00efve") == record_id("nai\u0308ve") == "r1-" + record_id("na\u00efve")[3:]
    assert len(record_id("x")) == 23
