"""Makes a claim of a schema of one's own of what a person wrote: checked by the schema's model, as a reply would be.

The form comes to the piece of a reply that a model would have given. The schema's model checks it within all else that
is claimed of the record, with its validators; `claims.derive` then looks its quotes up and reads its numbers. What a
list's items hold in lists and models of their own is not written here: it stays as it was. Pure but for the schema's
own code.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, TypeAdapter, ValidationError

from extract.claims import derive
from extract.grounding import Evidence, GroundedText, Kind
from extract.replies import ReplyUnfit, faults_of
from extract.review.editing import Unfit, Written, selected
from schemas.columns import is_model, unwrapped
from schemas.registry import LoadedSchema
from schemas.shape import FieldShape

QUOTE, OF = "quote", "of-"
"""The name of the field in a form that a selection fills, and what is before the names of the others."""

_READ_AS_JSON = ("BIGINT", "DOUBLE", "BOOLEAN", "JSON")


@dataclass(frozen=True, slots=True)
class Input:
    """A field of a form. `lines`: it takes several values, one a line."""

    name: str
    title: str
    kind: Literal["text", "lines", "choice"]
    value: str = ""
    choices: Sequence[str] = ()
    hint: str = ""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class _Part:
    """A field that can be written: its shape, the model that it is of, the keys that lead to it in a reply."""

    shape: FieldShape
    owner: type[BaseModel]
    keys: tuple[str, ...]


class _Pointed(GroundedText):
    """A text in which a person points: of all places of a quote the one that is nearest to there."""

    def __init__(self, text: str, at: int | None) -> None:
        super().__init__(text)
        self._at = at

    def find_all(self, quote: str, start: int = 0, kind: Kind = "text", case: bool = False) -> list[Evidence]:
        places = super().find_all(quote, start, kind, case)
        at = self._at
        return places if at is None or not places else [min(places, key=lambda place: abs(place.start - at))]

    def find(self, quote: str, start: int = 0, kind: Kind = "text", case: bool = False) -> Evidence | None:
        return next(iter(self.find_all(quote, start, kind, case)), None) or super().find(quote, start, kind, case)


def writable(schema: LoadedSchema, path: str) -> bool:
    """Whether claims of this path can be written: not a list of lists, nor a field of one model or another."""
    part = _part(schema, path)
    return part is not None and not (part.shape.kind == "model" and not part.shape.many)


def inputs(schema: LoadedSchema, path: str, known: Any = None) -> list[Input]:
    """The form of a claim of a writable path, filled in with what is known of one."""
    part = _part(schema, path)
    assert part is not None
    shape = part.shape
    if shape.kind != "model":
        said = known.get("name") if isinstance(known, Mapping) else known
        return [_input(replace(shape, many=False), QUOTE, said)]
    item = known if isinstance(known, Mapping) else {}
    return [_input(field, name, _plain(item.get(field.name))) for field, name in _written(shape)]


def made(
    schema: LoadedSchema,
    path: str,
    text: str,
    value: Mapping[str, Any],
    written: Written,
    near: tuple[int, int] | None = None,
    known: Any = None,
) -> Any:
    """The item, or the plain value, that a form comes to. Raises Unfit.

    `value`: all that is claimed of the record; `known`: the item that this one corrects, which stands `near`.
    """
    part = _part(schema, path)
    if part is None:
        raise Unfit(f"{path!r} can't be written here")
    said = _said(part.shape, written, known)
    kept = _checked(schema, part, _without(part, as_reply(schema.fields, value), known), said)
    pointed = selected(text, written) or near
    try:
        derived = derive((part.shape,), kept, _Pointed(text, pointed[0] if pointed else None))
    except ReplyUnfit as e:
        raise Unfit(str(e)) from e
    if derived.faults:
        raise Unfit("; ".join(derived.faults))
    found = derived.value[part.shape.name]
    return found[0] if part.shape.many else found


def as_reply(fields: Sequence[FieldShape], value: Mapping[str, Any]) -> dict[str, Any]:
    """What a model would have replied that these claims came of."""
    reply = {}
    for field in fields:
        known = value.get(field.name)
        if not field.asked or not field.kept or (field.only and known is None):
            continue
        if field.kind == "model" and known is not None:
            known = [as_reply(field.fields, one) for one in known] if field.many else as_reply(field.fields, known)
        reply[field.key] = _plain(known)
    return reply


def _part(schema: LoadedSchema, path: str) -> _Part | None:
    model: type[BaseModel] = schema.model
    fields: Sequence[FieldShape] = schema.fields
    keys: tuple[str, ...] = ()
    *above, last = path.split(".")
    for name in above:
        shape = next((f for f in fields if f.name == name and f.kind == "model" and not f.many), None)
        kind_of: Any = unwrapped(model.model_fields[name].annotation, ())[0] if shape else None
        if shape is None or not is_model(kind_of):
            return None
        model, fields, keys = kind_of, shape.fields, (*keys, shape.key)
    found = next((f for f in fields if f.name == last and f.kept and not f.computed), None)
    if found is None:
        return None
    if found.of is not None:  # read off a quote that is a claim of its own: here it is a value like any other
        found = replace(found, kind="plain", of=None)
    return _Part(found, model, (*keys, found.key))


def _written(shape: FieldShape) -> Iterator[tuple[FieldShape, str]]:
    """The fields of an item that a form has, each with its name there."""
    for field in shape.fields:
        if field.asked and field.kept and field.kind != "model":
            yield field, QUOTE if shape.anchor and field.name == shape.anchor.name else f"{OF}{field.name}"


def _input(field: FieldShape, name: str, said: Any) -> Input:
    lines = said if isinstance(said, list) else [] if said is None else [said]
    value = "\n".join(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False) for one in lines)
    kind: Literal["text", "lines", "choice"] = "lines" if field.many else "choice" if field.choices else "text"
    hint = "as the abstract has it" if field.verbatim else "one a line" if field.many else ""
    title = field.name.replace("_", " ").capitalize()
    return Input(name, title, kind, value, field.choices, hint, field.optional or bool(field.only))


def _plain(known: Any) -> Any:
    """A list of quotes as the quotes alone, anything else as it is."""
    if isinstance(known, list) and all(isinstance(one, Mapping) and {"name", "start"} <= one.keys() for one in known):
        return [one["name"] for one in known]
    return known


def _said(shape: FieldShape, written: Written, known: Any) -> Any:
    """The piece of a reply that a form comes to."""
    if shape.kind != "model":
        return _value(replace(shape, many=False), written.get(QUOTE, ""))
    item = as_reply(shape.fields, known) if isinstance(known, Mapping) else {}
    item = {f.key: item.get(f.key, [] if f.many else None) for f in shape.fields if f.kind == "model" and f.asked}
    for field, name in _written(shape):
        value = _value(field, written.get(name, ""))
        if value is not None or (
            field.optional and not field.only
        ):  # what is left empty has the schema's default, or is missing
            item[field.key] = value
    return item


def _value(field: FieldShape, written: str) -> Any:
    if field.many:
        return [_one(field, line.strip()) for line in written.splitlines() if line.strip()]
    said = written.strip()
    if said or field.kind == "unit":
        return _one(field, said)
    if field.verbatim and not field.optional:
        raise Unfit("a quote is missing; select it in the abstract, or write it as it stands there")
    return None


def _one(field: FieldShape, said: str) -> Any:
    if field.column in _READ_AS_JSON and not field.verbatim:
        try:
            return json.loads(said)
        except ValueError:
            pass  # the model says what it expects
    return said


def _without(part: _Part, reply: dict[str, Any], known: Any) -> dict[str, Any]:
    """A reply without the item that another is to stand for."""
    at: Any = reply
    for key in part.keys[:-1]:
        at[key] = at = at.get(key) or {}
    if part.shape.many:
        was = as_reply(part.shape.fields, known) if part.shape.kind == "model" and known else _plain(known)
        was = was["name"] if isinstance(was, Mapping) and part.shape.kind != "model" else was
        items = list(at.get(part.keys[-1]) or ())
        if was in items:
            items.remove(was)
        at[part.keys[-1]] = items
    return reply


def _checked(schema: LoadedSchema, part: _Part, reply: dict[str, Any], said: Any) -> BaseModel:
    """A model of the field's owner that holds this piece alone, checked by the schema within all else of the record.

    What is at fault elsewhere is no matter: the text may lack a quote that the schema requires.
    """
    at: Any = reply
    for key in part.keys[:-1]:
        at = at[key]
    at[part.keys[-1]] = [*at[part.keys[-1]], said] if part.shape.many else said
    ours = (*part.keys, len(at[part.keys[-1]]) - 1) if part.shape.many else part.keys
    try:
        whole: Any = schema.model.model_validate(reply)
    except ValidationError as e:
        lines = [
            line
            for fault, line in zip(e.errors(), faults_of(e), strict=True)
            if all(one == other for one, other in zip(fault["loc"], ours, strict=False))
        ]
        if lines:
            raise Unfit("; ".join(lines)) from e
        info = part.owner.model_fields[part.shape.name]
        kind_of: Any = Annotated[(info.annotation, *info.metadata)] if info.metadata else info.annotation
        value = TypeAdapter(kind_of).validate_python([said] if part.shape.many else said)
    except Exception as e:  # a validator of the user's own may raise anything
        raise Unfit(f"a validator of the schema fails on it: {type(e).__name__}: {e}") from e
    else:
        for key in part.keys[:-1]:
            whole = getattr(whole, next(n for n, f in type(whole).model_fields.items() if key in (n, f.alias)))
        value = getattr(whole, part.shape.name)
    kept: dict[str, Any] = {part.shape.name: list(value)[-1:] if part.shape.many else value}
    return part.owner.model_construct(**kept)
