"""The SQL of reviews: which verdict holds on each claim, and what the views show once verdicts are laid over claims.

A verdict is on the *content* of a claim, JSON text of its fields' values and its place as `content` makes it, so that
it holds for the same claim of any run, and for no other. The views ask the typed table for records that nobody has
reviewed, and the table beside it (`effective`) for the others.

Of a schema's lists those of the model itself are reviewed, not those within another list's items.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from store import joinable
from store.sqltext import claims_table, literal, member, quoted, reviewed_table, shown
from store.structure import Column, ListField, Node, Shape, free, plural, singular

ITEMS_PLACE = ("start", "end", "match")
"""The columns that end an item which stands at a place of its own; what comes from `match` on is about the claim."""

RECORD_CONFIDENCE = "record_confidence"
"""The column that says how sure a record's plain fields are: no claim."""

MARK: Node = {"origin": "VARCHAR", "verdict": "VARCHAR", "reviewers": "VARCHAR"}
"""The structure of what is said of one claim once verdicts are laid over it."""

DONE: Node = [{"reviewer": "VARCHAR", "judged_at": "TIMESTAMP"}]
"""The structure of who is done with an abstract, and since when."""

REVIEWS = "reviews"


def among(condition: str) -> str:
    """The rows of `reviews` that fulfil a condition on whole records: to work on these spares all others the work."""
    return f"(SELECT * FROM {REVIEWS} WHERE {condition})"  # noqa: S608


def _live(source: str) -> str:
    return f"""SELECT * FROM {source} r WHERE verdict <> 'undone'
        AND NOT EXISTS (SELECT 1 FROM {source} u WHERE u.undoes = r.review_id)"""  # noqa: S608


def own(source: str = REVIEWS) -> str:
    """A SELECT of each reviewer's latest verdict on each claim, a settling one apart; what was undone is no verdict.

    `source`: all rows of `reviews`, or all of some records (`among`).
    """
    return f"""SELECT * FROM ({_live(source)})
        WHERE verdict IN ('accepted', 'corrected', 'rejected', 'added', 'deferred')
        QUALIFY row_number() OVER (
            PARTITION BY schema_name, record_id, path, claim, reviewer, settles ORDER BY judged_at DESC) = 1"""  # noqa: S608


def complete(source: str = REVIEWS) -> str:
    """A SELECT of the latest time that each reviewer was done with an abstract; `claim`: the digest of its claims then.

    `source` as of `own`.
    """
    return f"""SELECT * FROM ({_live(source)}) WHERE verdict = 'complete'
        QUALIFY row_number() OVER (PARTITION BY schema_name, record_id, reviewer ORDER BY judged_at DESC) = 1"""  # noqa: S608


def held(source: str = REVIEWS) -> str:
    """A SELECT of the verdict that holds on each claim, whoever gave it. `source` as of `own`."""
    return f"""SELECT schema_name, record_id, path, claim,
    CASE WHEN bool_or(settles) THEN arg_max(verdict, judged_at) FILTER (settles)
        WHEN count(DISTINCT (verdict, value::VARCHAR)) = 1 THEN any_value(verdict) ELSE 'disputed' END AS verdict,
    CASE WHEN bool_or(settles) THEN arg_max_null(value, judged_at) FILTER (settles)
        WHEN count(DISTINCT (verdict, value::VARCHAR)) = 1 THEN any_value(value) END AS value,
    CASE WHEN bool_or(settles) THEN arg_max_null(reason, judged_at) FILTER (settles)
        ELSE string_agg(DISTINCT reason, '; ' ORDER BY reason) END AS reason,
    string_agg(DISTINCT reviewer, ', ' ORDER BY reviewer) AS reviewers, max(judged_at) AS judged_at
FROM ({own(source)}) WHERE verdict <> 'deferred' GROUP BY schema_name, record_id, path, claim"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class Subject:
    """A schema whose claims are reviewed: its name, its shape, its structure as JSON text, its fingerprint."""

    name: str
    shape: Shape
    structure: str
    schema_hash: str

    @property
    def table(self) -> str:
        """The typed table of its claims."""
        return quoted(claims_table(self.schema_hash))

    @property
    def reviewed_table(self) -> str:
        """The table of the claims of reviewed records as their reviews leave them (`effective`)."""
        return quoted(reviewed_table(self.schema_hash))

    @property
    def marks(self) -> Mapping[str, Any]:
        """The structure of a value's marks: a `MARK` in the place of each plain field and of each item."""
        marks: dict[str, Any] = {}
        nodes: list[tuple[tuple[str, ...], Node]] = [(column.path, MARK) for column in self.scalars]
        for path, node in [*nodes, *((field.path, [MARK]) for field in self.lists)]:
            at = marks
            for key in path[:-1]:
                at = at.setdefault(key, {})
            at[path[-1]] = node
        return marks

    @property
    def scalars(self) -> Sequence[Column]:
        """The plain fields that are reviewed: all but what is said about them."""
        return [column for column in self.shape.scalars if column.name != RECORD_CONFIDENCE]

    @property
    def lists(self) -> Sequence[ListField]:
        """The lists that are reviewed."""
        return [field for field in self.shape.lists if not field.within]

    @property
    def paths(self) -> list[str]:
        """How `reviews.path` names what is reviewed: the plain fields, then the lists."""
        return [*map(path_of, self.scalars), *map(path_of, self.lists)]

    def item_structure(self, field: ListField) -> str:
        """The structure of a list's items, as JSON text for `from_json`."""
        node: Node = json.loads(self.structure)
        for key in field.path:
            assert isinstance(node, dict)
            node = node[key]
        return json.dumps(node[0] if isinstance(node, list) else node)


