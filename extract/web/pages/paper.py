"""The page of a paper: its abstract with every piece of evidence in its place, the claims beside it, the calls."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from extract.web import paper_rows
from extract.web.claim_rows import has_claims
from extract.web.filters import Filters
from extract.web.rendering import with_query
from extract.web.site import site_of


def paper(request: Request) -> Response:
    """A record by its id, by the start of it or by its id in the source; next and previous keep to the filters."""
    site = site_of(request)
    filters = Filters.of(request.query_params)
    with site.reads.open() as con:
        asked = filters if has_claims(con) else Filters()
        found = paper_rows.paper(con, request.path_params["record_id"], asked)

    def beside(record_id: str | None) -> str | None:
        if record_id is None:
            return None
        return with_query(request.app.url_path_for("paper", record_id=record_id), asked.parameters())

    return site.render(
        request,
        "paper.html",
        paper=found,
        record=found.record,
        around={"first": None, "before": beside(found.before), "after": beside(found.after), "last": None},
        back=with_query(request.app.url_path_for("claims"), asked.parameters()),
        filtered=bool(asked.parameters()),
    )


ROUTES = (Route("/paper/{record_id:path}", paper, name="paper"),)
