"""The command line: reads options, calls what does the work, turns errors into one line and an exit code.

Exit codes: 0 all done; 2 a person's mistake or an answer that stops a run; 3 not every record has a good outcome;
130 interrupted. Data goes to standard output, all else to standard error (`docs/cli.md` is the contract). What calls a
model is imported only by the commands that do, so that the others start at once.
"""

import functools
import io
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from extract import __version__
from extract.commands import alias as alias_commands
from extract.commands import check as check_command
from extract.commands import diff as diff_command
from extract.commands import evaluate as evaluate_command
from extract.commands import merge as merge_command
from extract.commands import report as report_command
from extract.commands import schema as schema_commands
from extract.commands import serve as serve_command
from extract.commands import train as train_command
from extract.commands import works as works_commands
from extract.console import (
    DEFAULT_DB,
    INCOMPLETE,
    INTERRUPTED,
    MISTAKE,
    BaseUrl,
    Db,
    Model,
    reporting_errors,
    say,
)
from extract.errors import BudgetReached, SettingsError
from extract.settings import LOCAL, MODES

if TYPE_CHECKING:
    from extract.job import Prepared
    from extract.runner import Ended

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Turn paper abstracts into a database of claims, each tied to the characters that say it.",
)
GOLD = "gold"
"""What `export` takes for the reviewed papers; no view is called so."""
_COLUMN = 12
"""Characters that a table's column needs to be read when it is folded; where they don't have them, lines are long."""
# click's, which typer brings along under different names from version to version.
_UsageError = cast("type[typer.BadParameter]", typer.BadParameter.__mro__[1])


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
        list[str],
        typer.Argument(metavar="INPUT", help="Files, folders, patterns, s3://... addresses, or - for standard input."),
    ],
    db: Db = DEFAULT_DB,
    schema: Annotated[
        str, typer.Option(metavar="NAME", help="What to extract: a shipped schema, or FILE.py:Class.")
    ] = "paper",
    prompt: Annotated[
        str | None, typer.Option(metavar="NAME", help="A shipped prompt, or FILE.md; unless given, the schema's own.")
    ] = None,
    model: Model = LOCAL,
    base_url: BaseUrl = None,
    mode: Annotated[
        str | None, typer.Option(metavar="MODE", help=f"How the schema is sent: {', '.join(MODES)}; see doctor.")
    ] = None,
    temperature: Annotated[float | None, typer.Option(metavar="T", min=0, help="Unless given, 0.")] = None,
    concurrency: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Calls at once: 8; of the embedded model one a core.")
    ] = None,
    reasks: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Ask again for a bad reply so often: 2.")
    ] = None,
    logprobs: Annotated[
        bool, typer.Option("--logprobs", help="Ask how likely each token was, for the claims' confidence.")
    ] = False,
    limit: Annotated[int | None, typer.Option(metavar="N", min=1, help="Ask for at most so many records.")] = None,
    rpm: Annotated[float | None, typer.Option(metavar="N", min=0.01, help="At most so many calls a minute.")] = None,
    tpm: Annotated[float | None, typer.Option(metavar="N", min=1, help="At most so many tokens a minute.")] = None,
    max_cost: Annotated[
        float | None, typer.Option(metavar="USD", min=0, help="Stop before a call that could cost more in all.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Stop before a call that could use more in all.")
    ] = None,
    engine: Annotated[
        str, typer.Option(metavar="NAME", help="process, or ray: many processes or machines.")
    ] = "process",
    address: Annotated[
        str | None, typer.Option(metavar="ADDR", help="With ray: a cluster's address, or auto; else this machine.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="With ray: processes that ask, of which each has one core.")
    ] = None,
    parts: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="With ray: where workers write, also s3://...; kept if named.")
    ] = None,
    prices: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A price table (TOML) in place of the shipped one.")
    ] = None,
    timeout: Annotated[float, typer.Option(metavar="SECONDS", min=0.1, help="For one call.")] = 180.0,
    text_column: Annotated[
        str | None, typer.Option(metavar="NAME", help="The column of the abstracts, unless its name is a usual one.")
    ] = None,
    id_column: Annotated[str | None, typer.Option(metavar="NAME", help="The column of the papers' own ids.")] = None,
    title_column: Annotated[str | None, typer.Option(metavar="NAME", help="The column of the titles.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first broken record.")] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Ask for the failed records only.")] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Ask for every record, also for those done.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be asked; ask and make nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Write the summary as JSON to standard output.")] = False,
) -> int:
    """Extract the claims of abstracts into a database.

    What is done already, by the same schema, prompt and model, is not asked again.
    """
    from extract import job, report, settings
    from extract.distributed.cluster import Cluster
    from extract.readers import Columns

    if mode is not None and mode not in MODES:
        raise SettingsError(f"unknown --mode {mode!r}; expected one of {', '.join(MODES)}")
    if retry_failed and fresh:
        raise SettingsError("--retry-failed and --fresh exclude each other; give one of them")
    if engine not in ("process", "ray"):
        raise SettingsError(f"unknown --engine {engine!r}; expected process or ray")
    if engine == "process" and (told := {"address": address, "workers": workers, "parts": parts}.items()):
        for name, value in told:
            if value is not None:
                raise SettingsError(f"--{name} goes with --engine ray; give that too")
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
        logprobs=logprobs,
        limits=settings.Limits(rpm=rpm, tpm=tpm, max_cost=max_cost, max_tokens=max_tokens),
        concurrency=concurrency,
        patience=settings.Patience(timeout_s=timeout),
        prices=prices,
        ask="failed" if retry_failed else "all" if fresh else "missing",
        limit=limit,
        columns=Columns(text_column, id_column, title_column),
        strict=strict,
        cluster=Cluster(address, workers, parts) if engine == "ray" else None,
    )
    prepared = job.prepare(request)
    if dry_run:
        from extract.estimate import estimate

        print(report.estimated(estimate(prepared), as_json=as_json))
        say_notices(prepared)
        return 0
    from extract.progress import Progress

    with Progress(say) as progress:
        ended = prepared.run(progress.watch)
    if as_json:
        print(report.run_json(ended, request))
    say_notices(prepared)
    for line in report.summary(ended, request):
        say(line)
    return exit_code(ended)


