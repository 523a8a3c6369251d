"""Asks the database for a page of claims: first which rows, over the few columns that this takes, then what they say.

The views unfold lists, so that a sort over all columns of `claims` costs three times as much as one over the keys
alone with the rest fetched for the 50 rows shown (`docs/decisions/009-web-reads.md`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from extract.web.filters import CLAIMS, DATASETS, NUMBERS, PAPERS, Filters
from extract.web.ordering import Key, Order
from store.views import literal, quoted

ROWS = 50
"""Of a page."""

SORTED_BY = ("title", "task", "method", "value", "unit", "role", "metric", "dataset", "baseline", "origin")
"""Columns that claims can be sorted by."""

_FIRST_PAPERS = 200
_NUMBER = (
    "record_id", "ordinal", "quote", "value", "unit", "role", "direction", "qualifier", "metric", "dataset", "baseline",
    "origin", "verdict", "reviewers",
)  # fmt: skip
_PAPER = ("record_id", "title", "task", "method")
_OF_PAPERS = ("title", "task", "method")

Claim = Mapping[str, Any]
"""The columns of a row of `CLAIMS` that are shown; where it has no title, `text` is how the abstract begins."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some claims in order, and the keys from which the pages before and after go on; None where there is none."""

    claims: Sequence[Claim]
    before: Key | None
    after: Key | None


def has_claims(con: duckdb.DuckDBPyConnection) -> bool:
    """Whether the database has views of the shipped schema, which a run of it makes."""
    found = con.execute(
        """SELECT count(*) FROM duckdb_views() WHERE view_name IN (SELECT unnest(?))
        AND starts_with(comment, 'claimbase: schema paper, reviewed: ')""",
        [[CLAIMS, NUMBERS, PAPERS, DATASETS]],
    ).fetchall()
    return bool(found[0][0] == 4)


def page(con: duckdb.DuckDBPyConnection, filters: Filters, order: Order) -> Page:
    """The claims of one page."""
    if order.column:
        keys = _keys(con, filters, order)
        claims = _claims(con, keys[:ROWS])
    else:
        claims = _numbers(con, f"{filters.condition()} {order.clause(ROWS + 1)}")
        keys = [Key(None, claim["record_id"], claim["ordinal"]) for claim in claims]
        claims = _with_papers(con, claims[:ROWS])
    more, keys = len(keys) > ROWS, keys[:ROWS]
    if order.backwards:
        keys, claims = keys[::-1], claims[::-1]
    if not keys:
        return Page((), None, None)
    before_exists = more if order.backwards else order.key is not None or bool(not order.column and order.first)
    after_exists = order.key is not None if order.backwards else more
    return Page(
        claims=claims,
        before=keys[0] if before_exists else None,
        after=keys[-1] if after_exists else None,
    )


def papers_of(con: duckdb.DuckDBPyConnection, filters: Filters) -> Sequence[Claim]:
    """The first papers that the filters fit, where these ask nothing of numbers: they may have none to show."""
    if (condition := filters.papers_condition()) is None:
        return ()
    columns = ("record_id", "title", "task", "method", "contribution")
    rows = con.execute(f"SELECT {', '.join(columns)} FROM {PAPERS} WHERE {condition} LIMIT {ROWS}").fetchall()  # noqa: S608
    papers = [dict(zip(columns, row, strict=True)) for row in rows]
    _add_beginnings(con, [paper for paper in papers if not paper["title"]])
    return papers


def total(con: duckdb.DuckDBPyConnection, filters: Filters) -> int:
    """How many claims there are of this kind."""
    rows = con.execute(f"SELECT count(*) FROM {NUMBERS} WHERE {filters.condition()}").fetchall()  # noqa: S608
    return int(rows[0][0])


def download_query(filters: Filters, order: Order) -> str:
    """The SELECT whose answer is every claim of this kind, in this order."""
    sort = f" ORDER BY {quoted(order.column)} {'DESC' if order.descending else 'ASC'} NULLS LAST, record_id, ordinal"
    return f"SELECT * FROM {CLAIMS} WHERE {filters.condition()}{sort if order.column else ''}"  # noqa: S608


