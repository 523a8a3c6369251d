"""Gives a view, a table or the answer of a query to a notebook: as a data frame of pandas or polars, or an Arrow table.

None of them is a dependency: the first that is installed is used, or the one that is asked for. The SQL has the fences
of `query`, and the database is let go before the frame is given back.
"""

import importlib
import importlib.util
from pathlib import Path
from typing import Any, Literal, get_args

import duckdb

from store.errors import ExportFailed
from store.opening import WAIT_S
from store.query import open_readonly
from store.selecting import select

Library = Literal["pandas", "polars", "pyarrow"]
LIBRARIES: tuple[Library, ...] = get_args(Library)

Frame = Any
"""A pandas or polars DataFrame, or a pyarrow Table: what isn't a dependency can't be named."""

_TO = "a data frame"


def frame(path: Path, what: str, library: Library | None = None, wait_s: float = WAIT_S) -> Frame:
    """The rows of a view, a table or one SELECT. `library`: which to use, of those installed the first unless told.

    Raises `ExportFailed` if none, or not that one, is installed; `QueryFailed`, `QueryRefused` and what opening a
    database raises.
    """
    chosen = _chosen(library)
    with open_readonly(path, wait_s) as con:
        relation = con.sql(select(con, what).shown(lambda column, kind: column))
        return _made(relation, chosen)


def _chosen(library: Library | None) -> Library:
    if library is not None and library not in LIBRARIES:
        raise ExportFailed(_TO, f"{library!r} makes none here; name one of {', '.join(LIBRARIES)}")
    for name in LIBRARIES if library is None else (library,):
        if importlib.util.find_spec(name):
            return name
    wanted = library or "none of pandas, polars and pyarrow"
    raise ExportFailed(_TO, f"{wanted} is {'not ' if library else ''}installed; `pip install {library or 'pandas'}`")


def _made(relation: duckdb.DuckDBPyRelation, library: Library) -> Frame:
    if library == "pandas":
        return relation.df()
    if library == "pyarrow":
        return relation.to_arrow_table()
    return importlib.import_module("polars").DataFrame(relation)
