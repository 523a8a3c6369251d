from pathlib import Path

import duckdb
import pytest

from store import migrations
from store.db import Store
from store.errors import NewerDatabase, NotADatabase, StoreError
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


def of_version(path: Path, version: int, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The tables as an earlier version made them. Its views are not there: they are made anew with the steps after."""
    con = duckdb.connect(path)
    with monkeypatch.context() as then:
        then.setattr(migrations, "MIGRATIONS", migrations.MIGRATIONS[:version])
        migrations.migrate(con, path)
    con.close()
    return Store(path)


@pytest.mark.parametrize("version", range(1, len(migrations.MIGRATIONS)))
def test_each_older_version_becomes_todays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    new = made(tmp_path)
    old = of_version(tmp_path / "old.duckdb", version, monkeypatch)
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
    ) == [(number, step.__name__.strip("_"), True) for number, step in enumerate(migrations.MIGRATIONS, start=1)]


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


@pytest.fixture
def before_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A database as the first version made it, with two records."""
    store = of_version(tmp_path / "old.duckdb", 1, monkeypatch)
    con = duckdb.connect(store.path)
    for i in (1, 2):
        record = a_record(i)
        con.execute(
            "INSERT INTO records VALUES (?, ?, ?, ?, ?, ?, ?)",
            [*(record.record_id, record.source, record.locator, None, record.title, record.text), '{"year": 2026}'],
        )
    con.close()
    return store


def test_the_source_of_an_older_databases_record_is_its_first(before_sources: Store) -> None:
    before_sources.create()
    assert rows(before_sources.path, "SELECT * FROM sources ORDER BY record_id") == rows(
        before_sources.path, "SELECT record_id, source, locator, source_id, title, meta FROM records ORDER BY record_id"
    )
    assert rows(before_sources.path, "SELECT count(*) FROM sources") == [(2,)]
    before_sources.add_sources([a_record(1)])
    assert rows(before_sources.path, "SELECT count(*) FROM sources") == [(2,)]


def test_a_derived_view_gives_way_to_a_table_of_its_name(before_sources: Store) -> None:
    con = duckdb.connect(before_sources.path)
    con.execute("CREATE VIEW sources AS SELECT 1 AS one")
    con.execute("COMMENT ON VIEW sources IS 'claimbase: schema source: one row a record'")
    con.close()
    before_sources.create()
    assert rows(before_sources.path, "SELECT count(*) FROM sources") == [(2,)]


@pytest.mark.parametrize("own", ["TABLE Sources (a INTEGER)", "VIEW sources AS SELECT 1 AS a"])
def test_a_users_own_table_of_a_new_name_is_left_alone(before_sources: Store, own: str) -> None:
    con = duckdb.connect(before_sources.path)
    con.execute(f"CREATE {own}")
    con.close()
    with pytest.raises(StoreError, match=r"its own 'sources'.* rename or drop it"):
        before_sources.create()
    assert rows(before_sources.path, "SELECT a FROM sources LIMIT 0") == []
    assert rows(before_sources.path, "SELECT max(version) FROM migrations") == [(1,)]


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
