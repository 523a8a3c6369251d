"""Derives claims from a reply: each quote tied to its place in the text, each number read by code.

Pure: a reply and a text in, claims and evidence out, the same whenever it is done. A quote that the text doesn't hold
costs its own value only: a field becomes null, an item of a list is left out, and the evidence keeps what was said
with the reason.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from extract import grounding
from extract.grounding import GroundedText, NumberClaim
from schemas.qualifiers import qualifier
from schemas.quantity import NotANumber, Quantity, canonical_unit, parse_at, units_agree
from schemas.shape import FieldShape, evidence_names, note_name
from store.rows import Evidence


@dataclass(slots=True)
class Derived:
    """What a reply comes to. `faults`: what was wrong in it, a short line each, in words that a model can act on."""

    value: dict[str, Any]
    evidence: list[Evidence] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)


def derive(fields: Sequence[FieldShape], reply: BaseModel, text: GroundedText) -> Derived:
    """Return the claims of a `reply` whose model has these `fields`, grounded in `text`."""
    derived = Derived({})
    derived.value = _Deriver(text, derived).model(fields, reply.model_dump(mode="json"), "")
    return derived


_NO_NAME = frozenset(
    "a about above all an and any around as at below best better both by each fewer for from higher in its least less "
    "lower more most of on only or other our over than that the their these this those to under up various with".split()
)


def _names_something(quote: str) -> bool:
    """Has a name a word that could be one? Small models put what stands beside a number there ("up to", "2.14")."""
    words = quote.split()
    return any(map(str.isalpha, quote)) and any(word.casefold() not in _NO_NAME for word in words)


class _Deriver:
    """One walk over a reply; it gathers evidence and faults as it goes."""

    def __init__(self, text: GroundedText, into: Derived) -> None:
        self.text = text
        self.into = into
        self._numbers: dict[tuple[int, int], Quantity] = {}

    def model(self, fields: Sequence[FieldShape], said: Mapping[str, Any], path: str) -> dict[str, Any]:
        return {f.name: self.field(f, said.get(f.name), f"{path}{f.name}") for f in fields}

    def field(self, shape: FieldShape, said: Any, path: str) -> Any:
        """Derive a field that is not part of a list's item."""
        if shape.kind == "model" and shape.many:
            return self.items(shape, said or [], path)
        if shape.kind == "model":
            return None if said is None else self.model(shape.fields, said, f"{path}.")
        if shape.verbatim and shape.many:
            return self.quotes(shape, said or [], path)
        if shape.verbatim:
            return self.words(self.record(shape, said, path, 0, self.find(shape, said))) if said else None
        return self.plain(said, path) if shape.asked or shape.computed else None

    def plain(self, said: Any, path: str) -> Any:
        """Keep a value as it is, but for a number that is none: JSON has no words for those."""
        if isinstance(said, float) and not math.isfinite(said):
            self.into.faults.append(f"{path}: {said} is not a finite number")
            return None
        return said

    def quotes(self, shape: FieldShape, said: Sequence[str], path: str) -> list[dict[str, Any]]:
        """Derive a list of quotes, each at its first place; what is said twice is kept once."""
        kept: list[dict[str, Any]] = []
        for quote in dict.fromkeys(filter(None, said)):
            found = self.record(shape, quote, path, len(kept), self.find(shape, quote))
            if found:
                kept.append({"name": self.words(found), "start": found.start, "end": found.end, "match": found.match})
        return kept

    def items(self, shape: FieldShape, said: Sequence[Mapping[str, Any]], path: str) -> list[dict[str, Any]]:
        """Derive a list of models, each at the place of its anchor; one whose anchor the text doesn't hold is out."""
        anchor = shape.anchor
        if anchor is None:
            return [self.model(shape.fields, item, f"{path}[{i}].") for i, item in enumerate(said)]
        said = [item for i, item in enumerate(said) if item not in said[:i]]  # said twice is said once
        kept: list[dict[str, Any]] = []
        for item, place in zip(said, self.places(shape, anchor, said), strict=True):
            quote = item[anchor.name]
            found = self.record(anchor, quote, f"{path}.{anchor.name}", len(kept), place)
            if found:
                kept.append(self.item(shape, item, path, len(kept), found))
        return kept

    def places(
        self, shape: FieldShape, anchor: FieldShape, said: Sequence[Mapping[str, Any]]
    ) -> Sequence[grounding.Evidence | None]:
        """Give each item's anchor a place of its own: equal numbers are told apart by what they are said of."""
        if anchor.kind == "number":
            names = [f.name for f in shape.fields if f.kind == "text" and not f.many]
            near = [tuple(item[n] for n in names if item.get(n)) for item in said]
            claims = [NumberClaim(item[anchor.name], words) for item, words in zip(said, near, strict=True)]
            return grounding.place_numbers(claims, self.text)
        return [self.find(anchor, item[anchor.name]) for item in said]

    def item(
        self, shape: FieldShape, said: Mapping[str, Any], path: str, ordinal: int, place: grounding.Evidence
    ) -> dict[str, Any]:
        """Derive one item of a list, its other quotes at the places nearest to its own."""
        made: dict[str, Any] = {}
        note: list[str] = []
        for field_shape in shape.fields:
            name, answer = field_shape.name, said.get(field_shape.name)
            where = f"{path}.{name}"
            if field_shape == shape.anchor:
                made[name] = self.words(place)
            elif field_shape.kind == "text" and not field_shape.many:
                made[name] = self.near(field_shape, answer, where, ordinal, place) if answer else None
            elif (
                field_shape.kind in ("value", "unit", "qualifier")
                and shape.anchor
                and field_shape.of == shape.anchor.name
            ):
                made[name] = self.reading(field_shape, answer, where, ordinal, place, note)
            else:
                made[name] = self.field(field_shape, answer, f"{path}[{ordinal}].{name}")
        columns = evidence_names(shape)
        made |= {columns["start"]: place.start, columns["end"]: place.end, columns["match"]: place.match}
        made[note_name(shape)] = "; ".join(note) or None
        return made

    def near(self, shape: FieldShape, quote: str, path: str, ordinal: int, place: grounding.Evidence) -> str | None:
        """Derive a quote that belongs to an item, at the place nearest to the item's own."""
        found = grounding.nearest(quote, self.text, place.start, place.end, case=shape.any_case)
        return self.words(self.record(shape, quote, path, ordinal, found))

    def reading(
        self, shape: FieldShape, said: Any, path: str, ordinal: int, place: grounding.Evidence, note: list[str]
    ) -> float | str | None:
        """Read the value or the qualifier, or check the unit, of the number at `place`; code's reading wins."""
        if shape.kind == "qualifier":
            return qualifier(self.text.text, place.start, place.end, self.text.numbers)
        read = self.number(place)
        if shape.kind == "value":
            return read.value
        unit = canonical_unit(said or "")
        if units_agree(unit, read.unit):
            return read.unit or unit
        why = f"the model said {said!r}, the text reads {read.unit!r}"
        note.append(f"{shape.name}: {why}")
        self.into.evidence.append(Evidence(path, ordinal, said or "", place.start, place.end, place.match, why))
        self.into.faults.append(f"{path} of {self.text.text[place.start : place.end]!r}: {why}")
        return read.unit

    def number(self, place: grounding.Evidence) -> Quantity:
        """Read the number at a place, once for its value, its unit and its being one. Raises NotANumber."""
        at = (place.start, place.end)
        if at not in self._numbers:
            self._numbers[at] = parse_at(self.text.text, *at)
        return self._numbers[at]

    def find(self, shape: FieldShape, quote: str) -> grounding.Evidence | None:
        return self.text.find(quote, kind="number" if shape.kind == "number" else "text", case=shape.any_case)

    def words(self, place: grounding.Evidence | None) -> str | None:
        """Return the text's own characters at a place: what a claim says is what the paper says."""
        return self.text.text[place.start : place.end] if place else None

    def record(
        self, shape: FieldShape, quote: str, path: str, ordinal: int, found: grounding.Evidence | None
    ) -> grounding.Evidence | None:
        """Keep the evidence of a quote, or why there is none; return the place if the quote makes a claim."""
        why = None
        if found is None:
            why = grounding.reason(quote, self.text, "number" if shape.kind == "number" else "text")
        elif shape.any_case and not _names_something(quote):
            why = "names nothing"
        elif shape.kind == "number":
            try:
                self.number(found)
            except NotANumber as e:
                why = str(e)
        start, end, match = (found.start, found.end, found.match) if found else (None, None, "absent")
        self.into.evidence.append(Evidence(path, ordinal, quote, start, end, match, why))
        if why:
            self.into.faults.append(f"{path} {quote!r}: {why}")
        return None if why else found
