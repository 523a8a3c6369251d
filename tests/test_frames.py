import importlib.util
from pathlib import Path

import pytest

from store.db import Store
from store.errors import ExportFailed, QueryFailed, QueryRefused
from store.frames import LIBRARIES, Library
from tests.store_samples import a_record, a_run, done, made, rows


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = made(tmp_path_factory.mktemp("frames"), a_run())
    records = [a_record(i) for i in range(1, 4)]
    store.save("run1", records, [done(record) for record in records])
    return store


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Makes nothing installed, as far as a look for it tells."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    return monkeypatch


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_view_is_a_frame_with_its_columns(store: Store, library: Library) -> None:
    module = pytest.importorskip(library)
    frame = store.df("SELECT title, value, NULL::VARCHAR AS none FROM claims ORDER BY value", library)
    assert isinstance(frame, module.Table if library == "pyarrow" else module.DataFrame)
    columns = frame.column_names if library == "pyarrow" else frame.columns
    assert list(columns) == ["title", "value", "none"]
    values = frame["value"].to_pylist() if library == "pyarrow" else frame["value"].to_list()
    assert values == [1.5, 2.5, 3.5]
    assert len(store.df("CLAIMS", library)) == 3


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_frame_holds_no_file(store: Store, library: Library) -> None:
    pytest.importorskip(library)
    frame = store.df("claims", library)
    store.save("run1", [a_record(9)], [])
    assert len(frame) == 3


def test_without_a_library_one_line_says_how(store: Store, only: pytest.MonkeyPatch) -> None:
    with pytest.raises(ExportFailed) as caught:
        store.df("claims")
    assert str(caught.value) == (
        "can't export to a data frame: none of pandas, polars and pyarrow is installed; `pip install pandas`"
    )
    with pytest.raises(ExportFailed, match=r"polars is not installed; `pip install polars`"):
        store.df("claims", "polars")
    with pytest.raises(ExportFailed, match="'dask' makes none here; name one of pandas, polars, pyarrow"):
        store.df("claims", "dask")  # type: ignore[arg-type]


@pytest.mark.parametrize("there", LIBRARIES)
def test_the_first_that_is_installed_is_used(store: Store, only: pytest.MonkeyPatch, there: Library) -> None:
    index = LIBRARIES.index(there)
    only.setattr(importlib.util, "find_spec", lambda name: name in LIBRARIES[index:] or None)
    only.setattr("store.frames._made", lambda relation, library: (library, len(relation.fetchall())))
    assert store.df("claims") == (there, 3)


@pytest.mark.parametrize(
    ("what", "error", "said"),
    [
        ("clams", QueryFailed, "the views are baselines, claims"),
        ("DROP VIEW claims", QueryRefused, "DROP"),
        ("FROM read_text('secret.txt')", QueryRefused, "no access to files"),
        ("SELECT 1; SELECT 2", QueryRefused, "2 statements"),
    ],
)
def test_a_frame_has_the_fences_of_sql(
    store: Store, only: pytest.MonkeyPatch, tmp_path: Path, what: str, error: type[Exception], said: str
) -> None:
    only.chdir(tmp_path)
    (tmp_path / "secret.txt").write_text("secret")
    only.setattr(importlib.util, "find_spec", lambda name: True)
    with pytest.raises(error) as caught:
        store.df(what)
    assert said in str(caught.value) and "\n" not in str(caught.value)
    assert rows(store.path, "SELECT count(*) FROM claims") == [(3,)]
