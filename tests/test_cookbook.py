"""docs/cookbook.md: each query runs on the seeds and on a field that is made up, and answers what it says it does."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from store.query import run_query
from tests.conftest import ROOT
from tests.field_samples import FIELD, database
from tests.store_samples import PAPER, PROMPT, a_run

PAGE = (ROOT / "docs" / "cookbook.md").read_text(encoding="utf-8")
Answer = Sequence[tuple[object, ...]]


def queries() -> Mapping[str, list[str]]:
    """The queries under each heading of the page."""
    sections = re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:]
    found = {section.partition("\n")[0]: re.findall(r"```sql\n(.*?)```", section, re.DOTALL) for section in sections}
    assert all(found.values())
    return found


QUERIES = queries()
EXPECTED: Mapping[str, Answer] = {
    "Who claims to beat whom, and by how much": [("candle > torch > lantern > candle", 3)],
    'Gains that are "up to" beside those that are exact': [
        ("accuracy", "%", 5.0, 1, 3.0, 1),
        ("error", "x", None, 0, 2.0, 1),
    ],
    "Datasets by year": [
        ("2023", "marbleqa", "MarbleQA", 1),
        ("2024", "marbleqa", "MarbleQA dataset", 1),
        ("2025", "pebblebench", "PebbleBench", 2),
        ("2025", "marbleqa", "marble qa", 1),
    ],
    "Tasks without any number": [("philosophy of evaluation", 1)],
    "Methods named alike": [],
}


@pytest.fixture(scope="module")
def field(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample field as a database, two of its papers done by a second run too."""
    store = database(tmp_path_factory.mktemp("field"), FIELD)
    store.begin_run(replace(a_run("run2", minutes=5), model="another"), PAPER, PROMPT)
    again = [replace(FIELD[0], task="answering of questions"), FIELD[3]]
    store.save("run2", [], [paper.outcome(minutes=6) for paper in again])
    store.save("run1", [], [])
    return store.path


def answers(db: Path, heading: str) -> list[Answer]:
    return [list(run_query(db, query).rows) for query in QUERIES[heading]]


@pytest.mark.parametrize("heading", QUERIES)
def test_each_query_runs_on_the_seeds(seeds_db: Path, heading: str) -> None:
    assert len(answers(seeds_db, heading)) == len(QUERIES[heading])


@pytest.mark.parametrize("heading", EXPECTED)
def test_the_answers_are_right(field: Path, heading: str) -> None:
    assert answers(field, heading)[-1] == EXPECTED[heading]


def test_the_answers_about_versions_and_conflicts_are_right(field: Path) -> None:
    [boards] = [answer for answer in answers(field, "The leaderboard of a dataset and metric")[1:]]
    assert boards == [("marbleqa", "accuracy", 2, 4)]
    [(work, records, titles, ids)] = answers(field, "Versions of one paper")[0]
    assert (work, records, ids) == ("sha256:lantern", 3, ["lantern", "lantern-journal", "lantern-v2"])
    assert isinstance(titles, list) and len(titles) == 3
    one_dataset = answers(field, "Papers whose claims rest on one dataset")[0]
    assert [work for *_, work in one_dataset] == ["sha256:lantern", "sha256:torch"]
    [(method, *_)] = answers(field, "Conflicts: one method, dataset and metric, two numbers")[0]
    assert method == "lantern"
    [(record_id, _, tasks, _), (other, _, same, _)] = answers(field, "Two runs or two models compared")[0]
    assert (record_id, tasks, other, same) == ("sha256:lantern", 2, "sha256:candle", 1)


def test_methods_of_two_papers_that_are_named_alike_are_found(tmp_path: Path) -> None:
    other = replace(
        FIELD[3], name="again", method="CANDLE", text="Another candle.", title="Candle, for another thing now"
    )
    db = database(tmp_path, [*FIELD, other]).path
    [(name, papers, written, _)] = answers(db, "Methods named alike")[0]
    assert (name, papers, written) == ("candle", 2, ["CANDLE", "Candle"])