def path_of(part: ListField | Column) -> str:
    """How `reviews.path` names a list or a plain field."""
    return ".".join(part.path)


def content(item: str, field: ListField) -> str:
    """The SQL of an item's content: its fields' values and its place, without what is said *about* the claim."""
    names = [column.path[0] for column in field.columns if column.path]
    if not names:
        return f"to_json({item})"
    first = [names.index(name) for name in ITEMS_PLACE if name in names]
    end = first[-1] if len(first) == len(ITEMS_PLACE) else len(names)
    kept = dict.fromkeys(names[:end])
    return f"to_json(struct_pack({', '.join(f'{quoted(name)} := {member(item, (name,))}' for name in kept)}))"


def scalar_content(value: str) -> str:
    """The SQL of a plain field's content; that of none is the JSON text `null`."""
    return f"coalesce(to_json({value}), 'null'::JSON)"


def contents(subject: Subject, source: str) -> str:
    """A SELECT of (record_id, path, ordinal, claim, item) over rows (record_id, value) of the schema's claims.

    `ordinal` is NULL for a plain field; `item` is JSON with all that is known of the claim.
    """
    parts = []
    for column in subject.scalars:
        value = member("value", column.path)
        parts.append(
            f"""SELECT record_id, {literal(path_of(column))} AS path, NULL::INTEGER AS ordinal,
            {scalar_content(value)}::JSON AS claim, {scalar_content(value)}::JSON AS item FROM {source}"""  # noqa: S608
        )
    for field in subject.lists:
        parts.append(
            f"""SELECT record_id, {literal(path_of(field))} AS path, ordinal, {content("item", field)} AS claim,
            to_json(item) AS item FROM ({_items(source, field)})"""  # noqa: S608
        )
    return " UNION ALL ".join(parts)


def digests(subject: Subject, source: str) -> str:
    """A SELECT of (record_id, digest): all claims of a record as one, the same whenever they are the same claims."""
    return f"""SELECT record_id, to_json(md5(string_agg(path || ' ' || claim::VARCHAR, chr(10) ORDER BY path,
        claim::VARCHAR))) AS digest FROM ({contents(subject, source)}) GROUP BY record_id"""  # noqa: S608


def digest(claims: Iterable[tuple[str, str]]) -> str:
    """The digest that `digests` makes of a record's claims, (path, claim) each."""
    said = "\n".join(f"{path} {claim}" for path, claim in sorted(claims))
    return json.dumps(hashlib.md5(said.encode(), usedforsecurity=False).hexdigest())


def completed(subject: Subject) -> str:
    """A SELECT of (record_id, reviewer, judged_at): who is done with which abstract, its claims as they were then."""
    return f"""SELECT record_id, d['reviewer'] AS reviewer, d['judged_at'] AS judged_at
        FROM (SELECT record_id, unnest(done) AS d FROM {subject.reviewed_table})"""  # noqa: S608


def reviewed_views(subject: Subject, prefix: str, names: Mapping[str, Node]) -> Iterator[tuple[str, str, str]]:
    """The name, the comment and the query of each view of a schema's claims as reviews leave them.

    They are named as the views of what the model says, with `reviewed_` before it. `names`: which fields are names.
    """
    of = f"schema {subject.name}, reviewed:"
    yield f"reviewed_{plural(subject.name)}", f"{of} one row a record", _model_query(subject, names)
    for field in subject.lists:
        query = _list_query(subject, field, names)
        yield f"reviewed_{prefix}{field.name}", f"{of} one row an item of {path_of(field)}", query
    measuring = [field for field in subject.lists if field.measures]
    for field in measuring:
        name = "claims" if field is measuring[0] else f"claims_{field.name}"
        about = f"{of} one row an item of {path_of(field)}, with its record's fields"
        yield f"reviewed_{prefix}{name}", about, _wide_query(subject, field, names)


def _items(source: str, field: ListField) -> str:
    items = member("value", field.path)
    return f"""SELECT record_id, (generate_subscripts({items}, 1) - 1)::INTEGER AS ordinal, unnest({items}) AS item
        FROM {source}"""  # noqa: S608


