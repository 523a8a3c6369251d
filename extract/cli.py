"""The command line: reads options, calls what does the work, turns errors into one line and an exit code.

Exit codes: 0 all done; 2 a person's mistake or an answer that stops a run; 3 not every record has a good outcome;
130 interrupted. Data goes to standard output, all else to standard error. What calls a model is imported only by the
commands that do, so that the others start at once.
"""

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, ParamSpec

import typer

from extract import __version__
from extract.errors import BudgetReached, ClaimbaseError
from extract.settings import LOCAL
from prompts.loader import PromptError
from schemas.base import SchemaError
from store.errors import StoreError

MISTAKE, INCOMPLETE, INTERRUPTED = 2, 3, 130
P = ParamSpec("P")
app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Turn paper abstracts into a database of claims, each tied to the characters that say it.",
)
Db = Annotated[Path, typer.Option("--db", metavar="FILE", help="The database.")]
DEFAULT_DB = Path("claims.duckdb")


def reporting_errors(command: Callable[P, int | None]) -> Callable[P, None]:
    """Make a command exit with the code it returns, and with 2 and one line for an error that a person can mend."""

    @functools.wraps(command)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            code = command(*args, **kwargs)
        except (ClaimbaseError, SchemaError, PromptError, StoreError) as e:
            say(f"claimbase: {e}")
            code = MISTAKE
        except KeyboardInterrupt:
            code = INTERRUPTED
        except BrokenPipeError:  # the reader of our output has had enough, as `| head` does
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = 0
        raise typer.Exit(code or 0)

    return wrapped


def say(line: str) -> None:
    """Write a line for a person to standard error, without anything that moves a terminal's cursor."""
    print(_visible(line), file=sys.stderr, flush=True)


def _visible(line: str) -> str:
    return "".join(c if c == "\n" or c.isprintable() else repr(c)[1:-1] for c in line)


def _version(asked: bool) -> None:
    if asked:
        print(f"claimbase {__version__}")
        raise typer.Exit


@app.callback()
def claimbase(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    """Turn paper abstracts into a database of claims, each tied to the characters that say it."""


@app.command()
@reporting_errors
def run(
    inputs: Annotated[
        list[str], typer.Argument(metavar="INPUT...", help="Files of abstracts: paragraphs or JSON lines.")
    ],
    db: Db = DEFAULT_DB,
    schema: Annotated[str, typer.Option(help="What to extract: a shipped schema, or FILE.py:Class.")] = "paper",
    prompt: Annotated[
        str | None, typer.Option(help="A shipped prompt, or FILE.md; the schema's own unless told.")
    ] = None,
    model: Annotated[str, typer.Option(help=f"'{LOCAL}' is the embedded one; others are the endpoint's.")] = LOCAL,
    base_url: Annotated[str | None, typer.Option(metavar="URL", help="An OpenAI-compatible endpoint.")] = None,
    mode: Annotated[
        str | None, typer.Option(help="json_schema, tools, json or md_json; doctor says which fits.")
    ] = None,
    temperature: Annotated[float | None, typer.Option(min=0, help="0 unless told.")] = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Calls at once: 8, or 2 for the embedded model.")
    ] = None,
    reasks: Annotated[int | None, typer.Option(min=0, help="How often a bad reply is asked again: 2.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Ask for at most so many records.")] = None,
    rpm: Annotated[float | None, typer.Option(min=0.01, help="Calls a minute, at most.")] = None,
    tpm: Annotated[float | None, typer.Option(min=1, help="Tokens a minute, at most.")] = None,
    max_cost: Annotated[float | None, typer.Option(min=0, metavar="USD", help="Stop before more is spent.")] = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Stop before more tokens are used, both ways.")] = None,
    prices: Annotated[Path | None, typer.Option(metavar="FILE", help="A price table (TOML) in place of ours.")] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds for one call.")] = 180.0,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Ask for the failed records only.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ask for all, also what is done.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be asked, and ask nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write the summary as JSON to standard output.")] = False,
) -> int:
    """Extract the claims of abstracts into a database. What is done already is not asked again."""
    from extract import job, report, settings
    from extract.errors import SettingsError

    if mode is not None and mode not in settings.MODES:
        raise SettingsError(f"unknown --mode {mode!r}; expected one of {', '.join(settings.MODES)}")
    if retry_failed and fresh:
        raise SettingsError("--retry-failed and --fresh exclude each other; give one of them")
    request = job.Request(
        inputs=tuple(inputs),
        db=db,
        schema=schema,
        prompt=prompt,
        model=model,
        base_url=base_url,
        mode=mode,
        temperature=temperature,
        reasks=reasks,
        limits=settings.Limits(rpm=rpm, tpm=tpm, max_cost=max_cost, max_tokens=max_tokens),
        concurrency=concurrency,
        patience=settings.Patience(timeout_s=timeout),
        prices=prices,
        ask="failed" if retry_failed else "all" if fresh else "missing",
        limit=limit,
    )
    prepared = job.prepare(request)
    if dry_run:
        from extract.estimate import estimate

        print(report.estimated(estimate(prepared), as_json=as_json))
        return 0
    from extract.progress import Progress

    with Progress(say) as progress:
        ended = prepared.run(progress.watch)
    if as_json:
        print(report.run_json(ended, request))
    for line in report.summary(ended, request):
        say(line)
    return exit_code(ended)


