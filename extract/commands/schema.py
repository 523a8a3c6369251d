"""The commands `schema show`, `check` and `diff`: what a schema asks for, and what a change of it means."""

import json
from typing import TYPE_CHECKING, Annotated

import typer

from extract.console import DEFAULT_DB, Db, reporting_errors
from extract.settings import LOCAL, Asking, is_local
from store.text import visible

if TYPE_CHECKING:
    from extract.recipe import Recipe

Spec = Annotated[str, typer.Argument(metavar="SCHEMA", help="A shipped schema, or FILE.py:Class.")]
Form = typer.Argument(metavar="SCHEMA", help="The same, or a fingerprint in the database, or its start (s1-...).")
PromptName = Annotated[
    str | None, typer.Option(metavar="NAME", help="A shipped prompt, or FILE.md; unless given, the schema's own.")
]
_ANY_MODEL = "any"
"""Stands for an endpoint's model: what the embedded one gets is bounded, and may be the prompt it was trained on."""


def add_to(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    group = typer.Typer(help="Show, check or compare schemas.", rich_markup_mode=None)
    group.command()(show)
    group.command()(check)
    group.command()(diff)
    app.add_typer(group, name="schema")


@reporting_errors
def show(
    schema: Spec = "paper",
    prompt: PromptName = None,
    model: Annotated[
        str, typer.Option(metavar="NAME", help=f"As this model gets it; '{LOCAL}' is the embedded one.")
    ] = _ANY_MODEL,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Show what a model gets, and the views that come of it.

    The prompt as it reads it, the JSON schema that is sent, each view with its columns.
    """
    from extract.schema_report import as_row, shown

    recipe = _recipe(schema, prompt, model)
    if as_json:
        print(json.dumps(as_row(recipe), ensure_ascii=False))
        return
    for line in shown(recipe):
        print(visible(line))


@reporting_errors
def check(schema: Spec = "paper", prompt: PromptName = None) -> None:
    """Say whether a schema can be used, and what becomes of each field.

    What endpoints can't be held to and why, what is checked here in their place, what is looked up in the text, what
    code fills in.
    """
    from extract.schema_report import checked

    for line in checked(_recipe(schema, prompt)):
        print(visible(line))


@reporting_errors
def diff(old: Annotated[str, Form], new: Annotated[str, Form], db: Db = DEFAULT_DB) -> None:
    """Say what differs between two schemas, and what that means.

    Which fields were added, removed or changed, and whether records are asked again.
    """
    from extract.schema_report import explained, find_form, records_done

    before, after = find_form(old, db), find_form(new, db)
    for line in explained(before, after, records_done(db, before.hash)):
        print(visible(line))


def _recipe(schema: str, prompt: str | None, model: str = _ANY_MODEL) -> "Recipe":
    from extract.adapters import adapter_of
    from extract.local import asking_for
    from extract.recipe import make_recipe

    return make_recipe(schema, prompt, asking_for(adapter_of(model)) if is_local(model) else Asking(model))
