"""How well quotes are found in their texts: the gold's own, spoiled, otherwise written and invented ones; and the time.

    python -m bench.grounding [--gold DIR]

Where a gold number stands is known apart from the code that is measured: the numbers are in order of appearance, so
each is the next one after that before it which is no part of a word or number (`bench.numbers.locate`). That takes the
first of two equal ones, even where only the second is what the gold counts: read the list of those placed otherwise.
Of the other strings the gold doesn't say which of their places is meant, so any is right. A spoiled number counts as
really in the text if it stands there by itself once LaTeX is stripped from both by this module's own, simpler rules.
"""

import argparse
import json
import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.numbers import FILES, GOLD, locate
from extract.grounding import Evidence, GroundedText, Kind, NumberClaim, place_numbers

_WORDS = "one two three four five six seven eight nine ten eleven twelve thirteen".split()
_INVENTED = "quokka annealing sampler"
_MARKUP = re.compile(r"\\(?:text|math)(?:bf|it|rm|tt|sc|sf|normal)|\\emph|\\(?:text|mbox)(?=\{)|[{}$\\]")
_SYMBOLS = {r"\texttimes": "×", r"\times": "×", r"\sim": "~", r"\ell": "ℓ", r"\tau": "τ", r"\pi": "π", r"\lambda": "λ"}
_SHOWN = 20


@dataclass(frozen=True, slots=True)
class GoldText:
    """An abstract, its headline numbers with their places, and the other strings that are quoted from it."""

    name: str
    text: str
    numbers: tuple[tuple[int, NumberClaim], ...]
    strings: tuple[str, ...]

    def quotes(self) -> Iterator[tuple[str, int, Kind]]:
        """Each quote with a place where it stands."""
        yield from ((claim.quote, place, "number") for place, claim in self.numbers)
        yield from ((quote, locate(self.text, quote, 0), "text") for quote in self.strings)


class Report:
    """A table of what was tried and what came out, with the misses of each line."""

    def __init__(self) -> None:
        self.lines: dict[str, tuple[int, int]] = {}
        self.misses: dict[str, list[str]] = {}

    def count(self, line: str, good: bool, miss: str = "") -> None:
        """Count one try; the words of a miss are listed."""
        tried, right = self.lines.get(line, (0, 0))
        self.lines[line] = tried + 1, right + good
        if not good:
            self.misses.setdefault(line, []).append(miss)

    def print(self) -> None:
        """Print the table, then the misses."""
        print(f"{'':58}{'tried':>8}{'right':>8}{'%':>9}")
        for line, (tried, right) in self.lines.items():
            print(f"{line:58}{tried:8,}{right:8,}{100 * right / tried:9.3f}")
        for line, misses in self.misses.items():
            print(f"\n{line}: {len(misses)} missed" + (f", the first {_SHOWN}:" if len(misses) > _SHOWN else ":"))
            for miss in misses[:_SHOWN]:
                print("  ", miss)


