"""The database as the engine sees it: one file, opened for each piece of work and closed again.

`Store` holds a path and no connection, so that a run, a reader and a second run take turns of some 20 ms; whoever
finds the file locked waits. What a batch saves is one transaction: whole in the file, or not in it.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

import duckdb

from store import aliases, effective, frames, journal, reading, saving, session, typed, views, works
from store.aliases import Alias
from store.errors import SchemaRefused
from store.opening import WAIT_S, first_row, one_line
from store.results import Claims, KeptAttempt, Known, Reply, RunSummary
from store.rows import Outcome, Prompt, Record, Run, RunStatus, Schema
from store.structure import shape_of
from store.text import clean, clean_json

_REPLIES_AT_ONCE = 2_000


class Store:
    """One database file. Any method may raise a `store.errors.StoreError`; none holds the file beyond its return."""

    def __init__(self, path: Path | str, wait_s: float = WAIT_S) -> None:
        self.path = Path(path)
        self.wait_s = wait_s

    def create(self) -> None:
        """Make the file, or bring an older one up to date. Its folder must exist."""
        session.create(self.path, self.wait_s)

    def check(self) -> None:
        """Raise `MissingDatabase`, `NotADatabase` or `NewerDatabase` if the file can't be used as it is."""
        with session.reading(self.path, self.wait_s):
            pass

    def begin_run(self, run: Run, schema: Schema, prompt: Prompt) -> None:
        """Keep a run with its schema and its prompt, and make that schema's views the ones with the plain names."""
        shape_of(schema.name, schema.structure)
        with session.writing(self.path, self.wait_s) as con:
            con.execute(
                "INSERT OR IGNORE INTO prompts VALUES (?, ?, ?, ?)",
                [prompt.prompt_hash, prompt.name, prompt.version, clean(prompt.text)],
            )
            _keep_schema(con, schema)
            con.execute(
                """INSERT INTO runs (run_id, started_at, status, model, endpoint, schema_hash, prompt_hash, recipe,
                    settings, code_version, host, pid) VALUES (?, ?, 'running', ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
                [
                    *(run.run_id, saving.utc(run.started_at), run.model, run.endpoint, run.schema_hash),
                    *(run.prompt_hash, run.recipe, clean_json(run.settings), run.code_version),
                    *(run.host, run.pid),
                ],
            )
            views.refresh(con)

    def end_run(self, run_id: str, status: RunStatus, finished_at: datetime) -> None:
        """Write down how a run ended, and when."""
        with session.writing(self.path, self.wait_s) as con:
            con.execute(
                "UPDATE runs SET status = ?, finished_at = ? WHERE run_id = ?",
                [status, saving.utc(finished_at), run_id],
            )

    def use_schema(self, schema: Schema) -> None:
        """Keep a schema, or its new structure: its table of claims and its views are made anew if that changed."""
        shape_of(schema.name, schema.structure)
        with session.writing(self.path, self.wait_s) as con:
            _keep_schema(con, schema)
            views.refresh(con)

    def save(self, run_id: str, records: Sequence[Record], outcomes: Sequence[Outcome]) -> None:
        """Save a batch in one transaction: the records that the database lacks, and the outcomes with all of theirs.

        Where each record was found is kept too, also of one that is there already or is given again from another place.
        Raises `StoreWriteFailed` with nothing of the batch saved (a full disk, an outcome that the run has already).
        """
        with session.writing(self.path, self.wait_s) as con:
            saving.save_records(con, records)
            saving.save_sources(con, records)
            if outcomes:
                saving.save_outcomes(con, run_id, *schema_of_run(con, run_id), outcomes)

    def recover(self) -> int:
        """Save what killed runs left in their journals; return how many outcomes that was.

        A journal of a live run is passed over. Whatever is saved already stays as it is.
        """
        recovered = 0
        for part, begun, entries in journal.left_behind(self.path):
            self.create()
            with session.reading(self.path, self.wait_s) as con:
                there = reading.saved_records(con, begun.run.run_id)
            if there is None:
                self.begin_run(begun.run, begun.schema, begun.prompt)
            missing = [(r, o) for r, o in entries if o.record_id not in (there or ())]
            if missing:
                self.save(begun.run.run_id, [r for r, _ in missing], [o for _, o in missing])
            recovered += len(missing)
            part.drop()
        return recovered

    def add_sources(self, records: Sequence[Record]) -> None:
        """Keep where these records were found too, in one transaction; of those that the database lacks, nothing.

        For a record that isn't asked again. A place (`record_id`, `source`, `locator`) is kept once, however often it
        is given, as it was given first.
        """
        with session.writing(self.path, self.wait_s) as con:
            saving.save_sources(con, records)

    def replace_claims(self, run_id: str, outcomes: Sequence[Outcome]) -> None:
        """Rewrite what was derived from the replies of done outcomes: their value and evidence, in one transaction.

        What was asked and answered, when and how it ended stay as they are.
        """
        with session.writing(self.path, self.wait_s) as con:
            saving.replace_derived(con, run_id, *schema_of_run(con, run_id), outcomes)

    def rebuild(self) -> None:
        """Make all derived tables and views anew from the outcomes."""
        with session.writing(self.path, self.wait_s) as con:
            session.rebuild(con)

    def keep_aliases(self, new: Iterable[Alias]) -> int:
        """Add aliases and apply them to the claims; return how many records may have changed. Raises `AliasRefused`."""
        with session.writing(self.path, self.wait_s) as con:
            return typed.rename(con, aliases.keep(con, new))

    def drop_aliases(self, names: Sequence[str]) -> int:
        """Remove the aliases of these names; return as `keep_aliases` does. Raises `AliasRefused`."""
        with session.writing(self.path, self.wait_s) as con:
            return typed.rename(con, aliases.drop(con, names))

    def set_names_apart(self, pairs: Iterable[Alias]) -> None:
        """Keep that each two names are two things: they are proposed no more. Raises `AliasRefused`."""
        with session.writing(self.path, self.wait_s) as con:
            aliases.set_apart(con, pairs)

    def set_works_apart(self, record_ids: Sequence[str]) -> None:
        """Make these records one work, and of no other."""
        with session.writing(self.path, self.wait_s) as con:
            works.set_apart(con, record_ids)

    def rejoin_works(self, record_ids: Sequence[str]) -> None:
        """Let what identifies these records link them again."""
        with session.writing(self.path, self.wait_s) as con:
            works.rejoin(con, record_ids)

    def aliases(self) -> list[Alias]:
        """All aliases, by the form that they get."""
        with session.reading(self.path, self.wait_s) as con:
            return aliases.listed(con)

    def known(self, recipe: str, record_ids: Sequence[str]) -> dict[str, Known]:
        """What the database has of these records, with how they ended under a recipe; absent ones are left out."""
        with session.reading(self.path, self.wait_s) as con:
            return reading.known(con, recipe, record_ids)

    def runs(self, limit: int = 10) -> list[RunSummary]:
        """The latest runs, the newest first."""
        with session.reading(self.path, self.wait_s) as con:
            return reading.summaries(con, limit)

    def df(self, what: str, library: frames.Library | None = None) -> frames.Frame:
        """The rows of a view, a table or one SELECT as a data frame, for a notebook.

        Of pandas, polars or Arrow (`pyarrow`): the first that is installed, or the `library` named. Raises
        `ExportFailed` if it isn't installed, `QueryFailed`, `QueryRefused`.
        """
        return frames.frame(self.path, what, library, self.wait_s)

    def record(self, prefix: str) -> Record:
        """The record of a `source_id`, or of a `record_id` or the start of one. Raises `RecordNotFound`."""
        with session.reading(self.path, self.wait_s) as con:
            return reading.find_record(con, prefix)

    def claims_of(self, record_id: str) -> list[Claims]:
        """The latest good outcome of a record under each schema, the newest first."""
        with session.reading(self.path, self.wait_s) as con:
            return reading.claims_of(con, record_id)

    def attempts_of(self, record_id: str) -> list[KeptAttempt]:
        """All calls that were made for a record, the oldest first."""
        with session.reading(self.path, self.wait_s) as con:
            return reading.attempts_of(con, record_id)

    def replies(self, schema_hash: str) -> Iterator[Reply]:
        """The accepted reply of each done outcome of a schema, in chunks: the file is free while they are used."""
        with session.reading(self.path, self.wait_s) as con:
            last = reading.last_outcome(con)
        for first in range(0, last + 1, _REPLIES_AT_ONCE):
            with session.reading(self.path, self.wait_s) as con:
                chunk = reading.replies(con, schema_hash, first, _REPLIES_AT_ONCE)
            yield from chunk


def _keep_schema(con: duckdb.DuckDBPyConnection, schema: Schema) -> None:
    row = first_row(con, "SELECT structure FROM schemas WHERE schema_hash = ?", [schema.schema_hash])
    if row == (schema.structure,):
        return
    try:
        views.check_types(con, schema.structure)
    except duckdb.Error as error:
        raise SchemaRefused(schema.name, one_line(error)) from error
    con.execute(
        "INSERT OR REPLACE INTO schemas VALUES (?, ?, ?, ?)",
        [schema.schema_hash, schema.name, schema.json_schema, schema.structure],
    )
    views.make_claims_table(con, schema.schema_hash, schema.structure)
    effective.make(con, schema.schema_hash)


def schema_of_run(con: duckdb.DuckDBPyConnection, run_id: str) -> tuple[str, str]:
    """The fingerprint and the structure of a run's schema."""
    row = first_row(
        con, "SELECT schema_hash, structure FROM runs JOIN schemas USING (schema_hash) WHERE run_id = ?", [run_id]
    )
    if row is None:
        raise LookupError(f"no run {run_id!r}: begin_run comes first")
    return str(row[0]), str(row[1])
