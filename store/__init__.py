"""The database of claims: what a run saves, and what its users query.

It holds one DuckDB file for a moment at a time and knows nothing of models, prompts or readers: it takes the rows of
`rows` and gives them back. Start at `Store` (`from store import Store`), which is imported when it is asked for:
importing `store` or `store.rows` imports no DuckDB. `query` and `export` are what a user's SQL goes through.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from store.db import Store

__all__ = ["Store"]


def __getattr__(name: str) -> object:
    if name != "Store":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from store.db import Store

    return Store
