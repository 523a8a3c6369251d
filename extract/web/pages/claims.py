"""The page of claims: a table of headline numbers, filtered, sorted, page by page, each view with an address."""

from typing import Any

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from extract.web import claim_rows
from extract.web.claim_rows import ROWS, SORTED_BY
from extract.web.downloads import csv_of
from extract.web.filters import NO_UNIT, NO_VERDICT, ORIGINS, ROLES, VERDICTS, Filters
from extract.web.ordering import LAST, Order
from extract.web.rendering import is_partial, with_query
from extract.web.site import Site, site_of

_STALE_S = 30.0
"""How old the choices of a filter may be while a run goes on."""


def home(request: Request) -> Response:
    """To the claims; to the list of views if the database has none of the shipped schema."""
    with site_of(request).reads.open() as con:
        name = "claims" if claim_rows.has_claims(con) else "views"
    return RedirectResponse(request.app.url_path_for(name), 303)


def claims(request: Request) -> Response:
    """A page of claims, or its table alone for htmx."""
    site = site_of(request)
    filters, order = _asked(request)
    with site.reads.open() as con:
        if not claim_rows.has_claims(con):
            return site.render(request, "no_claims.html")
        page = claim_rows.page(con, filters, order)
        papers = () if page.claims else claim_rows.papers_of(con, filters)
    context: dict[str, Any] = {
        "filters": filters,
        "order": order,
        "page": page,
        "papers": papers,
        "links": _links(request, filters, order, page),
        "total": _known_total(site, filters),
        "faults": filters.faults(),
    }
    if is_partial(request):
        return site.render(request, "claims_table.html", **context)
    return site.render(request, "claims.html", **context, **_choices(site))


def total(request: Request) -> Response:
    """How many claims there are of this kind, as the page's text says it; asked for once the page is there."""
    site = site_of(request)
    filters = Filters.of(request.query_params)

    def counted() -> int:
        with site.reads.open() as con:
            return claim_rows.total(con, filters)

    return site.render(request, "claims_total.html", total=site.reads.remembered(("total", filters), counted))


def download(request: Request) -> Response:
    """The claims of this kind as a CSV file, all of them."""
    filters, order = _asked(request)
    return csv_of(site_of(request), claim_rows.download_query(filters, order), "claims.csv")


def _asked(request: Request) -> tuple[Filters, Order]:
    parameters = dict(request.query_params)
    return Filters.of(parameters), Order.of(parameters, SORTED_BY)


def _known_total(site: Site, filters: Filters) -> int | None:
    """The number of claims if it is known already: counting takes as long as all the rest of the page."""
    key = ("total", filters)
    return site.reads.remembered(key, lambda: 0) if site.reads.is_remembered(key) else None


def _choices(site: Site) -> dict[str, Any]:
    def asked() -> dict[str, Any]:
        with site.reads.open() as con:
            models, runs = claim_rows.sources(con)
            return {
                **{"units": claim_rows.units(con), "models": models, "runs": runs, "roles": ROLES, "no_unit": NO_UNIT},
                **{"origins": ORIGINS, "verdicts": VERDICTS, "no_verdict": NO_VERDICT},
            }

    return site.reads.remembered("choices", asked, _STALE_S)


def _links(request: Request, filters: Filters, order: Order, page: claim_rows.Page) -> dict[str, Any]:
    """Where the page leads to: each column's other order, the pages around it, the download, the total."""
    path = request.app.url_path_for("claims")
    asked, first = filters.parameters(), order.first
    around: dict[str, str | None] = {"first": None, "before": None, "after": None, "last": None}
    if page.before is not None:
        around["first"] = with_query(path, {**asked, **order.sort()})
        back = None if first is None else max(0, first - ROWS)
        place = {"before": page.before.text()} if order.column else {}
        around["before"] = with_query(path, {**asked, **order.sort(), **place, "first": back})
    if page.after is not None:
        on = None if first is None else first + ROWS
        place = {"after": page.after.text()} if order.column else {}
        around["after"] = with_query(path, {**asked, **order.sort(), **place, "first": on})
        around["last"] = with_query(path, {**asked, **order.sort(), "before": LAST}) if order.column else None
    return {
        "sort": {column: with_query(path, {**asked, **order.turned(column)}) for column in SORTED_BY},
        "around": around,
        "download": with_query(request.app.url_path_for("claims_csv"), {**asked, **order.sort()}),
        "total": with_query(request.app.url_path_for("claims_total"), asked),
        "paper": asked,
    }


ROUTES = (
    Route("/", home, name="home"),
    Route("/claims", claims, name="claims"),
    Route("/claims/total", total, name="claims_total"),
    Route("/claims.csv", download, name="claims_csv"),
)
