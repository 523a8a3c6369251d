"""The columns that a view gets beside those of its schema, so that its rows join and compare across papers.

- `canonical` beside `name`, `<field>_canonical` beside any other field that is a name (`canonical`);
- `si_value` and `si_unit` beside a `value` with its `unit`, `better` beside a `metric` (`comparable`);
- `work`: which records are versions of one paper (`works`).

It makes SQL from a schema's shape; a column whose name is taken gets a number behind it.
"""

from collections.abc import Mapping, Sequence

from store.comparable import better_sql, share_sql, si_unit_sql, si_value_sql
from store.sqltext import member, quoted
from store.structure import Column, ListField, Node, free

CANONICAL = "canonical"
"""The column of a typed table that holds the canonical forms of its names, in the shape of the value."""


def of_model(names: Mapping[str, Node], columns: Sequence[Column], source: str, taken: set[str]) -> list[str]:
    """The columns of a model's plain fields, of the typed table's row `source`. Adds to `taken`."""
    return _forms(dict(names), columns, f"{source}.{CANONICAL}", taken)


def of_items(names: Mapping[str, Node], field: ListField, source: str, taken: set[str]) -> list[str]:
    """The columns of a list's items, of the unfolded row `source`. Adds to `taken`."""
    node: Node = dict(names)
    at = f"{source}.{CANONICAL}"
    for depth, each in enumerate((*field.within, field)):
        for key in each.path:
            node = node.get(key, "") if isinstance(node, dict) else ""
        ordinal = f"{source}.ordinal" if each is field else f"{source}.ordinal_{depth}"
        at = f"{member(at, each.path)}[{ordinal} + 1]"
        node = node[0] if isinstance(node, list) else ""
    columns = (
        [f"{at} AS {quoted(free(CANONICAL, taken))}"] if node == "VARCHAR" else _forms(node, field.columns, at, taken)
    )
    return [*columns, *_compared(field, source, taken)]


def _forms(node: Node, columns: Sequence[Column], at: str, taken: set[str]) -> list[str]:
    """The canonical forms of those columns that are names."""
    return [
        f"{member(at, column.path)} AS {quoted(free(f'{column.name}_{CANONICAL}', taken))}"
        for column in columns
        if _at(node, column.path) == "VARCHAR"
    ]


def _at(node: Node, path: Sequence[str]) -> Node | None:
    for key in path:
        if not isinstance(node, dict) or key not in node:
            return None
        node = node[key]
    return node


def _compared(field: ListField, source: str, taken: set[str]) -> list[str]:
    """The columns that compare an item's number, if it has one."""
    texts = {column.path[0] for column in field.columns if len(column.path) == 1 and column.type == "VARCHAR"}
    at = {name: member(f"{source}.item", (name,)) for name in ("value", *texts)}
    made = []
    if field.measures and "unit" in texts:
        share = share_sql(at["value"], at["unit"], at.get("metric"), at.get("role"))
        made.append(("si_value", si_value_sql(at["value"], at["unit"], share, at.get("quote"))))
        made.append(("si_unit", si_unit_sql(at["unit"], share)))
    if field.measures and "metric" in texts:
        made.append(("better", better_sql(at["metric"], at.get("direction"))))
    return [f"{sql} AS {quoted(free(name, taken))}" for name, sql in made]
