import json
import re
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from store.db import Store
from store.errors import SchemaRefused, StoreError
from store.rows import Evidence, Outcome, Schema
from store.structure import plural, shape_of, singular
from store.views import BASE_TABLES, claims_table
from tests.store_samples import NOON, PAPER, PROMPT, a_record, a_run, done, failed, made, rows

DATABASE_PAGE = Path(__file__).parents[1] / "docs" / "database.md"


def schema_of(name: str, structure: object, digits: str = "1234567890") -> Schema:
    return Schema(f"sha256:{digits}", name, "{}", json.dumps(structure))


def saved(store: Store, schema: Schema, value: object, run_id: str = "run1", minutes: float = 0) -> None:
    """Begin a run of this schema and save one record's value under it."""
    store.begin_run(a_run(run_id, minutes=minutes, schema=schema), schema, PROMPT)
    outcome = Outcome(a_record(1).record_id, "done", None, None, json.dumps(value), NOON)
    store.save(run_id, [a_record(1)], [outcome])


def columns(path: Path, view: str) -> list[str]:
    return [str(name) for (name,) in rows(path, f'SELECT column_name FROM (DESCRIBE "{view}")')]


# --- the shipped schema


def test_the_views_of_papers_show_what_was_saved(tmp_path: Path) -> None:
    store = made(tmp_path, a_run())
    record = a_record(7)
    store.save("run1", [record], [done(record)])
    assert rows(store.path, "FROM papers") == [
        (
            *(record.record_id, "made.7", "Paper 7", "method", "question answering", "Lantern", None),
            *("scripted", "run1"),
            *("lantern", record.record_id),
        )
    ]
    assert columns(store.path, "datasets") == [
        *("record_id", "ordinal", "name", "start", "end", "match", "confidence", "canonical")
    ]
    assert rows(store.path, "SELECT ordinal, name, match, canonical FROM datasets") == [
        (0, "MarbleQA", "exact", "marbleqa")
    ]
    assert rows(store.path, "SELECT ordinal, name, match FROM baselines") == [(0, "Candle", "exact")]
    assert rows(store.path, "SELECT quote, value, unit, role, metric, dataset FROM headline_numbers") == [
        ("7.5\\%", 7.5, "%", "gain", None, "MarbleQA")
    ]
    assert columns(store.path, "claims") == [
        *("record_id", "source_id", "title", "contribution", "task", "method", "record_confidence", "ordinal", "quote"),
        *("value", "unit", "role", "direction", "qualifier", "metric", "dataset", "baseline", "start", "end", "match"),
        *("confidence", "note"),
        *("model", "run_id", "method_canonical", "metric_canonical", "dataset_canonical", "baseline_canonical"),
        *("si_value", "si_unit", "better", "work"),
    ]
    assert rows(store.path, "SELECT title, task, method, value, model FROM claims") == [
        ("Paper 7", "question answering", "Lantern", 7.5, "scripted")
    ]


def test_offsets_find_the_quote_in_the_text_as_sql_counts(tmp_path: Path) -> None:
    store = made(tmp_path, a_run())
    records = [a_record(i) for i in range(40)]
    store.save("run1", records, [done(record) for record in records])
    for view, quote in (
        ("datasets", "name"),
        ("baselines", "name"),
        ("headline_numbers", "quote"),
        ("claims", "quote"),
    ):
        assert rows(
            store.path,
            f"""SELECT count(*), count(*) FILTER (r.text[v.start + 1:v."end"] = v.{quote})
            FROM {view} v JOIN records r USING (record_id) WHERE v.match = 'exact'""",
        ) == [(40, 40)]


def test_the_latest_good_outcome_of_a_record_is_shown(tmp_path: Path) -> None:
    store = made(tmp_path, a_run("run1"), a_run("run2", minutes=5), a_run("run3", minutes=9))
    one, two = a_record(1), a_record(2)
    # run2's answer for the first record was saved before run1's, and ended after it.
    store.save("run2", [one], [done(one, minutes=6, task="newer")])
    store.save("run1", [one, two], [done(one, minutes=1, task="older"), done(two, minutes=1, task="older")])
    store.save("run3", [], [failed(one, minutes=10), failed(two, minutes=10)])
    for _ in range(2):
        assert rows(store.path, "SELECT record_id, task, run_id FROM papers ORDER BY 1") == [
            (one.record_id, "newer", "run2"),
            (two.record_id, "older", "run1"),
        ]
        assert rows(store.path, "FROM latest ORDER BY 1") == [
            (one.record_id, PAPER.schema_hash, "run2"),
            (two.record_id, PAPER.schema_hash, "run1"),
        ]
        assert rows(store.path, "SELECT count(*) FROM failures") == [(0,)]
        store.rebuild()