def say_notices(prepared: "Prepared") -> None:
    """Say what reading the inputs met beside records."""
    for line in prepared.notices.lines():
        say(line)


def exit_code(ended: "Ended") -> int:
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
    run_id: Annotated[str | None, typer.Argument(metavar="RUN", help="A run's id, or the start of it.")] = None,
    db: Db = DEFAULT_DB,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """Show what runs did: records, errors, tokens, cost.

    The latest 20 runs, the newest first; or those whose id starts with RUN.
    """
    from extract import report
    from store.db import Store

    print(report.status(Store(db).runs(limit=1_000 if run_id else 20), run_id, as_json=as_json))


@app.command()
@reporting_errors
def sql(
    query: Annotated[
        str, typer.Argument(metavar="SQL", help="One statement that reads; '-' reads it from standard input.")
    ],
    db: Db = DEFAULT_DB,
    format: Annotated[str, typer.Option(metavar="FORMAT", help="table, csv, json, jsonl or markdown.")] = "table",
    limit: Annotated[int | None, typer.Option(metavar="N", min=0, help="Show at most so many rows.")] = None,
) -> None:
    """Ask the database a question in SQL.

    It only reads, has no access to files or the network, and works while a run goes on.

    Views: papers, datasets, baselines, headline_numbers, claims and more. Macros: leaderboard('nuScenes', 'mAP'),
    history('nuScenes', 'mAP'), beats(), conflicts(), canonical('CIFAR 10'), canonical_metric('Acc@1').
    """
    from store.formats import FORMATS, format_rows
    from store.query import run_query

    if format not in FORMATS:
        raise SettingsError(f"unknown --format {format!r}; expected one of {', '.join(FORMATS)}")
    result = run_query(db, sys.stdin.read() if query == "-" else query, limit)
    width = shutil.get_terminal_size().columns
    fits = sys.stdout.isatty() and width >= _COLUMN * len(result.columns)
    for piece in format_rows(result, format, width if fits else None):
        sys.stdout.write(piece)
    if result.cut:
        say(f"more rows than the {limit} shown")


