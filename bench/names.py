"""How far canonical keys make one of the names that gold lists as one thing, and of no others.

    python -m bench.names [--gold DIR] [--merges] [--misses]

Gold's `datasets` and `baselines` list for each thing the ways its abstract writes it: each two of these are a pair that
should have one key, by the abstract's text and the names in it alone. `method` lists what a paper proposes, in some
abstracts several things, told apart by eye in `names_apart.tsv`: there only pairs of one thing count. A pair is of a
kind: written alike; a short form and a long one; one name within the other ("LSUN", "LSUN bedrooms"); others. Two
things of one abstract with one key are a wrong merge. `--merges` lists the keys that several abstracts share, with all
ways of writing each, to be read by eye; `--misses` the pairs that have two keys.
"""

import argparse
import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.measuring import table
from store.acronyms import letters_of
from store.mentions import canonical_names
from store.naming import fold, plain

GOLD = Path(__file__).parents[1] / ".." / "shared" / "gold"
FILES = ("train.jsonl", "dev.jsonl", "seeds.jsonl")
APART = Path(__file__).with_name("names_apart.tsv")
KINDS = ("alike", "short and long", "one within the other", "other")
FIELDS = ("datasets", "baselines", "method")


@dataclass(frozen=True, slots=True)
class Named:
    """An abstract with its names: of each field the things, each a list of its ways of writing."""

    record: str
    text: str
    things: dict[str, list[list[str]]]

    def keys(self) -> dict[str, str]:
        """The canonical key of each name."""
        kinds: defaultdict[str, set[str]] = defaultdict(set)
        for field, things in self.things.items():
            for name in itertools.chain(*things):
                kinds[name].add(field)
        return dict(canonical_names(kinds, self.text, kinds))


def apart() -> dict[str, list[list[int]]]:
    """Of each abstract whose `method` lists several things, the places of each thing's names."""
    rows = (line.split("\t") for line in APART.read_text(encoding="utf-8").splitlines())
    return {record: [[int(n) for n in part.split()] for part in parts.split(" | ")] for record, parts in rows}


def read_names(path: Path, several: dict[str, list[list[int]]]) -> Iterator[Named]:
    """The abstracts of a gold file."""
    for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
        gold, method = row["gold"], row["gold"]["method"]
        parts = several.get(row["id"], [list(range(len(method)))])
        things = {"datasets": gold["datasets"], "baselines": gold["baselines"]}
        yield Named(row["id"], row["abstract"], {**things, "method": [[method[n] for n in part] for part in parts]})


def kind(one: str, other: str) -> str:
    """What two names of one thing have to do with each other."""
    if fold(one) == fold(other):
        return KINDS[0]
    short, long = sorted((plain(one), plain(other)), key=len)
    words = [" ".join(re.findall(r"\w+", name.lower())) for name in (short, long)]
    if f" {words[0]} " in f" {words[1]} ":
        return KINDS[2]
    return KINDS[1] if " " not in short and letters_of(short, long) else KINDS[3]


def pairs(named: Named, field: str) -> Iterator[tuple[str, str]]:
    """Each two names of one thing."""
    for thing in named.things[field]:
        yield from itertools.combinations(dict.fromkeys(thing), 2)


def wrong_merges(named: Named) -> Iterator[str]:
    """Two things of one abstract that share a key, but for what gold lists in two fields."""
    keys = named.keys()
    things = [(field, thing) for field, several in named.things.items() for thing in several]
    for (field, one), (of_other, other) in itertools.combinations(things, 2):
        listed_twice = field != of_other and set(one) & set(other)
        shared = {keys[name] for name in one} & {keys[name] for name in other}
        if shared and not listed_twice:
            yield f"{named.record} {field}: {min(shared)}: {one} and {of_other}: {other}"


def merges(everything: Sequence[Named]) -> Iterator[str]:
    """The keys that things of several abstracts share and that are written in several ways, a line each."""
    found: defaultdict[str, dict[str, set[str]]] = defaultdict(dict)
    for named in everything:
        keys = named.keys()
        for things in named.things.values():
            for name in itertools.chain(*things):
                found[keys[name]].setdefault(named.record, set()).add(name)
    for key, records in sorted(found.items()):
        ways = sorted(set().union(*records.values()))
        if len(records) > 1 and len(ways) > 1:
            yield f"{key} ({len(records)}): {'; '.join(ways)}"


def rows(name: str, everything: Sequence[Named]) -> Iterator[list[str]]:
    """The figures of a file, a row a field."""
    for field in FIELDS:
        all_pairs: Counter[str] = Counter()
        merged: Counter[str] = Counter()
        for named in everything:
            keys = named.keys()
            for one, other in pairs(named, field):
                all_pairs[kind(one, other)] += 1
                merged[kind(one, other)] += keys[one] == keys[other]
        total = sum(all_pairs.values())
        share = f"{sum(merged.values()) / total:.1%}" if total else ""
        by_kind = (f"{merged[each]} of {all_pairs[each]}" for each in KINDS)
        yield [name, field, f"{sum(merged.values())} of {total}", share, *by_kind]


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the table, and what is asked for; returns 0 also where the gold is absent."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--gold", type=Path, default=GOLD, help="folder of the gold files")
    arguments.add_argument("--merges", action="store_true", help="list the keys that several abstracts share")
    arguments.add_argument("--misses", action="store_true", help="list the pairs that have two keys")
    options = arguments.parse_args(argv)
    paths = [options.gold / name for name in FILES if (options.gold / name).exists()]
    if not paths:
        print(f"no gold files in {options.gold}: nothing measured")
        return 0
    several = apart()
    files = {path.stem: list(read_names(path, several)) for path in paths}
    figures = [row for name, everything in files.items() for row in rows(name, everything)]
    print(table(("file", "field", "merged", "share", *KINDS), figures))
    everything = [named for each in files.values() for named in each]
    wrong = [line for named in everything for line in wrong_merges(named)]
    print(f"\n{len(wrong)} wrong merges within an abstract")
    for line in wrong:
        print(f"- {line}")
    if options.merges:
        print("\nkeys that several abstracts share")
        for line in merges(everything):
            print(f"- {line}")
    if options.misses:
        print("\npairs with two keys")
        for named in everything:
            keys = named.keys()
            for one, other in itertools.chain(*(pairs(named, field) for field in FIELDS)):
                if keys[one] != keys[other]:
                    print(f"- {named.record}: {kind(one, other)}: {one} ({keys[one]}); {other} ({keys[other]})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
