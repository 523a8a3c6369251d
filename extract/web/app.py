"""Puts the web app together: its pages, its static files, what an error looks like, and the guard before it all."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from extract.web.pages import claims, paper, plots, review, review_settle, review_start, runs, sign_in, sql, views
from extract.web.reads import Reads
from extract.web.rendering import STATIC
from extract.web.safety import Door, Guard
from extract.web.site import Site, site_of
from schemas.registry import LoadedSchema
from store.errors import DatabaseBusy, RecordNotFound, StoreError
from store.opening import WAIT_S

PAGES: tuple[tuple[BaseRoute, ...], ...] = (
    claims.ROUTES,
    paper.ROUTES,
    runs.ROUTES,
    plots.ROUTES,
    sql.ROUTES,
    views.ROUTES,
    review_start.ROUTES,
    review.ROUTES,
    review_settle.ROUTES,
    sign_in.ROUTES,
)


class _Files(StaticFiles):
    """Static files, whose addresses change with their content (`rendering.asset`)."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response


def make_app(db: Path, door: Door, wait_s: float = WAIT_S, schemas: Iterable[LoadedSchema] = ()) -> Starlette:
    """The app over a database; it opens nothing yet. `schemas`: those of one's own, whose claims can be written."""
    site = Site(Reads(db, wait_s), schemas={schema.hash: schema for schema in schemas})

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        site.reads.close()

    app = Starlette(
        routes=[
            *(route for routes in PAGES for route in routes),
            Route("/favicon.ico", _icon),
            Mount("/static/{stamp}", _Files(directory=STATIC)),
        ],
        middleware=[Middleware(Guard, door=door), Middleware(GZipMiddleware, minimum_size=1_000, compresslevel=5)],
        exception_handlers={HTTPException: _refused, StoreError: _failed},
        lifespan=lifespan,
    )
    site.templates.globals["path_for"] = app.url_path_for
    app.state.site = site
    app.state.door = door
    return app


def _icon(request: Request) -> Response:
    """The icon where browsers look for one that no page names, as they do when they go back to a page."""
    return FileResponse(STATIC / "icon.svg", headers={"Cache-Control": "public, max-age=86400"})


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _fault(request, error.detail, error.status_code)


def _failed(request: Request, error: Exception) -> Response:
    status = 404 if isinstance(error, RecordNotFound) else 503 if isinstance(error, DatabaseBusy) else 500
    return _fault(request, str(error), status)


def _fault(request: Request, said: str, status: int) -> Response:
    return site_of(request).render(request, "fault.html", status, said=said, code=status)