def test_rejected_holds_what_the_text_does_not_say_of_the_latest_outcomes(tmp_path: Path) -> None:
    store = made(tmp_path, a_run("run1"), a_run("run2", minutes=5))
    one, two = a_record(1), a_record(2)
    unfit = Evidence("headline_numbers.unit", 0, "7", 3, 4, "exact", "a % is no x")
    store.save("run1", [one, two], [done(one), replace(done(two), evidence=[unfit])])
    store.save("run2", [], [replace(done(one, minutes=6), evidence=())])
    assert rows(store.path, "FROM rejected") == [
        (two.record_id, "headline_numbers.unit", 0, "7", "exact", "a % is no x", "scripted", "run1")
    ]


def test_failures_are_of_each_recipe(tmp_path: Path) -> None:
    store = made(tmp_path, a_run("run1"), a_run("run2", recipe="other", minutes=5))
    record = a_record(1)
    store.save("run1", [record], [failed(record, minutes=1, error_type="length")])
    store.save("run2", [], [done(record, minutes=6)])
    assert rows(store.path, "FROM failures") == [
        (
            *(record.record_id, "made.jsonl", "line 1", "Paper 1", "length", "it took too long", "scripted", "run1"),
            NOON.replace(minute=1, tzinfo=None),
        )
    ]


# --- any schema


def test_a_schema_of_ones_own_gets_its_views(tmp_path: Path) -> None:
    store = made(tmp_path)
    structure = {
        "phase": "VARCHAR",
        "design": {"arm": {"count": "INTEGER"}, "sites": ["VARCHAR"]},
        "years": ["INTEGER"],
        "outcomes": [{"name": "VARCHAR", "value": "DOUBLE", "place": {"start": "INTEGER"}, "tags": ["VARCHAR"]}],
        "doses": [{"value": "DOUBLE", "phase": "VARCHAR"}],
    }
    value = {
        "phase": "II",
        "design": {"arm": {"count": 3}, "sites": ["Oslo", "Rome"]},
        "years": [2020, 2021],
        "outcomes": [{"name": "death", "value": 0.5, "place": {"start": 4}, "tags": ["x"]}],
        "doses": [{"value": 5, "phase": "late"}],
    }
    saved(store, schema_of("trial", structure), value)
    id = a_record(1).record_id
    assert rows(store.path, "FROM trials") == [(id, "made.1", "Paper 1", "II", 3, "scripted", "run1", id)]
    assert columns(store.path, "trials")[3:5] == ["phase", "design_arm_count"]
    assert rows(store.path, "FROM trial_design_sites ORDER BY ordinal") == [(id, 0, "Oslo"), (id, 1, "Rome")]
    assert columns(store.path, "trial_design_sites") == ["record_id", "ordinal", "name"]
    assert rows(store.path, "SELECT value FROM trial_years ORDER BY ordinal") == [(2020,), (2021,)]
    assert rows(store.path, "FROM trial_outcomes") == [(id, 0, "death", 0.5, 4, ["x"])]
    assert columns(store.path, "trial_claims")[3:] == [
        *("phase", "design_arm_count", "ordinal", "name", "value", "place_start", "tags", "model", "run_id", "work")
    ]
    # A second list with numbers, and a field of its items that has the name of one of the record's.
    assert columns(store.path, "trial_claims_doses")[3:-3] == [
        *("phase", "design_arm_count", "ordinal", "value", "dose_phase")
    ]
    assert rows(store.path, "SELECT phase, dose_phase FROM trial_claims_doses") == [("II", "late")]


