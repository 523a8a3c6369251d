"""The shape of a schema: its fields, read once off the Pydantic model, as the rest of claimbase walks them.

From the shape come the claims that are derived from a reply, the columns they get in the database, and the rules
that a prompt states. It reads models only; it parses no reply and knows no database but the names of its types.
"""

import datetime
import enum
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from schemas.base import QualifierOf, SchemaError, UnitOf, ValueOf, Verbatim

Kind = Literal["plain", "text", "number", "value", "unit", "qualifier", "model"]
Structure = str | list["Structure"] | dict[str, "Structure"]
"""A DuckDB type in the notation of its `from_json`: a name, a list of one, or the fields of a struct."""

EVIDENCE_COLUMNS: Mapping[str, str] = {"start": "INTEGER", "end": "INTEGER", "match": "VARCHAR"}
_READ: Mapping[type, Kind] = {ValueOf: "value", UnitOf: "unit", QualifierOf: "qualifier"}
_TYPES: Sequence[tuple[type, str]] = (
    (bool, "BOOLEAN"),
    (int, "BIGINT"),
    (float, "DOUBLE"),
    (Decimal, "DOUBLE"),
    (datetime.datetime, "TIMESTAMP"),
    (datetime.date, "DATE"),
    (str, "VARCHAR"),
)


@dataclass(frozen=True, slots=True)
class FieldShape:
    """One field. `many`: a list of it; `of`: the quote it is the value or unit of; `fields`: those of its model.

    `any_case`: a verbatim string that may differ from the text in case.
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
    """Return the fields of `model` in their order, computed ones last.

    Raises SchemaError for a model that holds itself, and for a mark that names no verbatim field beside it.
    """
    return tuple(_fields(model, ()))


def structure_of(fields: Sequence[FieldShape]) -> dict[str, Structure]:
    """Return the DuckDB structure of the claims derived from a reply of this shape."""
    return {f.name: _structure(f) for f in fields}


def evidence_names(item: FieldShape) -> dict[str, str]:
    """Name the columns for an item's start, end and match: prefixed, all of them, if a field is called so."""
    taken = {f.name for f in item.fields} & EVIDENCE_COLUMNS.keys()
    return {c: f"evidence_{c}" if taken else c for c in EVIDENCE_COLUMNS}


def note_name(item: FieldShape) -> str:
    """Name the column that says what code overruled in an item."""
    return "evidence_note" if any(f.name == "note" for f in item.fields) else "note"


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


def _fields(model: type[BaseModel], above: tuple[type[BaseModel], ...]) -> Iterator[FieldShape]:
    if model in above:
        raise SchemaError(f"schema {above[0].__name__!r}: {model.__name__!r} holds itself; a schema must end somewhere")
    for name, info in model.model_fields.items():
        yield _field(name, info.annotation, list(info.metadata), info.description or "", (*above, model))
    for name, computed in model.model_computed_fields.items():
        yield FieldShape(name, "plain", _column(computed.return_type), computed=True)
    names = {n for n, info in model.model_fields.items()}
    for name, info in model.model_fields.items():
        for mark in info.metadata:
            if isinstance(mark, ValueOf | UnitOf | QualifierOf) and mark.quote not in names:
                raise SchemaError(
                    f"schema {model.__name__!r}, field {name!r}: {type(mark).__name__} names {mark.quote!r}, which is "
                    f"no field of it; its fields are {', '.join(sorted(names))}"
                )


def _field(
    name: str, annotation: object, marks: list[object], description: str, above: tuple[type[BaseModel], ...]
) -> FieldShape:
    kind_of, marks, optional, many = _unwrap(annotation, marks)
    mark = next((m for m in marks if isinstance(m, Verbatim | ValueOf | UnitOf | QualifierOf)), None)
    if isinstance(kind_of, type) and issubclass(kind_of, BaseModel):
        inner = tuple(_fields(kind_of, above))
        return FieldShape(name, "model", "", many, optional, description=description, fields=inner)
    kind: Kind = "plain"
    of: str | None = None
    any_case = False
    if isinstance(mark, Verbatim):
        kind, any_case = mark.kind, mark.any_case
    elif mark is not None:
        kind, of = _READ[type(mark)], mark.quote
    column = _column(kind_of)
    return FieldShape(name, kind, column, many, optional, False, of, any_case, _choices(kind_of), description)


def _unwrap(annotation: Any, marks: list[object]) -> tuple[Any, list[object], bool, bool]:
    """Take `list[...]`, `... | None` and `Annotated[...]` off an annotation: (what is left, marks, optional, many)."""
    optional = many = False
    while True:
        origin, args = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            annotation, marks = args[0], [*marks, *args[1:]]
        elif origin in (Union, types.UnionType) and len(set(args) - {type(None)}) == 1 and not many:
            optional = True
            annotation = next(a for a in args if a is not type(None))
        elif origin in (list, tuple, set, frozenset) and not many and len(args) - (args[-1:] == (...,)) == 1:
            many = True
            annotation = args[0]
        else:
            return annotation, marks, optional, many


def _column(annotation: Any) -> str:
    """Return the DuckDB type for a value of this annotation; JSON for what has no flat type."""
    if get_origin(annotation) is Annotated:
        return _column(get_args(annotation)[0])
    if get_origin(annotation) is Literal:
        found = {_column(type(a)) for a in get_args(annotation)}
        return found.pop() if len(found) == 1 else "VARCHAR"
    if get_origin(annotation) in (Union, types.UnionType):
        found = {_column(a) for a in get_args(annotation) if a is not type(None)}
        return found.pop() if len(found) == 1 else "JSON"
    if isinstance(annotation, type):
        if issubclass(annotation, enum.Enum):
            found = {_column(type(member.value)) for member in annotation}
            return found.pop() if len(found) == 1 else "VARCHAR"
        return next((column for kind, column in _TYPES if issubclass(annotation, kind)), "JSON")
    return "JSON"


def _choices(annotation: Any) -> tuple[str, ...]:
    if get_origin(annotation) is Literal:
        return tuple(str(a) for a in get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return tuple(str(member.value) for member in annotation)
    return ()
