import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.db import Store
from store.sqltext import claims_table
from store.works import _smallest, keys_of
from tests.conftest import Command
from tests.field_samples import FIELD, Paper, database
from tests.store_samples import PAPER, rows

TABLES = ("aliases", "works", "work_keys", "names_apart", "works_apart")


def works(store: Store) -> dict[object, object]:
    return dict(rows(store.path, "SELECT record_id, work FROM works"))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source_id", "meta", "keys"),
    [
        (None, {"doi": "10.1234/AbC."}, ["doi:10.1234/abc"]),
        ("10.1234/abc", {}, ["doi:10.1234/abc"]),
        (None, {"doi": "https://doi.org/10.1234/abc"}, ["doi:10.1234/abc"]),
        (None, {"doi": "10.48550/arXiv.2401.01234"}, ["arxiv:2401.01234"]),
        ("2401.01234v2", {}, ["arxiv:2401.01234"]),
        ("arXiv:2401.01234", {}, ["arxiv:2401.01234"]),
        ("http://arxiv.org/abs/2401.01234v3", {}, ["arxiv:2401.01234"]),
        ("cs/0112017v1", {}, ["arxiv:cs/0112017"]),
        ("x", {"url": "https://arxiv.org/pdf/2401.01234v1"}, ["arxiv:2401.01234"]),
        ("12345", {"year": 2024}, []),
        ("2401.012", {"doi": "none"}, []),
    ],
)
def test_what_identifies_a_work(source_id: str | None, meta: dict[str, Any], keys: list[str]) -> None:
    assert list(keys_of(None, source_id, meta)) == keys


def test_a_title_identifies_a_work_if_it_is_long_enough() -> None:
    assert list(keys_of("A Lamp, for  Old-Stones", None, {})) == ["title:a lamp for old stones"]
    assert list(keys_of("Introduction", None, {})) == list(keys_of("On Old Stones", None, {})) == []


def test_versions_of_one_paper_are_one_work_in_whatever_order_they_come(tmp_path: Path) -> None:
    one_run = database(tmp_path, FIELD)
    versions = {f"sha256:{name}": "sha256:lantern" for name in ("lantern", "lantern-v2", "lantern-journal")}
    others = {f"sha256:{name}": f"sha256:{name}" for name in ("candle", "torch", "position")}
    assert works(one_run) == versions | others
    (tmp_path / "b").mkdir()
    stepwise = database(tmp_path / "b", ())
    for paper in reversed(FIELD):
        stepwise.save("run1", [paper.record], [paper.outcome()])
    assert works(stepwise) == versions | others
    stepwise.rebuild()
    assert works(stepwise) == versions | others
    assert rows(stepwise.path, "SELECT count(DISTINCT work), count(*) FROM papers") == [(4, 6)]


def test_another_place_of_a_record_may_link_it(tmp_path: Path) -> None:
    first = Paper("first", "One text.", meta={})
    second = Paper("second", "Another text.", meta={"doi": "10.1234/x"})
    store = database(tmp_path, [first, second])
    assert works(store) == {"sha256:first": "sha256:first", "sha256:second": "sha256:second"}
    elsewhere = Paper("first", "One text.", meta={"doi": "10.1234/x"}).record
    store.add_sources([replace(elsewhere, source="other.bib")])
    assert works(store) == {"sha256:first": "sha256:first", "sha256:second": "sha256:first"}


def test_records_that_only_failed_are_linked_too(tmp_path: Path) -> None:
    store = database(tmp_path, ())
    store.save("run1", [FIELD[0].record], [])
    assert works(store) == {"sha256:lantern": "sha256:lantern"}


@settings(deadline=None)
@given(links=st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh"))))
def test_linked_ids_get_the_smallest_of_them(links: Sequence[tuple[str, str]]) -> None:
    smallest = _smallest(links)
    for one, other in links:
        assert smallest[one] == smallest[other] <= min(one, other)
    for of, low in smallest.items():
        assert smallest[low] == low <= of


def test_an_older_database_has_names_and_works_once_it_is_opened(tmp_path: Path) -> None:
    store = database(tmp_path, FIELD)
    table = claims_table(PAPER.schema_hash)
    con = duckdb.connect(store.path)
    for statement in (*(f"DROP TABLE {name}" for name in TABLES),):
        con.execute(statement)
    con.execute(f"ALTER TABLE {table} DROP COLUMN canonical")
    con.execute("DELETE FROM migrations WHERE version >= 5")
    con.close()
    assert store.runs()[0].done == len(FIELD)
    assert rows(store.path, "SELECT DISTINCT canonical FROM datasets ORDER BY 1") == [("marbleqa",), ("pebblebench",)]
    assert rows(store.path, "SELECT count(DISTINCT work), count(*) FROM claims") == [(3, 8)]


def test_records_that_a_person_sets_apart_are_a_paper_by_themselves(tmp_path: Path, claimbase: Command) -> None:
    store = database(tmp_path, FIELD)
    db = ("--db", store.path)
    one, other = "sha256:lantern", "sha256:lantern-v2"
    assert works(store)[other] == one
    said = claimbase("works", "list", *db)
    assert said.code == 0 and f"  {other}" in said.out and "apart" not in said.out
    assert claimbase("works", "apart", other, "sha256:lantern-journal", *db).code == 0
    expected = {one: one, other: "sha256:lantern-journal", "sha256:lantern-journal": "sha256:lantern-journal"}
    assert {record: works(store)[record] for record in expected} == expected
    store.rebuild()
    store.add_sources([paper.record for paper in FIELD])
    assert {record: works(store)[record] for record in expected} == expected
    listed = json.loads(claimbase("works", "list", "--json", *db).out)
    assert {row["record_id"] for row in listed if row["apart"]} == {other, "sha256:lantern-journal"}
    assert claimbase("works", "rejoin", other, "sha256:lantern-journal", *db).code == 0
    assert set(works(store)[record] for record in expected) == {one}
    missing = claimbase("works", "apart", "no-such", *db)
    assert missing.code == 2 and "no-such" in missing.err
