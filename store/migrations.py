"""The tables that hold what was done, as a list of plain numbered steps from an empty file to today's.

Each step is applied with its own row of `migrations` in one transaction. A released step is never edited: a change is
a new one at the end, tested from every older version. The views and the typed `claims_…` tables are no part of this:
they are derived, and `views` makes them anew.
"""

from collections.abc import Callable
from pathlib import Path

import duckdb

from store.errors import NewerDatabase, NotADatabase, StoreError
from store.opening import first_row

Migration = Callable[[duckdb.DuckDBPyConnection], None]

# No foreign keys: DuckDB refuses to update a parent row. Times are TIMESTAMP in UTC, as fetching a TIMESTAMPTZ in
# Python needs a time zone database that a slim machine lacks. The long texts are named for zstd, which DuckDB doesn't
# choose by itself: a file a third smaller, and written no slower.
_BASE_TABLES = (
    """CREATE TABLE records (
        record_id VARCHAR PRIMARY KEY,
        source VARCHAR NOT NULL,
        locator VARCHAR NOT NULL,
        source_id VARCHAR,
        title VARCHAR,
        text VARCHAR NOT NULL USING COMPRESSION zstd,
        meta JSON)""",
    """CREATE TABLE schemas (
        schema_hash VARCHAR PRIMARY KEY,
        name VARCHAR NOT NULL,
        json_schema JSON NOT NULL,
        structure JSON NOT NULL)""",
    """CREATE TABLE prompts (
        prompt_hash VARCHAR PRIMARY KEY,
        name VARCHAR NOT NULL,
        version INTEGER NOT NULL,
        text VARCHAR NOT NULL)""",
    """CREATE TABLE runs (
        run_id VARCHAR PRIMARY KEY,
        started_at TIMESTAMP NOT NULL,
        finished_at TIMESTAMP,
        status VARCHAR NOT NULL,
        model VARCHAR NOT NULL,
        endpoint VARCHAR NOT NULL,
        schema_hash VARCHAR NOT NULL,
        prompt_hash VARCHAR NOT NULL,
        recipe VARCHAR NOT NULL,
        settings JSON NOT NULL,
        code_version VARCHAR NOT NULL,
        host VARCHAR NOT NULL,
        pid INTEGER NOT NULL)""",
    """CREATE TABLE attempts (
        run_id VARCHAR NOT NULL,
        record_id VARCHAR NOT NULL,
        n INTEGER NOT NULL,
        started_at TIMESTAMP NOT NULL,
        latency_ms DOUBLE NOT NULL,
        status VARCHAR NOT NULL,
        error_type VARCHAR,
        error VARCHAR,
        request_hash VARCHAR NOT NULL,
        reply VARCHAR USING COMPRESSION zstd,
        finish_reason VARCHAR,
        prompt_tokens INTEGER,
        cached_tokens INTEGER,
        completion_tokens INTEGER,
        cost_usd DOUBLE)""",
    """CREATE TABLE outcomes (
        run_id VARCHAR NOT NULL,
        record_id VARCHAR NOT NULL,
        status VARCHAR NOT NULL,
        error_type VARCHAR,
        error VARCHAR,
        value JSON USING COMPRESSION zstd,
        finished_at TIMESTAMP NOT NULL,
        PRIMARY KEY (run_id, record_id))""",
    """CREATE TABLE evidence (
        run_id VARCHAR NOT NULL,
        record_id VARCHAR NOT NULL,
        path VARCHAR NOT NULL,
        ordinal INTEGER NOT NULL,
        quote VARCHAR NOT NULL,
        start INTEGER,
        "end" INTEGER,
        match VARCHAR NOT NULL,
        reason VARCHAR)""",
)


def _001_base_tables(con: duckdb.DuckDBPyConnection) -> None:
    for statement in _BASE_TABLES:
        con.execute(statement)


def _002_sources(con: duckdb.DuckDBPyConnection) -> None:
    _free_the_name(con, "sources")
    # No key over the three texts: its index would be the larger part of the file. `saving` adds a place but once.
    con.execute(
        """CREATE TABLE sources (
            record_id VARCHAR NOT NULL,
            source VARCHAR NOT NULL,
            locator VARCHAR NOT NULL,
            source_id VARCHAR,
            title VARCHAR,
            meta JSON USING COMPRESSION zstd)"""
    )
    con.execute("INSERT INTO sources SELECT record_id, source, locator, source_id, title, meta FROM records")


