"""Finds names that may be one thing and have two keys: for a person to judge, never merged by itself.

Two signs: an abstract that calls a long form by an acronym which others use alone, and keys that are spelled nearly
alike (`rapidfuzz`). Names with other digits in them are never proposed: CIFAR-10 is not CIFAR-100. Names of metrics are
compared with each other only. The other way round, acronyms that abstracts give two long forms: a form of its own is
proposed for the rarer one.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb
from rapidfuzz import fuzz, process

from store.acronyms import definitions, spells
from store.aliases import apart
from store.joinable import CANONICAL
from store.naming import fold, plain
from store.sqltext import claims_table, member, quoted
from store.structure import Node
from store.typed import names_of

LIKENESS = 90.0
"""Of two keys that are proposed, in percent (normalized edit distance)."""

_SHORTEST = 5
"""Letters of a key that is compared: one letter more or less makes of a shorter one another name."""

_ONE_MEANING = 70.0
"""Likeness of two long forms of one acronym that mean one thing: "of" for "for", a word spelled otherwise."""

_SHARED = """
SELECT DISTINCT record_id, form, text FROM ({query}) JOIN records USING (record_id)
WHERE contains(text, '(') AND form IN (SELECT form FROM ({query}) GROUP BY form HAVING count(DISTINCT record_id) > 1)
"""
"""The texts of records that share a form."""

_DIGITS = re.compile(r"\d+")
_Pool = dict[str, dict[str, int]]
"""Of each canonical form the ways it is written, each with the number of its records."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Two names that may be one: the rarer and the more frequent one, with their records, and why."""

    name: str
    canonical: str
    records: int
    canonical_records: int
    likeness: float
    why: str


def proposals(con: duckdb.DuckDBPyConnection, likeness: float = LIKENESS) -> list[Proposal]:
    """What may be one, the surest first, without what a person said is two."""
    refused = apart(con)
    found: dict[tuple[str, str], Proposal] = {}
    for pool in _pools(con):
        for one, other, why in (*_said(pool), *_spelled(pool), *_alike(pool, likeness)):
            proposal = _proposal(pool, one, other, why)
            keys = tuple(sorted((fold(proposal.name), fold(proposal.canonical))))
            if keys not in refused:
                found.setdefault((proposal.name, proposal.canonical), proposal)
    for proposal in _homonyms(con):
        keys = tuple(sorted((fold(proposal.name), fold(proposal.canonical))))
        if keys not in refused:
            found.setdefault((proposal.name, proposal.canonical), proposal)
    return sorted(found.values(), key=lambda p: (-p.likeness, -p.records - p.canonical_records, p.name, p.canonical))


def _homonyms(con: duckdb.DuckDBPyConnection) -> Iterator[Proposal]:
    """Acronyms whose records give several long forms, with an own form for each but the most frequent."""
    meanings: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    records: dict[str, set[str]] = defaultdict(set)
    written: dict[str, tuple[str, str]] = {}
    for (schema_hash,) in con.execute("SELECT schema_hash FROM schemas ORDER BY schema_hash").fetchall():
        table = quoted(claims_table(schema_hash))
        for field, query in _queries(names_of(con, schema_hash), table):
            if field != "metric":
                for record_id, key, text in con.execute(_SHARED.format(query=query)).fetchall():
                    records[key].add(record_id)
                    for short, long in definitions(plain(text)):
                        if fold(short) == key:
                            meanings[key][fold(long)].add(record_id)
                            written.setdefault(fold(long), (short, long))
    for key, longs in sorted(meanings.items()):
        ranked = sorted(longs, key=lambda long: (-len(longs[long]), long))
        for n, long in enumerate(ranked):
            if n and not any(_one_meaning(long, other) for other in ranked[:n]):
                short, form = written[long]
                names = (form, f"{short} ({form})")
                yield Proposal(*names, len(longs[long]), len(records[key]), 100.0, "one acronym, two things")


def _one_meaning(one: str, other: str) -> bool:
    """Are two long forms of an acronym one, but for a word more or another spelling?"""
    return one in other or other in one or fuzz.ratio(one, other) >= _ONE_MEANING


