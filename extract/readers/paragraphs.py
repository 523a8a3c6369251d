"""Reads plain text: a paragraph is an abstract, paragraphs are divided by blank lines.

A paragraph that is a single short line without a sentence's end, followed by more, is a heading, not an abstract: it
becomes `meta.heading` of the records under it.
"""

from collections.abc import Iterator
from pathlib import Path

from extract.readers.text import make_record, numbered_lines
from store.rows import Record

HEADING_WORDS = 12
"""A line of more words than this is no heading."""


def read(path: Path) -> Iterator[Record]:
    """Yield a record for each paragraph of the file that isn't a heading; wrapped lines are joined by a space."""
    heading: str | None = None
    for line, lines in _paragraphs(path):
        text = " ".join(part.strip() for part in lines)
        if len(lines) == 1 and is_heading(text):
            heading = text.lstrip("# ").strip()
            continue
        meta: dict[str, object] = {"heading": heading} if heading else {}
        if len(lines) > 1:
            meta["raw"] = "\n".join(lines)
        yield make_record(text, str(path), f"line {line}", meta=meta)


def is_heading(line: str) -> bool:
    """Is this line a heading: at most HEADING_WORDS words, no end of a sentence, or a Markdown heading mark?"""
    return (line.startswith("#") or line[-1:] not in ".!?。") and len(line.split()) <= HEADING_WORDS


def _paragraphs(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield each paragraph's first line number and its lines."""
    start, lines = 0, list[str]()
    for number, line in numbered_lines(path):
        if line.strip():
            start = start if lines else number
            lines.append(line)
        elif lines:
            yield start, lines
            lines = []
    if lines:
        yield start, lines
