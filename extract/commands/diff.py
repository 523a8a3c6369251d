"""The command `diff`: two runs compared claim by claim."""

import json
from typing import Annotated

import typer

from extract.console import DEFAULT_DB, Db, reporting_errors
from store.text import visible


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(diff)


@reporting_errors
def diff(
    first: Annotated[str, typer.Argument(metavar="RUN", help="A run's id, or the start of it.")],
    second: Annotated[str, typer.Argument(metavar="RUN", help="Another run's.")],
    db: Db = DEFAULT_DB,
    schema: Annotated[str, typer.Option(metavar="NAME", help="The schema of the runs, as in run.")] = "paper",
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON, with each difference.")] = False,
    show_differences: Annotated[bool, typer.Option("--differences", help="List each difference too.")] = False,
) -> None:
    """Compare two runs, or two models, claim by claim.

    How far they agree on each field, over the records that both did; neither is taken for right.
    """
    from extract.diff import as_row, differences, table
    from extract.diff import diff as compared

    found = compared(db, first, second, schema)
    if as_json:
        print(json.dumps(as_row(found), ensure_ascii=False))
        return
    for line in table(found):
        print(visible(line))
    if show_differences:
        for line in differences(found):
            print(visible(line))
