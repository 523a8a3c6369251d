"""Says which fields of a schema hold names, and gives each name of a record's claims its canonical form.

A schema marks them: a field whose JSON schema says `x-any-case` is a `Name`, copied from the text but for its case. A
field called `metric` holds the name of a metric. The canonical forms have the shape of the value that they belong to:
lists of the same length, an object with the names' fields alone. Pure; it knows no database.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from store.comparable import metric_key
from store.mentions import Mentions
from store.naming import fold
from store.rows import Schema
from store.structure import Node

_NAME_MARK = "x-any-case"
_METRIC = "metric"

Aliases = Mapping[str, str]
"""What a person wants a key to be, by the key."""


def names_in(schema: Schema) -> dict[str, Node]:
    """The part of a schema's structure that holds names, each a VARCHAR; empty where it has none."""
    spec = json.loads(schema.json_schema)
    found = _names(json.loads(schema.structure), spec, spec.get("$defs", {}), ())
    return found if isinstance(found, dict) else {}


def _names(node: Node, spec: Mapping[str, Any], defs: Mapping[str, Any], within: tuple[str, ...]) -> Node | None:
    specs = [one for one in _options(spec, defs, within) if isinstance(one, Mapping)]
    refs = (*within, *(one["$ref"] for one in [spec, *specs] if "$ref" in one))
    if isinstance(node, list):
        items = [one["items"] for one in specs if isinstance(one.get("items"), Mapping)]
        if any(item.get(_NAME_MARK) for item in items):
            return ["VARCHAR"]
        found = [inner for item in items if (inner := _names(node[0], item, defs, refs))]
        return [found[0]] if found and isinstance(found[0], dict) else None
    if isinstance(node, dict):
        fields: dict[str, Node] = {}
        for name, child in node.items():
            properties = [one["properties"][name] for one in specs if name in one.get("properties", {})]
            if found := [inner for each in properties if (inner := _names(child, each, defs, refs))]:
                fields[name] = found[0]
        return fields or None
    return "VARCHAR" if any(one.get(_NAME_MARK) for one in specs) else None


def _options(spec: Mapping[str, Any], defs: Mapping[str, Any], within: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    """A field's JSON schema, those that it refers to, and those that it may be one of."""
    yield spec
    reference = str(spec.get("$ref", ""))
    if reference and reference not in within:
        yield from _options(defs.get(reference.rpartition("/")[2], {}), defs, (*within, reference))
    for key in ("anyOf", "allOf", "oneOf"):
        for option in spec.get(key, ()):
            yield from _options(option, defs, within)


def canonical_of(value: Mapping[str, Any], names: Mapping[str, Node], text: str, aliases: Aliases) -> dict[str, Any]:
    """The canonical forms of the names in a value of this schema, of a record with this text."""
    kinds: dict[str, set[str]] = {}
    for name, field in _found(value, dict(names)):
        kinds.setdefault(name, set()).add(field.removesuffix("s"))
    forms = _Forms(Mentions(kinds, text, kinds), aliases) if kinds else None
    return {field: _canonical(value.get(field), node, field, forms) for field, node in names.items()}


class _Forms:
    """The canonical forms of one record's names, by its text and by the aliases."""

    def __init__(self, mentions: Mentions, aliases: Aliases) -> None:
        self._keys = mentions.keys()
        self._mentions = mentions
        self._aliases = aliases

    def of(self, name: str, field: str) -> str:
        """The form of a name that stands in a field of this name."""
        key = self._keys[name]
        if field == _METRIC:
            key = metric_key(key, name)
        return self._alias(fold(name), key) or key if self._aliases else key

    def _alias(self, own: str, key: str) -> str | None:
        """What a person calls it: by the name as it stands, by what it is short for in this text, by its key.

        That an acronym is short for something counts before the acronym, which may stand for another thing elsewhere.
        """
        others = self._mentions.other_forms(key)
        ways = (own, *others, key) if own != key else (*others, key)
        return next((form for way in ways if (form := self._aliases.get(way))), None)


def _found(value: Any, node: Node, field: str = "") -> Iterator[tuple[str, str]]:
    """Each name in a value, with its field."""
    if isinstance(node, dict):
        if isinstance(value, Mapping):
            for name, child in node.items():
                yield from _found(value.get(name), child, name)
    elif isinstance(node, list):
        for item in value if isinstance(value, list) else ():
            yield from _found(_quote(item, node), node[0], field)
    elif isinstance(value, str) and value:
        yield value, field


def _canonical(value: Any, node: Node, field: str, forms: _Forms | None) -> Any:
    if isinstance(node, dict):
        at = value if isinstance(value, Mapping) else {}
        return {name: _canonical(at.get(name), child, name, forms) for name, child in node.items()}
    if isinstance(node, list):
        items = value if isinstance(value, list) else []
        return [_canonical(_quote(item, node), node[0], field, forms) for item in items]
    return forms.of(value, field) if forms and isinstance(value, str) and value else None


def _quote(item: Any, node: list[Node]) -> Any:
    """An item of a list; of a list of quotes, which come with their places, the quote."""
    return item.get("name") if isinstance(node[0], str) and isinstance(item, Mapping) else item
