"""What an address asks of the claims: every filter and every sort in SQL, page after page, whatever text is in it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extract.web import claim_rows
from extract.web.filters import NO_UNIT, Filters, exactly, names
from extract.web.ordering import LAST, Key, Order
from store.rows import Outcome, Record
from store.session import reading
from store.text import clean
from store.views import literal
from tests.store_samples import NOON, a_run, made

NUMBERS = (
    # quote, value, unit, role, metric, dataset, baseline
    ("91.5%", 91.5, "%", "score", "accuracy", "MarbleQA", None),
    ("12%", 12.0, "%", "gain", "accuracy", "MarbleQA", "Candle"),
    ("3x", 3.0, "x", "gain", "speed", None, "Candle's own"),
    ("0.42", 0.42, "", "score", "F1", "Slate 100%", None),
    ("many", None, "count", "scale", None, None, None),
    ("1,000", 1000.0, "count", "scale", "questions", "marbleqa", None),
    ("12%", 12.0, "%", "gain", "recall", "Pebble", "Candle"),
)


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Seven claims of each of nine papers, their tasks and years in turn; some values are equal and some unknown."""
    store = made(tmp_path_factory.mktemp("filters"), a_run())
    records, outcomes = [], []
    for i in range(9):
        record, outcome = _paper(i)
        records.append(record)
        outcomes.append(outcome)
    store.save("run1", records, outcomes)
    return store.path


def _paper(i: int) -> tuple[Record, Outcome]:
    keys = ("quote", "value", "unit", "role", "metric", "dataset", "baseline")
    value = {
        "contribution": ("method", "theory", "benchmark")[i % 3],
        "task": ("question answering", "Parsing", None)[i % 3],
        "method": f"Lantern-{i}" if i % 2 else None,
        "datasets": [{"name": "MarbleQA", "start": 0, "end": 1, "match": "exact"}] if i < 4 else [],
        "baselines": [],
        "headline_numbers": [dict(zip(keys, one, strict=True)) for one in NUMBERS],
    }
    record_id = f"b{i}"
    record = Record(record_id, "f", f"line {i}", None, f"Title {i % 4}", f"text {i}", {"year": 2020 + i % 2})
    return record, Outcome(record_id, "done", None, None, json.dumps(value), NOON)


@pytest.fixture(scope="module")
def con(db: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with reading(db) as opened:
        yield opened


def found(con: duckdb.DuckDBPyConnection, **asked: str) -> list[tuple[str, int]]:
    """The claims that filters let through, by the query of the download."""
    rows = con.execute(f"SELECT record_id, ordinal FROM ({claim_rows.download_query(Filters(**asked), Order())})")
    answer = [(str(r), int(o)) for r, o in rows.fetchall()]
    assert len(answer) == claim_rows.total(con, Filters(**asked))
    return answer


@pytest.mark.parametrize(
    ("asked", "ordinals", "papers"),
    [
        ({}, {0, 1, 2, 3, 4, 5, 6}, 9),
        ({"role": "gain"}, {1, 2, 6}, 9),
        ({"unit": "%"}, {0, 1, 6}, 9),
        ({"unit": NO_UNIT}, {3}, 9),
        ({"low": "12", "high": "1,000"}, {0, 1, 5, 6}, 9),
        ({"low": "12", "role": "gain"}, {1, 6}, 9),
        ({"metric": "acc"}, {0, 1}, 9),
        ({"dataset": "marble"}, {0, 1, 5}, 9),
        ({"dataset": exactly("MARBLEQA")}, {0, 1, 5}, 9),
        ({"dataset": exactly("marble")}, set(), 0),
        ({"dataset": "100%"}, {3}, 9),
        ({"dataset": "%"}, {3}, 9),
        ({"baseline": "Candle's"}, {2}, 9),
        ({"task": "parsing"}, {0, 1, 2, 3, 4, 5, 6}, 3),
        ({"method": "Lantern-3"}, {0, 1, 2, 3, 4, 5, 6}, 1),
        ({"contribution": "theory", "metric": "F1"}, {3}, 3),
        ({"year": "2021"}, {0, 1, 2, 3, 4, 5, 6}, 4),
        ({"uses": exactly("marbleqa"), "role": "score"}, {0, 3}, 4),
        ({"model": "scripted"}, {0, 1, 2, 3, 4, 5, 6}, 9),
        ({"run": "another"}, set(), 0),
        ({"q": "candle"}, {1, 2, 6}, 9),
        ({"q": "title 3"}, {0, 1, 2, 3, 4, 5, 6}, 2),
        ({"q": "lantern-5"}, {0, 1, 2, 3, 4, 5, 6}, 1),
    ],
)
def test_each_filter(con: duckdb.DuckDBPyConnection, asked: dict[str, str], ordinals: set[int], papers: int) -> None:
    rows = found(con, **asked)
    assert {ordinal for _, ordinal in rows} == ordinals
    assert len({record_id for record_id, _ in rows}) == papers


def test_filters_survive_an_address() -> None:
    filters = Filters(**{name: f"{name} é&=" for name in names()})
    assert Filters.of(filters.parameters()) == filters
    assert Filters.of({"sort": "value", "nonsense": "1"}) == Filters()


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"low": "ten"}, ["'ten' is no number"]),
        ({"high": "nan"}, ["'nan' is no number"]),
        ({"low": "5", "high": "4"}, ["no value is at least 5 and at most 4"]),
        ({"low": "1e3"}, []),
    ],
)
def test_what_is_no_number_is_said(asked: dict[str, str], said: list[str]) -> None:
    assert Filters(**asked).faults() == said


