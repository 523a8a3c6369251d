"""Takes parts into the database: Parquet files of outcomes that workers wrote (`extract.distributed.parts`).

Set by set and in SQL, some parts in a transaction, so that what is under way is bounded, however many there are.
What the database has stays as it is: an outcome is known by its run and record, so the same part may come again, at any
time, from several hands. It makes no part and knows no Arrow.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from store import saving, session, works
from store.db import Store, schema_of_run
from store.errors import NotAPart
from store.journal import Begun, begun_from_json
from store.opening import first_row, one_line

METADATA_KEY = "claimbase"
"""The key of a part's metadata under which the rows of its run stand, as `journal.begun_to_json` writes them."""

_ROWS_AT_ONCE = 50_000
"""Outcomes of a transaction: some 200 MB while they are taken in."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What came of it: outcomes in the parts, and of these the ones that the database lacked."""

    parts: int = 0
    outcomes: int = 0
    new: int = 0

    def __add__(self, other: "Merged") -> "Merged":
        return Merged(self.parts + other.parts, self.outcomes + other.outcomes, self.new + other.new)


@dataclass(frozen=True, slots=True)
class Head:
    """What a part says of itself before it is read."""

    path: Path
    begun: Begun
    outcomes: int


def merge(store: Store, paths: Sequence[Path]) -> Merged:
    """Take parts into the database, which is made if it isn't there.

    Raises NotAPart for a file that is none, with the parts before it taken in; and what `Store` raises.
    """
    merged = Merged()
    with duckdb.connect(":memory:", config={"threads": 1}) as con:
        for heads in _batches(head_of(con, path) for path in paths):
            merged += _take_in(store, heads)
    return merged


def ended_runs(store: Store) -> set[str]:
    """Return the runs that the database knows to have ended: that is written after the last of their parts came in."""
    if not store.path.exists():
        return set()
    with session.reading(store.path, store.wait_s) as con:
        return {run_id for (run_id,) in con.execute("SELECT run_id FROM runs WHERE finished_at IS NOT NULL").fetchall()}


def head_of(con: duckdb.DuckDBPyConnection, path: Path) -> Head:
    """Read what a part says of itself, by any connection. Raises NotAPart."""
    try:
        row = first_row(
            con,
            """SELECT decode(value), (SELECT sum(num_rows) FROM parquet_file_metadata($path))
            FROM parquet_kv_metadata($path) WHERE decode(key) = $key""",
            {"path": str(path), "key": METADATA_KEY},
        )
    except duckdb.Error as e:
        raise NotAPart(path, one_line(e)) from e
    if row is None:
        raise NotAPart(path, "a Parquet file of something else")
    try:
        return Head(path, begun_from_json(row[0]), int(row[1]))
    except (ValueError, KeyError, TypeError) as e:
        raise NotAPart(path, f"its run can't be read: {e}") from e


def _batches(heads: Iterator[Head]) -> Iterator[list[Head]]:
    """Yield parts together that come to some `_ROWS_AT_ONCE` rows; those before one that is none, before its error."""
    batch: list[Head] = []
    fault: NotAPart | None = None
    try:
        for head in heads:
            if batch and sum(one.outcomes for one in batch) + head.outcomes > _ROWS_AT_ONCE:
                yield batch
                batch = []
            batch.append(head)
    except NotAPart as e:
        fault = e
    if batch:
        yield batch
    if fault:
        raise fault


def _take_in(store: Store, heads: Sequence[Head]) -> Merged:
    """Take some parts in, in one transaction."""
    begun = {head.begun.run.run_id: head.begun for head in heads}
    _begin_runs(store, begun)
    with session.writing(store.path, store.wait_s) as con:
        con.execute(_NEW, {"paths": [str(head.path) for head in heads]})
        for statement in _INSERTS:
            con.execute(statement)
        works.link(con, "part")
        for (run_id,) in con.execute("SELECT DISTINCT run_id FROM part WHERE status = 'done'").fetchall():
            con.execute(_BATCH, [run_id])
            saving.save_claims(con, run_id, *schema_of_run(con, run_id))
        row = first_row(con, "SELECT count(*) FROM part")
        con.execute("DROP TABLE part")
    return Merged(len(heads), sum(head.outcomes for head in heads), row[0] if row else 0)


def _begin_runs(store: Store, begun: dict[str, Begun]) -> None:
    """Add the runs that the database lacks; as they were when they began."""
    store.create()
    with session.reading(store.path, store.wait_s) as con:
        there = {run_id for (run_id,) in con.execute("SELECT run_id FROM runs").fetchall()}
    for run_id, rows in begun.items():
        if run_id not in there:
            store.begin_run(rows.run, rows.schema, rows.prompt)


_NEW = """
CREATE OR REPLACE TEMP TABLE part AS
SELECT * FROM read_parquet($paths) ANTI JOIN outcomes USING (run_id, record_id)
QUALIFY row_number() OVER (PARTITION BY run_id, record_id ORDER BY finished_at) = 1
"""
_INSERTS = (
    """INSERT INTO records BY NAME
    SELECT DISTINCT ON (record_id) record_id, source, locator, source_id, title, text, meta
    FROM part ANTI JOIN records USING (record_id) ORDER BY finished_at""",
    """INSERT INTO sources BY NAME
    SELECT DISTINCT ON (record_id, source, locator) record_id, source, locator, source_id, title, meta
    FROM part ANTI JOIN sources USING (record_id, source, locator)""",
    """INSERT INTO attempts BY NAME
    SELECT run_id, record_id, unnest(a) FROM (SELECT run_id, record_id, unnest(attempts) AS a FROM part)""",
    """INSERT INTO outcomes BY NAME
    SELECT run_id, record_id, status, error_type, error, value, finished_at FROM part""",
    """INSERT INTO evidence BY NAME
    SELECT run_id, record_id, unnest(e) FROM (SELECT run_id, record_id, unnest(evidence) AS e FROM part)""",
)
"""Whole rows by their names: a column that a part of an older version lacks is NULL."""
_BATCH = """
CREATE OR REPLACE TEMP TABLE batch AS
SELECT record_id, finished_at, value FROM part WHERE run_id = ? AND status = 'done' AND value IS NOT NULL
"""
