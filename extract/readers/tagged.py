"""Reads what comes as a tag a line: RIS through rispy, and nbib, which is MEDLINE's.

Records are divided here, so that each has its physical line and a broken one costs itself only.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from extract.readers.encodings import decoded_lines
from extract.readers.opening import Opened
from extract.readers.text import Entry

MAX_RECORD = 1 << 20
"""Characters of the longest record that is read."""

_RIS_START, _RIS_END = re.compile(r"TY {1,2}-"), re.compile(r"ER {1,2}-")
_RIS_TAG = re.compile(r"([A-Z][A-Z0-9]) -")
_MEDLINE_START = re.compile(r"PMID ?- ")
_MEDLINE_TAG = re.compile(r"([A-Z][A-Z0-9]{1,3}) *- ?(.*)")
_RIS_NAMES = {
    "title": ("TI", "T1", "CT", "BT"), "abstract": ("AB", "N2"), "id": ("ID", "AN", "U2"), "doi": ("DO", "M3", "L3"),
    "url": ("UR", "L2", "LK"), "year": ("PY", "Y1", "DA"), "journal": ("T2", "JF", "JO", "JA"), "keywords": ("KW",),
}  # fmt: skip
_MEDLINE_NAMES = {
    "title": ("TI", "BTI"), "abstract": ("AB",), "id": ("PMID",), "year": ("DP", "EDAT"), "journal": ("JT", "TA"),
    "keywords": ("OT", "MH"), "doi": ("LID", "AID"),
}  # fmt: skip
_LISTS = frozenset({"keywords"})


def ris_entries(file: Opened) -> Iterator[Entry]:
    """Yield an entry for each record from `TY  -` to `ER  -`; what stands between records is passed over."""
    import rispy

    tags = rispy.TAG_KEY_MAPPING
    parser = rispy.RisParser(mapping={tag: tag for tag in tags}, list_tags=list(tags), delimiter_tags_mapping={})
    for line, lines, whole in _ris_records(file):
        if not whole:
            file.notices.broken("the record isn't closed; expected a line 'ER  -': is the file whole?", line)
            continue
        try:
            parsed = parser.parse("\n".join([*lines, "ER  - "]))
        except Exception as e:  # rispy stumbles over lines that no tag comes before
            file.notices.broken(f"not a RIS record: {type(e).__name__}: {e}", line)
            continue
        for record in parsed:
            yield Entry(f"line {line}", _named(record, _RIS_NAMES))


def medline_entries(file: Opened) -> Iterator[Entry]:
    """Yield an entry for each record, which begins with `PMID-`."""
    for line, lines in _records(file):
        record: dict[str, list[str]] = {}
        tag = ""
        for text in lines:
            if found := _MEDLINE_TAG.match(text):
                tag = found[1]
                record.setdefault(tag, []).append(found[2])
            elif tag and text.strip():
                record[tag][-1] += f"\n{text.strip()}"
        for tag in ("LID", "AID"):
            record[tag] = [value for value in record.get(tag, []) if value.rstrip().endswith("[doi]")]
        yield Entry(f"line {line}", _named(record, _MEDLINE_NAMES))


def _named(record: Mapping[str, Sequence[str]], names: Mapping[str, Iterable[str]]) -> dict[str, object]:
    """Return a record's values by the names that readers know; of several tags for one, the first with a value."""
    values: dict[str, object] = {}
    for name, tags in names.items():
        for tag in tags:
            said = [value for value in record.get(tag, ()) if isinstance(value, str) and value.strip()]
            if said and (name != "doi" or "10." in said[0]):
                values[name] = said if name in _LISTS else said[0] if name != "abstract" else "\n".join(said)
                break
    return values


def _ris_records(file: Opened) -> Iterator[tuple[int, list[str], bool]]:
    """Yield each record's first line number, its lines, and whether it was closed (by `ER`, or the next record)."""
    start, size, lines = 0, 0, list[str]()
    for number, line in decoded_lines(file.stream, file.notices):
        begins = _RIS_START.match(line)
        if lines and (begins or _RIS_END.match(line)):
            yield start, lines, True
            lines = []
        if begins:
            start, size, lines = number, 0, []
        elif not lines:
            continue
        size += len(line) + 1
        if size > MAX_RECORD:
            file.notices.broken(f"a record of over {MAX_RECORD >> 20} MiB; expected a line 'ER  -' before", start)
            lines = []
        else:
            lines.append(_RIS_TAG.sub(r"\1  -", line, count=1) if _RIS_TAG.match(line) else line)
    if lines:
        yield start, lines, False


def _records(file: Opened) -> Iterator[tuple[int, list[str]]]:
    """Yield each MEDLINE record's first line number and its lines."""
    start, size, lines = 0, 0, list[str]()
    for number, line in decoded_lines(file.stream, file.notices):
        if _MEDLINE_START.match(line):
            if lines:
                yield start, lines
            start, size, lines = number, 0, [line]
        elif lines:
            size += len(line) + 1
            if size > MAX_RECORD:
                file.notices.broken(f"a record of over {MAX_RECORD >> 20} MiB; expected 'PMID-' before", start)
                lines = []
            else:
                lines.append(line)
    if lines:
        yield start, lines