@app.command()
@reporting_errors
def export(
    what: Annotated[
        str, typer.Argument(metavar="VIEW|SELECT|gold", help="A view or table, a SELECT, or what was reviewed.")
    ],
    to: Annotated[
        str, typer.Option("--to", metavar="FILE", help="The suffix tells the format; '-' is standard output, as CSV.")
    ],
    db: Db = DEFAULT_DB,
    format: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="Overrules the suffix; latex, markdown and so on.")
    ] = None,
    for_spreadsheets: Annotated[
        bool, typer.Option("--for-spreadsheets", help="Make a CSV or TSV safe to open in Excel: no text is a formula.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
) -> None:
    """Write a view or a query's answer to a file.

    The suffixes are .csv, .tsv, .jsonl, .parquet, .xlsx, .md (Markdown), .tex (LaTeX) and .bib (BibTeX). A text that
    begins as a formula does gets an apostrophe before it with --for-spreadsheets, and the file a byte order mark.
    The word gold stands for the reviewed papers as eval and train read them, in JSON lines.
    """
    from store.export import EXPORT_FORMATS
    from store.export import export as write

    if what.strip().lower() == GOLD:
        from extract.review.gold import export_gold

        count = export_gold(db, to, force=force, format=format)
        say(f"{count:,} reviewed {'abstract' if count == 1 else 'abstracts'} written to {to}")
        return
    if format is not None and format not in EXPORT_FORMATS:
        raise SettingsError(f"unknown --format {format!r}; expected one of {', '.join(EXPORT_FORMATS)}")
    rows = write(db, what, to, force=force, format=format, for_spreadsheets=for_spreadsheets)
    say(f"{rows:,} {'row' if rows == 1 else 'rows'} written to {'standard output' if to == '-' else to}")


@app.command()
@reporting_errors
def show(
    record: Annotated[
        str, typer.Argument(metavar="RECORD", help="A record's id, the start of it, or its source's own id.")
    ],
    db: Db = DEFAULT_DB,
) -> None:
    """Show an abstract with its evidence marked.

    Below it stand its claims, and what was rejected with the reason.
    """
    from extract.show import shown
    from store.db import Store

    shown(Store(db), record)


@app.command()
@reporting_errors
def doctor(
    model: Model = LOCAL,
    base_url: BaseUrl = None,
) -> None:
    """Examine an endpoint: is it up, which mode fits.

    It asks two short questions, to see whether the endpoint holds the model to a schema.
    """
    from extract.doctor import examine

    examine(model, base_url, functools.partial(print, flush=True))


@app.command()
@reporting_errors
def rederive(
    db: Db = DEFAULT_DB,
    schema: Annotated[str, typer.Option(metavar="NAME", help="The schema of the claims, as in run.")] = "paper",
) -> None:
    """Derive the claims again from stored replies, without a call.

    For when the code that reads quotes and numbers got better; what comes out the same is left as it is.
    """
    from extract.rederive import rederive as again
    from store.db import Store

    done = again(Store(db), schema)
    say(f"{done.read:,} replies read again: {done.changed:,} records changed, {done.unfit:,} no longer fit the schema")


alias_commands.add_to(app)
works_commands.add_to(app)
diff_command.add_to(app)
merge_command.add_to(app)
check_command.add_to(app)
report_command.add_to(app)
schema_commands.add_to(app)
evaluate_command.add_to(app)
train_command.add_to(app)
serve_command.add_to(app)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; without arguments it shows its help. Ends with SystemExit."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a file or a pipe gets UTF-8 whatever the locale
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="replace")
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = app(given or ["--help"], prog_name="claimbase", standalone_mode=False)
    except _UsageError as e:
        where = e.ctx.command_path if e.ctx else "claimbase"
        say(f"claimbase: {e.format_message().rstrip('.')}; see `{where} --help`")
        code = MISTAKE
    except typer.Abort:
        code = INTERRUPTED
    raise SystemExit(code)


if __name__ == "__main__":
    main()
