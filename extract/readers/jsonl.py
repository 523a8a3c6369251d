"""Reads JSON lines: an object a line. A line that isn't one costs itself only."""

import json
from collections.abc import Iterator

from extract.readers.encodings import decoded_lines
from extract.readers.json_values import papers
from extract.readers.opening import Opened
from extract.readers.text import Entry


def entries(file: Opened) -> Iterator[Entry]:
    """Yield an entry for each object; an object that holds a list of papers gives each of them."""
    for number, line in decoded_lines(file.stream, file.notices):
        if not line or line.isspace():
            continue
        try:
            value = json.loads(line, strict=False)
        except (ValueError, RecursionError) as e:
            file.notices.broken(f"not JSON: {json_fault(e)}; expected an object a line", number)
            continue
        if not isinstance(value, dict):
            file.notices.broken(f"found {type(value).__name__}; expected an object a line", number)
            continue
        for paper in papers(value):
            place = f"line {number}{paper.place}"
            if paper.values is None:
                file.notices.broken(f"found {paper.found}{paper.place}; expected an object", number)
            else:
                yield Entry(place, paper.values, extras=True)


def json_fault(error: ValueError | RecursionError) -> str:
    """Say what is wrong in JSON, in one line."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}"
    return "nested too deep" if isinstance(error, RecursionError) else str(error).partition(";")[0]