def units(con: duckdb.DuckDBPyConnection) -> list[str]:
    """The units there are, those used most first."""
    rows = con.execute(f"SELECT unit FROM {NUMBERS} WHERE unit <> '' GROUP BY 1 ORDER BY count(*) DESC, 1")  # noqa: S608
    return [unit for (unit,) in rows.fetchmany(200)]


def sources(con: duckdb.DuckDBPyConnection) -> tuple[list[str], list[str]]:
    """The models, and the runs (the latest first), that claims come from."""
    rows = con.execute("SELECT run_id, model FROM runs ORDER BY started_at DESC, run_id DESC LIMIT 200").fetchall()
    return sorted({model for _, model in rows}), [run_id for run_id, _ in rows]


def _keys(con: duckdb.DuckDBPyConnection, filters: Filters, order: Order) -> list[Key]:
    """The keys of the page's rows and of one more, in the order that they were asked in."""
    if order.column not in _OF_PAPERS:
        return _keys_in(con, NUMBERS, filters, order)
    if not filters.parameters():
        # All claims by a column of their papers: most often the first papers in that order have all that is shown.
        keys = _keys_in(con, _joined(order, _FIRST_PAPERS), filters, order)
        if len(keys) > ROWS:
            return keys
    return _keys_in(con, _joined(order, None), filters, order)


def _joined(order: Order, papers: int | None) -> str:
    """Numbers with the column of their paper that they are sorted by; of so many papers in that order, or of all."""
    first = "" if papers is None else f"WHERE {order.condition(True)} {order.clause(papers, True)}"
    column = quoted(order.column)
    return f"""(SELECT h.*, p.{column} FROM {NUMBERS} h
        JOIN (SELECT record_id, {column} FROM {PAPERS} {first}) p USING (record_id))"""  # noqa: S608


def _keys_in(con: duckdb.DuckDBPyConnection, source: str, filters: Filters, order: Order) -> list[Key]:
    column = quoted(order.column) if order.column else "NULL"
    rows = con.execute(
        f"""SELECT {column}, record_id, ordinal FROM {source}
        WHERE {filters.condition()} AND {order.condition()} {order.clause(ROWS + 1)}"""  # noqa: S608
    ).fetchall()
    return [Key(*row) for row in rows]


def _claims(con: duckdb.DuckDBPyConnection, keys: Sequence[Key]) -> list[dict[str, Any]]:
    """What the claims of these keys say, in their order."""
    if not keys:
        return []
    numbers = _numbers(con, f"record_id IN ({_listed(key.record_id for key in keys)})")
    by_key = {(number["record_id"], number["ordinal"]): number for number in numbers}
    return _with_papers(con, [by_key[key.record_id, key.ordinal] for key in keys])


def _numbers(con: duckdb.DuckDBPyConnection, where: str) -> list[dict[str, Any]]:
    rows = con.execute(f"SELECT {', '.join(_NUMBER)} FROM {NUMBERS} WHERE {where}").fetchall()  # noqa: S608
    return [dict(zip(_NUMBER, row, strict=True)) for row in rows]


def _with_papers(con: duckdb.DuckDBPyConnection, numbers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The numbers, each with what is said of its paper."""
    if not numbers:
        return numbers
    wanted = _listed(number["record_id"] for number in numbers)
    rows = con.execute(f"SELECT {', '.join(_PAPER)} FROM {PAPERS} WHERE record_id IN ({wanted})").fetchall()  # noqa: S608
    papers = {row[0]: dict(zip(_PAPER, row, strict=True)) for row in rows}
    for number in numbers:
        number |= papers[number["record_id"]]
    _add_beginnings(con, [number for number in numbers if not number["title"]])
    return numbers


def _listed(record_ids: Iterable[str]) -> str:
    return ", ".join(sorted({literal(record_id) for record_id in record_ids}))


def _add_beginnings(con: duckdb.DuckDBPyConnection, untitled: Sequence[dict[str, Any]]) -> None:
    if not untitled:
        return
    wanted = _listed(claim["record_id"] for claim in untitled)
    texts = con.execute(f"SELECT record_id, left(text, 400) FROM records WHERE record_id IN ({wanted})")  # noqa: S608
    beginnings = dict(texts.fetchall())
    for claim in untitled:
        claim["text"] = beginnings.get(claim["record_id"], "")
