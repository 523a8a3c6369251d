"""Shows a record in the terminal: its text with each piece of evidence marked in its place, the claims beside it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from store.db import Store
from store.results import Claims
from store.rows import Evidence, Record
from store.text import visible

_STYLES = ("bold green", "bold cyan", "bold magenta", "bold yellow", "bold blue", "bold red")
_PLACE = ("start", "end", "match")


def shown(store: Store, wanted: str, console: Console | None = None) -> None:
    """Print the record whose id (or the start of it) or source id is `wanted`. Raises RecordNotFound."""
    console = console or Console(highlight=False)
    record = store.record(wanted)
    if record.title:
        console.print(Text(visible(record.title), style="bold"))
    where = [record.record_id, record.source_id or "", f"{record.source}, {record.locator}"]
    console.print(Text("  ".join(visible(part) for part in where if part), style="dim"))
    every = store.claims_of(record.record_id)
    if not every:
        console.print()
        console.print(marked(record, ()))
        console.print()
        console.print(Text("no claims yet; `claimbase sql 'FROM failures'` says what failed"))
    for claims in every:
        console.print(
            Text(f"\n{visible(claims.schema_name)} by {visible(claims.model)}, run {claims.run_id}", style="dim")
        )
        console.print(marked(record, claims.evidence))
        console.print()
        console.print(_table(claims))


def marked(record: Record, evidence: Iterable[Evidence]) -> Text:
    """Return the text with its evidence styled by field. Control characters are shown, not sent to the terminal."""
    styles = _styles(evidence)
    text = Text("".join(_visible_as_one(c) for c in record.text))
    for place in evidence:
        if place.start is not None and place.end is not None and place.reason is None:
            text.stylize(styles[_field(place)], place.start, place.end)
    return text


def _table(claims: Claims) -> Table:
    """Return a row for each field, each item of a list, and each quote that was rejected."""
    table = Table.grid(padding=(0, 2))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    styles = _styles(claims.evidence)
    value: Mapping[str, Any] = json.loads(claims.value)
    for name, found in value.items():
        items: Sequence[Any] = found if isinstance(found, list) else [found]
        for item in items or [None]:
            table.add_row(Text(visible(name), style=styles.get(name, "dim")), Text(_said(item)))
    for place in claims.evidence:
        if place.reason:
            said = f"{place.path} '{place.quote}': {place.reason}"
            table.add_row(Text("rejected", style="red"), Text(visible(said)))
    return table


def _said(item: Any) -> str:
    """Say a field's value or an item of a list in one line; where the item stands is marked in the text."""
    if item is None:
        return "—"
    if isinstance(item, dict):
        left = {name: said for name, said in item.items() if said not in (None, "") and name not in _PLACE}
        if list(left) == ["name"]:
            return _said(left["name"])
        return ", ".join(f"{visible(name)} {_said(said)}" for name, said in left.items())
    return visible(f"{item:.15g}" if isinstance(item, float) else str(item))


def _styles(evidence: Iterable[Evidence]) -> dict[str, str]:
    fields = dict.fromkeys(_field(place) for place in evidence)
    return {name: _STYLES[i % len(_STYLES)] for i, name in enumerate(fields)}


def _field(place: Evidence) -> str:
    return place.path.split(".")[0].split("[")[0]


def _visible_as_one(character: str) -> str:
    """Return a character, or one that stands for it, so that offsets stay true."""
    if character.isprintable():
        return character
    return " " if character.isspace() else "�"
