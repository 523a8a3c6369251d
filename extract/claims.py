"""Derives claims from a reply: each quote tied to its place in the text, each number read by code.

Pure: a reply and a text in, claims and evidence out, the same whenever it is done. A quote that the text doesn't hold
costs its own value only: a field becomes null, an item of a list is left out, and the evidence keeps what was said
with the reason.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from extract import grounding
from extract.certainty import Calibration, Certainties, Certainty, confidence
from extract.grounding import GroundedText, NumberClaim
from extract.replies import Said, computed, said_in
from schemas.qualifiers import qualifier
from schemas.quantity import NotANumber, Quantity, canonical_unit, parse_at, units_agree
from schemas.shape import FieldShape, evidence_names, note_name, record_confidence_name
from store.rows import Evidence


@dataclass(slots=True)
class Derived:
    """What a reply comes to. `faults`: what was wrong in it, a short line each, in words that a model can act on."""

    value: dict[str, Any]
    evidence: list[Evidence] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    certainties: dict[tuple[str, int], Certainty] = field(default_factory=dict)
    """Of a claim, by its list's path and its place in it; ("", 0) is that of the record's plain fields together."""


def derive(
    fields: Sequence[FieldShape],
    reply: BaseModel,
    text: GroundedText,
    sure: Certainties | None = None,
    calibration: Calibration = MappingProxyType({}),
) -> Derived:
    """Return the claims of a `reply` whose model has these `fields`, grounded in `text`.

    `sure` is how likely the reply's values were, where that is known: what the confidences come from.
    Raises ReplyUnfit where a serializer of the model's own fails.
    """
    derived = Derived({})
    deriver = _Deriver(text, derived, sure, calibration)
    derived.value = deriver.model(fields, said_in(reply, fields), _Within("", ""))
    plain = [f.key or f.name for f in fields if f.asked and f.kept and not f.many and f.kind != "model"]
    derived.value[record_confidence_name(fields)] = deriver.confidence("", 0, plain)
    return derived


@dataclass(slots=True)
class _Within:
    """What a field is part of. `quotes` and `parts` are the paths to its quotes and to all else of it.

    `ordinal` is the list's item that it is, `near` the place of that; `places` those of the quotes found so far, `kept`
    the items of its lists that are claims, `note` what code overruled.
    """

    quotes: str
    parts: str
    ordinal: int = 0
    near: grounding.Evidence | None = None
    places: dict[str, grounding.Evidence | None] = field(default_factory=dict)
    kept: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    note: list[str] = field(default_factory=list)

    def part(self, name: str) -> "_Within":
        """Return what the fields of a model in it are part of."""
        path = f"{self.parts}{name}."
        return _Within(path, path, near=self.near)


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

    def __init__(self, text: GroundedText, into: Derived, sure: Certainties | None, calibration: Calibration) -> None:
        self.text = text
        self.into = into
        self._sure, self._calibration = sure, calibration
        self._numbers: dict[tuple[int, int], Quantity] = {}

    def model(self, fields: Sequence[FieldShape], said: Mapping[str, Any], within: _Within) -> dict[str, Any]:
        """Derive the fields of a model; a number's value and unit by its quote's place, whichever comes first.

        What is computed comes last, from what is kept of the model: no quote that the text doesn't hold gets into it.
        """
        by_name = {f.name: f for f in fields}
        made: dict[str, Any] = {}
        for f in fields:
            answer = said.get(f.name)
            if f.verbatim and not f.many:
                made[f.name] = self.words(self.place(f, answer, within))
            elif f.of is not None:
                place = self.place(by_name[f.of], said.get(f.of), within)
                made[f.name] = self.reading(f, answer, within, place) if place else None
            elif f.kept and not f.computed:
                made[f.name] = self.field(f, answer, within)
        if isinstance(said, Said):
            made |= self.computed(fields, said.of, made, within)
        return made

    def computed(
        self, fields: Sequence[FieldShape], model: BaseModel, made: Mapping[str, Any], within: _Within
    ) -> dict[str, Any]:
        """Compute a model's own fields from what was made of the others; one whose code fails is null, with why."""
        for f in fields:
            if f.name in within.kept:
                model.__dict__[f.name] = [item.of for item in within.kept[f.name] if isinstance(item, Said)]
            elif f.name in made and f.verbatim and f.many:
                model.__dict__[f.name] = made[f.name] and [quote["name"] for quote in made[f.name]]
            elif f.name in made and (f.verbatim or f.of is not None):
                model.__dict__[f.name] = made[f.name]
        found: dict[str, Any] = {}
        for f in fields:
            if f.computed:
                value, why = computed(model, f.name) if f.name in type(model).model_computed_fields else (None, None)
                found[f.name] = self.plain(value, f"{within.parts}{f.name}")
                if why:
                    path = f"{within.quotes}{f.name}"
                    self.into.evidence.append(Evidence(path, within.ordinal, "", None, None, "absent", why))
        return found

    def field(self, shape: FieldShape, said: Any, within: _Within) -> Any:
        """Derive a field that is neither a quote nor read off one."""
        if said is None:
            return [] if shape.many and not shape.optional else None
        if shape.kind == "model":
            if shape.many:
                return self.items(shape, said, within)
            return self.model(shape.fields, said, within.part(shape.name))
        if shape.verbatim:
            return self.quotes(shape, said, f"{within.parts}{shape.name}")
        return self.plain(said, f"{within.parts}{shape.name}")

    def place(self, shape: FieldShape, quote: str | None, within: _Within) -> grounding.Evidence | None:
        """Return the place of a quote, found once: in a list's item the one nearest to the item's own."""
        if shape.name not in within.places:
            found = self.beside(shape, quote, within) if quote else None
            path = f"{within.quotes}{shape.name}"
            within.places[shape.name] = self.record(shape, quote, path, within.ordinal, found) if quote else None
        return within.places[shape.name]

    def beside(self, shape: FieldShape, quote: str, within: _Within) -> grounding.Evidence | None:
        if within.near is None:
            return self.find(shape, quote)
        kind: grounding.Kind = "number" if shape.kind == "number" else "text"
        taken = [p for p in within.places.values() if p and shape.kind == "number"]
        return grounding.nearest(
            quote, self.text, within.near.start, within.near.end, kind=kind, case=shape.any_case, taken=taken
        )

    def plain(self, said: Any, path: str) -> Any:
        """Keep a value as it is, but for a number that is none: JSON has no words for those."""
        if isinstance(said, list):
            return [self.plain(item, path) for item in said]
        if isinstance(said, dict):
            return {key: self.plain(item, f"{path}.{key}") for key, item in said.items()}
        if isinstance(said, float) and not math.isfinite(said):
            self.into.faults.append(f"{path}: {said} is not a finite number")
            return None
        return said

    def quotes(self, shape: FieldShape, said: Sequence[str], path: str) -> list[dict[str, Any]]:
        """Derive a list of quotes, each at its first place; what is said twice is kept once."""
        kept: list[dict[str, Any]] = []
        for i, quote in enumerate(said):
            if not quote or quote in said[:i]:
                continue
            found = self.record(shape, quote, path, len(kept), self.find(shape, quote))
            if found:
                place = {"start": found.start, "end": found.end, "match": found.match}
                sure = self.confidence(path, len(kept), [f"{path}[{i}]"])
                kept.append({"name": self.words(found), **place, "confidence": sure})
        return kept

    def items(self, shape: FieldShape, said: Sequence[Mapping[str, Any]], within: _Within) -> list[dict[str, Any]]:
        """Derive a list of models, each at the place of its anchor; one whose anchor the text doesn't hold is out."""
        anchor, path = shape.anchor, f"{within.parts}{shape.name}"
        within.kept[shape.name] = []
        made: list[dict[str, Any]] = []
        # where there is an anchor, an item said twice is said once
        numbers = [i for i, item in enumerate(said) if anchor is None or item not in said[:i]]
        said = [said[i] for i in numbers]
        places = self.places(shape, anchor, said) if anchor else [None] * len(said)
        for i, item, place in zip(numbers, said, places, strict=True):
            if anchor is None:
                made.append(self.model(shape.fields, item, _Within(f"{path}[{i}].", f"{path}[{i}].")))
            elif found := self.record(anchor, item[anchor.name], f"{path}.{anchor.name}", len(made), place):
                sure = self.confidence(path, len(made), [f"{path}[{i}]"])
                made.append(self.item(shape, item, path, len(made), found))
                made[-1][evidence_names(shape)["confidence"]] = sure
            else:
                continue
            within.kept[shape.name].append(item)
        return made

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
        assert shape.anchor is not None
        within = _Within(f"{path}.", f"{path}[{ordinal}].", ordinal, place, {shape.anchor.name: place})
        made = self.model(shape.fields, said, within)
        columns = evidence_names(shape)
        made |= {columns["start"]: place.start, columns["end"]: place.end, columns["match"]: place.match}
        made[note_name(shape)] = "; ".join(within.note) or None
        return made

    def reading(self, shape: FieldShape, said: Any, within: _Within, place: grounding.Evidence) -> float | str | None:
        """Read the value or the qualifier, or check the unit, of the number at `place`; code's reading wins."""
        if shape.kind == "qualifier":
            return qualifier(self.text.text, place.start, place.end, self.text.numbers)
        read = self.number(place)
        if shape.kind == "value":
            return read.value
        unit = canonical_unit(said or "")
        if units_agree(unit, read.unit):
            return read.unit or unit
        if said and read.unit == "" and self.written(said, place):
            return str(said)
        why = f"the model said {said!r}, the text reads {read.unit!r}"
        path = f"{within.quotes}{shape.name}"
        within.note.append(f"{shape.name}: {why}")
        self.into.evidence.append(Evidence(path, within.ordinal, said or "", place.start, place.end, place.match, why))
        self.into.faults.append(f"{path} of {self.text.text[place.start : place.end]!r}: {why}")
        return read.unit

    def written(self, unit: str, place: grounding.Evidence) -> bool:
        """Does a unit stand right after the number, or at its end? Code knows no compound ones, such as W/mK."""
        text, said = self.text.text, re.escape(unit)
        after = re.compile(rf"[\s~]?{said}(?!\w)").match(text, place.end)
        return bool(after or re.search(rf"[\s~\d]{said}\Z", text[place.start : place.end]))

    def number(self, place: grounding.Evidence) -> Quantity:
        """Read the number at a place, once for its value, its unit and its being one. Raises NotANumber."""
        at = (place.start, place.end)
        if at not in self._numbers:
            self._numbers[at] = parse_at(self.text.text, *at)
        return self._numbers[at]

    def confidence(self, kind: str, ordinal: int, said: list[str]) -> float | None:
        """Return the confidence of the claim that these values of a reply say; of lists within lists it is None."""
        certainty = self._sure.together(said) if self._sure and "[" not in kind else None
        if certainty is not None:
            self.into.certainties[kind, ordinal] = certainty
        return confidence(certainty, kind, self._calibration)

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
