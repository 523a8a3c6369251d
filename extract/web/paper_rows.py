"""Asks the database for one paper: its record, what it claims, the calls behind it, and which papers are beside it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from extract.web.filters import NUMBERS, Filters
from extract.web.marking import Field, Piece, fields_of, is_placed, pieces, tie
from store import reading
from store.opening import first_row
from store.results import Claims, KeptAttempt
from store.reviewed import ITEMS_PLACE
from store.rows import Evidence, Record
from store.sqltext import quoted, reviewed_table

_QUOTES = ("quote", "name")
_FIRST_SHOWN = (*_QUOTES, "value", "unit")


@dataclass(frozen=True, slots=True)
class Mark:
    """What people say of a claim: where what is shown comes from, the verdict that holds, who gave it."""

    origin: str = "model"
    verdict: str | None = None
    reviewers: str | None = None


_UNJUDGED = Mark()


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A record's value as its reviews leave it, and its marks in the same shape."""

    value: Mapping[str, Any]
    marks: Mapping[str, Any]

    def mark(self, name: str, ordinal: int | None = None) -> Mark:
        """The mark of a field of the model, or of an item of a list of it."""
        found = self.marks.get(name)
        if ordinal is not None:
            found = found[ordinal] if isinstance(found, list) and ordinal < len(found) else None
        return Mark(**found) if isinstance(found, Mapping) and "origin" in found else _UNJUDGED


@dataclass(frozen=True, slots=True)
class Said:
    """One part of a claim: its name, its value, and how its evidence looks in the text if it has some there."""

    name: str
    value: Any
    field: Field | None
    mark: Mark = _UNJUDGED


@dataclass(frozen=True, slots=True)
class Item:
    """A claim as the page shows it: the item `ordinal` of a list. `tie` is also on its evidence.

    `before`: what the model said, where a person has corrected that.
    """

    name: str
    ordinal: int
    tie: str
    head: Said | None
    value: float | None
    unit: str | None
    parts: Sequence[Said]
    mark: Mark = _UNJUDGED
    before: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one schema's latest good outcome says of a record, verdicts laid over it: the text marked, its claims.

    `rejected`: what the model said that the text does not.
    """

    claims: Claims
    pieces: Sequence[Piece]
    fields: Sequence[Field]
    plain: Sequence[Said]
    lists: Mapping[str, Sequence[Item]]
    rejected: Sequence[Evidence]


@dataclass(frozen=True, slots=True)
class Paper:
    """A record with all that is known of it; `before` and `after` are the ids of the papers beside it."""

    record: Record
    answers: Sequence[Answer]
    attempts: Sequence[KeptAttempt]
    failure: tuple[str, str] | None
    before: str | None
    after: str | None


def paper(con: duckdb.DuckDBPyConnection, record_id: str, filters: Filters) -> Paper:
    """A paper, its neighbours among those that the filters let through. Raises `RecordNotFound`."""
    record = reading.find_record(con, record_id)
    answers = [
        answer_of(record, claims, reviewed(con, claims.schema_hash, record.record_id))
        for claims in reading.claims_of(con, record.record_id)
    ]
    failure = None if answers else _failure(con, record.record_id)
    attempts = reading.attempts_of(con, record.record_id)
    return Paper(record, answers, attempts, failure, *_neighbours(con, record.record_id, filters))


def reviewed(con: duckdb.DuckDBPyConnection, schema_hash: str, record_id: str) -> Reviewed | None:
    """A record's claims as reviews leave them; None if nobody has reviewed any."""
    row = first_row(
        con,
        f"""SELECT to_json(value)::VARCHAR, to_json(marks)::VARCHAR FROM {quoted(reviewed_table(schema_hash))}
        WHERE record_id = ?""",  # noqa: S608
        [record_id],
    )
    return None if row is None else Reviewed(json.loads(row[0]), json.loads(row[1]))


def answer_of(record: Record, claims: Claims, held: Reviewed | None = None) -> Answer:
    """What an outcome says and people make of it, ready to be shown."""
    said: Mapping[str, Any] = json.loads(claims.value)
    held = held or Reviewed(said, {})
    value = {name: held.value.get(name, known) for name, known in said.items()}
    placed = sorted(_placed(claims.evidence, value, held), key=lambda e: _rank(e, value))
    fields = fields_of(e.path for e in placed)
    by_place = {(e.path, e.ordinal): fields[e.path] for e in placed}
    plain = [
        Said(name, known, by_place.get((name, 0)), held.mark(name))
        for name, known in value.items()
        if not isinstance(known, list)
    ]
    lists = {
        name: [_item(name, i, item, by_place, held, said[name]) for i, item in enumerate(items)]
        for name, items in value.items()
        if isinstance(items, list)
    }
    return Answer(
        claims=claims,
        pieces=tuple(pieces(record.text, placed, fields)),
        fields=tuple(dict.fromkeys(fields.values())),
        plain=plain,
        lists=dict(sorted(lists.items(), key=lambda one: -_measures(one[1]))),
        rejected=[e for e in claims.evidence if e.reason is not None or e.match == "absent"],
    )


