"""The JSON schema that is sent to an endpoint, made from a Pydantic model.

It is stricter and plainer than Pydantic's own: every property required, nothing additional, no titles, defaults or
descriptions (the prompt states those), and no constraint that endpoints refuse; the model checks them on the reply. A
grammar of llama.cpp's, which `bounds` are for, takes some of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from pydantic import BaseModel

from schemas.base import DERIVED, MARK

_DROPPED = frozenset(
    "title default description examples deprecated readOnly writeOnly pattern format minLength maxLength minItems "
    "maxItems uniqueItems minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minProperties maxProperties "
    "discriminator contentMediaType contentEncoding".split()
)
_IN_GRAMMARS: Mapping[str, tuple[str, ...]] = {
    "array": ("minItems",),
    "string": ("minLength",),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
}
"""Constraints that llama.cpp makes part of a grammar, by type; of patterns it takes too few, of numbers none."""
_FORMATS = frozenset(("date", "time", "date-time", "uuid"))
"""Formats that it knows; it takes no length beside one."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The longest list (items) and string (characters) that a grammar lets through, so that no model can loop."""

    items: int
    characters: int


def sent_schema(model: type[BaseModel], bounds: Bounds | None = None) -> dict[str, Any]:
    """Return the schema to send for `model`: what code computes is left out, `bounds` go on each list and string."""
    return cast(dict[str, Any], _plain(model.model_json_schema(), bounds))


def _plain(node: Any, bounds: Bounds | None) -> Any:
    if isinstance(node, list):
        return [_plain(n, bounds) for n in node]
    if not isinstance(node, Mapping):
        return node
    copy: dict[str, Any] = {}
    for key, value in node.items():
        if key in ("properties", "$defs"):  # here the keys are names, not keywords
            copy[key] = {name: _plain(n, bounds) for name, n in value.items() if DERIVED not in n}
        elif key not in _DROPPED and not key.startswith(MARK):
            copy[key] = _plain(value, bounds)
    if "const" in copy:
        copy["enum"] = [copy.pop("const")]
    if "oneOf" in copy:
        copy["anyOf"] = copy.pop("oneOf")
    if "properties" in copy:
        copy |= {"required": list(copy["properties"]), "additionalProperties": False}
    return _bound(copy, node, bounds) if bounds else copy


def _bound(copy: dict[str, Any], node: Mapping[str, Any], bounds: Bounds) -> dict[str, Any]:
    if copy.get("type") == "array":
        copy["maxItems"] = min(bounds.items, node.get("maxItems", bounds.items))
    if copy.get("type") == "string" and "enum" not in copy and node.get("format") not in _FORMATS:
        copy["maxLength"] = min(bounds.characters, node.get("maxLength", bounds.characters))
    copy |= {key: node[key] for key in _IN_GRAMMARS.get(str(copy.get("type")), ()) if key in node}
    if node.get("format") in _FORMATS:
        copy["format"] = node["format"]
    return copy
