"""The pages of runs: all of them, and one as it goes on in another process, with server-sent events."""

import asyncio
import json
import time
from collections.abc import AsyncIterator

from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from extract.web import run_rows
from extract.web.site import Site, site_of
from store.errors import StoreError

_LOOK_S = 0.5
"""How often the file is looked at for a change; it isn't opened for that."""

_AT_LEAST_S = 5.0
"""How often a page hears of a run that does nothing: its time goes on, its process may have died."""


def runs(request: Request) -> Response:
    """The latest runs."""
    site = site_of(request)
    with site.reads.open() as con:
        found = run_rows.runs(con)
    return site.render(request, "runs.html", runs=found, limit=run_rows.LISTED)


def run(request: Request) -> Response:
    """One run, with its settings and the records that it could not do."""
    site = site_of(request)
    with site.reads.open() as con:
        going = run_rows.run(con, request.path_params["run_id"])
        if going is None:
            raise HTTPException(404, f"there is no run {request.path_params['run_id']!r}")
        failed = run_rows.failures(con, going.summary.run.run_id)
    settings = json.loads(going.summary.run.settings)
    return site.render(
        request, "run.html", going=going, failed=failed, settings=settings, most_failures=run_rows.FAILURES
    )


async def events(request: Request) -> Response:
    """The part of a run's page that changes, again whenever it has, until the run has ended."""
    site = site_of(request)
    return StreamingResponse(
        _changes(request, site, request.path_params["run_id"]),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


async def _changes(request: Request, site: Site, run_id: str) -> AsyncIterator[str]:
    seen: object = None
    sent_at = 0.0
    while not await request.is_disconnected():
        version = site.reads.version()
        if version != seen or time.monotonic() - sent_at >= _AT_LEAST_S:
            seen, sent_at = version, time.monotonic()
            try:
                html, live = await run_in_threadpool(_part, request, site, run_id)
            except StoreError as error:  # the file is held for long, or gone: say so, and look again
                yield _event("trouble", str(error))
            else:
                yield _event("part", html)
                if not live:
                    yield _event("ended", "")
                    return
        await asyncio.sleep(_LOOK_S)


def _part(request: Request, site: Site, run_id: str) -> tuple[str, bool]:
    with site.reads.open() as con:
        going = run_rows.run(con, run_id)
        if going is None:
            return "", False
        failed = run_rows.failures(con, run_id)
    response = site.render(request, "run_part.html", going=going, failed=failed, most_failures=run_rows.FAILURES)
    return bytes(response.body).decode(), going.is_live


def _event(name: str, text: str) -> str:
    """A server-sent event; each line of its text is a line of data."""
    return "".join([f"event: {name}\n", *(f"data: {line}\n" for line in text.splitlines() or [""]), "\n"])


ROUTES = (
    Route("/runs", runs, name="runs"),
    Route("/runs/{run_id}", run, name="run"),
    Route("/runs/{run_id}/events", events, name="run_events"),
)
