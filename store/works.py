"""Links the versions of one work: records that share a DOI, an arXiv id or a title are counted once.

`works`(record_id, work) and `work_keys`(record_id, key) are derived from `records` and `sources`, and kept as records
come. A work is called by the smallest id of its records, whatever the order in which they came. A title links only if
it is long enough to be one paper's: "Introduction" is none. It compares no abstracts and no authors; what a person says
of that is kept in `works_apart`(record_id, work) and wins.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import duckdb

_LEAST_WORDS = 4
"""Of a title that links."""

_DOI = re.compile(r"10\.\d{4,9}/\S+", re.IGNORECASE)
_ARXIV_ID = r"(\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})(?:v\d+)?"
_ARXIV_DOI = re.compile(rf"10\.48550/arxiv\.{_ARXIV_ID}", re.IGNORECASE)
_ARXIV = re.compile(rf"(?:arxiv:\s*)?{_ARXIV_ID}", re.IGNORECASE)
_ARXIV_URL = re.compile(rf"arxiv\.org/(?:abs|pdf|html)/{_ARXIV_ID}", re.IGNORECASE)
_TITLE_WORD = re.compile(r"[^\W_]+")

_PLACES = """
SELECT r.record_id, r.title, r.source_id, r.meta FROM records r SEMI JOIN {of} o USING (record_id)
UNION ALL SELECT s.record_id, s.title, s.source_id, s.meta FROM sources s SEMI JOIN {of} o USING (record_id)
"""


def keys_of(title: str | None, source_id: str | None, meta: Mapping[str, Any]) -> Iterator[str]:
    """What identifies the work at one place where a record was found: `doi:…`, `arxiv:…`, `title:…`."""
    doi = str(meta.get("doi") or source_id or "")
    if found := _ARXIV_DOI.search(doi):
        yield f"arxiv:{found[1].lower()}"
    elif found := _DOI.search(doi):
        yield f"doi:{found[0].lower().rstrip('.,;')}"
    if found := _ARXIV.fullmatch((source_id or "").strip()) or _ARXIV_URL.search(f"{source_id} {meta.get('url')}"):
        yield f"arxiv:{found[1].lower()}"
    words = _TITLE_WORD.findall(title.lower()) if title else []
    if len(words) >= _LEAST_WORDS:
        yield f"title:{' '.join(words)}"


def link(con: duckdb.DuckDBPyConnection, of: str) -> None:
    """Give a work to the records of the table `of` (a name in SQL), and put together the works that they link."""
    rows = con.execute(_PLACES.format(of=of)).fetchall()
    if not rows:
        return
    apart = dict(con.execute("SELECT record_id, work FROM works_apart").fetchall())
    keys = {
        (record_id, key)
        for record_id, *place in rows
        for key in ([f"apart:{apart[record_id]}"] if record_id in apart else keys_of(*_read(*place)))
    }
    con.execute("CREATE OR REPLACE TEMP TABLE linking (record_id VARCHAR, key VARCHAR)")
    _append(con, "linking", [*sorted(keys), *((record_id, None) for record_id in {row[0] for row in rows})])
    con.execute(
        """INSERT INTO work_keys SELECT record_id, key FROM linking l
        WHERE key IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM work_keys k WHERE k.record_id = l.record_id AND k.key = l.key)"""
    )
    known = con.execute(
        """SELECT DISTINCT l.record_id, coalesce(w.work, k.record_id) FROM linking l
        LEFT JOIN work_keys k USING (key) LEFT JOIN works w ON w.record_id = coalesce(k.record_id, l.record_id)"""
    ).fetchall()
    _renamed(con, _smallest(known))


def relink(con: duckdb.DuckDBPyConnection) -> None:
    """Make both tables anew from all records."""
    con.execute("DELETE FROM works")
    con.execute("DELETE FROM work_keys")
    link(con, "records")


def set_apart(con: duckdb.DuckDBPyConnection, record_ids: Collection[str]) -> None:
    """Make these records one work, and of no other, whatever identifies them."""
    rejoin(con, record_ids)
    _append(con, "works_apart", [(record_id, min(record_ids)) for record_id in sorted(set(record_ids))])
    relink(con)


def rejoin(con: duckdb.DuckDBPyConnection, record_ids: Collection[str]) -> None:
    """Let what identifies these records link them again."""
    con.execute("DELETE FROM works_apart WHERE record_id IN (SELECT unnest(?::VARCHAR[]))", [list(record_ids)])
    relink(con)


def several(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str | None, str | None, bool]]:
    """The works of several records: work, record, title, its id at its source, whether a person set it apart."""
    return con.execute(
        """SELECT w.work, w.record_id, r.title, r.source_id, a.record_id IS NOT NULL
        FROM works w JOIN records r USING (record_id) LEFT JOIN works_apart a USING (record_id)
        WHERE w.work IN (SELECT work FROM works GROUP BY work HAVING count(*) > 1) OR a.record_id IS NOT NULL
        ORDER BY w.work, w.record_id"""
    ).fetchall()


def _smallest(links: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """The smallest id that each of these ids is linked with, itself included, by any number of steps."""
    parent: dict[str, str] = {}

    def root(of: str) -> str:
        while parent.setdefault(of, of) != of:
            parent[of] = parent[parent[of]]
            of = parent[of]
        return of

    for one, other in links:
        low, high = sorted((root(one), root(other or one)))
        parent[high] = low
    return {of: root(of) for of in parent}


def _renamed(con: duckdb.DuckDBPyConnection, works: Mapping[str, str]) -> None:
    """Give each record, and each work that was, the work that it is now."""
    con.execute("CREATE OR REPLACE TEMP TABLE renamed (record_id VARCHAR, work VARCHAR)")
    _append(con, "renamed", works.items())
    con.execute("UPDATE works w SET work = r.work FROM renamed r WHERE w.work = r.record_id AND w.work <> r.work")
    con.execute("INSERT INTO works SELECT r.* FROM renamed r ANTI JOIN works USING (record_id)")


def _read(title: str | None, source_id: str | None, meta: str | None) -> tuple[str | None, str | None, dict[str, Any]]:
    read = json.loads(meta) if meta else {}
    return title, source_id, read if isinstance(read, dict) else {}


def _append(con: duckdb.DuckDBPyConnection, table: str, rows: Iterable[tuple[str, str | None]]) -> None:
    appender = con.appender(table)
    appender.append_rows(rows)
    appender.flush()
