"""How far the numbers of the gold are read right: value, unit, and whether `scan` finds them.

    python -m bench.numbers [--gold DIR] [--most N] [--read N]

Each headline number's quote is located in its abstract (the numbers are in order of appearance, so the search goes on
from the one before), read by `parse_at`, and looked for among the spans of `scan`. Prints a table and each miss. A
value counts as right within half a unit of the gold's last decimal place (gold writes 0.333 for "a third").

`--read N` prints instead what `scan` takes from N abstracts of the corpus, the same each time, to be read by eye.
"""

import argparse
import json
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from schemas.quantity import NotANumber, NumberSpan, canonical_unit, parse_at, scan, units_agree

GOLD = Path(__file__).parents[1] / ".." / "shared" / "gold"
CORPUS = GOLD / ".." / "corpus" / "abstracts.jsonl"
FILES = ("train.jsonl", "dev.jsonl", "seeds.jsonl")


@dataclass(frozen=True, slots=True)
class GoldNumber:
    """A headline number of the gold, with the place of its quote."""

    record: str
    text: str
    start: int
    quote: str
    value: float
    unit: str

    @property
    def end(self) -> int:
        """Where the quote ends, excluded."""
        return self.start + len(self.quote)

    def shown(self) -> str:
        """The quote with a few words around it, for a person."""
        before, after = self.text[max(0, self.start - 40) : self.start], self.text[self.end : self.end + 30]
        return " ".join(f"{before}⟦{self.quote}⟧{after}".split())


@dataclass(slots=True)
class Tally:
    """The counts of one file, and its misses as lines of text."""

    numbers: int = 0
    values: int = 0
    units: int = 0
    same_unit: int = 0
    found: int = 0
    same_span: int = 0
    misses: list[str] = field(default_factory=list)


def locate(text: str, quote: str, start: int) -> int:
    """Where the quote stands by itself from `start` on: not inside a longer word or number; -1 if nowhere."""
    place = text.find(quote, start)
    while place >= 0:
        before, after = text[max(0, place - 2) : place], text[place + len(quote) :][:2]
        inside_word = quote[0].isalnum() and (before[-1:].isalnum() or (before[-1:] == "-" and before[:1].isalpha()))
        inside_number = quote[0].isdigit() and before[-1:] in (".", ",") and before[:1].isdigit()
        goes_on = quote[-1].isalnum() and after[:1].isalnum()
        decimals = quote[-1].isdigit() and after[:1] in (".", ",") and after[1:].isdigit()
        if before and not (inside_word or inside_number) and not goes_on and not decimals:
            return place
        if not before and not goes_on and not decimals:
            return place
        place = text.find(quote, place + 1)
    return text.find(quote, start) if start == 0 else locate(text, quote, 0)


def read_gold(path: Path) -> Iterator[list[GoldNumber]]:
    """The headline numbers of each abstract of a gold file."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            text = record["abstract"]
            numbers = []
            after = 0
            for number in record["gold"]["numbers"]:
                start = locate(text, number["quote"], after)
                after = start + 1
                numbers.append(
                    GoldNumber(record["id"], text, start, number["quote"], float(number["value"]), number["unit"])
                )
            yield numbers


def same_value(read: float, gold: float) -> bool:
    """Whether the values are the same, as exactly as the gold writes its own."""
    decimals = len(repr(gold).partition(".")[2]) if "e" not in repr(gold) and gold != int(gold) else 0
    written = 0.5 * 10.0**-decimals if decimals > 2 else 0.0
    return math.isclose(read, gold, rel_tol=1e-9, abs_tol=written)


def measure(number: GoldNumber, spans: list[NumberSpan], tally: Tally) -> None:
    """One number of the gold into the tally."""
    tally.numbers += 1
    where = f"{number.record}: {number.shown()}"
    try:
        read = parse_at(number.text, number.start, number.end)
    except NotANumber as error:
        tally.misses.append(f"value {number.value:g} {number.unit!r}: {error}; {where}")
    else:
        if same_value(read.value, number.value):
            tally.values += 1
        else:
            tally.misses.append(f"value {number.value:g}, read {read.value:g}: {where}")
        tally.same_unit += canonical_unit(number.unit) == read.unit
        if units_agree(number.unit, read.unit):
            tally.units += 1
        else:
            tally.misses.append(f"unit {number.unit!r}, read {read.unit!r}: {where}")
    overlapping = [span for span in spans if span.start < number.end and span.end > number.start]
    if any(same_value(span.value, number.value) for span in overlapping):
        tally.found += 1
    else:
        tally.misses.append(f"scan has {[number.text[s.start : s.end] for s in overlapping]}: {where}")
    tally.same_span += any((span.start, span.end) == (number.start, number.end) for span in overlapping)


def measure_file(path: Path) -> Tally:
    """All numbers of one gold file."""
    tally = Tally()
    for numbers in read_gold(path):
        spans = scan(numbers[0].text) if numbers else []
        for number in numbers:
            measure(number, spans, tally)
    return tally


def row(name: str, tally: Tally) -> str:
    """One line of the table."""
    figures = (tally.values, tally.units, tally.same_unit, tally.found, tally.same_span)
    shares = "".join(f"{figure:>7} {figure / max(1, tally.numbers):>7.2%}" for figure in figures)
    return f"{name:<12}{tally.numbers:>8}{shares}"


def print_for_reading(count: int) -> int:
    """The numbers that `scan` takes from a fixed sample of the corpus, each with its reading and its surroundings."""
    if not CORPUS.exists():
        print(f"no corpus at {CORPUS}: nothing to read")
        return 0
    with CORPUS.open(encoding="utf-8") as lines:
        texts = [json.loads(line)["abstract"] for line in lines]
    for text in random.Random(2026).sample(texts, min(count, len(texts))):
        for span in scan(text):
            around = (
                f"{text[max(0, span.start - 40) : span.start]}⟦{text[span.start : span.end]}⟧{text[span.end :][:30]}"
            )
            print(f"{span.value:<12g}{span.unit:<8}{' '.join(around.split())}")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the table and the misses; returns 0 also where the gold is absent."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--gold", type=Path, default=GOLD, help="folder of the gold files")
    arguments.add_argument("--most", type=int, default=200, help="how many misses to print")
    arguments.add_argument("--read", type=int, default=0, metavar="N", help="print scan's numbers in N abstracts")
    options = arguments.parse_args(argv)
    if options.read:
        return print_for_reading(options.read)
    paths = [options.gold / name for name in FILES if (options.gold / name).exists()]
    if not paths:
        print(f"no gold files in {options.gold}: nothing measured")
        return 0
    tallies = [(path.name, measure_file(path)) for path in paths]
    heads = ("value", "unit agrees", "same unit", "scan finds", "same span")
    print(f"{'file':<12}{'numbers':>8}" + "".join(f"{head:>15}" for head in heads))
    total = Tally()
    for name, tally in tallies:
        print(row(name, tally))
        for figure in ("numbers", "values", "units", "same_unit", "found", "same_span"):
            setattr(total, figure, getattr(total, figure) + getattr(tally, figure))
        total.misses.extend(tally.misses)
    print(row("all", total))
    print(f"\n{len(total.misses)} misses")
    for miss in total.misses[: options.most]:
        print(f"- {miss}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
