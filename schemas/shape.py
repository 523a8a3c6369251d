"""The shape of a schema: its fields, read once off the Pydantic model, as the rest of claimbase walks them.

From the shape come the claims that are derived from a reply, the columns they get in the database, and the rules
that a prompt states. It reads models only; it parses no reply and knows no database but the names of its types.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from pydantic import AliasChoices, BaseModel
from pydantic.fields import FieldInfo

from schemas import checks
from schemas.base import QualifierOf, SchemaError, UnitOf, ValueOf, Verbatim
from schemas.columns import JSON, choices_of, column_of, common_column, is_model, is_union, unwrapped
from schemas.wording import Node, limits, without_null, words

Kind = Literal["plain", "text", "number", "value", "unit", "qualifier", "model"]
Structure = str | list["Structure"] | dict[str, "Structure"]
"""A DuckDB type in the notation of its `from_json`: a name, a list of one, or the fields of a struct."""

EVIDENCE_COLUMNS: Mapping[str, str] = {
    "start": "INTEGER",
    "end": "INTEGER",
    "match": "VARCHAR",
    "confidence": "DOUBLE",
}
_READ: Mapping[type, Kind] = {ValueOf: "value", UnitOf: "unit", QualifierOf: "qualifier"}
_MARKS: Mapping[Kind, str] = {kind: mark.__name__ for mark, kind in _READ.items()}


@dataclass(frozen=True, slots=True)
class FieldShape:
    """One field. `many`: a list of it; `of`: the quote it is the value or unit of; `fields`: those of its model.

    `any_case`: a verbatim string that may differ from the text in case. `key`: its name in a reply. `kept`: not so if
    the model leaves it out of what it gives (`exclude=True`). `only`: of a union of models, which of them has it.
    `limits`, `words`: its constraints, and what it may be where its column doesn't tell, as a prompt says them.
    """

    name: str
    kind: Kind
    column: str
    many: bool = False
    optional: bool = False
    computed: bool = False
    of: str | None = None
    any_case: bool = False
    choices: tuple[str, ...] = ()
    description: str = ""
    fields: tuple["FieldShape", ...] = ()
    key: str = ""
    kept: bool = True
    only: str = ""
    limits: tuple[str, ...] = ()
    words: str = ""

    @property
    def verbatim(self) -> bool:
        """Is it a string that must stand in the text?"""
        return self.kind in ("text", "number")

    @property
    def asked(self) -> bool:
        """Is the model asked for it? Not for what code computes."""
        return self.kind not in ("value", "qualifier") and not self.computed

    @property
    def anchor(self) -> "FieldShape | None":
        """The field whose place is the item's own: its first required number quote, else its first required quote."""
        quotes = [f for f in self.fields if f.verbatim and not f.many and not f.optional]
        numbers = [f for f in quotes if f.kind == "number"]
        return next(iter(numbers or quotes), None)


def shape_of(model: type[BaseModel]) -> tuple[FieldShape, ...]:
    """Return the fields of `model` in their order, computed ones last; of a union of models, those of all of them.

    Raises SchemaError for a model that can't be a schema: one that holds itself, one with a mark where it means
    nothing, and whatever else `checks` refuses.
    """
    checks.complete(model)
    checks.ends(model.__name__, checks.json_schema_of(model))
    return _fields(model)


def structure_of(fields: Sequence[FieldShape]) -> dict[str, Structure]:
    """Return the DuckDB structure of the claims derived from a reply of this shape."""
    return {f.name: _structure(f) for f in fields if f.kept}


def claims_structure(fields: Sequence[FieldShape]) -> dict[str, Structure]:
    """Return the structure of a whole schema's claims: that of its fields, and the confidence in the plain ones."""
    return {**structure_of(fields), record_confidence_name(fields): "DOUBLE"}


def record_confidence_name(fields: Sequence[FieldShape]) -> str:
    """Name the column for the confidence that all of a record's plain fields are right."""
    names = {f.name.lower() for f in fields}
    name = "record_confidence"
    while name in names:
        name = f"evidence_{name}"
    return name


