"""Says in words what a JSON schema lets through: for a prompt, which states what it asks for a line a field.

It reads the JSON schema that Pydantic makes of a model, before anything is left out of it. It knows no marks.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Node = Mapping[str, Any]
"""A JSON schema, or a part of one."""

_FORMATS = {
    "date": "YYYY-MM-DD",
    "date-time": "YYYY-MM-DDThh:mm:ss",
    "time": "hh:mm:ss",
    "duration": "a duration as in ISO 8601, P3DT2H",
    "uuid": "UUID",
    "uri": "URL",
    "email": "e-mail address",
}
_TYPES = {"string": "text", "integer": "integer", "number": "number", "boolean": "true|false", "null": "null"}
_LIMITS = (
    ("minimum", "at least {}"),
    ("exclusiveMinimum", "more than {}"),
    ("maximum", "at most {}"),
    ("exclusiveMaximum", "less than {}"),
    ("multipleOf", "a multiple of {}"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("pattern", "matching {}"),
    ("minItems", "at least {} of them"),
    ("maxItems", "at most {} of them"),
)


def without_null(node: Node) -> Node:
    """Return what may stand beside null in a field that may be null; the node itself for any other."""
    others = [part for part in node.get("anyOf", ()) if part.get("type") != "null"]
    return others[0] if len(others) == 1 else node


def limits(node: Node) -> tuple[str, ...]:
    """Say a field's constraints, those of a list before those of its items: endpoints refuse to hold a model to them.

    Of a field that may be one of several things nothing is said: what holds for one would read as if it held for all.
    """
    node = without_null(node)
    said = list(_limits(node))
    if node.get("type") == "array":
        said += [f"each {limit}" for limit in _limits(without_null(node.get("items", {})))]
    return tuple(said)


def _limits(node: Node) -> Iterator[str]:
    if "prefixItems" in node:
        return
    for key, said in _LIMITS:
        if key in node:
            yield "not empty" if (key, node[key]) == ("minLength", 1) else said.format(node[key])


def words(node: Node, definitions: Mapping[str, Node]) -> str:
    """Say what a value must be, in one line: `text or integer`, `{any key: number}`, `[integer, text]`."""
    if reference := node.get("$ref"):
        return words(definitions[str(reference).rpartition("/")[2]], definitions)
    if parts := node.get("anyOf") or node.get("oneOf") or node.get("allOf"):
        return " or ".join(dict.fromkeys(words(part, definitions) for part in parts))
    if "enum" in node or "const" in node:
        return "|".join(str(choice) for choice in node.get("enum", [node.get("const")]) if choice is not None)
    if node.get("type") == "array":
        return _list(node, definitions)
    if node.get("type") == "object":
        return _object(node, definitions)
    return _FORMATS.get(str(node.get("format")), _TYPES.get(str(node.get("type")), "any JSON"))


def _list(node: Node, definitions: Mapping[str, Node]) -> str:
    if parts := node.get("prefixItems"):
        return f"[{', '.join(words(part, definitions) for part in parts)}]"
    return f"list of {words(node.get('items', {}), definitions)}"


def _object(node: Node, definitions: Mapping[str, Node]) -> str:
    if properties := node.get("properties"):
        return "{" + ", ".join(f"{name}: {words(part, definitions)}" for name, part in properties.items()) + "}"
    values = node.get("additionalProperties")
    return "{any key: " + (words(values, definitions) if isinstance(values, Mapping) else "any JSON") + "}"
