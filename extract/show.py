"""Shows a record in the terminal: its text with each piece of evidence marked in its place, the claims beside it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from store.db import Store
from store.results import Claims
from store.rows import Evidence, Record
from store.text import visible

_STYLES = ("bold green", "bold cyan", "bold magenta", "bold yellow", "bold blue", "bold red")


def shown(store: Store, wanted: str, console: Console | None = None) -> None:
    """Print the record whose id (or the start of it) or source id is `wanted`. Raises RecordNotFound."""
    console = console or Console(highlight=False)
    record = store.record(wanted)
    console.print(Text(visible(record.title or record.source_id or record.record_id), style="bold"))
    console.print(Text(f"{record.record_id}  {visible(record.source)}, {record.locator}", style="dim"))
    every = store.claims_of(record.record_id)
    if not every:
        console.print(marked(record, ()))
        console.print('no good outcome yet; `claimbase sql "SELECT * FROM failures"` says what failed', markup=False)
    for claims in every:
        console.print(Text(f"\n{claims.schema_name} by {claims.model}, run {claims.run_id}", style="dim"))
        console.print(marked(record, claims.evidence))
        console.print()
        for line in _lines(claims):
            console.print(line)


def marked(record: Record, evidence: Iterable[Evidence]) -> Text:
    """Return the text with its evidence styled by field. Control characters are shown, not sent to the terminal."""
    styles = _styles(evidence)
    text = Text("".join(_visible_as_one(c) for c in record.text))
    for place in evidence:
        if place.start is not None and place.end is not None and place.reason is None:
            text.stylize(styles[_field(place)], place.start, place.end)
    return text


def _lines(claims: Claims) -> Iterable[Text]:
    """Yield a line for each field, each item of a list, and each quote that was rejected."""
    styles = _styles(claims.evidence)
    value: Mapping[str, Any] = json.loads(claims.value)
    for name, found in value.items():
        items: Sequence[Any] = found if isinstance(found, list) else [found]
        for item in items or [None]:
            yield Text.assemble((f"{name:>18}  ", styles.get(name, "dim")), _said(item))
    for place in claims.evidence:
        if place.reason:
            yield Text.assemble(
                (f"{'rejected':>18}  ", "red"), visible(f"{place.path} {place.quote!r}: {place.reason}")
            )


def _said(item: Any) -> str:
    if item is None:
        return "—"
    if not isinstance(item, dict):
        return visible(str(item))
    left_out = ("start", "end", "match")
    if set(item) == {"name", *left_out}:
        return visible(str(item["name"]))
    return visible(", ".join(f"{k} {v}" for k, v in item.items() if v is not None and k not in left_out))


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
