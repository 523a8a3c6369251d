"""Writes an answer as BibTeX: an entry for each record in it, with its claims in `note`.

A record's title, authors, year, DOI and URL are those of `records` and its `meta`, as far as they are there. `note` has
the columns of the answer, so `SELECT record_id, quote, metric FROM claims` chooses what it says; what tells where a
quote stands or who answered is left out. What is the same in all rows of a record is said once.
"""

import json
import re
from collections.abc import Iterator, Sequence

from store.errors import ExportFailed
from store.latex import escaped
from store.query import Result
from store.selecting import Selected, as_cell
from store.structure import free

_NOT_SAID = ("record_id", "source_id", "title", "model", "run_id", "ordinal", "start", "end", "match")
_NOT_IN_KEYS = re.compile(r"[^0-9A-Za-z:._/+-]+")
_NOT_VERBATIM = re.compile(r"[{}\\\s\x00-\x1f\x7f]")


def bibtex_query(selected: Selected, named: str) -> str:
    """SQL that gathers an answer by record: its ids, its title, its meta, and a list of its rows, each a list of texts.

    Raises `ExportFailed` for an answer without a `record_id`.
    """
    names = [name.lower() for name in selected.names]
    if "record_id" not in names:
        raise ExportFailed(named, "BibTeX needs a column record_id, by which each row has its record; select it too")
    cells = ", ".join(f"({as_cell(f'c{number}', selected.types[number])})::VARCHAR" for number in _said(selected.names))
    return f"""SELECT r.record_id, r.source_id, r.title, r.meta, list(a.said ORDER BY a.n) AS rows
        FROM (SELECT row_number() OVER () AS n, c{names.index("record_id")} AS record_id, [{cells}]::VARCHAR[] AS said
            FROM {selected.source()}) a
        JOIN records r ON r.record_id = a.record_id::VARCHAR
        GROUP BY ALL ORDER BY min(a.n)"""  # noqa: S608


def _said(names: Sequence[str]) -> list[int]:
    return [number for number, name in enumerate(names) if name.lower() not in _NOT_SAID]


def bibtex_entries(result: Result, names: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Each entry of the answer to a `bibtex_query`, and how many rows went into it; `names` are all columns' names."""
    said = [names[number] for number in _said(names)]
    taken: set[str] = set()
    for record_id, source_id, title, meta, rows in result.rows:
        key = free(_NOT_IN_KEYS.sub("-", source_id or record_id).strip("-") or "record", taken)
        fields = {"title": "{" + escaped(title) + "}" if title else "", **_from_meta(json.loads(meta or "{}"))}
        fields["note"] = escaped(_note(said, rows))
        body = "".join(f",\n  {name} = {{{text}}}" for name, text in fields.items() if text)
        yield f"@misc{{{key}{body}\n}}\n\n", len(rows)


def _from_meta(meta: object) -> dict[str, str]:
    known = {str(key).lower(): value for key, value in meta.items()} if isinstance(meta, dict) else {}
    authors = known.get("authors") or known.get("author")
    if isinstance(authors, list):
        authors = " and ".join(str(author) for author in authors)
    year = re.search(r"\d{4}", str(known.get("year") or ""))
    doi = re.sub(r"^(https?://(dx\.)?doi\.org/|doi:)", "", str(known.get("doi") or ""), flags=re.IGNORECASE)
    return {
        "author": escaped(authors) if isinstance(authors, str) else "",
        "year": year[0] if year else "",
        "doi": _verbatim(doi),
        "url": _verbatim(str(known.get("url") or "")),
    }


def _verbatim(text: str) -> str:
    """A DOI or URL, which biblatex prints as it stands; the empty text for one that would end its field."""
    return "" if _NOT_VERBATIM.search(text) else text


def _note(names: Sequence[str], rows: Sequence[Sequence[str | None]]) -> str:
    alike = {number for number in range(len(names)) if len(rows) > 1 and len({row[number] for row in rows}) == 1}
    once = _pairs(names, rows[0], alike)
    each = [_pairs(names, row, set(range(len(names))) - alike) for row in rows]
    return "; ".join(part for part in (once, *dict.fromkeys(each)) if part)


def _pairs(names: Sequence[str], row: Sequence[str | None], chosen: set[int]) -> str:
    return ", ".join(f"{names[number]}: {row[number]}" for number in sorted(chosen) if row[number])
