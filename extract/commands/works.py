"""The commands `works list`, `apart` and `rejoin`: which records are versions of one paper."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from extract.console import DEFAULT_DB, Db, reporting_errors, say
from store.text import visible

if TYPE_CHECKING:
    from store.db import Store

Records = Annotated[list[str], typer.Argument(metavar="RECORD", help="A source's id, or a record's or its start.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    group = typer.Typer(help="Say which records are one paper.", rich_markup_mode=None)
    group.command("list")(list_all)
    group.command()(apart)
    group.command()(rejoin)
    app.add_typer(group, name="works")


@reporting_errors
def list_all(db: Db = DEFAULT_DB, as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False) -> None:
    """List the papers of several records, and those that were set apart."""
    from store.session import reading
    from store.works import several

    with reading(db) as con:
        found = several(con)
    if as_json:
        keys = ("work", "record_id", "title", "source_id", "apart")
        print(json.dumps([dict(zip(keys, row, strict=True)) for row in found], ensure_ascii=False))
        return
    last = None
    for work, record_id, title, source_id, is_apart in found:
        if work != last:
            print(visible(f"{work}{'  (set apart)' if is_apart else ''}"))
        print(visible(f"  {record_id}  {source_id or ''}  {title or ''}".rstrip()))
        last = work
    if not found:
        say("each record is a paper of its own")


@reporting_errors
def apart(records: Records, db: Db = DEFAULT_DB) -> None:
    """Say that these records are one paper, and no other's.

    For what a title, a DOI or an arXiv id links wrongly. It wins over all three.
    """
    from store.db import Store

    store = Store(db)
    store.set_works_apart(_ids(store, records))
    say(f"{len(set(records)):,} {'record is' if len(set(records)) == 1 else 'records are'} a paper by themselves")


@reporting_errors
def rejoin(records: Records, db: Db = DEFAULT_DB) -> None:
    """Let titles and ids link records again that were set apart."""
    from store.db import Store

    store = Store(db)
    store.rejoin_works(_ids(store, records))
    say("linked again by what identifies them")


def _ids(store: "Store", records: list[str]) -> list[str]:
    return [store.record(record).record_id for record in records]
