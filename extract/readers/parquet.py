"""Reads Parquet through DuckDB, in batches, with access to nothing but the file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from extract.errors import InputError
from extract.readers.opening import Opened, as_file
from extract.readers.tables import check_columns
from extract.readers.text import Entry

BATCH = 1_000
"""Rows that are taken at once."""

_PLAIN = ("VARCHAR", "VARCHAR[]", "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT",
          "UINTEGER", "UBIGINT", "HUGEINT", "FLOAT", "DOUBLE")  # fmt: skip
_AS_TEXT = ("DATE", "TIMESTAMP", "DECIMAL", "UUID", "ENUM")


def entries(file: Opened) -> Iterator[Entry]:
    """Yield an entry for each row. Raises InputError for what DuckDB can't read, and if no column holds abstracts."""
    import duckdb

    with as_file(file, avoid="*?[") as path:
        try:
            with duckdb.connect(":memory:", config={"threads": 1}) as database:
                database.execute("SET allowed_paths = ?", [[str(path.absolute())]])
                database.execute("SET enable_external_file_cache = false; SET enable_external_access = false")
                database.execute("SET lock_configuration = true")
                yield from _rows(database, path, file)
        except duckdb.Error as e:
            problem = f"not Parquet that can be read: {str(e).splitlines()[0]}; is the file whole?"
            raise InputError(file.source.name, problem) from e


def _rows(database: Any, path: Path, file: Opened) -> Iterator[Entry]:
    name = str(path.absolute())
    described = database.execute("DESCRIBE SELECT * FROM read_parquet(?)", [name]).fetchall()
    types = {str(row[0]): str(row[1]) for row in described}
    check_columns(file.source.name, list(types), file.columns)
    wanted = [column for column, kind in types.items() if kind in _PLAIN or kind.startswith(_AS_TEXT)]
    shown = ", ".join(_selected(column, types[column]) for column in wanted)
    cursor = database.execute(f"SELECT {shown} FROM read_parquet(?)", [name])  # noqa: S608 - names quoted below
    number = 0
    while batch := cursor.fetchmany(BATCH):
        for row in batch:
            number += 1
            yield Entry(f"row {number}", dict(zip(wanted, row, strict=True)), extras=True)


def _selected(column: str, kind: str) -> str:
    quoted = '"' + column.replace('"', '""') + '"'
    return quoted if kind in _PLAIN else f"CAST({quoted} AS VARCHAR)"