def read_gold(path: Path) -> Iterator[GoldText]:
    """The abstracts of a gold file."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            record: dict[str, Any] = json.loads(line)
            text, gold = record["abstract"], record["gold"]
            numbers: list[tuple[int, NumberClaim]] = []
            strings = dict.fromkeys(
                gold["method"] + [s for names in gold["datasets"] + gold["baselines"] for s in names]
            )
            after = 0
            for number in gold["numbers"]:
                near = tuple(filter(None, (number["metric"], number["dataset"], number["baseline"])))
                place = locate(text, number["quote"], after)
                numbers.append((place, NumberClaim(number["quote"], near)))
                strings |= dict.fromkeys(near)
                after = place + 1
            yield GoldText(record["id"], text, tuple(numbers), tuple(strings))


def shown(text: str, start: int, end: int) -> str:
    """A place with a few words around it."""
    around = f"{text[max(0, start - 40) : start]}⟦{text[start:end]}⟧{text[end : end + 30]}"
    return " ".join(around.split())


def holds(places: Sequence[Evidence], start: int, end: int) -> bool:
    """Whether one of the places is that one; mark-up at its ends may be left out."""
    return any(place.start < end and place.end > start for place in places)


def located(gold: GoldText, report: Report) -> None:
    """All quotes as they are; the numbers with each its own place, in the gold's order and from back to front."""
    grounded = GroundedText(gold.text)
    for quote, place, kind in gold.quotes():
        found = grounded.find_all(quote, kind=kind)
        good = holds([e for e in found if e.match == "exact"], place, place + len(quote))
        report.count(f"located: {kind}", good, f"{gold.name}: {shown(gold.text, place, place + len(quote))}")
    for order, step in (("in order", 1), ("from back to front", -1)):
        numbers = gold.numbers[::step]
        placed = place_numbers([claim for _, claim in numbers], grounded)
        for (place, claim), found_place in zip(numbers, placed, strict=True):
            at = shown(gold.text, found_place.start, found_place.end) if found_place else "nowhere"
            miss = f"{gold.name}: {shown(gold.text, place, place + len(claim.quote))}, but {at} for {claim.near}"
            good = found_place is not None and found_place.start == place
            report.count(f"numbers each at its own place, {order}", good, miss)


def spoilings(quote: str) -> Iterator[tuple[str, str]]:
    """The ways to spoil a number: what is spoiled, and what the quote is then."""
    lower = quote.lower()
    for at, character in enumerate(quote):
        if character.isdecimal():
            yield "digit", f"{quote[:at]}{(int(character) + 1) % 10}{quote[at + 1 :]}"
    if lower in _WORDS[:-1]:
        yield "digit", _WORDS[_WORDS.index(lower) + 1]
    yield (
        "sign",
        re.sub(r"[-+−]", lambda sign: "+" if sign[0] != "+" else "-", quote) if quote[0] in "-+−" else f"-{quote}",
    )
    factor = re.compile(r"\s?(?:\$?\\times\$?|×|\{\\texttimes\}|(?<=[0-9])[xX])")
    if "%" in quote:
        yield "unit", re.sub(r"\s?\\?%", "x", quote)
    elif factor.search(quote):
        yield "unit", factor.sub("%", quote)
    else:
        yield "unit", f"{quote}%"
        yield "unit", f"{quote}x"
    magnitude = re.search(r"(?<=[0-9])[kKMB](?![A-Za-z])|(?:[mb]|tr)illion|thousand", quote)
    if magnitude:
        others = {"k": "M", "K": "M", "M": "B", "B": "M", "million": "billion"}
        before, after = quote[: magnitude.start()], quote[magnitude.end() :]
        yield "magnitude", f"{before}{others.get(magnitude[0], 'million')}{after}"
        yield "magnitude", f"{before.rstrip(' -')}{after}"
    else:
        yield "magnitude", f"{quote}k"
        yield "magnitude", f"{quote} million"
    digits = re.search(r"[0-9]+(?:\.[0-9]+)?", quote)
    if digits:
        point = digits[0].find(".")
        moved = digits[0].replace(".", "")
        places = [i for i in range(1, len(moved)) if i != point] if len(moved) > 1 else []
        forms = [f"{moved[:i]}.{moved[i:]}" for i in places] + ([digits[0][:-1]] if point > 0 else [f"{digits[0]}.5"])
        for form in forms:
            yield "decimal place", f"{quote[: digits.start()]}{form.rstrip('.')}{quote[digits.end() :]}"


def plain(text: str) -> str:
    """A text without its LaTeX, by simpler rules than those that are measured."""
    for command, symbol in _SYMBOLS.items():
        text = text.replace(command, symbol)
    return _MARKUP.sub("", text)


