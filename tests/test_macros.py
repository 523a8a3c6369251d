import re
from pathlib import Path

import duckdb
import pytest

from store.db import Store
from store.macros import SCALARS, TABLES
from store.query import run_query
from tests.conftest import ROOT, Command
from tests.field_samples import FIELD, Number, Paper, database
from tests.store_samples import made, rows


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample field as a database. Not to be written to."""
    return database(tmp_path_factory.mktemp("field"), FIELD).path


@pytest.mark.parametrize("dataset", ["MarbleQA", "marble-qa", "the Marble QA dataset", "marbleqa"])
@pytest.mark.parametrize("metric", ["accuracy", "Acc."])
def test_a_leaderboard_has_a_paper_once_whatever_its_names(field: Path, dataset: str, metric: str) -> None:
    query = "SELECT rank, method, year, si_value, better FROM leaderboard(?, ?)"
    assert rows(field, query, [dataset, metric]) == [
        (1, "Candle", 2025, 0.71, "higher"),
        (2, "Lantern", 2024, 0.65, "higher"),
    ]


def test_a_leaderboard_of_what_is_better_low_begins_with_the_lowest(tmp_path: Path) -> None:
    def paper(name: str, *numbers: Number) -> Paper:
        return Paper(name, "A text.", name, ["Hill"], numbers=numbers)

    store = database(
        tmp_path,
        [
            paper("A", Number("12 ms", 12, "ms", metric="latency", dataset="Hill")),
            paper("B", Number("0.01 s", 0.01, "s", metric="latency", dataset="Hill")),
            paper("C", Number("3 furlongs", 3, "furlongs", metric="latency", dataset="Hill")),
            paper("D", Number("1 ms", 1, "ms", "gain", "latency", "Hill", direction="decrease")),
        ],
    )
    assert rows(store.path, "SELECT rank, method, si_value, si_unit FROM leaderboard('hill', 'latency')") == [
        (1, "B", 0.01, "s"),
        (2, "A", 0.012, "s"),
        (1, "C", 3.0, "furlongs"),
    ]
    assert rows(store.path, "FROM leaderboard('hill', 'height')") == []


def test_history_has_the_best_of_each_year_and_the_best_so_far(field: Path) -> None:
    query = "SELECT year, papers, best, best_so_far FROM history('MarbleQA', 'accuracy')"
    assert rows(field, query) == [(2023, 1, 0.644, 0.644), (2024, 1, 0.65, 0.65), (2025, 1, 0.71, 0.71)]


def test_beats_are_gains_over_named_baselines_that_are_for_the_better(field: Path) -> None:
    assert rows(field, "SELECT method, baseline, value, unit FROM beats() ORDER BY ALL") == [
        ("candle", "torch", 5.0, "%"),
        ("lantern", "candle", 3.0, "%"),
        ("torch", "lantern", 2.0, "x"),
    ]


def test_conflicts_are_two_numbers_for_one_thing(field: Path) -> None:
    query = "SELECT method, dataset, metric, numbers, quotes FROM conflicts()"
    assert rows(field, query) == [("lantern", "marbleqa", "accuracy", 2, ["0.65", "64.4%", "65.0%"])]


def test_names_and_metrics_fold_in_sql(field: Path) -> None:
    assert rows(field, "SELECT canonical('The CIFAR-10 Dataset'), canonical_metric('Top-1 Acc'), canonical(NULL)") == [
        ("cifar10", "top1accuracy", None)
    ]


def test_each_macro_says_what_it_gives_and_can_be_used_read_only(field: Path) -> None:
    comments = rows(field, "SELECT function_name, comment FROM duckdb_functions() WHERE NOT internal ORDER BY 1")
    assert comments == sorted((macro.name, f"claimbase: {macro.about}") for macro in (*SCALARS, *TABLES))
    assert run_query(field, "FROM leaderboard('MarbleQA', 'accuracy')").count == 2


def test_a_users_own_macro_stays(tmp_path: Path) -> None:
    store = made(tmp_path)
    con = duckdb.connect(store.path)
    con.execute("DROP MACRO canonical")
    con.execute("CREATE MACRO canonical(x) AS 'mine'")
    con.execute("CREATE MACRO beats() AS TABLE SELECT 'mine'")
    con.close()
    store.rebuild()
    assert rows(store.path, "SELECT canonical('a'), b FROM beats() t(b)") == [("mine", "mine")]


def test_a_database_without_the_shipped_schema_has_the_folding_ones(tmp_path: Path) -> None:
    store = Store(tmp_path / "claims.duckdb")
    store.create()
    names = rows(store.path, "SELECT DISTINCT function_name FROM duckdb_functions() WHERE NOT internal")
    assert {name for (name,) in names} == {macro.name for macro in SCALARS}


def test_the_help_and_the_page_list_each_macro(claimbase: Command) -> None:
    said = claimbase("sql", "--help").out
    page = (ROOT / "docs" / "database.md").read_text(encoding="utf-8")
    for macro in (*SCALARS, *TABLES):
        assert f"{macro.name}(" in said
        parameters = ", ".join(name.removeprefix("of_") for name in re.findall(r"\w+", macro.parameters))
        assert f"| `{macro.name}({parameters})` |" in page