@given(said=st.text(max_size=40), name=st.sampled_from([n for n in names() if n not in ("low", "high")]))
@settings(max_examples=40, deadline=None)
def test_no_text_is_ever_sql(con: duckdb.DuckDBPyConnection, said: str, name: str) -> None:
    """Whatever is asked for, the answer is some of the claims: never an error, and all or none for a strange text."""
    rows = found(con, **{name: said})
    assert len(rows) <= 63
    if len(said) > 12 and said.strip():
        assert len(rows) in (0, 63)


@given(said=st.text(max_size=60))
@settings(max_examples=40, deadline=None)
def test_a_literal_is_what_it_says(con: duckdb.DuckDBPyConnection, said: str) -> None:
    said = clean(said).replace("\x00", "")
    assert con.execute(f"SELECT {literal(said)}").fetchall() == [(said,)]


SORTS = ["", *claim_rows.SORTED_BY, *(f"-{column}" for column in claim_rows.SORTED_BY)]


@pytest.mark.parametrize("sort", SORTS)
def test_pages_together_are_the_whole(
    con: duckdb.DuckDBPyConnection, sort: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forwards from the beginning and backwards from the end, page by page: each claim once, in the same order."""
    monkeypatch.setattr(claim_rows, "ROWS", 16)
    monkeypatch.setattr(claim_rows, "_FIRST_PAPERS", 4)
    order = Order.of({"sort": sort} if sort else {}, claim_rows.SORTED_BY)
    whole = _walk(con, order, "after")
    assert len(whole) == 63 == len({(key.record_id, key.ordinal) for key in whole})
    if not sort:
        return
    descending = sort.startswith("-")
    values = [key.value for key in whole]
    known: list[Any] = [value for value in values if value is not None]
    assert known == sorted(known, reverse=descending)
    assert values[len(known) :] == [None] * (63 - len(known))
    last = Order.of({"sort": sort, "before": LAST}, claim_rows.SORTED_BY)
    assert _walk(con, last, "before") == whole


def _walk(con: duckdb.DuckDBPyConnection, order: Order, way: str) -> list[Key]:
    keys: list[Key] = []
    for _ in range(20):
        page = claim_rows.page(con, Filters(), order)
        column = order.column or "value"
        here = [Key(claim[column], claim["record_id"], claim["ordinal"]) for claim in page.claims]
        keys = keys + here if way == "after" else here + keys
        on = page.after if way == "after" else page.before
        if on is None:
            break
        place = {way: on.text()} if order.column else {"first": str((order.first or 0) + claim_rows.ROWS)}
        order = Order.of({**order.sort(), **place}, claim_rows.SORTED_BY)
    return keys


@pytest.mark.parametrize(
    "said",
    [
        "",
        "last",
        "[]",
        "{}",
        '["a","b"]',
        '[1,"b",true]',
        '[NaN,"b",1]',
        '[1e999,"b",1]',
        '[{},"b",1]',
        "[" * 9_000,
        '["a","b",99999999999]',
        '[1,"b",-1]',
    ],
)
def test_a_key_that_is_none_is_passed_over(said: str) -> None:
    order = Order.of({"sort": "value", "after": said}, claim_rows.SORTED_BY)
    assert order.key is None and order.first == 0


def test_a_column_that_is_none_is_passed_over() -> None:
    assert Order.of({"sort": 'value"; DROP TABLE records; --'}, claim_rows.SORTED_BY) == Order()


def test_heads_turn_the_order() -> None:
    plain = Order()
    assert plain.turned("value") == {"sort": "value"}
    assert Order("value").turned("value") == {"sort": "-value"}
    assert Order("value", descending=True).turned("value") == {}