def evidence_names(item: FieldShape) -> dict[str, str]:
    """Name the columns for an item's start, end, match and confidence: all prefixed if a field is called so."""
    names = {f.name.lower() for f in item.fields}
    prefix = ""
    while names & {f"{prefix}{c}" for c in EVIDENCE_COLUMNS}:
        prefix += "evidence_"
    return {c: f"{prefix}{c}" for c in EVIDENCE_COLUMNS}


def note_name(item: FieldShape) -> str:
    """Name the column that says what code overruled in an item."""
    names = {f.name.lower() for f in item.fields}
    name = "note"
    while name in names:
        name = f"evidence_{name}"
    return name


def _structure(field: FieldShape) -> Structure:
    if field.kind == "model":
        item: dict[str, Structure] = structure_of(field.fields)
        if field.many and field.anchor is not None:
            item |= {name: EVIDENCE_COLUMNS[c] for c, name in evidence_names(field).items()}
            item[note_name(field)] = "VARCHAR"
        return [item] if field.many else item
    if not field.many:
        return field.column
    if field.verbatim:
        return [{"name": field.column, **EVIDENCE_COLUMNS}]
    return [field.column]


def _fields(model: type[BaseModel]) -> tuple[FieldShape, ...]:
    checks.complete(model)
    checks.usable(model)
    schema = checks.json_schema_of(model)
    asked = [_field(model, name, info, schema) for name, info in model.model_fields.items()]
    found = (*asked, *(_computed(name, c.return_type) for name, c in model.model_computed_fields.items()))
    for field in found:
        if field.of is not None:
            _check_of(model, field, found)
    return found


def _computed(name: str, annotation: object) -> FieldShape:
    kind_of, _, optional, many = unwrapped(annotation, ())
    return FieldShape(name, "plain", column_of(kind_of), many, optional, computed=True)


def _field(model: type[BaseModel], name: str, info: FieldInfo, schema: Mapping[str, Any]) -> FieldShape:
    key, node = _asked_as(model, name, info, schema)
    kind_of, marks, optional, many = unwrapped(info.annotation, info.metadata)
    plain = FieldShape(
        name=name,
        kind="plain",
        column=column_of(kind_of),
        many=many,
        optional=optional or None in get_args(kind_of),
        choices=choices_of(kind_of),
        description=" ".join((info.description or "").split()),
        key=key,
        kept=not info.exclude,
        limits=limits(node),
    )
    said = without_null(node).get("items", {}) if many else without_null(node)
    if plain.column == JSON or (plain.column == "VARCHAR" and "format" in said):
        plain = replace(plain, words=words(said, schema.get("$defs", {})))
    if not plain.kept:
        return plain
    models = get_args(kind_of) if is_union(kind_of) else (kind_of,)
    if all(map(is_model, models)):
        return replace(plain, kind="model", column="", words="", fields=_of_any(model, name, models))
    mark = next((m for m in marks if isinstance(m, Verbatim | ValueOf | UnitOf | QualifierOf)), None)
    if mark is None and checks.marked_within(node, schema.get("$defs", {})):
        raise SchemaError(
            f"schema {model.__name__!r}, field {name!r}: a mark stands where no quote is looked up; mark a string, a "
            "list of strings, or a field of a model"
        )
    return plain if mark is None else _marked(model, plain, mark)


def _marked(model: type[BaseModel], plain: FieldShape, mark: Verbatim | ValueOf | UnitOf | QualifierOf) -> FieldShape:
    if not isinstance(mark, Verbatim):
        return replace(plain, kind=_READ[type(mark)], of=mark.quote)
    if plain.column != "VARCHAR" or plain.choices:
        raise SchemaError(f"schema {model.__name__!r}, field {plain.name!r}: what is verbatim is a string; make it one")
    return replace(plain, kind=mark.kind, any_case=mark.any_case)


