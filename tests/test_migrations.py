from pathlib import Path

import duckdb
import pytest

from store import migrations
from store.db import Store
from store.errors import NewerDatabase, NotADatabase
from store.query import run_query
from tests.store_samples import PAPER, PROMPT, a_record, a_run, done, made, rows


def _002_languages(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("ALTER TABLE prompts ADD COLUMN language VARCHAR DEFAULT 'en'")


def _003_half_done(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE languages (language VARCHAR)")
    raise OSError("the machine stopped here")


def _003_languages(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("CREATE TABLE languages (language VARCHAR)")


def filled(folder: Path) -> Store:
    store = made(folder, a_run())
    store.save("run1", [a_record(1)], [done(a_record(1))])
    return store


def columns(path: Path) -> list[tuple[object, ...]]:
    return rows(
        path,
        """SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() WHERE NOT internal
        ORDER BY table_name, column_index""",
    )


@pytest.mark.parametrize("version", range(1, len(migrations.MIGRATIONS) + 1))
def test_each_older_version_becomes_todays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    new = made(tmp_path)
    old = Store(tmp_path / "old.duckdb")
    with monkeypatch.context() as then:
        then.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:version])
        old.create()
    old.create()
    assert columns(old.path) == columns(new.path)
    assert rows(old.path, "SELECT version FROM migrations ORDER BY 1") == [
        (number,) for number in range(1, len(migrations.MIGRATIONS) + 1)
    ]
    old.begin_run(a_run(), PAPER, PROMPT)
    old.save("run1", [a_record(1)], [done(a_record(1))])
    assert rows(old.path, "SELECT count(*) FROM claims") == [(1,)]


def test_a_migration_is_written_down_with_its_time(tmp_path: Path) -> None:
    path = made(tmp_path).path
    assert rows(
        path, "SELECT version, name, (now() AT TIME ZONE 'UTC') - applied_at < INTERVAL 1 MINUTE FROM migrations"
    ) == [(1, "001_base_tables", True)]


def test_migrations_are_numbered_in_order() -> None:
    assert [int(step.__name__[1:4]) for step in migrations.MIGRATIONS] == [
        number for number in range(1, len(migrations.MIGRATIONS) + 1)
    ]


@pytest.mark.parametrize("first", ["read", "query", "write", "create"])
def test_whoever_opens_an_older_file_first_brings_it_up_to_date(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str
) -> None:
    store = filled(tmp_path)
    monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, _002_languages))
    if first == "read":
        assert store.runs()[0].done == 1
    elif first == "query":
        assert list(run_query(store.path, "SELECT language FROM prompts").rows) == [("en",)]
    elif first == "write":
        store.save("run1", [a_record(2)], [done(a_record(2))])
    else:
        store.create()
    assert rows(store.path, "SELECT language FROM prompts") == [("en",)]
    assert rows(store.path, "SELECT max(version) FROM migrations") == [(len(migrations.MIGRATIONS),)]
    assert rows(store.path, "SELECT title, quote FROM claims WHERE title = 'Paper 1'") == [("Paper 1", "1.5\\%")]


def test_a_step_that_breaks_leaves_the_version_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled(tmp_path)
    known = migrations.MIGRATIONS
    monkeypatch.setattr(migrations, "MIGRATIONS", (*known, _002_languages, _003_half_done))
    with pytest.raises(OSError, match="stopped here"):
        store.create()
    assert rows(store.path, "SELECT max(version) FROM migrations") == [(len(known) + 1,)]
    assert rows(store.path, "SELECT count(*) FROM duckdb_tables() WHERE table_name = 'languages'") == [(0,)]
    monkeypatch.setattr(migrations, "MIGRATIONS", (*known, _002_languages, _003_languages))
    store.create()
    assert rows(store.path, "SELECT count(*) FROM languages") == [(0,)]


def test_a_newer_database_is_refused_and_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = filled(tmp_path)
    with monkeypatch.context() as later:
        later.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, _002_languages))
        store.create()
    before = store.path.read_bytes()
    for act in (
        store.check,
        store.create,
        store.runs,
        lambda: store.save("run1", [], []),
        lambda: run_query(store.path, "SELECT 1"),
    ):
        with pytest.raises(NewerDatabase, match="upgrade claimbase") as caught:
            act()
        assert (caught.value.version, caught.value.known) == (
            len(migrations.MIGRATIONS) + 1,
            len(migrations.MIGRATIONS),
        )
    assert store.path.read_bytes() == before


def test_another_programs_migrations_are_not_ours(tmp_path: Path) -> None:
    path = tmp_path / "other.duckdb"
    con = duckdb.connect(path)
    con.execute("CREATE TABLE migrations (id VARCHAR)")
    con.close()
    with pytest.raises(NotADatabase, match="another program's"):
        Store(path).check()


def test_an_empty_duckdb_file_is_filled_but_not_read(tmp_path: Path) -> None:
    path = tmp_path / "empty.duckdb"
    duckdb.connect(path).close()
    with pytest.raises(NotADatabase, match="it is empty"):
        Store(path).check()
    Store(path).create()
    Store(path).check()
