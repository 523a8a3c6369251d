"""The commands `alias add`, `remove`, `apart`, `list`, `import`, `export`, `propose`: which names are one thing."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from extract.console import DEFAULT_DB, Db, reporting_errors, say
from extract.errors import SettingsError
from store.text import visible

AsJson = Annotated[bool, typer.Option("--json", help="Write JSON.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    group = typer.Typer(help="Say which names are one thing.", rich_markup_mode=None)
    group.command("add")(add)
    group.command("remove")(remove)
    group.command("apart")(apart)
    group.command("list")(list_all)
    group.command("import")(import_all)
    group.command("export")(export_all)
    group.command("propose")(propose)
    app.add_typer(group, name="alias")


@reporting_errors
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name as papers write it.")],
    canonical: Annotated[str, typer.Argument(metavar="FORM", help="The form that it gets, and is shown as.")],
    db: Db = DEFAULT_DB,
) -> None:
    """Give a name the canonical form of another.

    However either is written: what folds to the same as NAME, or as FORM, is shown as FORM.
    """
    from store.aliases import Alias
    from store.db import Store

    _say_read(Store(db).keep_aliases([Alias(name, canonical)]))


@reporting_errors
def remove(
    names: Annotated[list[str], typer.Argument(metavar="NAME", help="A name that has an alias.")],
    db: Db = DEFAULT_DB,
) -> None:
    """Take the alias of a name away."""
    from store.db import Store

    _say_read(Store(db).drop_aliases(names))


@reporting_errors
def apart(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name as papers write it.")],
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The name of another thing.")],
    db: Db = DEFAULT_DB,
) -> None:
    """Say that two names are two things.

    They keep their own forms, and are proposed no more.
    """
    from store.aliases import Alias
    from store.db import Store

    Store(db).set_names_apart([Alias(name, other)])
    say("two things")


@reporting_errors
def list_all(db: Db = DEFAULT_DB, as_json: AsJson = False) -> None:
    """List the aliases, by the form they get."""
    from store.db import Store

    aliases = Store(db).aliases()
    if as_json:
        print(json.dumps([asdict(alias) for alias in aliases], ensure_ascii=False))
        return
    for alias in aliases:
        print(visible(f"{alias.name} -> {alias.canonical}"))
    if not aliases:
        say("no aliases; `claimbase alias add NAME FORM` makes one")


@reporting_errors
def import_all(
    file: Annotated[Path, typer.Argument(metavar="FILE.csv", help="A CSV with the columns name and canonical.")],
    db: Db = DEFAULT_DB,
    apart: Annotated[bool, typer.Option("--apart", help="Each line has two things: see apart.")] = False,
) -> None:
    """Add the aliases of a CSV, all or none."""
    from store.aliases import read_csv
    from store.db import Store

    aliases = read_csv(file)
    if apart:
        Store(db).set_names_apart(aliases)
        say(f"{len(aliases):,} pairs of names are two things")
        return
    read = Store(db).keep_aliases(aliases)
    say(f"{len(aliases):,} {'alias' if len(aliases) == 1 else 'aliases'} taken in")
    _say_read(read)


@reporting_errors
def export_all(
    to: Annotated[str, typer.Option("--to", metavar="FILE.csv", help="'-' is standard output.")] = "-",
    db: Db = DEFAULT_DB,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
) -> None:
    """Write the aliases as a CSV, as import reads it."""
    from store.aliases import write_csv
    from store.db import Store

    aliases = Store(db).aliases()
    if to == "-":
        write_csv(aliases, sys.stdout)
        return
    if Path(to).exists() and not force:
        raise SettingsError(f"{to!r} is there already; name another file, or overwrite it with --force")
    with Path(to).open("w", encoding="utf-8", newline="") as file:
        write_csv(aliases, file)


@reporting_errors
def propose(
    db: Db = DEFAULT_DB,
    likeness: Annotated[
        float, typer.Option(metavar="PERCENT", min=50, max=100, help="Of the spelling of two names.")
    ] = 90.0,
    as_json: AsJson = False,
) -> None:
    """List names that may be one thing, as a CSV.

    Nothing is merged: import the lines that are right, and those that are wrong with --apart.
    """
    import csv

    from store.proposals import proposals
    from store.session import reading

    with reading(db) as con:
        found = proposals(con, likeness)
    rows = [asdict(proposal) for proposal in found]
    if as_json:
        print(json.dumps(rows, ensure_ascii=False))
        return
    writer = csv.DictWriter(
        sys.stdout, ("name", "canonical", "records", "canonical_records", "likeness", "why"), lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(rows)
    say(f"{len(rows):,} pairs of names to look at")


def _say_read(records: int) -> None:
    say(f"names of {records:,} {'record' if records == 1 else 'records'} read again")
