from dataclasses import replace
from pathlib import Path

import pytest

from extract.readers.text import record_id
from store.db import Store
from store.rows import Record
from tests.engine import abstract, extract, request_for, script, write_texts
from tests.scripted import running
from tests.store_samples import a_record, a_run, done, made, rows

PLACES = "SELECT record_id, source, locator, source_id, title, meta->>'year' FROM sources ORDER BY ALL"


def elsewhere(record: Record, source: str = "other.bib", locator: str = "entry 7") -> Record:
    return replace(record, source=source, locator=locator, source_id="lantern26", title="Again", meta={"year": 2025})


def place(record: Record) -> tuple[object, ...]:
    return (
        *(record.record_id, record.source, record.locator, record.source_id),
        record.title,
        str(record.meta["year"]),
    )


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return made(tmp_path, a_run(), a_run("run2", minutes=1))


def test_a_saved_record_has_the_place_where_it_was_found(store: Store) -> None:
    store.save("run1", [a_record(1), a_record(2)], [done(a_record(1)), done(a_record(2))])
    assert rows(store.path, PLACES) == [place(a_record(1)), place(a_record(2))]


def test_one_text_in_two_files_is_one_record_with_two_sources(store: Store) -> None:
    record, again = a_record(1), elsewhere(a_record(1))
    store.save("run1", [record, again], [done(record)])
    assert rows(store.path, PLACES) == [place(record), place(again)]
    assert rows(store.path, "SELECT source, title FROM records") == [("made.jsonl", "Paper 1")]
    assert rows(store.path, "SELECT count(*) FROM claims") == [(1,)]


def test_a_record_found_again_later_keeps_its_first_place(store: Store) -> None:
    record, again = a_record(1), elsewhere(a_record(1))
    store.save("run1", [record], [done(record)])
    store.save("run2", [again], [done(again, minutes=1)])
    assert rows(store.path, PLACES) == [place(record), place(again)]
    assert store.record(record.record_id).source == "made.jsonl"


def test_places_are_added_once_without_an_outcome(store: Store) -> None:
    record = a_record(1)
    store.save("run1", [record], [done(record)])
    again = [elsewhere(record), elsewhere(record, locator="entry 8"), elsewhere(record)]
    for _ in range(3):
        store.add_sources([*again, record])
    assert rows(store.path, PLACES) == [place(record), place(again[0]), place(again[1])]


def test_a_place_stays_as_it_was_first_read(store: Store) -> None:
    record = a_record(1)
    store.save("run1", [record], [done(record)])
    store.add_sources([replace(record, title="Another title"), replace(record, title="A third")])
    assert rows(store.path, PLACES) == [place(record)]


def test_a_record_that_the_database_lacks_gets_no_place(store: Store) -> None:
    store.save("run1", [a_record(1)], [done(a_record(1))])
    store.add_sources([a_record(2), elsewhere(a_record(1))])
    assert rows(store.path, "SELECT DISTINCT record_id FROM sources") == [(a_record(1).record_id,)]
    assert rows(store.path, "SELECT count(*) FROM sources ANTI JOIN records USING (record_id)") == [(0,)]


def test_odd_text_and_odd_meta_of_a_place_are_kept_as_a_records_are(store: Store) -> None:
    record = replace(a_record(1), source="o'\ud800dd\0.txt", title="", meta={"f": float("nan"), "s": "\ud800"})
    store.save("run1", [record], [done(record)])
    store.add_sources([record])
    assert rows(store.path, "SELECT source, title, meta FROM sources") == [
        ("o'\ufffddd\0.txt", "", '{"f": null, "s": "\ufffd"}')
    ]


def test_a_run_keeps_every_place_of_a_text(tmp_path: Path) -> None:
    db, text = tmp_path / "c.duckdb", abstract(0)
    first = write_texts(tmp_path / "first.jsonl", [text, abstract(1), text])
    second = write_texts(tmp_path / "second.jsonl", [text.replace(" ", "  ", 1)])
    places = "SELECT source, locator FROM sources SEMI JOIN papers USING (record_id) WHERE record_id = ? ORDER BY ALL"
    query = places.replace("?", f"'{record_id(text)}'")
    with running(script(2)) as server:
        extract(request_for(server, db, [first]))
        assert rows(db, query) == [(first, "line 1"), (first, "line 3")]
        for _ in range(2):  # found again, and the second time nothing is new
            run = extract(request_for(server, db, [second]))
            assert (run.code, run.ended.tally.finished_before) == (0, 1)
            assert rows(db, query) == [(first, "line 1"), (first, "line 3"), (second, "line 1")]
        assert server.stats().requests == 2
    assert rows(db, "SELECT count(*) FROM records") == [(2,)]
    (run_count,) = rows(db, "SELECT count(*) FROM runs")
    assert run_count == (1,), "a run that asked nothing leaves no row"