def _pools(con: duckdb.DuckDBPyConnection) -> Sequence[_Pool]:
    """The names of all schemas' claims: those of metrics, and all others."""
    metrics: _Pool = defaultdict(dict)
    others: _Pool = defaultdict(dict)
    for (schema_hash,) in con.execute("SELECT schema_hash FROM schemas ORDER BY schema_hash").fetchall():
        for field, query in _queries(names_of(con, schema_hash), quoted(claims_table(schema_hash))):
            counted = f"SELECT form, name, count(DISTINCT record_id) FROM ({query}) WHERE form IS NOT NULL GROUP BY ALL"  # noqa: S608
            pool = metrics if field == "metric" else others
            for form, name, records in con.execute(counted).fetchall():
                pool[form][name] = pool[form].get(name, 0) + records
    return [others, metrics]


def _queries(names: Mapping[str, Node], table: str) -> Iterator[tuple[str, str]]:
    """A SELECT of (record_id, form, name) for each field that is a name, with the field's own name."""
    for path, node in _walk(dict(names), ()):
        form, value = member(CANONICAL, path), member("value", path)
        if isinstance(node, str):
            yield path[-1], f"SELECT record_id, {form} AS form, {value} AS name FROM {table}"  # noqa: S608
        elif isinstance(node, list) and isinstance(node[0], str):
            rows = f"SELECT record_id, unnest({form}) AS form, unnest({value}) AS item FROM {table}"  # noqa: S608
            yield path[-1], f"SELECT record_id, form, item['name'] AS name FROM ({rows})"  # noqa: S608
        elif isinstance(node, list):
            rows = f"SELECT record_id, unnest({form}) AS forms, unnest({value}) AS item FROM {table}"  # noqa: S608
            for inner, child in _walk(node[0], ()):
                if isinstance(child, str):
                    picked = f"record_id, {member('forms', inner)} AS form, {member('item', inner)} AS name"
                    yield inner[-1], f"SELECT {picked} FROM ({rows})"  # noqa: S608


def _walk(node: Node, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Node]]:
    if isinstance(node, dict):
        for name, child in node.items():
            yield from _walk(child, (*path, name))
    else:
        yield path, node


def _said(pool: _Pool) -> Iterator[tuple[str, str, str]]:
    """A name that has its own key in some abstracts, and its acronym's in others, which say that it stands for it."""
    for form, ways in pool.items():
        for name in ways:
            key = fold(name)
            if key != form and key in pool:
                yield key, form, "an abstract says so"


def _spelled(pool: _Pool) -> Iterator[tuple[str, str, str]]:
    """An acronym, and a name of which it is the first letters."""
    initials: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for form, ways in pool.items():
        for name in ways:
            words = re.findall(r"[^\W_]+", name)
            if len(words) > 2:
                initials["".join(word[0] for word in words).lower()].append((form, name))
    for form in pool:
        for other, name in initials.get(form, ()):
            if other != form and spells(form, name):
                yield other, form, "its first letters"


def _alike(pool: _Pool, likeness: float) -> Iterator[tuple[str, str, str]]:
    """Keys that are spelled nearly alike and have the same first letter and the same digits."""
    blocks: dict[tuple[str, str], list[str]] = defaultdict(list)
    for form in pool:
        if len(form) >= _SHORTEST:
            blocks[form[0], "-".join(_DIGITS.findall(form))].append(form)
    for block in blocks.values():
        block.sort()
        for at, form in enumerate(block):
            near = process.extract(form, block[at + 1 :], scorer=fuzz.ratio, score_cutoff=likeness, limit=None)
            for other, *_ in near:
                yield form, other, "spelled alike"


def _proposal(pool: _Pool, one: str, other: str, why: str) -> Proposal:
    """The two by their most frequent ways of writing, the rarer one first."""
    rarer, usual = sorted((one, other), key=lambda form: (sum(pool[form].values()), len(form), form))
    named = [_usual_way(form, pool[form]) for form in (rarer, usual)]
    sums = [sum(pool[form].values()) for form in (rarer, usual)]
    sure = 100.0 if why != "spelled alike" else fuzz.ratio(one, other)
    return Proposal(named[0], named[1], sums[0], sums[1], round(sure, 1), why)


def _usual_way(form: str, ways: Mapping[str, int]) -> str:
    """How the name of a form is written most often, of the ways that an alias would know it by."""
    own = {name: records for name, records in ways.items() if fold(name) == form}
    return max(own or {form: 1}, key=lambda name: (own.get(name, 0), name))
