"""Where a review begins: who reviews, the queues with what is left of each, samples, the way to the next abstract."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from extract.web import review_order
from extract.web.rendering import with_query
from extract.web.reviewer import named, remember, reviewer_of, subject_asked
from extract.web.safety import form_of
from extract.web.site import site_of
from store import review_queues, reviewing
from store.errors import StoreError

_LARGEST_SAMPLE = 10_000
_LONGEST_SEED = 40


def start(request: Request) -> Response:
    """The page that leads to all of the review."""
    return _page(request)


def name(request: Request) -> Response:
    """Keep who reviews, and go where they were going."""
    form = form_of(request)
    reviewer = named(form.get("name", ""))
    if not reviewer:
        return _page(request, "A name is missing.", 422)
    to = form.get("to", "")
    home = request.app.url_path_for("review")
    return remember(RedirectResponse(to if to.startswith(f"{home}/") else home, 303), reviewer)


def following(request: Request) -> Response:
    """To the next abstract of a queue that isn't done, after the one named; to the start if there is none."""
    site, reviewer = site_of(request), reviewer_of(request)
    query = request.query_params
    with site.reads.open() as con:
        subject = subject_asked(con, request)
        queue = query.get("queue", "")
        record_id = review_order.following(site, con, subject, queue, reviewer, query.get("after"))
    kept = {key: value for key, value in query.items() if key in ("queue", "schema")}
    if record_id is None:
        return RedirectResponse(with_query(request.app.url_path_for("review"), {**kept, "done": 1}), 303)
    path = request.app.url_path_for("review_abstract", record_id=record_id)
    return RedirectResponse(with_query(path, kept), 303)


def draw(request: Request) -> Response:
    """Draw a sample by a seed, once."""
    site, form, reviewer = site_of(request), form_of(request), reviewer_of(request)
    seed, size = form.get("seed", "").strip(), form.get("size", "")
    if not reviewer:
        return _page(request, "Say who you are first.", 422)
    if not seed or len(seed) > _LONGEST_SEED or not seed.replace("-", "").isalnum():
        return _page(request, f"A seed is up to {_LONGEST_SEED} letters and digits.", 422)
    if not size.isdecimal() or not 0 < int(size) <= _LARGEST_SAMPLE:
        return _page(request, f"A sample has 1 to {_LARGEST_SAMPLE:,} abstracts.", 422)
    try:
        with site.reads.writing() as con:
            review_queues.draw_sample(con, subject_asked(con, request), seed, int(size), reviewer)
    except StoreError as e:
        return _page(request, f"{e}.", 409)
    return RedirectResponse(with_query(request.app.url_path_for("review"), dict(request.query_params)), 303)


def _page(request: Request, fault: str = "", status: int = 200) -> Response:
    site, reviewer = site_of(request), reviewer_of(request)
    with site.reads.open() as con:
        subject = subject_asked(con, request)
        names = reviewing.schema_names(con)
        progress = review_queues.progress(con, subject, reviewer)
        put_off = review_queues.deferred(con, subject, reviewer)
        samples = review_queues.samples(con, subject)
        done = review_queues.finished(con, subject, reviewer) if samples else set()
        done_by = {s.seed: len(done.intersection(review_queues.sampled(con, subject, s.seed))) for s in samples}
    query = {} if subject.name == "paper" else {"schema": subject.name}
    to_next = request.app.url_path_for("review_next")
    return site.render(
        request,
        "review.html",
        status,
        reviewer=reviewer,
        subject=subject,
        schemas=names,
        progress=progress,
        put_off=len(put_off),
        samples=samples,
        done_by=done_by,
        queues={
            "weakest": with_query(to_next, {**query, "queue": review_order.WEAKEST}),
            "deferred": with_query(to_next, {**query, "queue": review_order.DEFERRED}),
            **{s.seed: with_query(to_next, {**query, "queue": f"{review_order.SAMPLE}{s.seed}"}) for s in samples},
        },
        query=query,
        to=request.query_params.get("to", ""),
        done=review_order.title_of(request.query_params.get("queue", "")) if "done" in request.query_params else "",
        fault=fault,
    )


ROUTES = (
    Route("/review", start, name="review"),
    Route("/review/name", name, methods=["POST"], name="review_name"),
    Route("/review/next", following, name="review_next"),
    Route("/review/sample", draw, methods=["POST"], name="review_sample"),
)
