"""The page of plots: five questions, each drawn, and each a table of the same numbers with the same links."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from extract.web import plot_rows, plot_specs
from extract.web.claim_rows import has_claims
from extract.web.filters import Filters
from extract.web.plot_rows import Group, Pair
from extract.web.rendering import with_query
from extract.web.site import site_of

KINDS = {
    "task": "Gains by task",
    "metric": "Gains by metric",
    "datasets": "Datasets used most",
    "time": "Tasks over time",
    "spread": "Spread of a metric",
}
UNITS = ("%", "pp", "x")
_STALE_S = 30.0


@dataclass(frozen=True, slots=True)
class Drawn:
    """A plot with the groups it is made of, and what can be chosen beside it."""

    spec: plot_specs.Spec
    groups: Sequence[Group]
    value_title: str
    pairs: Sequence[Pair] = ()
    chosen: tuple[str, str] = ("", "")


def plots(request: Request) -> Response:
    """One plot: the `kind` of the address."""
    site = site_of(request)
    kind = request.query_params.get("kind", "task")
    if kind not in KINDS:
        kind = "task"
    unit = request.query_params.get("unit", "%")
    asked = (kind, unit, request.query_params.get("by", "year"), request.query_params.get("pair", ""))

    def drawn() -> Drawn | None:
        with site.reads.open() as con:
            return _drawn(con, *asked, link=lambda group: _link(request, group)) if has_claims(con) else None

    made = site.reads.remembered(("plot", *asked), drawn, _STALE_S)
    if made is None:
        return site.render(request, "no_claims.html")
    path = request.app.url_path_for("plots")
    return site.render(
        request,
        "plots.html",
        kinds=[(name, title, with_query(path, {"kind": name})) for name, title in KINDS.items()],
        kind=kind,
        title=KINDS[kind],
        drawn=made,
        rows=[(group, _link(request, group)) for group in made.groups],
        unit=unit,
        units=UNITS,
        by=asked[2],
    )


def _drawn(
    con: duckdb.DuckDBPyConnection, kind: str, unit: str, by: str, pair: str, *, link: Callable[[Group], str]
) -> Drawn:
    def rows(groups: Sequence[Group]) -> list[dict[str, Any]]:
        return [
            {"name": g.name, "value": g.value, "said": f"{g.name}: {g.said}" if not g.x else g.said, "href": link(g)}
            | ({"x": g.x} if g.x else {})
            for g in groups
        ]

    if kind in ("task", "metric"):
        groups = plot_rows.gains(con, kind, unit, Filters())
        title = f"median gain, {unit}"
        return Drawn(plot_specs.bars(f"Median gain in {unit} by {kind}", rows(groups), title), groups, title)
    if kind == "datasets":
        groups = plot_rows.datasets(con)
        return Drawn(
            plot_specs.bars("Datasets by the papers that use them", rows(groups), "papers", True), groups, "papers"
        )
    if kind == "time":
        key = by if by in ("year", "venue") else "year"
        groups = plot_rows.over_time(con, key)
        return Drawn(plot_specs.grid(f"Papers on the commonest tasks by {key}", rows(groups), key), groups, "papers")
    return _spread(con, pair, rows)


def _spread(
    con: duckdb.DuckDBPyConnection, pair: str, rows: Callable[[Sequence[Group]], list[dict[str, Any]]]
) -> Drawn:
    pairs = plot_rows.pairs(con)
    metric, _, dataset = pair.partition(" | ")
    if not dataset and pairs:
        metric, dataset = pairs[0].metric, pairs[0].dataset
    unit, groups = plot_rows.spread(con, metric, dataset) if dataset else ("", ())
    title = f"{metric} on {dataset}{f', {unit}' if unit else ''}" if dataset else "no metric is stated on a dataset"
    spec = plot_specs.spread(f"Scores stated for {title}", rows(groups), title)
    return Drawn(spec, groups, title, pairs, (metric, dataset))


def _link(request: Request, group: Group) -> str:
    if group.record_id:
        path = request.app.url_path_for("paper", record_id=group.record_id)
        return with_query(path, group.behind.parameters())
    return with_query(request.app.url_path_for("claims"), group.behind.parameters())


ROUTES = (Route("/plots", plots, name="plots"),)
