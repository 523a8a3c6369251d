"""What an endpoint that holds a model to a schema ("strict") takes of it, and what is left for the reply's check.

The rules are OpenAI's for structured outputs, which other endpoints follow: objects of named fields, each required, no
others; no keyword but `type`, `enum`, `anyOf`, `items`, `properties`, `$ref`. Constraints are left out of what is sent
(`sent`) and checked by Pydantic on the reply.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from schemas.base import DERIVED
from schemas.wording import Node, limits

_ALIKE = "two of the list may not be alike"


def refusals(sent: Mapping[str, Any]) -> list[str]:
    """Return what strict endpoints refuse in a schema as it is sent: a line each with the field, why, and the way out.

    Where there is one, the schema is sent without `strict`: as advice, with the reply checked here as ever.
    """
    return [
        f"{path}: {why}"
        for path, node in _nodes(sent, sent.get("$defs", {}), "")
        if (why := _refused(node)) is not None
    ]


def left_out(json_schema: Mapping[str, Any]) -> list[str]:
    """Return the constraints of a model that are never sent, a line a field: the prompt says them, the reply is held to
    them.
    """
    found: dict[str, list[str]] = {}
    for path, node in _nodes(json_schema, json_schema.get("$defs", {}), ""):
        if path and DERIVED not in node:
            said = [*limits(node), *([_ALIKE] if node.get("uniqueItems") else [])]
            found.setdefault(path, []).extend(limit for limit in said if limit not in found.get(path, []))
    return [f"{path}: {', '.join(said)}" for path, said in found.items() if said]


def _refused(node: Node) -> str | None:
    if "prefixItems" in node:
        return "a tuple of fixed places; make it a model with a field each"
    if node.get("type") == "object" and not node.get("properties"):
        return "an object with any keys; make it a list of a model with the key and the value as fields"
    if node.get("type") == "array" and "items" not in node:
        return "a list of anything; say what it holds"
    if not set(node) & {"type", "enum", "anyOf", "$ref", "properties"}:
        return "any value at all; give it a type"
    return None


def _nodes(node: Node, definitions: Mapping[str, Node], path: str) -> Iterator[tuple[str, Node]]:
    """Yield each part of a schema with the path of its field; one that two fields refer to, for each of them."""
    if reference := node.get("$ref"):
        yield from _nodes(definitions[str(reference).rpartition("/")[2]], definitions, path)
        return
    yield path, node
    for name, part in node.get("properties", {}).items():
        yield from _nodes(part, definitions, f"{path}.{name}" if path else name)
    within = [node.get("items"), node.get("additionalProperties")]
    for part in (*within, *node.get("anyOf", ()), *node.get("oneOf", ()), *node.get("prefixItems", ())):
        if isinstance(part, Mapping):
            yield from _nodes(part, definitions, path)
