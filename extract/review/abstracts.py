"""Lays out one abstract for a reviewer: its text cut where claims stand, each claim with this reviewer's verdict on it.

A reviewer sees their own verdicts alone, so that two of them are independent. A claim that a run changed stands there
with the verdict on what it was before; a claim that a run no longer makes is shown too. It writes nothing.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import duckdb

from schemas.quantity import NumberSpan, scan
from store import reading, reviewing
from store.reviewed import ITEMS_PLACE, Subject
from store.reviewing import Item, Review
from store.rows import Evidence, Record
from store.structure import singular

Span = tuple[int, int]

_ABOUT = (*ITEMS_PLACE, "note", "confidence")
"""Of an item: what is said about the claim, not what it says."""
_SAYS = ("quote", "name")
"""The fields whose text stands before all else."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One claim as it is judged. `verdict` is this reviewer's, `earlier` theirs on what the claim was before.

    `span`: where it stands, and `stands` what does there; `beside`: where its other quotes do; `added`: the reviewer's
    own, no model's.
    """

    path: str
    claim: str
    known: Any
    span: Span | None = None
    beside: tuple[Span, ...] = ()
    verdict: Review | None = None
    earlier: Review | None = None
    notes: tuple[Review, ...] = ()
    added: bool = False
    stands: str | None = None

    @property
    def kind(self) -> str:
        """What it is called to a person: number, dataset, task."""
        return kind_of(self.path)

    @property
    def quote(self) -> str | None:
        """What the text says; None for what is no quote."""
        if isinstance(self.known, Mapping):
            return next((str(self.known[name]) for name in _SAYS if self.known.get(name)), self.stands)
        return str(self.known) if self.span else None

    @property
    def in_words(self) -> str:
        """The claim in a line: its quote, else what it says."""
        if self.quote:
            return self.quote
        held = self.holds
        said = [value for _, value in said_of(held) if not isinstance(value, (list, Mapping))]
        return ", ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in said)

    @property
    def says(self) -> Sequence[tuple[str, Any]]:
        """What the claim says beyond its quote, by field; what is none is left out."""
        return said_of(self.known) if isinstance(self.known, Mapping) or not self.span else ()

    @property
    def holds(self) -> Any:
        """What holds in the reviewer's eyes: their correction, else the claim."""
        value = self.verdict.said.value if self.verdict else None
        return self.known if value is None else json.loads(value)

    @property
    def note(self) -> str | None:
        """What code had to say of it."""
        return self.known.get("note") if isinstance(self.known, Mapping) else None

    @property
    def judged(self) -> bool:
        """Has it a verdict, one that isn't put off?"""
        return self.verdict is not None and self.verdict.said.verdict != "deferred"


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of the text; `entries` are the numbers of those that stand on it, `beside` of those it is beside of."""

    text: str
    entries: tuple[int, ...] = ()
    beside: tuple[int, ...] = ()
    unclaimed: int | None = None


@dataclass(frozen=True, slots=True)
class Abstract:
    """An abstract as a reviewer has it before them. `gone`: their verdicts on claims that are no more."""

    record: Record
    subject: Subject
    entries: Sequence[Entry]
    unclaimed: Sequence[NumberSpan]
    gone: Sequence[Review]
    notes: Sequence[Review]
    digest: str | None
    complete: bool
    segments: Sequence[Segment] = field(default=())

    @property
    def left(self) -> int:
        """How many claims have no verdict yet."""
        return sum(not entry.judged for entry in self.entries)

    def next_open(self, after: int = -1) -> int | None:
        """The number of the next claim to judge after one, else of the first; None if there is none."""
        still = [n for n, entry in enumerate(self.entries) if not entry.judged]
        return next((n for n in still if n > after), still[0] if still else None)


def kind_of(path: str) -> str:
    """What a claim of this path is called to a person: `headline_numbers` is a number."""
    return singular(path.rpartition(".")[2]).replace("_", " ").removeprefix("headline ")


def said_of(known: Any) -> list[tuple[str, Any]]:
    """The fields of an item that say something, but for its quote and its place; of a plain value just that."""
    if not isinstance(known, Mapping):
        return [("", known)]
    pairs = [(name, said) for name, said in known.items() if name not in (*_ABOUT, *_SAYS)]
    return [(name.replace("_", " "), said) for name, said in pairs if said not in (None, "", [])]


def abstract(con: duckdb.DuckDBPyConnection, subject: Subject, record: Record, reviewer: str) -> Abstract:
    """The abstract as this reviewer has it before them."""
    items = reviewing.items_of(con, subject, record.record_id)
    own = reviewing.own_verdicts(con, subject.name, record.record_id, reviewer)
    notes = reviewing.notes_on(con, subject.name, record.record_id)
    claims = reading.claims_of(con, record.record_id)
    evidence = next((each.evidence for each in claims if each.schema_hash == subject.schema_hash), [])
    digest = reviewing.digest_of(con, subject, record.record_id)
    found, gone = _entries(items, own, notes, evidence)
    entries = [replace(entry, stands=record.text[slice(*entry.span)] if entry.span else None) for entry in found]
    taken = [entry.span for entry in entries if entry.span and _is_number(entry)]
    unclaimed = [n for n in scan(record.text) if not any(n.start < end and start < n.end for start, end in taken)]
    return Abstract(
        record=record,
        subject=subject,
        entries=entries,
        unclaimed=unclaimed,
        gone=gone,
        notes=[note for note in notes if not note.said.path],
        digest=digest,
        complete=digest is not None
        and all(entry.judged for entry in entries)
        and reviewing.is_complete(con, subject.name, record.record_id, reviewer, digest),
        segments=list(_segments(record.text, entries, unclaimed)),
    )


def _entries(
    items: Sequence[Item], own: Sequence[Review], notes: Sequence[Review], evidence: Sequence[Evidence]
) -> tuple[list[Entry], list[Review]]:
    """The claims in the order in which they stand, those without a place last; and the verdicts that are of none."""
    now = {(item.path, item.claim) for item in items}
    verdicts = {(review.said.path, str(review.said.claim)): review for review in own}
    left = [review for key, review in verdicts.items() if key not in now]
    entries = []
    for item in items:
        verdict = verdicts.get((item.path, item.claim))
        if item.known is None:  # what the model didn't say is a claim only where a person says it
            if verdict is not None and verdict.said.value is not None:
                written = json.loads(verdict.said.value)
                entries.append(Entry(item.path, item.claim, written, verdict=verdict, added=True))
            continue
        span = _span(item.known) or _stands(item, evidence)
        earlier = None if verdict else next((r for r in left if _was(r, item.path, span)), None)
        if earlier is not None:
            left.remove(earlier)
        about = tuple(n for n in notes if (n.said.path, n.said.claim) == (item.path, item.claim))
        beside = tuple(_beside(item, evidence))
        entries.append(Entry(item.path, item.claim, item.known, span, beside, verdict, earlier, about))
    for review in left:
        if review.said.verdict == "added" and review.said.value is not None:
            known = json.loads(review.said.value)
            about = tuple(n for n in notes if (n.said.path, n.said.claim) == (review.said.path, review.said.claim))
            entries.append(
                Entry(review.said.path, str(review.said.claim), known, _span(known), (), review, None, about, True)
            )
    gone = [review for review in left if review.said.verdict in ("accepted", "corrected")]
    return sorted(entries, key=lambda e: (e.span is None, e.span or (0, 0))), gone


def _was(review: Review, path: str, span: Span | None) -> bool:
    """Is a verdict on a claim that is no more one on what this claim was before: in its place, or the same field?"""
    if review.said.path != path or review.said.verdict == "added" or review.said.claim is None:
        return False
    before = _span(json.loads(review.said.claim))
    return before is None or span is None or (before[0] < span[1] and span[0] < before[1])


def _span(known: Any) -> Span | None:
    if not isinstance(known, Mapping):
        return None
    start, end = known.get("start"), known.get("end")
    return (start, end) if isinstance(start, int) and isinstance(end, int) else None


def _stands(item: Item, evidence: Sequence[Evidence]) -> Span | None:
    """Where a plain field's quote stands."""
    places = [e for e in evidence if e.path == item.path and e.reason is None and item.ordinal is None]
    return next(((e.start, e.end) for e in places if e.start is not None and e.end is not None), None)


