"""Pieces of SQL text: identifiers and literals of any text, members of structs, columns under names that are free.

It knows no table but how that of a schema's claims is named.
"""

import re
from collections.abc import Sequence

from store.structure import Column, free


def quoted(identifier: str) -> str:
    """An SQL identifier that may be any text."""
    return '"' + identifier.replace('"', '""') + '"'


def literal(text: str) -> str:
    """An SQL string."""
    return "'" + text.replace("'", "''") + "'"


def claims_table(schema_hash: str) -> str:
    """The name of the typed table of a schema fingerprint."""
    return "claims_" + re.sub("[^0-9A-Za-z]", "", schema_hash)


def reviewed_table(schema_hash: str) -> str:
    """The name of the table beside it, of the claims as reviews leave them."""
    return f"{claims_table(schema_hash)}_reviewed"


def member(source: str, path: Sequence[str]) -> str:
    """A member of a struct; `source` itself for an empty path."""
    return source + "".join(f"[{literal(key)}]" for key in path)


def shown(source: str, columns: Sequence[Column], taken: set[str], prefix: str) -> list[str]:
    """The columns as SQL; a name that is taken gets the prefix. Adds the names to `taken`."""
    found = []
    for column in columns:
        name = f"{prefix}_{column.name}" if column.name.lower() in taken else column.name
        found.append(f"{member(source, column.path)} AS {quoted(free(name, taken))}")
    return found