def stands(quote: str, text: str) -> bool:
    """Whether a number stands in a text by itself, without a sign, digits or a magnitude of its own beside it."""
    sign = "" if quote[:1] in "+-−" else r"(?<![^\w%)-][-−])"
    magnitude = r"(?!\s?-?(?:thousand|million|billion|trillion)|[kKMB]\b)"
    edges = re.compile(rf"(?<![\w.])(?<!\d,){sign}\+?{re.escape(plain(quote))}(?!\d|[.,]\d){magnitude}", re.I)
    return edges.search(plain(text)) is not None


def spoiled(gold: GoldText, report: Report) -> None:
    """Every number's quote spoiled in each way: it must be absent, unless it is really there."""
    grounded = GroundedText(gold.text)
    for place, claim in gold.numbers:
        for kind, quote in dict.fromkeys(spoilings(claim.quote)):
            found = grounded.find(quote, kind="number")
            if found is not None and stands(quote, gold.text):
                report.count(f"spoiled: {kind}, but really in the text", True)
                continue
            at = shown(gold.text, found.start, found.end) if found else ""
            was = shown(gold.text, place, place + len(claim.quote))
            report.count(f"spoiled: {kind}", found is None, f"{gold.name}: {quote!r} for {was}: {at}")


def rewritten(text: str, pattern: re.Pattern[str], replace: Callable[[re.Match[str]], str]) -> tuple[str, list[int]]:
    """A text with each match replaced, and where each of its characters is then."""
    pieces: list[str] = []
    moved: list[int] = []
    length = done = 0
    for match in pattern.finditer(text):
        moved += range(length, length + match.start() - done)
        pieces += text[done : match.start()], replace(match)
        length += match.start() - done
        moved += [length] * len(match[0])
        length += len(pieces[-1])
        done = match.end()
    moved += range(length, length + len(text) - done + 1)
    return "".join([*pieces, text[done:]]), moved


def _ligature(match: re.Match[str]) -> str:
    return {"ffi": "ﬃ", "ffl": "ﬄ", "ff": "ﬀ", "fi": "ﬁ", "fl": "ﬂ"}[match[0]]


def _always(piece: str) -> Callable[[re.Match[str]], str]:
    return lambda _: piece


_LIGATURE = re.compile(r"ffi|ffl|ff|fi|fl")
_DASH = re.compile(r"(?<!\\)(?:-{2}(?!-)|(?<!-)-(?!-)|–)")
_REWRITINGS: dict[str, tuple[re.Pattern[str], Callable[[re.Match[str]], str]]] = {
    "ligatures": (_LIGATURE, _ligature),
    "line breaks": (re.compile(r" "), lambda match: "\n" if match.start() % 3 else "\r\n  "),
    "words hyphenated at a line's end": (
        re.compile(r"(?<=[a-z]{4})(?=[a-z]{3})(?<!\\[a-z]{4})(?<!\\[a-z]{5})"),
        lambda _: "-\n",
    ),
    **{f"the dash {dash}": (_DASH, _always(dash)) for dash in "‐‑–−"},
    "no-break spaces": (re.compile(r" (?=[0-9A-Z])"), lambda _: "\xa0"),
}


def otherwise_written(gold: GoldText, report: Report) -> None:
    """The same quotes where text or quote is written otherwise: still found at their place."""
    grounded = GroundedText(gold.text)
    for quote, place, kind in gold.quotes():
        miss = f"{gold.name}: {shown(gold.text, place, place + len(quote))}"
        forms = {
            "LaTeX stripped from the quote": plain(quote),
            "ligatures in the quote": _LIGATURE.sub(_ligature, quote),
        }
        forms["another dash in the quote"] = _DASH.sub(lambda match: "–" if match[0] != "–" else "-", quote)
        for line, form in forms.items():
            if form != quote:
                found = grounded.find_all(form, kind=kind)
                report.count(f"otherwise: {line}", holds(found, place, place + len(quote)), f"{form!r} for {miss}")
    for line, (pattern, replace) in _REWRITINGS.items():
        text, moved = rewritten(gold.text, pattern, replace)
        rewritten_text = GroundedText(text)
        for quote, place, kind in gold.quotes():
            if kind == "number" and "-\n" in text[moved[place] : moved[place + len(quote)]]:
                continue  # `quantity` reads no number word that a line's end cuts in two
            start, end = moved[place], moved[place + len(quote)]
            found = rewritten_text.find_all(quote, kind=kind)
            report.count(
                f"otherwise: {line} in the text", holds(found, start, end), f"{quote!r}: {shown(text, start, end)}"
            )


