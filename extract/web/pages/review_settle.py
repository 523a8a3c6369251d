"""Where reviewers differ: a page to settle each difference, and one that says how far each two of them agree."""

from typing import Any

import duckdb
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from extract.review.abstracts import kind_of, said_of
from extract.review.agreement import agreements
from extract.review.editing import item_of
from extract.web.rendering import named, with_query
from extract.web.reviewer import DEFAULT_SCHEMA, reviewer_of, subject_asked
from extract.web.safety import form_of
from extract.web.site import site_of
from store import reading, review_queues, reviewing
from store.errors import RecordNotFound
from store.review_queues import Dispute, Voice
from store.reviewed import Subject
from store.reviewing import Judgement

_SHOWN = 50
_AROUND = 160
"""Characters of the text on either side of what is disputed."""


def settle(request: Request) -> Response:
    """The differences that nobody has settled, one of them to be settled now."""
    return _page(request)


def decide(request: Request) -> Response:
    """Settle a difference: what one of its reviewers says holds."""
    site, reviewer, form = site_of(request), reviewer_of(request), form_of(request)
    if not reviewer:
        return RedirectResponse(request.app.url_path_for("review"), 303)
    wanted = (form.get("record_id"), form.get("path"), form.get("claim"))
    with site.reads.writing() as con:
        subject = subject_asked(con, request)
        found = [d for d in review_queues.disputes(con, subject) if (d.record_id, d.path, d.claim) == wanted]
        voices = [voice for dispute in found for voice in dispute.voices if voice.reviewer == form.get("voice")]
        if voices:
            reviewing.append(con, _settled(subject, found[0], voices[0], reviewer))
    if not voices:
        return _page(request, "This difference is settled already.", 409)
    return RedirectResponse(with_query(request.app.url_path_for("review_settle"), dict(request.query_params)), 303)


def reviewers(request: Request) -> Response:
    """Who reviewed how much, and how far each two agree."""
    site = site_of(request)
    with site.reads.open() as con:
        subject = subject_asked(con, request)
        people = review_queues.reviewers(con, subject)
        judged = review_queues.judged_alike(con, subject)
    pairs = site.reads.remembered(("agreements", subject.name, len(judged)), lambda: agreements(judged))
    query = _query(subject)
    return site.render(request, "review_people.html", subject=subject, people=people, pairs=pairs, query=query)


def _query(subject: Subject) -> dict[str, str]:
    """What an address says to keep to a schema."""
    return {} if subject.name == DEFAULT_SCHEMA else {"schema": subject.name}


def _settled(subject: Subject, dispute: Dispute, voice: Voice, reviewer: str) -> Judgement:
    """The verdict that holds from now on; a claim that one added and another didn't see is dropped by rejecting it."""
    verdict: Any = "rejected" if voice.verdict == "absent" else voice.verdict
    return Judgement(
        reviewer=reviewer,
        schema_name=subject.name,
        record_id=dispute.record_id,
        path=dispute.path,
        claim=dispute.claim,
        verdict=verdict,
        value=voice.value,
        reason=voice.reason,
        settles=True,
    )


def _page(request: Request, fault: str = "", status: int = 200) -> Response:
    site, reviewer = site_of(request), reviewer_of(request)
    with site.reads.open() as con:
        subject = subject_asked(con, request)
        found = review_queues.disputes(con, subject)
        shown = [_shown(con, dispute) for dispute in found[:_SHOWN]]
    return site.render(
        request,
        "review_settle.html",
        status,
        subject=subject,
        reviewer=reviewer,
        disputes=shown,
        total=len(found),
        query=_query(subject),
        fault=fault,
    )


def _shown(con: duckdb.DuckDBPyConnection, dispute: Dispute) -> dict[str, Any]:
    """A difference as the page shows it: the text around the claim, and what each reviewer says in full."""
    known = item_of(dispute.claim)
    try:
        record = reading.find_record(con, dispute.record_id)
    except RecordNotFound:  # a verdict outlives its record only where someone removed that by hand
        title, text = dispute.record_id, ""
    else:
        title, text = named(record.title, record.text), record.text
    start, end = (known["start"], known["end"]) if isinstance(known, dict) and "start" in known else (0, 0)
    voices = [
        {
            "reviewer": voice.reviewer,
            "verdict": "not added" if voice.verdict == "absent" else voice.verdict,
            "reason": voice.reason,
            "says": said_of(item_of(voice.value)) if voice.value else [],
            "quote": _quote(item_of(voice.value)) if voice.value else None,
        }
        for voice in dispute.voices
    ]
    return {
        "record_id": dispute.record_id,
        "title": title,
        "path": dispute.path,
        "kind": kind_of(dispute.path),
        "claim": dispute.claim,
        "quote": _quote(known),
        "says": said_of(known),
        "before": text[max(0, start - _AROUND) : start],
        "at": text[start:end],
        "after": text[end : end + _AROUND] if end else "",
        "voices": voices,
    }


def _quote(known: Any) -> str | None:
    if isinstance(known, dict):
        return known.get("quote") or known.get("name")
    return None if known is None else str(known)


ROUTES = (
    Route("/review/settle", settle, name="review_settle"),
    Route("/review/settle", decide, methods=["POST"]),
    Route("/review/reviewers", reviewers, name="review_reviewers"),
)
