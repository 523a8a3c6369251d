"""The command `merge`: takes what the workers of a run wrote into a database."""

from typing import Annotated

import typer

from extract.console import DEFAULT_DB, Db, reporting_errors, say


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(merge)


@reporting_errors
def merge(
    parts: Annotated[
        list[str], typer.Argument(metavar="PARTS", help="Folders that run --parts named, also s3://bucket/folder.")
    ],
    db: Db = DEFAULT_DB,
) -> None:
    """Take the parts that a run's workers wrote into a database.

    At any time, also while the run goes on; what is there already stays as it is.
    """
    from extract.addresses import shown
    from extract.distributed.merge import merge_folder

    for address in parts:
        merged = merge_folder(address, db)
        say(
            f"{merged.outcomes:,} outcomes in {merged.parts:,} parts of {shown(address)}: {merged.new:,} taken in, "
            f"{merged.outcomes - merged.new:,} were there"
        )