def _rank(found: Evidence, value: Mapping[str, Any]) -> tuple[bool, int, str]:
    """Lists of numbers first, then the fields in the schema's order: the same field has the same colour everywhere."""
    head = found.path.partition(".")[0]
    return "." not in found.path, list(value).index(head) if head in value else len(value), _column(found.path)


def _column(path: str) -> str:
    """Quotes before all else of their list, the rest by name."""
    last = path.rpartition(".")[2]
    return "" if last == "quote" else last


def _measures(items: Sequence[Item]) -> bool:
    return any(item.value is not None for item in items)


def _placed(evidence: Sequence[Evidence], value: Mapping[str, Any], held: Reviewed) -> Iterator[Evidence]:
    """The evidence that stands in the text; of what a person wrote the quote where they found it."""
    written = set()
    for name, items in value.items():
        for ordinal, item in enumerate(items if isinstance(items, list) else ()):
            if held.mark(name, ordinal).origin == "model" or not isinstance(item, Mapping):
                continue
            quote = next((key for key in _QUOTES if isinstance(item.get(key), str)), None)
            if quote and isinstance(item.get("start"), int) and isinstance(item.get("end"), int):
                written.add((name, ordinal))
                path = name if quote == "name" else f"{name}.{quote}"
                yield Evidence(path, ordinal, item[quote], item["start"], item["end"], "exact")
    for found in evidence:
        of_quote = found.path.removesuffix(".quote").removesuffix(".name")
        if is_placed(found) and (of_quote, found.ordinal) not in written:
            yield found


def _item(
    name: str, ordinal: int, said: Any, fields: Mapping[tuple[str, int], Field], held: Reviewed, before: Sequence[Any]
) -> Item:
    mark = held.mark(name, ordinal)
    was = _in_words(before[ordinal]) if mark.origin == "corrected" and ordinal < len(before or ()) else ""
    if not isinstance(said, Mapping):
        whole = Said(name, said, fields.get((name, ordinal)))
        return Item(name, ordinal, tie(name, ordinal), whole, None, None, (), mark, was)
    head_name = next((key for key in _QUOTES if said.get(key) is not None), None)
    value = said.get("value")
    head = None
    if head_name is not None:
        look = fields.get((f"{name}.{head_name}", ordinal)) or fields.get((name, ordinal))
        head = Said(head_name, said[head_name], look)
    return Item(
        name=name,
        ordinal=ordinal,
        tie=tie(name, ordinal),
        head=head,
        value=float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None,
        unit=said.get("unit") if isinstance(said.get("unit"), str) else None,
        parts=[
            Said(key, part, fields.get((f"{name}.{key}", ordinal)))
            for key, part in said.items()
            if key not in (*ITEMS_PLACE, *_FIRST_SHOWN) and part not in (None, "", [])
        ],
        mark=mark,
        before=was,
    )


def _in_words(said: Any) -> str:
    """A claim in a line: its quote, and what is said of it."""
    if not isinstance(said, Mapping):
        return str(said)
    parts = [str(said[key]) for key in _QUOTES if said.get(key) is not None]
    for key, part in said.items():
        if key not in (*ITEMS_PLACE, *_QUOTES) and part not in (None, "", []):
            parts.append(f"{key.replace('_', ' ')} {part}")
    return ", ".join(parts)


def _failure(con: duckdb.DuckDBPyConnection, record_id: str) -> tuple[str, str] | None:
    row = first_row(
        con, "SELECT error_type, error FROM failures WHERE record_id = ? ORDER BY finished_at DESC LIMIT 1", [record_id]
    )
    return None if row is None else (str(row[0]), str(row[1] or ""))


def _neighbours(con: duckdb.DuckDBPyConnection, record_id: str, filters: Filters) -> tuple[str | None, str | None]:
    """The records that were read just before this one and next, among those that the filters let through."""
    if not filters.parameters():
        before, after = (_beside(con, record_id, than, way) for than, way in (("<", "DESC"), (">", "ASC")))
        return before, after
    rows = con.execute(
        f"""WITH fitting AS (SELECT DISTINCT record_id FROM {NUMBERS} WHERE {filters.condition()}),
        here AS (SELECT rowid AS place FROM records WHERE record_id = ?)
        SELECT arg_max(record_id, r.rowid) FILTER (r.rowid < place),
            arg_min(record_id, r.rowid) FILTER (r.rowid > place)
        FROM records r SEMI JOIN fitting USING (record_id) CROSS JOIN here""",  # noqa: S608
        [record_id],
    ).fetchall()
    return rows[0] if rows else (None, None)


def _beside(con: duckdb.DuckDBPyConnection, record_id: str, than: str, way: str) -> str | None:
    row = first_row(
        con,
        f"""SELECT record_id FROM records WHERE rowid {than} (SELECT rowid FROM records WHERE record_id = ?)
        ORDER BY rowid {way} LIMIT 1""",  # noqa: S608
        [record_id],
    )
    return None if row is None else str(row[0])
