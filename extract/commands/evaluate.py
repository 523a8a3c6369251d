"""`claimbase eval`: what claims are worth, measured against gold."""

import json
from pathlib import Path
from typing import Annotated

import typer

from extract.console import DEFAULT_DB, Db, reporting_errors
from extract.errors import SettingsError
from store.text import visible


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("eval")(evaluate)


@reporting_errors
def evaluate(
    gold: Annotated[Path, typer.Argument(metavar="GOLD.jsonl", help="Annotated abstracts, one JSON object a line.")],
    db: Db = DEFAULT_DB,
    schema: Annotated[str, typer.Option(metavar="NAME", help="The schema of the gold, as in run.")] = "paper",
    runs: Annotated[
        list[str] | None,
        typer.Option("--run", metavar="RUN", help="A run, or the start of its id; may be given again."),
    ] = None,
    rules: Annotated[
        bool, typer.Option("--rules", help="Measure rules without a model too, for scale (schema paper).")
    ] = False,
    confidence: Annotated[
        bool, typer.Option("--confidence", help="Show what the claims' confidences are worth too.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON, with each miss.")] = False,
    show_misses: Annotated[bool, typer.Option("--misses", help="List each miss too.")] = False,
) -> None:
    """Measure claims against gold: precision, recall, F1.

    For each field, by the latest outcomes unless a run is named.
    """
    from extract.evaluate import LATEST, as_rows, by_rules, misses, table
    from extract.evaluate import evaluate as measure
    from extract.reliability import reliability

    if rules and schema != "paper":
        raise SettingsError(f"--rules know the schema paper only, not {schema!r}; leave it out")
    evaluations = measure(db, gold, runs or (LATEST,), schema)
    evaluations += [by_rules(gold)] if rules else []
    if as_json:
        print(json.dumps(as_rows(evaluations), ensure_ascii=False))
        return
    for line in table(evaluations):
        print(line)
    for evaluation in evaluations if confidence else ():
        print(*(visible(line) for line in reliability(evaluation.scored)), "", sep="\n")
    if show_misses:
        for line in misses(evaluations):
            print(visible(line))