def test_names_that_are_odd_or_taken_are_safe(tmp_path: Path) -> None:
    store = made(tmp_path, a_run("paper1"))
    structure = {
        "title": "VARCHAR",
        "order": "VARCHAR",
        "a \"b\" 'c'": "INTEGER",
        "x_y": "INTEGER",
        "x": {"y": "INTEGER"},
        "select": [{"ordinal": "INTEGER", "record_id": "VARCHAR", "value": "DOUBLE", "group": "VARCHAR"}],
    }
    value = {
        **{"title": "mine", "order": "first", "a \"b\" 'c'": 7, "x_y": 1, "x": {"y": 2}},
        "select": [{"ordinal": 9, "record_id": "r", "value": 1.5, "group": "g"}],
    }
    saved(store, schema_of("odd 'one'", structure), value)
    assert columns(store.path, "odd 'one's")[3:-3] == ["odd 'one'_title", "order", "a \"b\" 'c'", "x_y", "x_y_2"]
    assert rows(store.path, """SELECT "odd 'one'_title", "order", "a ""b"" 'c'", x_y_2 FROM "odd 'one's" """) == [
        ("mine", "first", 7, 2)
    ]
    assert columns(store.path, "odd 'one'_select") == [
        *("record_id", "ordinal", "select_ordinal", "select_record_id", "value", "group")
    ]
    assert rows(store.path, """SELECT ordinal, select_ordinal, "group" FROM "odd 'one'_claims" """) == [(0, 9, "g")]


@pytest.mark.parametrize("name", ["record", "run", "outcome", "attempt", "schema", "dataset", "Claim", "latest"])
def test_a_view_takes_no_name_that_is_there(tmp_path: Path, name: str) -> None:
    store = made(tmp_path, a_run("paper1"))
    saved(store, schema_of(name, {"size": "INTEGER", "rejected": ["VARCHAR"]}), {"size": 3, "rejected": ["a"]})
    view = plural(name)
    taken = view.lower() in (*BASE_TABLES, "datasets", "claims")
    assert rows(store.path, f'SELECT size FROM "{view}_123456"' if taken else f'SELECT size FROM "{view}"') == [(3,)]
    assert rows(store.path, "SELECT count(*) FROM records") == [(1,)]
    assert columns(store.path, "datasets") == [
        *("record_id", "ordinal", "name", "start", "end", "match", "confidence", "canonical")
    ]


def test_the_fingerprint_of_the_latest_run_has_the_plain_names(tmp_path: Path) -> None:
    store = made(tmp_path)
    old = schema_of("trial", {"phase": "VARCHAR"}, "aaaaaa11")
    new = schema_of("trial", {"phase": "VARCHAR", "size": "INTEGER"}, "bbbbbb22")
    saved(store, old, {"phase": "I"}, "run1")
    saved(store, new, {"phase": "II", "size": 9}, "run2", minutes=1)
    assert rows(store.path, "SELECT phase, size FROM trials") == [("II", 9)]
    assert rows(store.path, "SELECT phase FROM trials_aaaaaa") == [("I",)]
    assert rows(store.path, "SELECT schema_hash FROM latest ORDER BY 1") == [(old.schema_hash,), (new.schema_hash,)]
    saved(store, old, {"phase": "III"}, "run3", minutes=2)
    assert rows(store.path, "SELECT phase FROM trials") == [("III",)]
    assert rows(store.path, "SELECT size FROM trials_bbbbbb") == [(9,)]
    assert rows(store.path, "SELECT count(*) FROM duckdb_views() WHERE view_name = 'trials_aaaaaa'") == [(0,)]


def test_a_structure_that_grew_is_filled_from_what_was_saved(tmp_path: Path) -> None:
    store = made(tmp_path)
    schema = schema_of("trial", {"phase": "VARCHAR"})
    saved(store, schema, {"phase": "I", "size": 12})
    store.use_schema(replace(schema, structure='{"phase": "VARCHAR", "size": "INTEGER"}'))
    assert rows(store.path, "SELECT phase, size FROM trials") == [("I", 12)]
    assert rows(store.path, "SELECT count(*) FROM schemas") == [(1,)]


def test_a_value_of_another_type_is_null_and_its_record_stays(tmp_path: Path) -> None:
    store = made(tmp_path)
    saved(store, schema_of("trial", {"size": "INTEGER", "sites": ["VARCHAR"]}), {"size": "many", "sites": None, "z": 1})
    assert rows(store.path, "SELECT record_id, size FROM trials") == [(a_record(1).record_id, None)]
    assert rows(store.path, "SELECT count(*) FROM trial_sites") == [(0,)]
    assert rows(store.path, "SELECT value->>'size' FROM outcomes") == [("many",)]


