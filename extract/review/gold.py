"""Writes the reviewed papers as gold: what `claimbase eval` measures runs by, and `claimbase train` learns from.

A paper is gold once a reviewer is done with its abstract and no difference on it is open. `sampled` says of each
whether it was drawn at random: where a file says so, only those that were say how good the claims of all papers are.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from extract.errors import SettingsError
from store import review_queues, reviewing, session
from store.export import STDOUT, write_whole
from store.reviewed import Subject, completed

SCHEMA = "paper"

_SUFFIXES = (".jsonl", ".ndjson")
_NUMBER = ("quote", "value", "unit", "role", "direction", "qualifier", "metric", "dataset", "baseline")


def export_gold(db: Path, to: str, *, force: bool = False, format: str | None = None) -> int:
    """Write the gold to a file of JSON lines, `-` for standard output; return how many papers that is.

    Raises SettingsError for another format, StoreError for the database or the file.
    """
    if format not in (None, "jsonl") or (
        to != STDOUT and Path(to).suffix.lower() not in (".jsonl", ".ndjson", ".json")
    ):
        raise SettingsError("gold is written as JSON lines; give --to FILE.jsonl")

    def write(target: Path) -> int:
        rows = 0
        with target.open("w", encoding="utf-8", newline="") as file:
            for rows, row in enumerate(gold_rows(db), start=1):  # noqa: B007  (the last is the count)
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        return rows

    return write_whole(db, to, force, write)


def gold_rows(db: Path) -> list[dict[str, Any]]:
    """The reviewed papers, in the order of the database's records, each as a line of gold. Raises StoreError."""
    with session.reading(db) as con:
        subject = reviewing.subject_of(con, SCHEMA)
        return list(_rows(con, subject))


def _rows(con: duckdb.DuckDBPyConnection, subject: Subject) -> Iterator[dict[str, Any]]:
    open_still = {dispute.record_id for dispute in review_queues.disputes(con, subject)}
    con.execute(f"CREATE TEMP TABLE done AS SELECT DISTINCT record_id FROM ({completed(subject)})")  # noqa: S608
    papers = con.execute(
        """SELECT r.record_id, r.source_id, p.title, r.text, p.contribution, p.task, p.method, p.reviewed_by,
            r.record_id IN (SELECT record_id FROM review_samples WHERE schema_name = ?)
        FROM reviewed_papers p JOIN records r USING (record_id) SEMI JOIN done USING (record_id) ORDER BY r.rowid""",
        [subject.name],
    ).fetchall()
    datasets, baselines = (_by_record(con, f"reviewed_{name}", "name") for name in ("datasets", "baselines"))
    numbers = _by_record(con, "reviewed_headline_numbers", ", ".join(_NUMBER))
    for record_id, source_id, title, text, contribution, task, method, reviewed_by, sampled in papers:
        if record_id in open_still:
            continue
        yield {
            "id": source_id or record_id,
            "title": title,
            "abstract": text,
            "sampled": sampled,
            "reviewed_by": reviewed_by,
            "gold": {
                "contribution": contribution,
                "task": [task] if task else [],
                "method": [method] if method else [],
                "datasets": [[name] for (name,) in datasets.get(record_id, ())],
                "baselines": [[name] for (name,) in baselines.get(record_id, ())],
                "numbers": [_number(row) for row in numbers.get(record_id, ())],
            },
        }


def _by_record(con: duckdb.DuckDBPyConnection, view: str, columns: str) -> Mapping[str, Sequence[tuple[Any, ...]]]:
    """The rows of a view by record, in the order in which they stand in the text."""
    rows = con.execute(
        f"SELECT record_id, {columns} FROM {view} SEMI JOIN done USING (record_id) ORDER BY record_id, start, ordinal"  # noqa: S608
    ).fetchall()
    found: dict[str, list[tuple[Any, ...]]] = {}
    for record_id, *values in rows:
        found.setdefault(record_id, []).append(tuple(values))
    return found


def _number(row: Sequence[Any]) -> dict[str, Any]:
    number = dict(zip(_NUMBER, row, strict=True))
    return {**number, "unit": number["unit"] or "", "qualifier": number["qualifier"] or "exact"}
