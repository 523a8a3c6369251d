"""Asks the database for what the plots show: groups of claims, each with the filters that lead to the claims behind."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import duckdb

from extract.web.filters import CLAIMS, DATASETS, NUMBERS, PAPERS, Filters, exactly
from extract.web.ordering import Order
from store.views import literal

BARS = 20
"""Groups that a plot shows."""

_TASKS, _COLUMNS = 12, 16
_DOTS = 500


@dataclass(frozen=True, slots=True)
class Group:
    """A bar or a dot: its name, the number it stands for, what it says of that, and the claims behind it.

    `x` is its column in a grid. `record_id` is set where one paper is behind it.
    """

    name: str
    value: float
    said: str
    behind: Filters
    x: str = ""
    record_id: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """A metric on a dataset, with the number of papers that state it."""

    metric: str
    dataset: str
    papers: int


def gains(con: duckdb.DuckDBPyConnection, by: str, unit: str, filters: Filters) -> Sequence[Group]:
    """The median gain in a unit by `task` or `metric`, of those that most claims are of."""
    column = {"task": "task", "metric": "metric"}[by]
    asked = replace(filters, role="gain", unit=unit)
    rows = con.execute(
        f"""SELECT * FROM (
            SELECT any_value({column}), median(value) AS middle, max(value), count(*) AS claims
            FROM {CLAIMS} WHERE {column} IS NOT NULL AND value IS NOT NULL AND {asked.condition()}
            GROUP BY lower({column}) ORDER BY claims DESC, 1 LIMIT {BARS})
        ORDER BY middle DESC, 1"""  # noqa: S608
    ).fetchall()
    return [
        Group(
            name, middle, f"median {middle:g}, largest {largest:g}, {_counted(n, 'claim')}", _narrowed(asked, by, name)
        )
        for name, middle, largest, n in rows
    ]


def datasets(con: duckdb.DuckDBPyConnection) -> Sequence[Group]:
    """The datasets that most papers use."""
    rows = con.execute(
        f"""SELECT any_value(name), count(DISTINCT record_id) AS papers FROM {DATASETS} WHERE name IS NOT NULL
        GROUP BY lower(name) ORDER BY papers DESC, 1 LIMIT {BARS}"""  # noqa: S608
    ).fetchall()
    return [Group(name, n, _counted(n, "paper"), Filters(uses=exactly(name))) for name, n in rows]


def over_time(con: duckdb.DuckDBPyConnection, key: str) -> Sequence[Group]:
    """How many papers are on each of the commonest tasks, by `year` or `venue`."""
    of_record = f"r.meta->>{literal(key)}"
    rows = con.execute(
        f"""WITH said AS (
            SELECT p.task, lower(p.task) AS folded, {of_record} AS x FROM {PAPERS} p JOIN records r USING (record_id)
            WHERE p.task IS NOT NULL AND {of_record} IS NOT NULL),
        commonest AS (SELECT folded, count(*) AS n FROM said GROUP BY 1 ORDER BY n DESC, 1 LIMIT {_TASKS}),
        columns AS (SELECT x FROM said GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT {_COLUMNS})
        SELECT any_value(s.task), s.x, count(*) FROM said s JOIN commonest c USING (folded) SEMI JOIN columns USING (x)
        GROUP BY s.folded, s.x, c.n ORDER BY c.n DESC, s.folded, s.x"""  # noqa: S608
    ).fetchall()
    return [
        Group(task, n, f"{task}, {x}: {_counted(n, 'paper')}", replace(Filters(task=exactly(task)), **{key: x}), x=x)
        for task, x, n in rows
    ]


def pairs(con: duckdb.DuckDBPyConnection) -> Sequence[Pair]:
    """The metrics on datasets that most papers state a score of."""
    rows = con.execute(
        f"""SELECT any_value(metric), any_value(dataset), count(DISTINCT record_id) AS papers FROM {NUMBERS}
        WHERE metric IS NOT NULL AND dataset IS NOT NULL AND value IS NOT NULL AND role = 'score'
        GROUP BY lower(metric), lower(dataset) ORDER BY papers DESC, 1, 2 LIMIT 60"""  # noqa: S608
    ).fetchall()
    return [Pair(*row) for row in rows]


def spread(con: duckdb.DuckDBPyConnection, metric: str, dataset: str) -> tuple[str, Sequence[Group]]:
    """The scores of a metric on a dataset, one a claim, in the unit that most of them have; and that unit."""
    asked = Filters(metric=exactly(metric), dataset=exactly(dataset), role="score")
    rows: list[Any] = con.execute(
        f"""SELECT record_id, coalesce(method, title, source_id, record_id), value, unit, quote FROM {CLAIMS}
        WHERE value IS NOT NULL AND {asked.condition()} AND unit = (
            SELECT mode(unit) FROM {NUMBERS} WHERE value IS NOT NULL AND {asked.condition()})
        {Order("value", descending=True).clause(_DOTS)}"""  # noqa: S608
    ).fetchall()
    groups = [
        Group(name, value, f"{name}: {quote}", asked, record_id=record_id) for record_id, name, value, _, quote in rows
    ]
    return (rows[0][3] if rows else ""), groups


def _narrowed(filters: Filters, column: str, name: str) -> Filters:
    return replace(filters, **{column: exactly(name)})


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