def _asked_as(model: type[BaseModel], name: str, info: FieldInfo, schema: Mapping[str, Any]) -> tuple[str, Node]:
    """Return a field's name in a reply, its alias if it has one, and its JSON schema."""
    properties: Mapping[str, Node] = schema["properties"]
    alias = info.validation_alias
    key = alias.choices[0] if isinstance(alias, AliasChoices) else alias or name
    if not isinstance(key, str) or key not in properties:
        raise SchemaError(
            f"schema {model.__name__!r}, field {name!r}: only a plain alias can be asked for; give it one"
        )
    return key, properties[key]


def _check_of(model: type[BaseModel], field: FieldShape, beside: Sequence[FieldShape]) -> None:
    """Raise SchemaError for a mark that names no number's quote beside it, or a field that no code could fill."""
    where = f"schema {model.__name__!r}, field {field.name!r}"
    quote = next((f for f in beside if f.name == field.of), None)
    if quote is None:
        names = ", ".join(sorted(f.name for f in beside if not f.computed))
        raise SchemaError(
            f"{where}: {_MARKS[field.kind]} names {field.of!r}, which is no field of it; its fields are {names}"
        )
    if quote.kind != "number" or quote.many or field.many:
        raise SchemaError(
            f"{where}: {_MARKS[field.kind]} is of one number; make {field.of!r} a NumberQuote, both no list"
        )
    if not field.asked and model.model_fields[field.name].is_required():
        raise SchemaError(f"{where}: code fills it in, no reply has it; give it the default None")


def _of_any(model: type[BaseModel], name: str, models: Sequence[type[BaseModel]]) -> tuple[FieldShape, ...]:
    """Return the fields of a model; of several that a value may be of, all their fields, each once."""
    if len(models) == 1:
        return _fields(models[0])
    shapes = [_fields(each) for each in models]
    labels = _labels(models, shapes)
    merged: dict[str, list[tuple[str, FieldShape]]] = {}
    for label, shape in zip(labels, shapes, strict=True):
        for field in shape:
            merged.setdefault(field.name, []).append((label, field))
    where = f"schema {model.__name__!r}, field {name!r}"
    return tuple(_one_of(where, found, len(models)) for found in merged.values())


def _one_of(where: str, found: Sequence[tuple[str, FieldShape]], models: int) -> FieldShape:
    """Merge a field that some of the models of a union have. Raises SchemaError if it isn't the same thing in each."""
    fields = [field for _, field in found]
    first = fields[0]
    if len({(f.kind, f.many, f.of, f.any_case, f.computed, f.fields, f.kept) for f in fields}) > 1:
        kinds = " and ".join(label for label, _ in found)
        raise SchemaError(f"{where}: {first.name!r} is not the same in {kinds}; give it two names")
    everywhere = len(fields) == models
    return replace(
        first,
        column=common_column({f.column for f in fields}),
        optional=not everywhere or any(f.optional for f in fields),
        choices=tuple(dict.fromkeys(c for f in fields for c in f.choices)) if all(f.choices for f in fields) else (),
        description="; ".join(dict.fromkeys(f.description for f in fields if f.description)),
        only="" if everywhere else " or ".join(label for label, _ in found),
        limits=first.limits if len({f.limits for f in fields}) == 1 else (),
        words=" or ".join(dict.fromkeys(f.words for f in fields if f.words)),
    )


def _labels(models: Sequence[type[BaseModel]], shapes: Sequence[Sequence[FieldShape]]) -> list[str]:
    """Name the models of a union as a reader of a reply tells them apart: by the field that differs, else by class."""
    tags = [{f.name: f.choices[0] for f in shape if len(f.choices) == 1} for shape in shapes]
    for name in tags[0]:
        if len({tag.get(name) for tag in tags} - {None}) == len(models):
            return [f"{name} {tag[name]}" for tag in tags]
    return [model.__name__ for model in models]
