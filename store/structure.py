"""Reads a schema's structure: which plain fields a model has, which lists, and what their columns are called.

A structure is JSON in the notation of DuckDB's `from_json`: a type name, a list of one, or an object of these. Pure:
it knows no database and no field of the shipped schema.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from store.errors import SchemaRefused

Node = str | list["Node"] | dict[str, "Node"]
"""A type name, a list of one node, an object of nodes."""


@dataclass(frozen=True, slots=True)
class Column:
    """A plain field: the path to it in the value, its name with the nesting flattened, its DuckDB type.

    A list of plain values within an item is kept whole: its type is `LIST`.
    """

    path: tuple[str, ...]
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class ListField:
    """A list of the model, with its items' columns; of plain items one column with an empty path.

    `within`: the lists whose items hold it, the outermost first; its path then begins at an item of the last.
    """

    path: tuple[str, ...]
    name: str
    columns: tuple[Column, ...]
    within: tuple["ListField", ...] = ()

    @property
    def full_path(self) -> tuple[str, ...]:
        """The path from the model."""
        return tuple(key for field in (*self.within, self) for key in field.path)

    @property
    def measures(self) -> bool:
        """Whether its items have a number: a DOUBLE called `value`."""
        return any(column.path == ("value",) and column.type.upper() == "DOUBLE" for column in self.columns)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a structure holds: the plain fields of the model, those of nested objects among them, and its lists."""

    scalars: tuple[Column, ...]
    lists: tuple[ListField, ...]


def shape_of(name: str, structure: str) -> Shape:
    """The fields of a structure (JSON text), in its order. Raises `SchemaRefused` with what is wrong."""
    try:
        node = json.loads(structure)
    except ValueError as error:
        raise SchemaRefused(name, f"its structure is not JSON ({error})") from error
    if not isinstance(node, dict) or not node:
        raise SchemaRefused(name, "its structure is not an object with a field")
    _check(name, node, ())
    scalars = [(path, kind) for path, kind in _walk(node, ()) if not isinstance(kind, list)]
    return Shape(scalars=_columns(scalars, set()), lists=tuple(_lists(node, (), set())))


def _check(name: str, node: Node, path: tuple[str, ...]) -> None:
    where = ".".join(path) or "the model"
    if isinstance(node, list):
        if len(node) != 1:
            raise SchemaRefused(name, f"the list {where} says {len(node)} kinds of items, not 1")
        _check(name, node[0], path)
    elif isinstance(node, dict):
        if not node:
            raise SchemaRefused(name, f"{where} has no fields")
        seen: dict[str, str] = {}
        for key, child in node.items():
            other = seen.setdefault(key.lower(), key)
            if other != key:
                raise SchemaRefused(name, f"the fields {other!r} and {key!r} of {where} differ in case only")
            _check(name, child, (*path, key))
    elif not isinstance(node, str):
        raise SchemaRefused(name, f"the type of {where} is {node!r}, not a name")


def _walk(node: Node, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str | list[Node]]]:
    if isinstance(node, dict):
        for key, child in node.items():
            yield from _walk(child, (*path, key))
    else:
        yield path, node


def _lists(node: Node, within: tuple[ListField, ...], taken: set[str]) -> Iterator[ListField]:
    """The lists of an object, each followed by those that its items hold."""
    for path, kind in _walk(node, ()):
        if isinstance(kind, list):
            above = within[-1].full_path if within else ()
            field = ListField(path, free("_".join((*above, *path)), taken), _item_columns(kind[0]), within)
            yield field
            if isinstance(kind[0], dict):
                yield from _lists(kind[0], (*within, field), taken)


def _columns(fields: Sequence[tuple[tuple[str, ...], str | list[Node]]], taken: set[str]) -> tuple[Column, ...]:
    return tuple(
        Column(path, free("_".join(path), taken), kind if isinstance(kind, str) else "LIST") for path, kind in fields
    )


def _item_columns(item: Node) -> tuple[Column, ...]:
    if isinstance(item, dict):
        return _columns([(path, kind) for path, kind in _walk(item, ()) if not _is_of_objects(kind)], set())
    kind = item if isinstance(item, str) else "LIST"
    return (Column((), "name" if kind.upper() == "VARCHAR" else "value", kind),)


def _is_of_objects(kind: str | list[Node]) -> bool:
    """Is it a list of objects? Its items are rows of a view of their own."""
    return isinstance(kind, list) and isinstance(kind[0], dict)


def free(name: str, taken: set[str]) -> str:
    """`name`, or the first of `name_2`, `name_3`… that is not taken; takes it. DuckDB's names ignore case."""
    found, number = name, 2
    while found.lower() in taken:
        found, number = f"{name}_{number}", number + 1
    taken.add(found.lower())
    return found


def plural(noun: str) -> str:
    """An English plural, good enough for a view's name: trial, trials; study, studies; class, classes."""
    if noun.endswith(("s", "x", "ch", "sh")):
        return noun + "es"
    if noun.endswith("y") and not noun.endswith(("ay", "ey", "oy", "uy")):
        return noun[:-1] + "ies"
    return noun + "s"


def singular(noun: str) -> str:
    """The other way: headline_numbers, headline_number; studies, study."""
    if noun.endswith("ies"):
        return noun[:-3] + "y"
    if noun.endswith(("sses", "xes", "ches", "shes")):
        return noun[:-2]
    return noun.removesuffix("s")
