"""Compares two sets of claims of one schema, field by field: what is expected with what is said.

Strict, and by the schema's shape alone (`docs/evaluation.md`, "A schema of your own"): a value is right or it is not.
The items of a list are paired one to one where their anchors agree; of another field of theirs counts what agrees
beside the anchor. What code alone makes is not compared. It knows no run and no file.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from extract.scoring import TASK_F1, Count, Miss, Scored, around, matched, same, token_f1
from schemas.quantity import NotANumber, Quantity, canonical_unit, parse
from schemas.shape import FieldShape

Claims = Mapping[str, Any]
"""The claims of one abstract, `outcomes.value` of the schema, or a part of them."""


def compared_fields(fields: Sequence[FieldShape]) -> tuple[str, ...]:
    """Return the names of what is compared, in the order of the schema."""
    return tuple(_names(fields, ""))


def compare(name: str, text: str, fields: Sequence[FieldShape], expected: Claims, said: Claims) -> Scored:
    """Score what is said of the abstract `name` against what is expected; each field is decisive for the whole."""
    names = compared_fields(fields)
    comparison = _Comparison(name, text, Scored(name, {n: Count() for n in names}, decisive=names))
    comparison.model(fields, expected, said, "")
    plain = [f.name for f in _compared(fields) if not f.many and f.kind != "model"]
    comparison.scored.judged["", 0] = all(comparison.scored.counts[n].perfect for n in plain)
    return comparison.scored


def _names(fields: Sequence[FieldShape], path: str) -> Iterator[str]:
    for field in _compared(fields):
        if field.many or field.kind != "model":
            yield f"{path}{field.name}"
        key = _key(field) if field.many else None
        yield from _names([f for f in field.fields if f != key], f"{path}{field.name}.")


def _compared(fields: Sequence[FieldShape]) -> list[FieldShape]:
    return [f for f in fields if f.kept and f.asked]


class _Comparison:
    """One walk over two sets of claims; counts and misses gather in `scored`."""

    def __init__(self, name: str, text: str, scored: Scored) -> None:
        self.name, self.text, self.scored = name, text, scored

    def model(self, fields: Sequence[FieldShape], expected: Claims, said: Claims, path: str) -> None:
        for field in _compared(fields):
            at, one, other = f"{path}{field.name}", expected.get(field.name), said.get(field.name)
            if field.many:
                self.list(field, one or [], other or [], at)
            elif field.kind == "model":
                self.model(field.fields, one or {}, other or {}, f"{at}.")
            else:
                right = one is not None and other is not None and agree(field, one, other)
                self.count(at, int(right), int(other is not None), int(one is not None))
                if not right and (one is not None or other is not None):
                    self.miss(at, one, other)

    def list(self, field: FieldShape, expected: Sequence[Any], said: Sequence[Any], path: str) -> None:
        key = _key(field)
        pairs = self.pairs(expected, said, path, lambda one, other: agree(key, _of(key, one), _of(key, other)))
        for row, one in enumerate(expected):
            if row not in pairs:
                self.miss(path, _of(key, one), None)
        for column, other in enumerate(said):
            if column not in pairs.values():
                self.miss(path, None, _of(key, other))
        parts = [f for f in _compared(field.fields) if not f.many and f.kind != "model"]
        right = {
            column
            for row, column in pairs.items()
            if all(agree(part, _of(part, expected[row]), _of(part, said[column])) for part in parts)
        }
        self.scored.judged |= {(path, column): column in right for column in range(len(said))}
        if field.kind == "model":
            self.items(field, key, expected, said, pairs, path)

    def items(
        self, field: FieldShape, key: FieldShape, expected: Sequence[Any], said: Sequence[Any],
        pairs: Mapping[int, int], path: str,
    ) -> None:  # fmt: skip
        """Compare the other fields of a list's items; the lists in them between items that are pairs."""
        for part in _compared(field.fields):
            at = f"{path}.{part.name}"
            if part == key:
                continue
            if part.many or part.kind == "model":
                both: list[tuple[Claims, Claims]] = [
                    (one, said[pairs[row]] if row in pairs else {}) for row, one in enumerate(expected)
                ]
                both += [({}, other) for column, other in enumerate(said) if column not in pairs.values()]
                for one, other in both:
                    self.model([part], one, other, f"{path}.")
                continue
            self.pairs(expected, said, at, _agreeing(key, part))
            for row, column in pairs.items():
                one, other = _of(part, expected[row]), _of(part, said[column])
                if not agree(part, one, other):
                    self.miss(at, one, other)

    def pairs(
        self, expected: Sequence[Any], said: Sequence[Any], path: str, fits: Callable[[Any, Any], bool]
    ) -> dict[int, int]:
        pairs = matched([[fits(one, other) for other in said] for one in expected])
        self.count(path, len(pairs), len(said), len(expected))
        return pairs

    def count(self, path: str, right: int, said: int, expected: int) -> None:
        self.scored.counts[path] += Count(right, said - right, expected - right)

    def miss(self, path: str, expected: Any, said: Any) -> None:
        one, other = (None if value is None else str(value) for value in (expected, said))
        self.scored.misses.append(Miss(self.name, path, one, other, around(self.text, other or one)))


def agree(field: FieldShape, one: Any, other: Any) -> bool:
    """Are two values of a field the same? Each by its kind.

    Quotes once case, mark-up, dashes and white space are folded, those of numbers also if they are the same number;
    numbers up to rounding; free text if its words have an F1 of `TASK_F1`; all else if it is equal.
    """
    if one is None or other is None:
        return one is other
    if field.kind == "number":
        return same(one, other) or _number(one) == _number(other) is not None
    if field.kind == "unit":
        return canonical_unit(one) == canonical_unit(other)
    if isinstance(one, float | int) and isinstance(other, float | int):
        return math.isclose(one, other, rel_tol=1e-9)
    if isinstance(one, str) and isinstance(other, str) and field.column == "VARCHAR" and not field.choices:
        return same(one, other) or (field.kind == "plain" and token_f1(one, other) >= TASK_F1)
    return bool(one == other)


def _agreeing(key: FieldShape, part: FieldShape) -> Callable[[Any, Any], bool]:
    """Return what says whether two items agree in their key and in one more field."""
    return lambda one, other: all(agree(f, _of(f, one), _of(f, other)) for f in (key, part))


def _key(field: FieldShape) -> FieldShape:
    """Return what tells a list's items apart: their anchor; without one, their first plain field."""
    if field.kind != "model":
        return field
    plain = [f for f in _compared(field.fields) if not f.many and f.kind != "model"]
    return field.anchor or next(iter(plain), field)


def _of(field: FieldShape, item: Any) -> Any:
    """Return a field's value in an item: of a quote in a list its words, of a plain item itself."""
    if not isinstance(item, Mapping):
        return item
    if field.many and field.verbatim:
        return item["name"]
    return item if field.many else item.get(field.name)


def _number(quote: str) -> Quantity | None:
    try:
        return parse(quote)
    except NotANumber:
        return None