def invented(gold: GoldText, report: Report, chance: random.Random) -> None:
    """Phrases that begin with words of the text and go on with others: absent."""
    words = gold.text.split(" ")
    for length in (2, 4, 8):
        first = chance.randrange(max(1, len(words) - length))
        quote = f"{' '.join(words[first : first + length])} {_INVENTED}"
        found = GroundedText(gold.text).find(quote)
        report.count("invented after the text's own words", found is None, f"{gold.name}: {quote!r}")


def ten_quotes_ms(golds: Sequence[GoldText], kind: Kind) -> float:
    """Milliseconds for ten quotes of a kind and a new text, scaled to 1,500 characters; the best of three passes."""
    best = float("inf")
    for _ in range(3):
        spent, characters = 0.0, 0
        for gold in golds:
            quotes = [quote for quote, _, of_kind in gold.quotes() if of_kind == kind]
            ten = (quotes * 10)[:10]
            if len(set(ten)) < 3:
                continue
            begun = time.perf_counter()
            grounded = GroundedText(gold.text)
            for quote in ten:
                grounded.find(quote, kind=kind)
            spent += time.perf_counter() - begun
            characters += len(gold.text)
        best = min(best, spent / characters * 1500 * 1000)
    return best


def print_times(golds: Sequence[GoldText]) -> None:
    """Print what ten quotes cost, in abstracts and in longer texts, and what texts made to be slow cost."""
    print("\nmilliseconds for ten quotes and a new text")
    for kind in ("text", "number"):
        print(f"  {kind} in an abstract of 1,500 characters: {ten_quotes_ms(golds, kind):.2f}")
    long = " ".join(gold.text for gold in golds)
    quotes = [quote for gold in golds[:40] for quote, _, _ in gold.quotes()][:5] + [
        f"{_INVENTED} {i}.5%" for i in range(5)
    ]
    texts = {f"{size:,} characters of abstracts": long[:size] for size in (1_000, 10_000, 100_000)}
    texts |= {
        f"100,000 characters of {piece!r}": (piece * 100_000)[:100_000]
        for piece in ("a", "1 ", "{", "$x", "-\n", "1.5,")
    }
    for name, text in texts.items():
        begun = time.perf_counter()
        grounded = GroundedText(text)
        for quote in [*quotes, text[:10], text[: len(text) // 2] + "b"]:
            grounded.find(quote)
        words = time.perf_counter() - begun
        for quote in [*quotes, "1", "11", "1.5"]:
            grounded.find(quote, kind="number")
        print(f"  {name}: {1000 * words:.1f} as text, {1000 * (time.perf_counter() - begun - words):.1f} as numbers")


def main() -> int:
    """Print the figures of each part; 0 also where the gold is absent, which is said."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--gold", type=Path, default=GOLD, help="folder with train.jsonl, dev.jsonl, seeds.jsonl")
    folder = parser.parse_args().gold
    paths = [folder / name for name in FILES if (folder / name).is_file()]
    if not paths:
        print(f"no gold in {folder}: nothing measured")
        return 0
    golds = [gold for path in paths for gold in read_gold(path)]
    report, chance = Report(), random.Random(0)
    for gold in golds:
        located(gold, report)
    for gold in golds:
        spoiled(gold, report)
    for gold in golds:
        otherwise_written(gold, report)
    for gold in golds:
        invented(gold, report, chance)
    print(f"{len(golds):,} abstracts\n")
    report.print()
    print_times(golds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