def _effective(subject: Subject, names: Mapping[str, Node], field: ListField | None) -> str:
    """A SELECT of (record_id, run_id, f0, f1, … of the plain fields, canonical), of each record or of an item each.

    Of a record with o0, o1, … of where its fields come from and `reviewed_by`; of an item with ordinal, item and its
    mark. Reviewed records come first. Fields are taken out of their structs in each of the two branches, below the
    UNION, where DuckDB reads no more of a struct than that; a join that chose between the two would read it whole.
    """
    plain = [f"{member('value', column.path)} AS f{n}" for n, column in enumerate(subject.shape.scalars)]
    if names:
        plain.append(joinable.CANONICAL)
    said = ", ".join(["record_id", "run_id", *plain])
    if field is None:
        origins = [f"{member('marks', (*c.path, 'origin'))} AS o{n}" for n, c in enumerate(subject.scalars)]
        people = "list_aggregate([d['reviewer'] FOR d IN done], 'string_agg', ', ') AS reviewed_by"
        unjudged = ["'model'"] * len(origins) + ["NULL::VARCHAR"]
        reviewed, others = (", ".join([said, *more]) for more in ([*origins, people], unjudged))
        held_back = ""
    else:
        items, marks = member("value", field.path), member("marks", field.path)
        said += f""", (generate_subscripts({items}, 1) - 1)::INTEGER AS ordinal, unnest({items}) AS item"""
        reviewed, others = f"{said}, unnest({marks}) AS mark", f"{said}, NULL AS mark"
        held_back = " WHERE mark['verdict'] IS DISTINCT FROM 'rejected'"
    return f"""SELECT * FROM (SELECT {reviewed} FROM {subject.reviewed_table}){held_back}
        UNION ALL SELECT {others} FROM {subject.table} ANTI JOIN {subject.reviewed_table} USING (record_id)"""  # noqa: S608


_MARKED = ("coalesce(i.mark['origin'], 'model') AS origin", "i.mark['verdict'] AS verdict",
           "i.mark['reviewers'] AS reviewers")  # fmt: skip


def _named(subject: Subject, source: str, taken: set[str]) -> list[str]:
    """The plain fields of an effective row under their names."""
    columns = [(f"{source}.f{n}", column) for n, column in enumerate(subject.shape.scalars)]
    names = [f"{subject.name}_{c.name}" if c.name.lower() in taken else c.name for _, c in columns]
    return [f"{at} AS {quoted(free(name, taken))}" for (at, _), name in zip(columns, names, strict=True)]


def _model_query(subject: Subject, names: Mapping[str, Node]) -> str:
    taken = {"record_id", "source_id", "title", "reviewed_by", "model", "run_id"}
    fields = _named(subject, "m", taken)
    origins = [f"m.o{n} AS {quoted(free(f'{column.name}_origin', taken))}" for n, column in enumerate(subject.scalars)]
    beside = [*joinable.of_model(names, subject.shape.scalars, "m", taken), _work(taken)]
    columns = ", ".join([*fields, *origins, "m.reviewed_by", "u.model", "m.run_id", *beside])
    return f"""SELECT m.record_id, r.source_id, r.title, {columns} FROM ({_effective(subject, names, None)}) m
        {_JOINED}"""  # noqa: S608


def _list_query(subject: Subject, field: ListField, names: Mapping[str, Node]) -> str:
    taken = {"record_id", "ordinal", "origin", "verdict", "reviewers"}
    columns = shown("i.item", field.columns, taken, singular(field.name))
    beside = joinable.of_items(names, field, "i", taken)
    return f"""SELECT i.record_id, i.ordinal, {", ".join([*columns, *_MARKED, *beside])}
        FROM ({_effective(subject, names, field)}) i"""  # noqa: S608


def _wide_query(subject: Subject, field: ListField, names: Mapping[str, Node]) -> str:
    taken = {"record_id", "source_id", "title", "ordinal", "origin", "verdict", "reviewers", "model", "run_id"}
    fields = _named(subject, "i", taken)
    items = shown("i.item", field.columns, taken, singular(field.name))
    beside = [
        *joinable.of_model(names, subject.shape.scalars, "i", taken),
        *joinable.of_items(names, field, "i", taken),
        _work(taken),
    ]
    columns = ", ".join([*fields, "i.ordinal", *items, *_MARKED, "u.model", "i.run_id", *beside])
    return f"""SELECT i.record_id, r.source_id, r.title, {columns} FROM ({_effective(subject, names, field)}) i
        {_JOINED}"""  # noqa: S608


_JOINED = "JOIN records r USING (record_id) JOIN runs u USING (run_id) LEFT JOIN works w USING (record_id)"


def _work(taken: set[str]) -> str:
    return f"w.work AS {quoted(free('work', taken))}"
