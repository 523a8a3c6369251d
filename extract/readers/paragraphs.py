"""Reads plain text: a paragraph is an abstract, paragraphs are divided by blank lines.

A paragraph that is a single short line without a sentence's end, followed by more, is a heading, not an abstract: it
becomes `meta.heading` of the records under it. One at the end, with nothing under it, has no abstract: that is said.
"""

from collections.abc import Iterator

from extract.readers.encodings import decoded_lines
from extract.readers.opening import Opened
from extract.readers.text import Entry

HEADING_WORDS = 12
"""A line of more words than this is no heading."""

MAX_PARAGRAPH = 8 << 20
"""Characters of the longest paragraph that is read."""


def entries(file: Opened) -> Iterator[Entry]:
    """Yield an entry for each paragraph of the file that isn't a heading."""
    heading, bare = "", ""
    for line, lines in _paragraphs(file):
        if len(lines) == 1 and is_heading(lines[0].strip()):
            heading, bare = lines[0].strip("# \t"), f"line {line}"
            continue
        bare = ""
        values = {"abstract": "\n".join(lines)}
        if heading:
            values["heading"] = heading
        yield Entry(f"line {line}", values, form="plain", extras=True)
    if bare:
        file.notices.no_abstract(bare, heading)


def is_heading(line: str) -> bool:
    """Is this line a heading: at most HEADING_WORDS words, no end of a sentence, or a Markdown heading mark?"""
    return (line.startswith("#") or line[-1:] not in ".!?。") and len(line.split()) <= HEADING_WORDS


def _paragraphs(file: Opened) -> Iterator[tuple[int, list[str]]]:
    """Yield each paragraph's first line number and its lines; one that is too long is broken, and passed over."""
    start, size, lines = 0, 0, list[str]()
    for number, line in decoded_lines(file.stream, file.notices):
        if line.strip():
            start = start if size else number
            size += len(line)
            if size > MAX_PARAGRAPH:
                lines = []
            else:
                lines.append(line)
        else:
            if lines:
                yield start, lines
            elif size:
                _too_long(file, start)
            size, lines = 0, []
    if lines:
        yield start, lines
    elif size:
        _too_long(file, start)


def _too_long(file: Opened, line: int) -> None:
    file.notices.broken(f"a paragraph of over {MAX_PARAGRAPH >> 20} MiB; expected blank lines between abstracts", line)