@pytest.mark.parametrize(
    ("structure", "why"),
    [
        ("[", "not JSON"),
        ('["VARCHAR"]', "not an object"),
        ("{}", "not an object with a field"),
        ('{"a": {}}', "a has no fields"),
        ('{"a": []}', "0 kinds of items"),
        ('{"a": 3}', "not a name"),
        ('{"a": "VARCHAR", "A": "VARCHAR"}', "differ in case only"),
        ('{"a": "NUMBERISH"}', "NUMBERISH does not exist"),
    ],
)
def test_a_structure_that_makes_no_table_is_refused(tmp_path: Path, structure: str, why: str) -> None:
    store = made(tmp_path)
    schema = Schema("sha256:1", "trial", "{}", structure)
    with pytest.raises(SchemaRefused, match=why) as caught:
        store.begin_run(a_run(schema=schema), schema, PROMPT)
    assert caught.value.name == "trial"
    assert rows(store.path, "SELECT count(*) FROM runs") == [(0,)]


def test_a_users_own_view_stays(tmp_path: Path) -> None:
    store = made(tmp_path, a_run())
    con = duckdb.connect(store.path)
    con.execute("CREATE VIEW big_gains AS SELECT * FROM claims WHERE value > 5")
    con.execute("CREATE VIEW trials AS SELECT 1 AS mine")
    con.close()
    saved(store, schema_of("trial", {"phase": "VARCHAR"}), {"phase": "I"}, "run2", minutes=1)
    record = a_record(7)
    store.save("run1", [record], [done(record)])
    assert rows(store.path, "SELECT quote FROM big_gains") == [("7.5\\%",)]
    assert rows(store.path, "SELECT mine FROM trials") == [(1,)]
    assert rows(store.path, "SELECT phase FROM trials_123456") == [("I",)]

    con = duckdb.connect(store.path)
    con.execute("DROP VIEW failures")
    con.execute("CREATE TABLE failures (i INTEGER)")
    con.close()
    with pytest.raises(StoreError, match="'failures'"):
        store.rebuild()


def test_each_view_says_what_it_shows(tmp_path: Path) -> None:
    store = made(tmp_path, a_run())
    comments = rows(store.path, "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal")
    assert ("headline_numbers", "claimbase: schema paper: one row an item of headline_numbers") in comments
    assert all(str(comment).startswith("claimbase: ") for _, comment in comments)


def test_plurals_and_singulars() -> None:
    for one, many in (
        ("paper", "papers"),
        ("study", "studies"),
        ("class", "classes"),
        ("box", "boxes"),
        ("day", "days"),
    ):
        assert plural(one) == many
        assert singular(many) == one
    assert singular("data") == "data"


def test_the_shape_of_a_structure() -> None:
    shape = shape_of("trial", '{"a": {"b": "VARCHAR", "c": [["INTEGER"]]}, "d": "DOUBLE"}')
    assert [(column.name, column.path) for column in shape.scalars] == [("a_b", ("a", "b")), ("d", ("d",))]
    assert [(field.name, field.path, field.measures) for field in shape.lists] == [("a_c", ("a", "c"), False)]
    assert shape.lists[0].columns[0].type == "LIST"
    assert claims_table("sha256:ab-c") == "claims_sha256abc"


# --- the page that describes them


def documented() -> dict[str, list[tuple[str, str]]]:
    """Each heading of a table or view in docs/database.md, with the columns and types of the table under it."""
    found: dict[str, list[tuple[str, str]]] = {}
    name = None
    for line in DATABASE_PAGE.read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"### `(\w+)`", line):
            name = heading[1]
            found[name] = []
        elif line.startswith("#"):
            name = None
        elif name and (row := re.match(r"\| `(\w+)` \| (\w+) \|", line)):
            found[name].append((row[1], row[2]))
    return found


def test_the_page_on_the_database_is_true(tmp_path: Path) -> None:
    store = made(tmp_path, a_run())
    live = rows(
        store.path,
        """SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal
        AND NOT starts_with(table_name, 'claims_') ORDER BY table_name, column_index""",
    )
    expected: dict[str, list[tuple[str, str]]] = {}
    for table, column, type in live:
        expected.setdefault(str(table), []).append((str(column), str(type)))
    assert documented() == expected


def test_the_queries_of_the_page_run(tmp_path: Path) -> None:
    store = made(tmp_path, a_run())
    store.save("run1", [a_record(1)], [done(a_record(1))])
    blocks = re.findall(r"```sql\n(.*?)```", DATABASE_PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    queries = [query for block in blocks for query in block.split(";") if query.strip()]
    assert len(queries) >= 5
    for query in queries:
        rows(store.path, query)
