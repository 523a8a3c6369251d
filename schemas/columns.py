"""What type of DuckDB holds a field's values, read off its annotation.

It looks at annotations only: no model's fields, no marks' meaning, no value.
"""

import datetime
import enum
import types
import uuid
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, PydanticUserError, RootModel, TypeAdapter
from pydantic.fields import FieldInfo

JSON = "JSON"
"""The column of what has no flat type: it holds the value as JSON."""
_TYPES: Sequence[tuple[type, str]] = (
    (bool, "BOOLEAN"),
    (int, "BIGINT"),
    (float, "DOUBLE"),
    (Decimal, "DOUBLE"),
    (datetime.datetime, "TIMESTAMP"),
    (datetime.date, "DATE"),
    (datetime.time, "TIME"),
    (datetime.timedelta, "VARCHAR"),
    (uuid.UUID, "UUID"),
    (str, "VARCHAR"),
)
_TEXTS = frozenset({"VARCHAR", "TIMESTAMP", "DATE", "TIME", "UUID"})
"""Columns whose values are strings in JSON: a union of these is text."""
_NUMBERS = frozenset({"BIGINT", "DOUBLE"})
_DUMPED: Mapping[str | None, str] = {"string": "VARCHAR", "integer": "BIGINT", "number": "DOUBLE", "boolean": "BOOLEAN"}
"""The column of a type that is none of the above, by the type of the JSON that Pydantic makes of it."""


def unwrapped(annotation: Any, marks: Sequence[object]) -> tuple[Any, list[object], bool, bool]:
    """Take `list[...]`, `... | None`, `Annotated[...]` and root models off: (what is left, marks, optional, many)."""
    marks = list(marks)
    optional = many = False
    while True:
        origin, args = get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            annotation, marks = args[0], [*marks, *_spread(args[1:])]
        elif is_union(annotation) and type(None) in args and not many:
            optional = True
            annotation = Union[tuple(a for a in args if a is not type(None))]  # noqa: UP007  # of a tuple, at run time
        elif origin in (list, tuple, set, frozenset) and not many and len(args) - (args[-1:] == (...,)) == 1:
            many = True
            annotation = args[0]
        elif is_model(annotation) and issubclass(annotation, RootModel):
            root = annotation.model_fields["root"]
            annotation, marks = root.annotation, [*marks, *root.metadata]
        elif hasattr(annotation, "__value__"):  # a name given to a type: `type Dose = ...`
            annotation = annotation.__value__
        else:
            return annotation, marks, optional, many


def _spread(marks: Sequence[object]) -> list[object]:
    """Put in place of a `Field(...)` within an annotation the marks that it holds."""
    return [m for mark in marks for m in (mark.metadata if isinstance(mark, FieldInfo) else [mark])]


def is_union(annotation: object) -> bool:
    """Is it `A | B`, in either of its forms?"""
    return get_origin(annotation) in (Union, types.UnionType)


def is_model(annotation: object) -> bool:
    """Is it a Pydantic model?"""
    return isinstance(annotation, type) and get_origin(annotation) is None and issubclass(annotation, BaseModel)


def column_of(annotation: Any) -> str:
    """Return the DuckDB type for a value of this annotation; JSON for what has no flat type."""
    if get_origin(annotation) is Annotated:
        return column_of(get_args(annotation)[0])
    if get_origin(annotation) is Literal:
        return common_column({column_of(type(a)) for a in get_args(annotation) if a is not None})
    if is_union(annotation):
        return common_column({column_of(a) for a in get_args(annotation) if a is not type(None)})
    if not isinstance(annotation, type):
        return JSON
    if issubclass(annotation, enum.Enum):
        return common_column({column_of(type(member.value)) for member in annotation})
    known = next((column for kind, column in _TYPES if issubclass(annotation, kind)), None)
    return known or (JSON if is_model(annotation) else _dumped(annotation))


def choices_of(annotation: Any) -> tuple[str, ...]:
    """Return what a `Literal` or an enum lets through, as text; none for all else."""
    if get_origin(annotation) is Literal:
        return tuple(str(a) for a in get_args(annotation) if a is not None)
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum):
        return tuple(str(member.value) for member in annotation)
    return ()


def common_column(columns: set[str]) -> str:
    """Return the column that holds the values of all of these."""
    if len(columns) == 1:
        return next(iter(columns))
    if columns and columns <= _TEXTS:
        return "VARCHAR"
    return "DOUBLE" if columns and columns <= _NUMBERS else JSON


def _dumped(kind: type) -> str:
    """Return the column of a type that only Pydantic knows: an address, a path, one of the user's own."""
    try:
        schema = TypeAdapter(kind).json_schema(mode="serialization")
    except PydanticUserError:  # and what derives from it: it can't be said in JSON Schema
        return JSON
    return _DUMPED.get(schema.get("type"), JSON)
