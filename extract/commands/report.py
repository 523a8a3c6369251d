"""The command `report`: what a paper that uses these claims must say of how they were made."""

from typing import Annotated

import typer

from extract.console import DEFAULT_DB, Db, reporting_errors
from extract.errors import SettingsError

KINDS = ("methods",)


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(report)


@reporting_errors
def report(
    kind: Annotated[str, typer.Argument(metavar="methods", help="What to write.")],
    db: Db = DEFAULT_DB,
) -> None:
    """Write the methods paragraph of a systematic review.

    In Markdown: a paragraph and tables with tool, versions, model, prompt, dates, counts, reviewers, and the error
    measured on the abstracts that were drawn at random, with its interval.
    """
    from extract.review.methods import methods
    from store.text import visible

    if kind not in KINDS:
        raise SettingsError(f"unknown report {kind!r}; expected {', '.join(KINDS)}")
    for line in methods(db):
        print(visible(line))
