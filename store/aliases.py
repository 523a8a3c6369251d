"""Keeps a person's aliases: names that are one thing, whatever `naming` makes of them.

`names_apart`(one, other) holds the keys of two names that a person says are two things: they are proposed no more. The
table `aliases`(key, name, canonical, added_at) holds groups: each name of a group is there by its key, with the one
form that all of them get; the form itself is one of them. It wins over all folding. This module reads and writes the
table and its CSV; `typed` applies it to the claims, `proposals` finds candidates.
"""

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import duckdb

from store.errors import StoreError
from store.naming import fold

COLUMNS = ("name", "canonical")
"""Of the CSV."""


@dataclass(frozen=True, slots=True)
class Alias:
    """A name, and the form that it gets."""

    name: str
    canonical: str


class AliasRefused(StoreError):
    """An alias that can't be read or kept, or that isn't there."""


def aliases_of(con: duckdb.DuckDBPyConnection) -> dict[str, str]:
    """The form that each key gets."""
    return {key: alias.canonical for key, alias in _kept(con).items()}


def listed(con: duckdb.DuckDBPyConnection) -> list[Alias]:
    """All aliases, by the form that they get and then by name; not that a form is called by itself."""
    aliases = [alias for key, alias in _kept(con).items() if key != fold(alias.canonical)]
    return sorted(aliases, key=lambda alias: (alias.canonical, alias.name))


def keep(con: duckdb.DuckDBPyConnection, aliases: Iterable[Alias]) -> set[str]:
    """Add aliases in their order; return the keys and forms of which the claims may not be right any more.

    An alias of a name that has one takes its place; of a name that is others' form, it takes those along; to a name
    that has an alias itself, it leads where that one does. Raises AliasRefused for an empty name, with nothing kept.
    """
    before = _kept(con)
    after = dict(before)
    for alias in aliases:
        name, form = alias.name.strip(), alias.canonical.strip()
        if not name or not form:
            raise AliasRefused(f"the alias {name!r} of {form!r} has an empty name; give both")
        _join(after, name, form)
    return _write(con, before, after)


def drop(con: duckdb.DuckDBPyConnection, names: Sequence[str]) -> set[str]:
    """Remove the aliases of these names; return as `keep` does. Raises AliasRefused for a name that has none."""
    before = _kept(con)
    after = dict(before)
    for name in names:
        alias = after.pop(fold(name), None)
        if alias is None:
            raise AliasRefused(f"{name!r} has no alias; `claimbase alias list` shows those there are")
        own = fold(alias.canonical)
        if not any(key != own for key, other in after.items() if other.canonical == alias.canonical):
            after.pop(own, None)
    return _write(con, before, after)


def set_apart(con: duckdb.DuckDBPyConnection, pairs: Iterable[Alias]) -> None:
    """Say of each two names that they are two things. Raises AliasRefused for two that are one, with nothing kept."""
    forms = aliases_of(con)
    for pair in pairs:
        one, other = sorted((fold(pair.name), fold(pair.canonical)))
        if forms.get(one, one) == forms.get(other, other):
            raise AliasRefused(
                f"{pair.name!r} and {pair.canonical!r} are one; take the alias away first, if there is one"
            )
        con.execute("INSERT OR IGNORE INTO names_apart VALUES (?, ?)", [one, other])


def apart(con: duckdb.DuckDBPyConnection) -> set[tuple[str, str]]:
    """The keys of each two names that are two things, in order."""
    return {(one, other) for one, other in con.execute("SELECT one, other FROM names_apart").fetchall()}


def read_csv(path: Path) -> list[Alias]:
    """The aliases of a CSV with the columns `name` and `canonical`. Raises AliasRefused with the line that is wrong."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file)
            if not set(COLUMNS) <= set(rows.fieldnames or ()):
                raise AliasRefused(f"{path}: no columns {' and '.join(COLUMNS)} in its first line; give it these")
            found = []
            for row in rows:
                name, canonical = (str(row[column] or "").strip() for column in COLUMNS)
                if not (name and canonical):
                    raise AliasRefused(f"{path}, line {rows.line_num}: an empty name; give both or leave the line out")
                found.append(Alias(name, canonical))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise AliasRefused(f"{path}: it can't be read as CSV ({error})") from error
    return found


def write_csv(aliases: Iterable[Alias], file: TextIO) -> None:
    """Write aliases as `read_csv` reads them."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows((alias.name, alias.canonical) for alias in aliases)


def _kept(con: duckdb.DuckDBPyConnection) -> dict[str, Alias]:
    rows = con.execute("SELECT key, name, canonical FROM aliases").fetchall()
    return {key: Alias(name, canonical) for key, name, canonical in rows}


def _join(aliases: dict[str, Alias], name: str, form: str) -> None:
    """Put a name, and all whose form it is, into the group of a form."""
    leads = aliases.get(fold(form))
    if leads is not None and fold(leads.canonical) != fold(form):
        form = leads.canonical
    moving = {fold(name), fold(form)}
    for key, other in list(aliases.items()):
        if fold(other.canonical) in moving:
            aliases[key] = Alias(other.name, form)
    aliases[fold(name)] = Alias(name, form)
    aliases[fold(form)] = Alias(form, form)


def _write(con: duckdb.DuckDBPyConnection, before: Mapping[str, Alias], after: Mapping[str, Alias]) -> set[str]:
    changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    for key in changed:
        con.execute("DELETE FROM aliases WHERE key = ?", [key])
    for key in sorted(changed & set(after)):
        row = [key, after[key].name, after[key].canonical]
        con.execute("INSERT INTO aliases VALUES (?, ?, ?, now() AT TIME ZONE 'UTC')", row)
    return changed | {before[key].canonical for key in changed if key in before}
