"""Makes a claim of what a person wrote: the quote is looked up, its offsets and its number computed, as for a model.

Of the shipped schema. A person points too: the value and the unit come from the text, unless they say that the code
reads it wrongly. Pure.
"""

import json
import math
from collections.abc import Mapping
from typing import Any, get_args

from extract import grounding
from extract.errors import MistakeError
from extract.grounding import Evidence, GroundedText
from schemas.paper import Contribution
from schemas.qualifiers import Qualifier, qualifier
from schemas.quantity import NotANumber, canonical_unit, parse_at

NUMBERS, NAMES = "headline_numbers", ("datasets", "baselines")
EDITABLE = (NUMBERS, *NAMES, "method", "task", "contribution")
CONTRIBUTIONS: tuple[str, ...] = get_args(Contribution)
QUALIFIERS: tuple[str, ...] = get_args(Qualifier)
ROLES, DIRECTIONS = ("score", "gain", "scale"), ("increase", "decrease")
NO_UNIT = "none"
"""What a person writes for a plain score where the text seems to give a unit."""

Written = Mapping[str, str]
"""A form: `quote`, perhaps `start` and `end` of a selection, and the other fields by name."""


class Unfit(MistakeError):
    """What was written can't be a claim of this text; the message says why, for the one who wrote it."""


def made(path: str, text: str, written: Written, near: tuple[int, int] | None = None) -> Any:
    """The item, or the plain value, that a form comes to. `near`: where the claim that it corrects stands.

    Raises Unfit.
    """
    grounded = GroundedText(text)
    said = written.get("quote", "").strip()
    if path == NUMBERS:
        return _number(grounded, written, near)
    if path in NAMES:
        place = _place(grounded, written, near, "text")
        return {"name": text[place.start : place.end], "start": place.start, "end": place.end, "match": place.match}
    if path == "method":
        if not said:
            return None
        place = _place(grounded, written, near, "text")
        return text[place.start : place.end]
    if path == "task":
        if not said:
            raise Unfit("a task is missing; write the problem as a noun phrase")
        return said
    if path == "contribution":
        return _one_of("contribution", said, CONTRIBUTIONS)
    raise Unfit(f"{path!r} can't be written here; it is of {', '.join(EDITABLE)}")


def item_of(content: str) -> Any:
    """The item, or the plain value, of a claim's content (JSON text): as it was, its quote taken to be exact."""
    known = json.loads(content)
    if isinstance(known, dict) and {"start", "end"} <= known.keys():
        return {"match": "exact", **known}
    return known


def text_of(known: Any) -> str:
    """An item or a plain value as JSON text."""
    return json.dumps(known, ensure_ascii=False)


def _number(grounded: GroundedText, written: Written, near: tuple[int, int] | None) -> dict[str, Any]:
    place = _place(grounded, written, near, "number")
    text, at = grounded.text, (place.start, place.end)
    try:
        read = parse_at(text, *at)
    except NotANumber as e:
        raise Unfit(str(e)) from e
    role = _one_of("role", written.get("role", ""), ROLES)
    direction = written.get("direction", "")
    unit = written.get("unit", "").strip()
    meant = written.get("qualifier", "")
    return {
        "quote": text[place.start : place.end],
        "value": _value(written.get("value", ""), read.value),
        "unit": "" if unit == NO_UNIT else canonical_unit(unit) if unit else read.unit,
        "role": role,
        "direction": _one_of("direction", direction, DIRECTIONS) if direction and role == "gain" else None,
        "qualifier": _one_of("qualifier", meant, QUALIFIERS) if meant else qualifier(text, *at, grounded.numbers),
        **{name: _beside(grounded, written.get(name, ""), place, name) for name in ("metric", "dataset", "baseline")},
        "start": place.start,
        "end": place.end,
        "match": place.match,
        "note": None,
    }


def _value(written: str, read: float) -> float:
    """What the text reads, but for a number that a person gives."""
    if not written.strip():
        return read
    try:
        value = float(written.replace(",", ""))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise Unfit(f"the value {written!r} is no number; leave it empty to have it read from the quote")
    return value


def _place(grounded: GroundedText, written: Written, near: tuple[int, int] | None, kind: grounding.Kind) -> Evidence:
    """Where a quote stands: at the selection if it is that, else at the place nearest to `near`, else at the first."""
    quote = written.get("quote", "").strip()
    if not quote:
        raise Unfit("a quote is missing; select it in the abstract, or write it as it stands there")
    pointed = selected(grounded.text, written)
    if pointed is not None and grounded.text[slice(*pointed)] == quote:
        return Evidence(*pointed, "exact")
    places = grounded.find_all(quote, kind=kind, case=kind == "text")
    if not places:
        raise Unfit(f"{quote!r} is no quote of this abstract: {grounding.reason(quote, grounded, kind)}")
    start = near[0] if near else pointed[0] if pointed else 0
    return min(places, key=lambda place: (abs(place.start - start) if near or pointed else 0, place.start))


def selected(text: str, written: Written) -> tuple[int, int] | None:
    """The offsets of a selection, without white space around it; None if there is none, or it is none of this text."""
    try:
        start, end = int(written.get("start", "")), int(written.get("end", ""))
    except ValueError:
        return None
    if not 0 <= start < end <= len(text):
        return None
    quote = text[start:end]
    start += len(quote) - len(quote.lstrip())
    end -= len(quote) - len(quote.rstrip())
    return (start, end) if start < end else None


def _beside(grounded: GroundedText, written: str, number: Evidence, name: str) -> str | None:
    """The text's own writing of a metric, dataset or baseline, at the place nearest to its number; None for none."""
    quote = written.strip()
    if not quote:
        return None
    place = grounding.nearest(quote, grounded, number.start, number.end, case=True)
    if place is None:
        raise Unfit(f"the {name} {quote!r} is no quote of this abstract: {grounding.reason(quote, grounded)}")
    return grounded.text[place.start : place.end]


def _one_of(name: str, said: str, known: tuple[str, ...]) -> str:
    if said not in known:
        raise Unfit(f"{name} {said!r} is none; expected one of {', '.join(known)}")
    return said
