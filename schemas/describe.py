"""States a schema's fields and rules as a prompt shows them: a line a field, `*` for a string that must be verbatim."""

from collections.abc import Iterator, Sequence

from schemas.shape import FieldShape

_TYPES = {"BOOLEAN": "true|false", "BIGINT": "integer", "DOUBLE": "number", "DATE": "YYYY-MM-DD", "JSON": "JSON"}


def describe(fields: Sequence[FieldShape]) -> str:
    """Return the lines for all fields that a model is asked for, those of nested models indented under their own."""
    return "\n".join(_lines(fields, ""))


def _lines(fields: Sequence[FieldShape], indent: str) -> Iterator[str]:
    for field in fields:
        if not field.asked:
            continue
        notes = list(
            filter(None, ["list" if field.many else "", "|".join(field.choices) or _TYPES.get(field.column, "")])
        )
        if field.optional:
            notes.append("or null")
        star = "*" if field.verbatim else ""
        kind = f" ({' '.join(notes)})" if notes else ""
        about = f": {field.description}" if field.description else ""
        yield f"{indent}- {field.name}{star}{kind}{about}"
        yield from _lines(field.fields, indent + "  ")
