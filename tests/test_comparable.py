from pathlib import Path

import duckdb
import pytest

from schemas.units import canonical_unit
from store.comparable import METRICS, UNITS, metric_key
from store.naming import fold
from tests.field_samples import Number, Paper, database
from tests.store_samples import rows


def compared(folder: Path, *numbers: Number) -> list[tuple[object, ...]]:
    """What the view makes of these numbers, in their order."""
    store = database(folder, [Paper("one", "A text.", numbers=numbers)])
    return rows(store.path, "SELECT si_value, si_unit, better FROM claims ORDER BY ordinal")


COMPARED = [
    (Number("64.4%", 64.4), 0.644, "fraction"),
    (Number("17.06%", 17.06), 0.1706, "fraction"),
    (Number("0.644", 0.644, ""), 0.644, "fraction"),
    (Number("64.4", 64.4, "", metric="overall accuracy"), 0.644, "fraction"),
    (Number("0.9", 0.9, "", metric="Macro-F1"), 0.9, "fraction"),
    (Number("64.4", 64.4, "", metric="BLEU"), 64.4, ""),
    (Number("640", 640, "", metric="accuracy"), 640, ""),
    (Number("3.1", 3.1, "", "gain", "accuracy", direction="increase"), 3.1, ""),
    (Number("3.1", 3.1, "", metric=None), 3.1, ""),
    (Number("12 ms", 12, "ms", metric="latency"), 0.012, "s"),
    (Number("2 h", 2, "h", metric="training time"), 7200, "s"),
    (Number("5GB", 5, "GB", metric="memory"), 5e9, "B"),
    (Number("5GiB", 5, "GB", metric="memory"), 5 * 1024.0**3, "B"),
    (Number("512MiB", 512, "MB", metric="memory"), 512 * 1024.0**2, "B"),
    (Number("36km/h", 36, "km/h", metric="speed"), 10, "m/s"),
    (Number("2x", 2, "x", "gain", "speed", direction="increase"), 2, "x"),
    (Number("2 pp", 2, "pp", "gain", direction="increase"), 2, "pp"),
    (Number("3 months", 3, "months", metric="time"), 3, "months"),
    (Number("7", 7, "widgets", metric="widgets"), 7, "widgets"),
]


def test_values_are_brought_to_one_unit_where_they_can_be(tmp_path: Path) -> None:
    found = compared(tmp_path, *(number for number, *_ in COMPARED))
    for (number, si_value, si_unit), (value, unit, _) in zip(COMPARED, found, strict=True):
        assert (value, unit) == (pytest.approx(si_value, rel=1e-12), si_unit), number.quote


def test_a_percentage_and_its_fraction_are_equal_to_the_last_bit(tmp_path: Path) -> None:
    numbers = [Number("a", x / 100, "%") for x in range(0, 10_000, 7)]
    found = compared(tmp_path, *numbers)
    assert [value for value, *_ in found] == [round(x / 10_000, 4) for x in range(0, 10_000, 7)]


WAYS = [
    ("accuracy", None, "higher"),
    ("word error rate", None, "lower"),
    ("success rate", None, "higher"),
    ("error detection accuracy", None, "higher"),
    ("sentiment", None, None),
    ("sentiment", "decrease", "lower"),
    ("accuracy", "decrease", "higher"),
    ("inference time", "decrease", "lower"),
    ("GPU memory", None, "lower"),
    ("questions", None, None),
    (None, None, None),
]


def test_which_way_is_better(tmp_path: Path) -> None:
    roles = ["score" if direction is None else "gain" for _, direction, _ in WAYS]
    numbers = [Number("5", 5, "", role, m, direction=d) for role, (m, d, _) in zip(roles, WAYS, strict=True)]
    found = [better for *_, better in compared(tmp_path, *numbers)]
    assert found == [better for *_, better in WAYS]


@pytest.mark.parametrize(
    ("names", "key"),
    [
        (["top-1 accuracy", "Acc@1", "Top-1 Acc", "acc top-1"], "top1accuracy"),
        (["F1", "F1 score", "F1 scores", "F-1"], "f1"),
        (["word error rate", "WER", "word error rates"], "wer"),
        (["BLEU", "BLEU score", "bleu scores"], "bleu"),
        (["accuracy", "Acc.", "accuracies"], "accuracy"),
        (["P-Score"], "pscore"),
        (["test accuracy"], "testaccuracy"),
        (["score"], "score"),
    ],
)
def test_metrics_have_one_name(names: list[str], key: str) -> None:
    assert {name: metric_key(fold(name), name) for name in names} == dict.fromkeys(names, key)


def test_no_name_of_a_metric_is_two_metrics() -> None:
    of = {fold(name): fold(usual) for usual, others in METRICS.items() for name in (usual, *others)}
    for usual, others in METRICS.items():
        assert {of[fold(name)] for name in (usual, *others)} == {fold(usual)}


def test_units_are_those_that_the_database_writes() -> None:
    for unit in UNITS:
        assert canonical_unit(unit) == unit


def test_the_expressions_are_sql_by_themselves() -> None:
    from store.comparable import better_sql, share_sql, si_unit_sql, si_value_sql

    with duckdb.connect() as con:
        con.execute("CREATE TABLE n AS SELECT 5.0::DOUBLE AS v, '%' AS u, 'accuracy' AS m")
        share = share_sql("v", "u", None, None)
        query = (
            f"SELECT {si_value_sql('v', 'u', share, None)}, {si_unit_sql('u', share)}, {better_sql('m', None)} FROM n"
        )
        assert con.execute(query).fetchall() == [(0.05, "fraction", "higher")]
