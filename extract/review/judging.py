"""Makes a reviewer's judgement of what a form says, or says why it is none.

The form: `verdict`, the `path` and the `claim` (its content) that it is on, perhaps `reason` and `note`; of what a
person writes the fields that `editing` reads.
"""

import json
from collections.abc import Mapping
from typing import Any

import duckdb

from extract.review import editing, own_schema
from extract.review.abstracts import Abstract, Entry, kind_of
from extract.review.editing import Unfit, text_of
from extract.review.reasons import reasons_for
from schemas.registry import LoadedSchema
from store import reviewing
from store.reviewed import path_of
from store.reviewing import Judgement, Verdict

SHIPPED = "paper"
"""The schema whose claims `editing` makes; those of any other its own model must be there to check (`own_schema`)."""

_SIMPLE: tuple[Verdict, ...] = ("accepted", "rejected", "deferred", "noted")


def judgement(
    con: duckdb.DuckDBPyConnection,
    found: Abstract,
    reviewer: str,
    form: Mapping[str, str],
    schema: LoadedSchema | None = None,
) -> Judgement:
    """What a form says of an abstract or one of its claims. Raises Unfit for what can't be a verdict.

    `schema`: that of the claims, where it is one's own; without it they can't be corrected or added to.
    """
    verdict, path = form.get("verdict", ""), form.get("path", "")
    who = (reviewer, found.subject.name, found.record.record_id)
    note = form.get("note", "").strip() or None
    if verdict == "complete":
        if found.left:
            raise Unfit(f"{found.left} claims have no verdict yet; judge them first")
        return Judgement(*who, "", found.digest, "complete")
    if verdict == "added":
        return _added(con, found, reviewer, form, schema)
    if verdict == "kept":
        return _kept(found, reviewer, form)
    if verdict == "noted" and note is None:
        raise Unfit("the note is empty")
    if verdict == "noted" and not path:
        return Judgement(*who, "", found.digest, "noted", note=note)
    return _of_claim(con, found, reviewer, form, schema)


def _of_claim(
    con: duckdb.DuckDBPyConnection,
    found: Abstract,
    reviewer: str,
    form: Mapping[str, str],
    schema: LoadedSchema | None,
) -> Judgement:
    note = form.get("note", "").strip() or None
    verdict, path, subject = form.get("verdict", ""), form.get("path", ""), found.subject
    who = (reviewer, subject.name, found.record.record_id)
    entry = next((e for e in found.entries if (e.path, e.claim) == (path, form.get("claim"))), None)
    if entry is None:
        raise Unfit("this claim is no more what it was; the page shows what it is now")
    if verdict == "corrected":
        value = text_of(_made(con, found, form, schema, entry))
        kind: Verdict = "added" if entry.added and entry.claim != "null" else "corrected"
        return Judgement(*who, path, entry.claim, kind, value=value, note=note)
    if verdict not in _SIMPLE:
        raise Unfit(f"{verdict!r} is no verdict")
    reason = form.get("reason") if verdict == "rejected" else None
    if verdict == "rejected" and reason not in reasons_for(subject.name, path):
        raise Unfit(f"the reason {reason!r} is none of {', '.join(reasons_for(subject.name, path))}")
    if entry.added and verdict == "accepted":  # the reviewer's own claim: it is there already
        assert entry.verdict is not None
        return entry.verdict.said
    return Judgement(*who, path, entry.claim, verdict, reason=reason, note=note)


def _made(
    con: duckdb.DuckDBPyConnection,
    found: Abstract,
    form: Mapping[str, str],
    schema: LoadedSchema | None,
    entry: Entry | None = None,
) -> Any:
    """The claim that a person wrote; `entry` is the one that it corrects."""
    path, text, near = form.get("path", ""), found.record.text, entry.span if entry else None
    if found.subject.name == SHIPPED:
        return editing.made(path, text, form, near)
    if schema is None:
        raise Unfit(
            f"claims of schema {found.subject.name!r} are corrected and added where the server knows it: start "
            "`claimbase serve` with --schema FILE.py:Class"
        )
    value = json.loads(reviewing.value_of(con, found.subject, found.record.record_id))
    return own_schema.made(schema, path, text, value, form, near, entry.known if entry else None)


def _added(
    con: duckdb.DuckDBPyConnection,
    found: Abstract,
    reviewer: str,
    form: Mapping[str, str],
    schema: LoadedSchema | None,
) -> Judgement:
    """A claim that the model missed. A plain field that the model left empty is corrected from nothing."""
    path = form.get("path", "")
    value = _made(con, found, form, schema)
    who = (reviewer, found.subject.name, found.record.record_id)
    if path in map(path_of, found.subject.scalars):
        if any(entry.path == path for entry in found.entries) or value is None:
            raise Unfit(f"the {kind_of(path)} is {'empty' if value is None else 'there already; correct it'}")
        return Judgement(*who, path, "null", "corrected", value=text_of(value))
    claim = reviewing.content_of(con, found.subject, path, value)
    if any((entry.path, entry.claim) == (path, claim) for entry in found.entries):
        raise Unfit("this claim is there already, just so")
    return Judgement(*who, path, claim, "added", value=text_of(value))


def _kept(found: Abstract, reviewer: str, form: Mapping[str, str]) -> Judgement:
    """A claim that the latest run no longer makes, and that the reviewer keeps."""
    wanted = (form.get("path"), form.get("claim"))
    gone = next((review.said for review in found.gone if (review.said.path, review.said.claim) == wanted), None)
    if gone is None or gone.claim is None:
        raise Unfit("this claim is not among those that are gone")
    value = gone.value or text_of(editing.item_of(gone.claim))
    return Judgement(reviewer, found.subject.name, found.record.record_id, gone.path, gone.claim, "added", value=value)