def _beside(item: Item, evidence: Sequence[Evidence]) -> Iterator[Span]:
    """Where the other quotes of an item stand: its metric, dataset, baseline."""
    for e in evidence:
        if item.ordinal == e.ordinal and e.path.startswith(f"{item.path}.") and e.reason is None:
            if e.start is not None and e.end is not None and (e.start, e.end) != _span(item.known):
                yield e.start, e.end


def _is_number(entry: Entry) -> bool:
    return isinstance(entry.known, Mapping) and "value" in entry.known


def _segments(text: str, entries: Sequence[Entry], unclaimed: Sequence[NumberSpan]) -> Iterator[Segment]:
    """The text in pieces, cut wherever a claim, a quote beside one or an unclaimed number begins or ends."""
    spans = [entry.span for entry in entries if entry.span] + [span for entry in entries for span in entry.beside]
    spans += [(number.start, number.end) for number in unclaimed]
    cuts = sorted({0, len(text)} | {at for span in spans for at in span if 0 <= at <= len(text)})
    for start, end in pairwise(cuts):
        here = tuple(n for n, entry in enumerate(entries) if entry.span and _covers(entry.span, start, end))
        beside = tuple(n for n, e in enumerate(entries) if any(_covers(span, start, end) for span in e.beside))
        loose = (n for n, number in enumerate(unclaimed) if _covers((number.start, number.end), start, end))
        yield Segment(text[start:end], here, beside, next(loose, None))


def _covers(span: Span, start: int, end: int) -> bool:
    return span[0] <= start and end <= span[1]
