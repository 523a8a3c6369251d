"""The pages of views: what a database of any schema has, and the rows of one view or table with its own columns."""

from collections.abc import Sequence

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from extract.web import cells
from extract.web.catalogue import Relation, relations
from extract.web.downloads import csv_of
from extract.web.rendering import with_query
from extract.web.site import Site, site_of
from store.views import quoted

ROWS = 100
"""Of a page."""


def views(request: Request) -> Response:
    """The list of views and tables."""
    site = site_of(request)
    return site.render(request, "views.html", relations=_relations(site))


def view(request: Request) -> Response:
    """Rows of one of them, sorted by a column or as they are."""
    site = site_of(request)
    relation = _relation(site, request.path_params["name"])
    names = [name for name, _ in relation.columns]
    sort = request.query_params.get("sort", "")
    column = sort.removeprefix("-")
    first = _number(request.query_params.get("first", ""))
    order = ""
    if column in names:
        order = f"ORDER BY {quoted(column)} {'DESC' if sort.startswith('-') else 'ASC'} NULLS LAST"
    with site.reads.open() as con:
        con.execute(f"SELECT * FROM {quoted(relation.name)} {order} LIMIT {ROWS + 1} OFFSET {first}")  # noqa: S608
        described = con.description or []
        rows = con.fetchall()
    table = cells.table([str(c[0]) for c in described], [str(c[1]) for c in described], rows[:ROWS])
    return site.render(
        request,
        "view.html",
        relation=relation,
        table=table,
        column=column,
        descending=sort.startswith("-"),
        first=first,
        links=_links(request, relation.name, names, sort, first, len(rows) > ROWS),
    )


def download(request: Request) -> Response:
    """All rows of one of them as CSV."""
    site = site_of(request)
    relation = _relation(site, request.query_params.get("name", ""))
    return csv_of(site, f"SELECT * FROM {quoted(relation.name)}", f"{relation.name}.csv")  # noqa: S608


def _relations(site: Site) -> Sequence[Relation]:
    def asked() -> Sequence[Relation]:
        with site.reads.open() as con:
            return relations(con)

    return site.reads.remembered("relations", asked)


def _relation(site: Site, name: str) -> Relation:
    found = next((one for one in _relations(site) if one.name.lower() == name.lower()), None)
    if found is None:
        raise HTTPException(404, f"there is no view or table {name!r}")
    return found


def _links(request: Request, name: str, columns: Sequence[str], sort: str, first: int, more: bool) -> dict[str, object]:
    path = request.app.url_path_for("view", name=name)
    back = {"sort": sort, "first": max(0, first - ROWS)}
    turned = {c: f"-{c}" if sort == c else "" if sort == f"-{c}" else c for c in columns}
    return {
        "sort": {c: with_query(path, {"sort": turned[c]}) for c in columns},
        "around": {
            "first": with_query(path, {"sort": sort}) if first else None,
            "before": with_query(path, back) if first else None,
            "after": with_query(path, {"sort": sort, "first": first + ROWS}) if more else None,
            "last": None,
        },
        "download": with_query(request.app.url_path_for("view_csv"), {"name": name}),
        "sql": with_query(request.app.url_path_for("sql"), {"q": f"FROM {quoted(name)} LIMIT 100"}),
    }


def _number(said: str) -> int:
    return int(said) if said.isascii() and said.isdigit() and len(said) < 16 else 0


ROUTES = (
    Route("/views", views, name="views"),
    Route("/views/{name:path}", view, name="view"),
    Route("/view.csv", download, name="view_csv"),
)
