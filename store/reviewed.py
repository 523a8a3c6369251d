"""The SQL of reviews: which verdict holds on each claim, and what the views show once verdicts are laid over claims.

A verdict is on the *content* of a claim, JSON text of its fields' values and its place as `content` makes it, so that
it holds for the same claim of any run, and for no other. Nothing here is stored: the views join `reviews` with the
typed claims when they are asked, and a record without a verdict takes the short way.

Of a schema's lists those of the model itself are reviewed, not those within another list's items.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from store.sqltext import claims_table, literal, member, quoted, shown
from store.structure import Column, ListField, Node, Shape, free, plural, singular

ITEMS_PLACE = ("start", "end", "match")
"""The columns that end an item which stands at a place of its own; what comes from `match` on is about the claim."""

RECORD_CONFIDENCE = "record_confidence"
"""The column that says how sure a record's plain fields are: no claim."""

_LIVE = """SELECT * FROM reviews r WHERE verdict <> 'undone'
    AND NOT EXISTS (SELECT 1 FROM reviews u WHERE u.undoes = r.review_id)"""


def own(among: str = "true") -> str:
    """A SELECT of each reviewer's latest verdict on each claim, a settling one apart; what was undone is no verdict.

    `among`: a condition on whole records, which spares the others the work.
    """
    return f"""SELECT * FROM ({_LIVE}) WHERE {among}
        AND verdict IN ('accepted', 'corrected', 'rejected', 'added', 'deferred')
        QUALIFY row_number() OVER (
            PARTITION BY schema_name, record_id, path, claim, reviewer, settles ORDER BY judged_at DESC) = 1"""  # noqa: S608


COMPLETE = f"""SELECT * FROM ({_LIVE}) WHERE verdict = 'complete'
    QUALIFY row_number() OVER (PARTITION BY schema_name, record_id, reviewer ORDER BY judged_at DESC) = 1"""  # noqa: S608
"""The latest time that each reviewer was done with an abstract; `claim` is the digest of its claims then."""

VERDICTS = f"""
SELECT schema_name, record_id, path, claim,
    CASE WHEN bool_or(settles) THEN arg_max(verdict, judged_at) FILTER (settles)
        WHEN count(DISTINCT (verdict, value::VARCHAR)) = 1 THEN any_value(verdict) ELSE 'disputed' END AS verdict,
    CASE WHEN bool_or(settles) THEN arg_max_null(value, judged_at) FILTER (settles)
        WHEN count(DISTINCT (verdict, value::VARCHAR)) = 1 THEN any_value(value) END AS value,
    CASE WHEN bool_or(settles) THEN arg_max_null(reason, judged_at) FILTER (settles)
        ELSE string_agg(DISTINCT reason, '; ' ORDER BY reason) END AS reason,
    string_agg(DISTINCT reviewer, ', ' ORDER BY reviewer) AS reviewers, max(judged_at) AS judged_at
FROM ({own()}) WHERE verdict <> 'deferred' GROUP BY schema_name, record_id, path, claim
"""  # noqa: S608


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


def completed(subject: Subject) -> str:
    """A SELECT of (record_id, reviewer, judged_at): who is done with which abstract, its claims as they were then."""
    known = f"(SELECT * FROM ({COMPLETE}) WHERE schema_name = {literal(subject.name)})"  # noqa: S608
    some = own("record_id IN (SELECT record_id FROM reviews WHERE verdict = 'deferred')")
    put_off = f"(SELECT * FROM ({some}) WHERE schema_name = {literal(subject.name)} AND verdict = 'deferred')"  # noqa: S608
    source = f"(FROM {subject.table} SEMI JOIN {known} USING (record_id))"
    return f"""SELECT d.record_id, d.reviewer, d.judged_at FROM {known} d
        JOIN ({digests(subject, source)}) n ON n.record_id = d.record_id AND n.digest = d.claim
        ANTI JOIN {put_off} o ON o.record_id = d.record_id AND o.reviewer = d.reviewer"""  # noqa: S608


def reviewed_views(subject: Subject, prefix: str) -> Iterator[tuple[str, str, str]]:
    """The name, the comment and the query of each view of a schema's claims as reviews leave them.

    They are named as the views of what the model says, with `reviewed_` before it.
    """
    of = f"schema {subject.name}, reviewed:"
    yield f"reviewed_{plural(subject.name)}", f"{of} one row a record", _model_query(subject)
    for field in subject.lists:
        yield f"reviewed_{prefix}{field.name}", f"{of} one row an item of {path_of(field)}", _list_query(subject, field)
    measuring = [field for field in subject.lists if field.measures]
    for field in measuring:
        name = "claims" if field is measuring[0] else f"claims_{field.name}"
        about = f"{of} one row an item of {path_of(field)}, with its record's fields"
        yield f"reviewed_{prefix}{name}", about, _wide_query(subject, field)


def _verdicts(subject: Subject) -> str:
    return f"(SELECT * FROM verdicts WHERE schema_name = {literal(subject.name)})"  # noqa: S608


def _items(source: str, field: ListField) -> str:
    items = member("value", field.path)
    return f"""SELECT record_id, (generate_subscripts({items}, 1) - 1)::INTEGER AS ordinal, unnest({items}) AS item
        FROM {source}"""  # noqa: S608


