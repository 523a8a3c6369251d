"""The page on which one abstract is reviewed: its claims one after the other, and at the end whether any is missing.

What a person decides is one POST, one row of `reviews`, committed before the answer, which leads to what comes next.
The page works without its script; that only swaps the part that changed and presses the buttons by their keys.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from extract.review import editing, own_schema
from extract.review.abstracts import Abstract, Entry, abstract, kind_of, said_of
from extract.review.editing import EDITABLE, Unfit
from extract.review.judging import SHIPPED, judgement
from extract.review.reasons import reasons_for
from extract.web import marking, review_order
from extract.web.rendering import is_partial, with_query
from extract.web.reviewer import reviewer_of, subject_asked
from extract.web.safety import form_of
from extract.web.site import Site, site_of
from schemas.quantity import NumberSpan
from schemas.registry import LoadedSchema
from store import reading, reviewing
from store.reviewed import Subject, path_of
from store.reviewing import Judgement, Review

END = "end"
"""Stands for what comes after the last claim: is anything missing?"""

_AROUND = 40
"""Characters shown on either side of a number that no claim uses."""


@dataclass(frozen=True, slots=True)
class _Fault:
    """What was wrong with what was written, and that, so that it can be mended in its form."""

    said: str
    form: str
    written: Mapping[str, str]
    status: int = 422


def show(request: Request) -> Response:
    """An abstract with the claim that is to be judged now."""
    site, reviewer = site_of(request), reviewer_of(request)
    if not reviewer:
        here = with_query(request.url.path, dict(request.query_params))
        return RedirectResponse(with_query(request.app.url_path_for("review"), {"to": here}), 303)
    with site.reads.open() as con:
        subject = subject_asked(con, request)
        found = _abstract(con, subject, request, reviewer)
        ids = review_order.ids(site, con, subject, request.query_params.get("queue", ""), reviewer)
        last = reviewing.last_of(con, subject.name, reviewer)
    return _page(request, site, found, ids, last)


def judge(request: Request) -> Response:
    """Add a verdict, and go on to what comes next."""
    site, reviewer, form = site_of(request), reviewer_of(request), form_of(request)
    if not reviewer:
        raise HTTPException(403, "say who you are first, on the page of the review")
    with site.reads.writing() as con:
        subject = subject_asked(con, request)
        found = _abstract(con, subject, request, reviewer)
        try:
            said = judgement(con, found, reviewer, form, site.schemas.get(subject.schema_hash))
        except Unfit as e:
            fault = _Fault(str(e), form.get("verdict", ""), form)
        else:
            reviewing.append(con, said)
            return RedirectResponse(_next(request, found, said), 303)
    with site.reads.open() as con:
        ids = review_order.ids(site, con, subject, request.query_params.get("queue", ""), reviewer)
        last = reviewing.last_of(con, subject.name, reviewer)
    return _page(request, site, found, ids, last, fault)


def undo(request: Request) -> Response:
    """Take back this reviewer's latest row that still counts, and show what it was on."""
    site, reviewer = site_of(request), reviewer_of(request)
    with site.reads.writing() as con:
        subject = subject_asked(con, request)
        undone = reviewing.undo(con, subject.name, reviewer) if reviewer else None
    query = dict(request.query_params)
    if undone is None:
        return RedirectResponse(with_query(request.app.url_path_for("review"), query), 303)
    if undone.said.settles:
        return RedirectResponse(with_query(request.app.url_path_for("review_settle"), query), 303)
    with site.reads.open() as con:
        record = reading.find_record(con, undone.said.record_id)
        found = abstract(con, subject, record, reviewer)
    at = next((n for n, e in enumerate(found.entries) if (e.path, e.claim) == _key(undone)), END)
    path = request.app.url_path_for("review_abstract", record_id=record.record_id)
    return RedirectResponse(with_query(path, {**query, "at": at}), 303)


def _key(review: Review) -> tuple[str, str | None]:
    return review.said.path, review.said.claim


def _abstract(con: duckdb.DuckDBPyConnection, subject: Subject, request: Request, reviewer: str) -> Abstract:
    record = reading.find_record(con, request.path_params["record_id"])
    found = abstract(con, subject, record, reviewer)
    if found.digest is None:
        raise HTTPException(404, f"no run has made claims of schema {subject.name!r} for this record")
    return found


def _next(request: Request, found: Abstract, said: Judgement) -> str:
    """Where a verdict leads: the next claim without one, then the end, then the next abstract."""
    query = {key: value for key, value in request.query_params.items() if key in ("queue", "schema")}
    record_id = found.record.record_id
    if said.verdict == "complete":
        return with_query(request.app.url_path_for("review_next"), {**query, "after": record_id})
    here = next((n for n, e in enumerate(found.entries) if (e.path, e.claim) == (said.path, said.claim)), None)
    at: int | str | None = here if said.verdict == "noted" else None
    if said.verdict in ("added", "noted") and here is None:
        at = request.query_params.get("at") or END
    if at is None and here is not None:
        still = [n for n, entry in enumerate(found.entries) if not entry.judged and n != here]
        later = [n for n in still if n > here]
        at = later[0] if later else still[0] if still and said.verdict != "deferred" else END
    path = request.app.url_path_for("review_abstract", record_id=record_id)
    return with_query(path, {**query, "at": END if at is None else at})


