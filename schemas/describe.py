"""States a schema's fields and rules as a prompt shows them: a line a field, `*` for a string that must be verbatim."""

from collections.abc import Iterator, Sequence

from schemas.shape import FieldShape

_TYPES = {
    "BOOLEAN": "true|false",
    "BIGINT": "integer",
    "DOUBLE": "number",
    "DATE": "YYYY-MM-DD",
    "TIMESTAMP": "YYYY-MM-DDThh:mm:ss",
    "TIME": "hh:mm:ss",
    "UUID": "UUID",
}


def describe(fields: Sequence[FieldShape]) -> str:
    """Return the lines for all fields that a model is asked for, those of nested models indented under their own."""
    return "\n".join(_lines(fields, ""))


def _lines(fields: Sequence[FieldShape], indent: str) -> Iterator[str]:
    for field in fields:
        if not field.asked:
            continue
        star = "*" if field.verbatim else ""
        notes = ", ".join(filter(None, [_what(field), *field.limits, field.only and f"only where {field.only}"]))
        kind = f" ({notes})" if notes else ""
        about = f": {field.description}" if field.description else ""
        yield f"{indent}- {field.key or field.name}{star}{kind}{about}"
        yield from _lines(field.fields, indent + "  ")


def _what(field: FieldShape) -> str:
    """Say what a field holds, unless that is one text or the fields under it."""
    kind = field.words or "|".join(field.choices) or _TYPES.get(field.column, "")
    null = field.optional and not field.only and not kind.endswith("null")  # `only`: absent, its model isn't that one
    return " ".join(filter(None, ["list" if field.many else "", kind, "or null" if null else ""]))
