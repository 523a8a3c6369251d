"""Writes an answer as text: a table for the terminal, CSV, JSON, JSON lines, Markdown.

All but the table are made row by row. CSV is what `export` writes: UTF-8, comma, `"` doubled, lines end in LF, NULL
an empty field and the empty text `""`, nested values as JSON. A table or Markdown shows no control character of the
data: an escape code in an abstract must not reach a terminal (`text.visible`). CSV and JSON keep the data as it is,
JSON with all controls as escapes.
"""

import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Literal, get_args
from uuid import UUID

from store.query import Result, Row
from store.text import visible

Format = Literal["table", "csv", "json", "jsonl", "markdown"]
FORMATS: tuple[Format, ...] = get_args(Format)

_HIGH_CONTROLS = re.compile(r"[\x7f-\x9f\u2028\u2029]")
# `#` as DuckDB's COPY has it, whose reader may take it for the start of a comment.
_MUST_QUOTE = re.compile(r'[,"\r\n#]')
_MUST_QUOTE_TABS = re.compile(r'[\t"\r\n#]')


def format_rows(result: Result, format: Format, width: int | None = None) -> Iterator[str]:
    """The answer as pieces of text, each ending in a line end; `width` is that of the terminal, for `table`.

    Without a width a table is as wide as its rows.
    """
    if format == "table":
        return _table(result, width)
    if format == "csv":
        return csv_lines(result)
    if format == "jsonl":
        return (line + "\n" for line in _json_lines(result))
    return _json(result) if format == "json" else _markdown(result)


def csv_lines(result: Result, separator: str = ",") -> Iterator[str]:
    """The answer as CSV, the header first; with a tab as separator as TSV."""
    special = _MUST_QUOTE_TABS if separator == "\t" else _MUST_QUOTE

    def line(cells: Iterable[str | None]) -> str:
        return separator.join(_csv_cell(cell, special) for cell in cells) + "\n"

    yield line(result.columns)
    for row in result.rows:
        yield line(None if value is None else plain(value) for value in row)


def _csv_cell(text: str | None, special: re.Pattern[str]) -> str:
    if text is None:
        return ""
    if text == "" or special.search(text):
        return '"' + text.replace('"', '""') + '"'
    return text


def _json(result: Result) -> Iterator[str]:
    before = "["
    for line in _json_lines(result):
        yield f"{before}\n  {line}"
        before = ","
    yield "[]\n" if before == "[" else "\n]\n"


def _json_lines(result: Result) -> Iterator[str]:
    names = unique_names(result.columns)
    for row in result.rows:
        values = (_jsonable(value, kind) for value, kind in zip(row, result.types, strict=True))
        yield _json_text(dict(zip(names, values, strict=True)))


def unique_names(columns: Sequence[str]) -> list[str]:
    """The columns' names, with `_1`, `_2`… behind those that came before, as an object can't hold one twice."""
    names: list[str] = []
    for column in columns:
        name, number = column, 1
        while name in names:
            name, number = f"{column}_{number}", number + 1
        names.append(name)
    return names


def _json_text(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
    return _HIGH_CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _jsonable(value: object, kind: str = "") -> object:
    if isinstance(value, str):
        return json.loads(value) if kind == "JSON" else value
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, (float, Decimal)):
        number = float(value)
        return number if math.isfinite(number) else None
    if isinstance(value, dict):
        return {key if isinstance(key, str) else plain(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_jsonable(item) for item in value]
    return plain(value)


def plain(value: object) -> str:
    """A value as DuckDB would write it in CSV; a nested one as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, Decimal, UUID, datetime, date, time, timedelta)):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, (dict, list, tuple)):
        return json.dumps(_jsonable(value), ensure_ascii=False, separators=(",", ":"))
    return "" if value is None else str(value)


def shown_cells(row: Row) -> list[str]:
    """A row's values as a person sees them: on one line, NULL empty, no control character of the data."""
    return ["" if value is None else visible(plain(value)) for value in row]


def _markdown(result: Result) -> Iterator[str]:
    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cell.replace("\\", "\\\\").replace("|", "\\|") for cell in cells) + " |\n"

    yield line(visible(column) for column in result.columns)
    yield line("---:" if is_number(kind) else "---" for kind in result.types)
    for row in result.rows:
        yield line(shown_cells(row))


def is_number(kind: str) -> bool:
    """Is a column of this DuckDB type one of numbers?"""
    return kind.startswith(("DECIMAL", "DOUBLE", "FLOAT")) or kind.endswith(("INT", "INTEGER"))


def _table(result: Result, width: int | None) -> Iterator[str]:
    # rich takes 0.1 s to import, which the other formats needn't pay.
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column, kind in zip(result.columns, result.types, strict=True):
        table.add_column(
            Text(visible(column)),
            justify="right" if is_number(kind) else "left",
            overflow="fold",
            no_wrap=width is None,
        )
    for row in result.rows:
        table.add_row(*(Text(cell) for cell in shown_cells(row)))
    if width is None:
        width = max(80, Console(width=1_000_000).measure(table).maximum)
    out = io.StringIO()
    Console(file=out, width=width, color_system=None, force_terminal=False, legacy_windows=False).print(table)
    for line in out.getvalue().splitlines():
        yield line.rstrip() + "\n"