def exit_code(ended: Any) -> int:
    """Return the exit code for how a run ended."""
    if ended.status == "interrupted":
        return INTERRUPTED
    if ended.error is not None and not isinstance(ended.error, BudgetReached):
        return MISTAKE
    tally = ended.tally
    return INCOMPLETE if tally.failed or tally.failed_before or ended.error else 0


@app.command()
@reporting_errors
def status(
    run_id: Annotated[str | None, typer.Argument(metavar="[RUN]", help="A run, or the start of its id.")] = None,
    db: Db = DEFAULT_DB,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Show the latest runs: records done and failed, tokens, cost, kinds of errors."""
    from extract import report
    from store.db import Store

    print(report.status(Store(db).runs(limit=1_000 if run_id else 20), run_id, as_json=as_json))


@app.command()
@reporting_errors
def sql(
    query: Annotated[
        str, typer.Argument(metavar="SQL", help="One statement that reads; '-' takes it from standard input.")
    ],
    db: Db = DEFAULT_DB,
    format: Annotated[str, typer.Option(help="table, csv, json, jsonl or markdown.")] = "table",
    limit: Annotated[int | None, typer.Option(min=0, help="Show at most so many rows.")] = None,
) -> None:
    """Ask the database a question. Read-only, without access to files or the network; works while a run goes on."""
    from extract.errors import SettingsError
    from store.formats import FORMATS, format_rows
    from store.query import run_query

    if format not in FORMATS:
        raise SettingsError(f"unknown --format {format!r}; expected one of {', '.join(FORMATS)}")
    result = run_query(db, sys.stdin.read() if query == "-" else query, limit)
    for piece in format_rows(result, format):
        sys.stdout.write(piece)
    sys.stdout.flush()
    if result.cut:
        say(f"more rows than the {limit} shown")


@app.command()
@reporting_errors
def export(
    what: Annotated[str, typer.Argument(metavar="VIEW|SELECT", help="A view or table, or a SELECT.")],
    to: Annotated[
        str, typer.Option("--to", metavar="FILE", help="Its suffix tells the format; '-' is standard output.")
    ],
    db: Db = DEFAULT_DB,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
) -> None:
    """Write a view, a table or a query's answer to a CSV, TSV, JSONL or Parquet file."""
    from store.export import export as write

    rows = write(db, what, to, force=force)
    say(f"{rows:,} rows written to {'standard output' if to == '-' else to}")


@app.command()
@reporting_errors
def show(
    record: Annotated[
        str, typer.Argument(metavar="RECORD", help="A record's id, the start of it, or its source's own id.")
    ],
    db: Db = DEFAULT_DB,
) -> None:
    """Show an abstract with its evidence marked, and the claims beside it."""
    from extract.show import shown
    from store.db import Store

    shown(Store(db), record)


@app.command()
@reporting_errors
def doctor(
    model: Annotated[str, typer.Option(help=f"'{LOCAL}' is the embedded one; others are the endpoint's.")] = LOCAL,
    base_url: Annotated[str | None, typer.Option(metavar="URL", help="An OpenAI-compatible endpoint.")] = None,
) -> int:
    """Ask an endpoint a question or two: is it up, does it enforce a schema, which mode fits."""
    from extract.doctor import examine

    return 0 if examine(model, base_url, print) else MISTAKE


@app.command()
@reporting_errors
def rederive(db: Db = DEFAULT_DB, schema: Annotated[str, typer.Option(help="As in run.")] = "paper") -> None:
    """Derive the claims again from the stored replies, without a call: after an upgrade, say."""
    from extract.rederive import rederive as again
    from store.db import Store

    done = again(Store(db), schema)
    say(f"{done.read:,} replies read again: {done.changed:,} records changed, {done.unfit:,} no longer fit the schema")


def main() -> None:
    """Run the command line."""
    app()
