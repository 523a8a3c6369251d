"""The command `check`: is everything reviewed? A gate, for scripts."""

from typing import Annotated

import typer

from extract.console import DEFAULT_DB, INCOMPLETE, Db, reporting_errors
from extract.errors import SettingsError


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(check)


@reporting_errors
def check(
    db: Db = DEFAULT_DB,
    all_reviewed: Annotated[
        bool, typer.Option("--all-reviewed", help="Each abstract is reviewed, and no difference is open.")
    ] = False,
    sample: Annotated[
        str | None, typer.Option(metavar="SEED", help="Only the abstracts of the sample drawn by this seed.")
    ] = None,
    schema: Annotated[str, typer.Option(metavar="NAME", help="The schema of the claims.")] = "paper",
) -> int:
    """Check that the claims are reviewed, for a script.

    It exits with 3 while they are not, and names what is open.
    """
    from extract.review.gate import reviewed

    if not all_reviewed:
        raise SettingsError("what is to be checked? give --all-reviewed")
    found = reviewed(db, schema, sample)
    if sample is not None and not found.abstracts:
        raise SettingsError(f"no sample {sample!r} was drawn; the page of the review draws one")
    for line in found.lines():
        print(line)
    return 0 if found.passes else INCOMPLETE
