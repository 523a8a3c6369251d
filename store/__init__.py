"""The database of claims: what a run saves, and what its users query.

It holds one DuckDB file for a moment at a time and knows nothing of models, prompts or readers: it takes the rows of
`rows` and gives them back. Start at `db.Store`; `query` and `export` are what a user's SQL goes through. Importing
`store` or `store.rows` imports no DuckDB.
"""

__all__: list[str] = []
