"""Compares two runs, or two models' runs, claim by claim: how far they agree on each field, and where they don't.

Neither run is taken for right. Agreement is the share of what both say that the other says too (Dice): 2 · shared /
(said by the one + said by the other), over values of plain fields and over the items of lists; of what is said of an
item, over the items that agree in their anchor and in it. When two values are the same is `agreement`'s matter.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from extract.agreement import compare
from extract.errors import MistakeError
from extract.scoring import Count, Miss
from schemas.registry import LoadedSchema, load_schema
from store.query import run_query
from store.views import literal


@dataclass(frozen=True, slots=True)
class OneRun:
    """A run as it is compared: its id, its model, the records that it did."""

    run_id: str
    model: str
    values: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class FieldAgreement:
    """Of a field, over all records: what both runs say, what the first or the second says alone, and the share."""

    both: int
    first: int
    second: int

    @property
    def share(self) -> float | None:
        """2 · both / (all of the first + all of the second); None where neither says anything."""
        said = 2 * self.both + self.first + self.second
        return 2 * self.both / said if said else None


@dataclass(slots=True)
class Diff:
    """Two runs compared over the records that both did. `same`: records on whose claims they agree in full."""

    first: OneRun
    second: OneRun
    records: int = 0
    same: int = 0
    fields: dict[str, FieldAgreement] = field(default_factory=dict)
    differences: list[Miss] = field(default_factory=list)

    @property
    def only_first(self) -> int:
        """Records that the first run did and the second didn't."""
        return len(self.first.values.keys() - self.second.values.keys())

    @property
    def only_second(self) -> int:
        """Records that the second run did and the first didn't."""
        return len(self.second.values.keys() - self.first.values.keys())


def diff(db: Path, first: str, second: str, schema: str = "paper") -> Diff:
    """Compare two runs of a schema, each by its id or the start of it.

    Raises MistakeError for a run that isn't there or is of another schema, SchemaError, StoreError.
    """
    loaded = load_schema(schema)
    one, other = (_run(db, loaded, spec) for spec in (first, second))
    compared = Diff(one, other)
    counts: dict[str, Count] = {}
    for name, text, record_id in _texts(db, one, other):
        scored = compare(name, text, loaded.fields, one.values[record_id], other.values[record_id])
        compared.records += 1
        compared.same += not scored.misses
        compared.differences.extend(scored.misses)
        for path, count in scored.counts.items():
            counts[path] = counts.get(path, Count()) + count
    compared.fields = {path: FieldAgreement(c.right, c.missed, c.wrong) for path, c in counts.items()}
    return compared


def _run(db: Path, schema: LoadedSchema, spec: str) -> OneRun:
    runs = list(
        run_query(db, "SELECT run_id, model, s.name FROM runs JOIN schemas s USING (schema_hash) ORDER BY run_id").rows
    )
    fitting = [run for run in runs if run[0] == spec] or [run for run in runs if spec and run[0].startswith(spec)]
    if len(fitting) != 1:
        known = ", ".join(run_id for run_id, *_ in (fitting or runs)[-5:]) or "none"
        raise MistakeError(f"{'several runs' if fitting else 'no run'} {spec!r}; give one of {known}")
    run_id, model, name = fitting[0]
    if name != schema.name:
        raise MistakeError(f"run {run_id!r} is of schema {name!r}, not {schema.name!r}; name its schema with --schema")
    query = f"SELECT record_id, value FROM outcomes WHERE status = 'done' AND run_id = {literal(run_id)}"  # noqa: S608
    return OneRun(run_id, model, {record_id: json.loads(value) for record_id, value in run_query(db, query).rows})


def _texts(db: Path, one: OneRun, other: OneRun) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the text and the id of each record that both runs did."""
    runs = f"{literal(one.run_id)}, {literal(other.run_id)}"
    query = f"""SELECT coalesce(source_id, record_id), text, record_id FROM records
        WHERE record_id IN (SELECT record_id FROM outcomes WHERE status = 'done' AND run_id IN ({runs})
            GROUP BY record_id HAVING count(DISTINCT run_id) = {len({one.run_id, other.run_id})})
        ORDER BY 1, 3"""  # noqa: S608
    for name, text, record_id in run_query(db, query).rows:
        yield str(name), str(text), str(record_id)


def table(found: Diff) -> Iterator[str]:
    """Yield the lines of a Markdown table."""
    yield f"first   {found.first.run_id} ({found.first.model}): {len(found.first.values)} done"
    yield f"second  {found.second.run_id} ({found.second.model}): {len(found.second.values)} done"
    yield (
        f"{found.records} done by both, {found.same} of them alike in full; "
        f"{found.only_first} by the first alone, {found.only_second} by the second"
    )
    yield ""
    yield "| field | agreement | both | first only | second only |"
    yield "| --- | --- | --- | --- | --- |"
    for path, f in found.fields.items():
        yield f"| {path} | {'' if f.share is None else f'{f.share:.2f}'} | {f.both} | {f.first} | {f.second} |"


def differences(found: Diff) -> Iterator[str]:
    """Yield a line for each difference: the record, the field, what either says, the text around it."""
    for one in found.differences:
        around = f"  [{one.around}]" if one.around else ""
        yield f"{one.name}  {one.field}: first {one.gold!r}, second {one.said!r}{around}"


def as_row(found: Diff) -> Mapping[str, Any]:
    """Return all of it as plain values for JSON."""
    return {
        "first": {"run": found.first.run_id, "model": found.first.model, "done": len(found.first.values)},
        "second": {"run": found.second.run_id, "model": found.second.model, "done": len(found.second.values)},
        "records": found.records,
        "same": found.same,
        "only_first": found.only_first,
        "only_second": found.only_second,
        "fields": {
            path: {"agreement": f.share, "both": f.both, "first": f.first, "second": f.second}
            for path, f in found.fields.items()
        },
        "differences": _rows(found.differences),
    }


def _rows(misses: Sequence[Miss]) -> list[Mapping[str, Any]]:
    return [{"record": m.name, "field": m.field, "first": m.gold, "second": m.said, "around": m.around} for m in misses]