def _effective_items(subject: Subject, field: ListField) -> str:
    """The items that hold: (record_id, ordinal, item, origin, verdict, reviewers); an added one has no ordinal."""
    structure, path = literal(subject.item_structure(field)), literal(path_of(field))
    reviewed = f"(FROM {subject.table} SEMI JOIN {_verdicts(subject)} USING (record_id))"
    said = f"(SELECT *, {content('item', field)} AS claim FROM ({_items(reviewed, field)}))"  # noqa: S608
    return f"""SELECT record_id, ordinal, item, 'model' AS origin, NULL::VARCHAR AS verdict, NULL::VARCHAR AS reviewers
        FROM ({_items(f"(FROM {subject.table} ANTI JOIN {_verdicts(subject)} USING (record_id))", field)})
        UNION ALL SELECT i.record_id, i.ordinal,
            CASE WHEN v.verdict = 'corrected' THEN from_json(v.value, {structure}) ELSE i.item END,
            CASE WHEN v.verdict = 'corrected' THEN 'corrected' ELSE 'model' END, v.verdict, v.reviewers
        FROM {said} i LEFT JOIN {_verdicts(subject)} v
            ON v.record_id = i.record_id AND v.path = {path} AND v.claim = i.claim
        WHERE v.verdict IS DISTINCT FROM 'rejected'
        UNION ALL SELECT v.record_id, NULL, from_json(v.value, {structure}), 'added', v.verdict, v.reviewers
        FROM {_verdicts(subject)} v ANTI JOIN {said} i ON i.record_id = v.record_id AND i.claim = v.claim
        WHERE v.verdict = 'added' AND v.path = {path}"""  # noqa: S608


def _effective_models(subject: Subject) -> str:
    """The plain fields that hold, f0, f1, … with o0, o1, … for their origins, and who is done with the abstract."""
    columns = subject.scalars
    plain = "".join(f", {member('value', c.path)} AS f{n}, 'model' AS o{n}" for n, c in enumerate(columns))
    laid, joins = "", ""
    for n, column in enumerate(columns):
        value = member("c.value", column.path)
        of = f"from_json(v{n}.value, {literal(json.dumps(column.type))})"
        laid += f""", CASE v{n}.verdict WHEN 'corrected' THEN {of} WHEN 'rejected' THEN NULL ELSE {value} END,
            CASE WHEN v{n}.verdict = 'corrected' AND {value} IS NULL THEN 'added'
                WHEN v{n}.verdict = 'corrected' THEN 'corrected' ELSE 'model' END"""
        joins += f""" LEFT JOIN {_verdicts(subject)} v{n} ON v{n}.record_id = c.record_id
            AND v{n}.path = {literal(path_of(column))} AND v{n}.claim = {scalar_content(value)}"""
    known = f"(SELECT record_id FROM reviews WHERE schema_name = {literal(subject.name)})"  # noqa: S608
    return f"""SELECT record_id, run_id{plain}, NULL::VARCHAR AS reviewed_by
        FROM (FROM {subject.table} ANTI JOIN {known} USING (record_id))
        UNION ALL SELECT c.record_id, c.run_id{laid}, d.reviewed_by
        FROM (FROM {subject.table} SEMI JOIN {known} USING (record_id)) c{joins}
        LEFT JOIN (SELECT record_id, string_agg(reviewer, ', ' ORDER BY reviewer) AS reviewed_by
            FROM ({completed(subject)}) GROUP BY record_id) d ON d.record_id = c.record_id"""  # noqa: S608


def _named(subject: Subject, taken: set[str]) -> list[str]:
    """The plain fields of `m`, the effective models, under their names."""
    names = []
    for n, column in enumerate(subject.scalars):
        name = f"{subject.name}_{column.name}" if column.name.lower() in taken else column.name
        names.append((n, free(name, taken)))
    return [f"m.f{n} AS {quoted(name)}" for n, name in names]


def _model_query(subject: Subject) -> str:
    taken = {"record_id", "source_id", "title", "reviewed_by", "model", "run_id"}
    fields = _named(subject, taken)
    origins = [f"m.o{n} AS {quoted(free(f'{column.name}_origin', taken))}" for n, column in enumerate(subject.scalars)]
    columns = "".join(f"{each}, " for each in (*fields, *origins))
    return f"""SELECT m.record_id, r.source_id, r.title, {columns}m.reviewed_by, u.model, m.run_id
        FROM ({_effective_models(subject)}) m JOIN records r USING (record_id) JOIN runs u USING (run_id)"""  # noqa: S608


def _list_query(subject: Subject, field: ListField) -> str:
    columns = shown(
        "i.item", field.columns, {"record_id", "ordinal", "origin", "verdict", "reviewers"}, singular(field.name)
    )
    return f"""SELECT i.record_id, i.ordinal, {"".join(f"{each}, " for each in columns)}i.origin, i.verdict, i.reviewers
        FROM ({_effective_items(subject, field)}) i"""  # noqa: S608


def _wide_query(subject: Subject, field: ListField) -> str:
    taken = {"record_id", "source_id", "title", "ordinal", "origin", "verdict", "reviewers", "model", "run_id"}
    fields = _named(subject, taken)
    items = shown("i.item", field.columns, taken, singular(field.name))
    columns = "".join(f"{each}, " for each in (*fields, "i.ordinal", *items))
    return f"""SELECT i.record_id, r.source_id, r.title, {columns}i.origin, i.verdict, i.reviewers, u.model, m.run_id
        FROM ({_effective_items(subject, field)}) i JOIN ({_effective_models(subject)}) m USING (record_id)
        JOIN records r USING (record_id) JOIN runs u USING (run_id)"""  # noqa: S608