def _003_logprobs(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("ALTER TABLE attempts ADD COLUMN logprobs VARCHAR")


def _004_reviews(con: duckdb.DuckDBPyConnection) -> None:
    for name in ("reviews", "review_samples"):
        _free_the_name(con, name)
    con.execute(
        """CREATE TABLE reviews (
            review_id VARCHAR PRIMARY KEY,
            judged_at TIMESTAMP NOT NULL,
            reviewer VARCHAR NOT NULL,
            schema_name VARCHAR NOT NULL,
            record_id VARCHAR NOT NULL,
            path VARCHAR NOT NULL,
            claim JSON,
            verdict VARCHAR NOT NULL,
            value JSON,
            reason VARCHAR,
            note VARCHAR,
            settles BOOLEAN NOT NULL,
            undoes VARCHAR)"""
    )
    con.execute(
        """CREATE TABLE review_samples (
            sample VARCHAR NOT NULL,
            schema_name VARCHAR NOT NULL,
            ordinal INTEGER NOT NULL,
            record_id VARCHAR NOT NULL,
            of INTEGER NOT NULL,
            drawn_by VARCHAR NOT NULL,
            drawn_at TIMESTAMP NOT NULL)"""
    )


def _005_names(con: duckdb.DuckDBPyConnection) -> None:
    for name in ("aliases", "works", "work_keys"):
        _free_the_name(con, name)
    con.execute(
        """CREATE TABLE aliases (
            key VARCHAR PRIMARY KEY,
            name VARCHAR NOT NULL,
            canonical VARCHAR NOT NULL,
            added_at TIMESTAMP NOT NULL)"""
    )
    con.execute("CREATE TABLE works (record_id VARCHAR NOT NULL, work VARCHAR NOT NULL)")
    con.execute("CREATE TABLE work_keys (record_id VARCHAR NOT NULL, key VARCHAR NOT NULL)")


def _006_reviewed_claims(con: duckdb.DuckDBPyConnection) -> None:
    """Nothing of its own: what is derived has got a table more, and is made anew after any step."""


def _007_apart(con: duckdb.DuckDBPyConnection) -> None:
    for name in ("names_apart", "works_apart"):
        _free_the_name(con, name)
    con.execute("CREATE TABLE names_apart (one VARCHAR NOT NULL, other VARCHAR NOT NULL, PRIMARY KEY (one, other))")
    con.execute("CREATE TABLE works_apart (record_id VARCHAR PRIMARY KEY, work VARCHAR NOT NULL)")


def _free_the_name(con: duckdb.DuckDBPyConnection, name: str) -> None:
    """Drop a derived view of this name, which is made again under another. Raises `StoreError` for a user's own."""
    for comment, is_view in con.execute(
        """SELECT comment, true FROM duckdb_views() WHERE NOT internal AND lower(view_name) = $name
        UNION ALL SELECT comment, false FROM duckdb_tables() WHERE lower(table_name) = $name""",
        {"name": name},
    ).fetchall():
        if not is_view or not str(comment).startswith("claimbase: "):
            raise StoreError(f"the database has its own {name!r}, a name that claimbase needs; rename or drop it")
        con.execute(f'DROP VIEW "{name}"')


MIGRATIONS: tuple[Migration, ...] = (
    *(_001_base_tables, _002_sources, _003_logprobs, _004_reviews, _005_names),
    *(_006_reviewed_claims, _007_apart),
)
"""In order; the version of a database is the number of those applied."""


def version_of(con: duckdb.DuckDBPyConnection, path: Path) -> int:
    """The database's version, 0 for an empty file. Raises `NotADatabase` (not our tables), `NewerDatabase`."""
    try:
        row = first_row(con, "SELECT coalesce(max(version), 0) FROM migrations")
    except duckdb.CatalogException:
        tables = [str(name) for (name,) in con.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()]
        if tables:
            raise NotADatabase(path, f"it holds other tables: {', '.join(tables[:3])}") from None
        return 0
    except duckdb.BinderException as error:
        raise NotADatabase(path, "its table migrations is another program's") from error
    assert row is not None
    version = int(row[0])
    if version > len(MIGRATIONS):
        raise NewerDatabase(path, version, len(MIGRATIONS))
    return version


def migrate(con: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Apply what is missing, each step whole or not at all. Raises `NotADatabase`, `NewerDatabase`."""
    version = version_of(con, path)
    for number, step in enumerate(MIGRATIONS[version:], start=version + 1):
        con.begin()
        try:
            if number == 1:
                con.execute("CREATE TABLE migrations (version INTEGER, name VARCHAR, applied_at TIMESTAMP)")
            step(con)
            name = step.__name__.strip("_")
            con.execute("INSERT INTO migrations VALUES (?, ?, now() AT TIME ZONE 'UTC')", [number, name])
            con.commit()
        except BaseException:
            con.rollback()
            raise
