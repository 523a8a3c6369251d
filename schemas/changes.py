"""Compares two forms of a schema, field by field: what a model is asked for, and what code makes of the reply.

It reads what a database keeps of a schema (its JSON schema and its structure), so that a form whose file is long gone
can be compared too. It knows no database.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from schemas.base import DERIVED, MARK
from schemas.registry import LoadedSchema
from schemas.shape import Structure
from schemas.wording import Node, limits, without_null, words

_MARKS = {"number": "a number's quote", "text": "a quote"}


@dataclass(frozen=True, slots=True)
class Form:
    """A form of a schema, as it is loaded or as a database keeps it."""

    name: str
    hash: str
    json_schema: Mapping[str, Any]
    structure: dict[str, Structure]


@dataclass(frozen=True, slots=True)
class Change:
    """What became of a field, by its path (`effects.quote`). `details`: what of it is otherwise, a phrase each."""

    kind: Literal["added", "removed", "changed"]
    path: str
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between two forms. `asked`: of what a model is asked for; `columns`: of what code alone makes."""

    asked: tuple[Change, ...]
    columns: tuple[Change, ...]


def form_of(schema: LoadedSchema) -> Form:
    """Return the form of a loaded schema."""
    return Form(schema.name, schema.hash, json.loads(schema.json_schema), schema.structure)


def compare(old: Form, new: Form) -> Changes:
    """Return what differs from the old form to the new one, in the order of the new one's fields, removed ones last."""
    before, after = _asked(old.json_schema), _asked(new.json_schema)
    columns = [
        {path: {"type": kind} for path, kind in _columns(form.structure, "") if path not in before | after}
        for form in (old, new)
    ]
    asked = tuple(_changes(before, after))
    told = {change.path for change in asked}
    made = (change for change in _changes(*columns) if not told & set(_above(change.path)))
    return Changes(asked, tuple(made))


Facts = Mapping[str, str]
"""What is said of a field, by the name of what is said: its type, its rule, its marks."""


def _changes(before: Mapping[str, Facts], after: Mapping[str, Facts]) -> Iterator[Change]:
    for path, facts in after.items():
        if path not in before:
            yield Change("added", path, tuple(facts[fact] for fact in ("type", "mark") if fact in facts))
        elif facts != before[path]:
            yield Change("changed", path, tuple(_details(before[path], facts)))
    for path in before:
        if path not in after:
            yield Change("removed", path)


def _details(before: Facts, after: Facts) -> Iterator[str]:
    for fact in dict.fromkeys((*after, *before)):
        old, new = before.get(fact, ""), after.get(fact, "")
        if old != new:
            yield (
                f"{fact} {new!r}, was {old!r}" if old and new else f"{fact} {new!r} is new" if new else f"no {fact} now"
            )


def _asked(json_schema: Mapping[str, Any]) -> dict[str, Facts]:
    """Return the facts of each field of a JSON schema, those of models within it by their paths."""
    found: dict[str, Facts] = {}
    definitions: Mapping[str, Node] = json_schema.get("$defs", {})

    def walk(node: Node, path: str) -> None:
        for name, part in _resolved(node, definitions).get("properties", {}).items():
            at = f"{path}.{name}" if path else name
            found.setdefault(at, _facts(part, definitions))
            for model in _models(part, definitions):
                walk(model, at)

    walk(json_schema, "")
    return found


def _resolved(node: Node, definitions: Mapping[str, Node]) -> Node:
    reference = node.get("$ref")
    return definitions[str(reference).rpartition("/")[2]] if reference else node


def _models(node: Node, definitions: Mapping[str, Node]) -> Iterator[Node]:
    """Yield the models that a field's value, or an item of its list, may be of."""
    node = _resolved(node, definitions)
    if "properties" in node:
        yield node
    for part in (*node.get("anyOf", ()), *node.get("oneOf", ()), *([node["items"]] if "items" in node else [])):
        yield from _models(part, definitions)


def _facts(node: Node, definitions: Mapping[str, Node]) -> Facts:
    facts = {
        "type": _type(node, definitions),
        "rule": " ".join(str(node.get("description", "")).split()),
        "mark": _mark(node),
        "limit": ", ".join(limits(node)),
        "default": json.dumps(node["default"], ensure_ascii=False) if "default" in node else "",
    }
    return {fact: said for fact, said in facts.items() if said}


def _type(node: Node, definitions: Mapping[str, Node]) -> str:
    """Say a field's type as a prompt does, but for models, whose fields are told by themselves."""
    if "$ref" in node and "properties" in (model := _resolved(node, definitions)):
        return str(model.get("title", "object"))
    if parts := node.get("anyOf") or node.get("oneOf"):
        return " or ".join(dict.fromkeys(_type(part, definitions) for part in parts))
    if node.get("type") == "array" and "items" in node:
        return f"list of {_type(node['items'], definitions)}"
    return words(node, definitions)


def _mark(node: Node) -> str:
    """Say what a field's mark makes of it: the mark is its own, or that of what it is a list of."""
    node = without_null(node)
    node = without_null(node.get("items", node))
    if DERIVED in node:
        return f"filled by code from {node[DERIVED]!r}"
    if f"{MARK}unit-of" in node:
        return f"the unit of {node[f'{MARK}unit-of']!r}"
    if f"{MARK}verbatim" not in node:
        return ""
    return _MARKS[node[f"{MARK}verbatim"]] + (", letter case apart" if node.get(f"{MARK}any-case") else "")


def _above(path: str) -> Iterator[str]:
    """Yield a path, and those of all that it is part of."""
    names = path.split(".")
    for count in range(1, len(names) + 1):
        yield ".".join(names[:count])


def _columns(structure: Structure, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the type of each plain column."""
    if isinstance(structure, list):
        yield from _columns(structure[0], path)
    elif isinstance(structure, dict):
        for name, part in structure.items():
            yield from _columns(part, f"{path}.{name}" if path else name)
    else:
        yield path, structure