def _page(
    request: Request, site: Site, found: Abstract, ids: list[str], last: Review | None, fault: _Fault | None = None
) -> Response:
    query = {key: value for key, value in request.query_params.items() if key in ("queue", "schema")}
    at = _at(found, request.query_params.get("at", ""))
    path = request.app.url_path_for("review_abstract", record_id=found.record.record_id)
    here = ids.index(found.record.record_id) if found.record.record_id in ids else None
    following = with_query(request.app.url_path_for("review_next"), {**query, "after": found.record.record_id})
    before = None if not here else request.app.url_path_for("review_abstract", record_id=ids[here - 1])
    paths = _paths(found)
    entry = found.entries[at] if isinstance(at, int) else None
    context: dict[str, Any] = {
        "found": found,
        "at": at,
        "entry": entry,
        "looks": marking.fields_of(paths),
        "kinds": {each: kind_of(each) for each in paths},
        "reviewer": reviewer_of(request),
        "queue": review_order.title_of(query.get("queue", "")),
        "home": with_query(request.app.url_path_for("review"), {"schema": query.get("schema")}),
        "place": None if here is None else (here + 1, len(ids)),
        "to": [with_query(path, {**query, "at": n}) for n in range(len(found.entries))],
        "to_end": with_query(path, {**query, "at": END}),
        "post_to": with_query(path, {**query, "at": END if at is None else at}),
        "undo_to": with_query(request.app.url_path_for("review_undo"), query),
        "around": {"before": before and with_query(before, query), "after": following},
        "reasons": reasons_for(found.subject.name, found.entries[at].path) if isinstance(at, int) else (),
        **_forms(found, site.schemas.get(found.subject.schema_hash), entry),
        "loose": [_loose(found, number, path, {**query, "at": END}) for number in found.unclaimed],
        "choices": editing,
        "last": last,
        "last_said": _said_shortly(last),
        "fault": fault,
        "selected": {key: request.query_params.get(key, "") for key in ("open", "quote", "start", "end")},
        "said_of": said_of,
    }
    name = "review_part.html" if is_partial(request) else "review_abstract.html"
    return site.render(request, name, fault.status if fault else 200, **context)


def _at(found: Abstract, asked: str) -> int | str:
    """Which claim is judged now: the one asked for, else the first without a verdict, else the end."""
    if asked.isdecimal() and int(asked) < len(found.entries):
        return int(asked)
    still = found.next_open()
    return END if asked == END or still is None else still


def _paths(found: Abstract) -> list[str]:
    """All that claims are of here, in the order in which they get their colours."""
    known = EDITABLE if found.subject.name == SHIPPED else found.subject.paths
    said = [*(entry.path for entry in found.entries), *(review.said.path for review in found.gone)]
    return list(dict.fromkeys([*known, *said]))


def _forms(found: Abstract, own: LoadedSchema | None, entry: Entry | None) -> dict[str, Any]:
    """What can be written here; of a schema of one's own with the forms for it."""
    addable = _addable(found, own)
    may_write = entry is not None and _may_write(found, own, entry.path)
    return {
        "may_write": may_write,
        "addable": addable,
        "own": own is not None,
        "inputs": own_schema.inputs(own, entry.path, entry.holds) if own and entry and may_write else [],
        "forms": [(path, kind_of(path), own_schema.inputs(own, path)) for path in addable] if own else [],
    }


def _may_write(found: Abstract, own: LoadedSchema | None, path: str) -> bool:
    """Whether claims of a path can be corrected and added to."""
    return found.subject.name == SHIPPED or (own is not None and own_schema.writable(own, path))


def _addable(found: Abstract, own: LoadedSchema | None) -> list[str]:
    """The fields that a claim can be added to: not a plain one that is there."""
    there = {entry.path for entry in found.entries}
    plain = {path_of(column) for column in found.subject.scalars}
    paths = EDITABLE if found.subject.name == SHIPPED else found.subject.paths
    return [path for path in paths if _may_write(found, own, path) and not (path in plain and path in there)]


def _loose(found: Abstract, number: NumberSpan, path: str, query: Mapping[str, object]) -> Mapping[str, str]:
    """A number that no claim uses, with the words around it and where it is added."""
    text, (start, end) = found.record.text, (number.start, number.end)
    add = with_query(path, {**query, "open": "add", "quote": text[start:end], "start": str(start), "end": str(end)})
    return {
        "before": ("…" if start > _AROUND else "") + text[max(0, start - _AROUND) : start],
        "quote": text[start:end],
        "after": text[end : end + _AROUND] + ("…" if end + _AROUND < len(text) else ""),
        "add": add,
    }


def _said_shortly(review: Review | None) -> str:
    """What a reviewer did last, in a few words."""
    if review is None:
        return ""
    said = review.said
    if said.verdict == "complete":
        return "nothing missing"
    known = editing.item_of(said.value or said.claim or "null")
    quote = Entry(said.path, "", known).quote if isinstance(known, Mapping) else known
    kind = kind_of(said.path) if said.path else "abstract"
    return f"{said.verdict}: {kind} {quote or ''}".strip()


ROUTES = (
    Route("/review/abstract/{record_id}", show, name="review_abstract"),
    Route("/review/abstract/{record_id}", judge, methods=["POST"]),
    Route("/review/undo", undo, methods=["POST"], name="review_undo"),
)
