"""An abstract with its evidence marked, as pieces that a template writes one after another. Pure.

The pieces joined are the text, character by character, so a place in the page is a place in the abstract. What overlaps
is cut at every border; a piece says all evidence that covers it and looks like the shortest of it.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from store.rows import Evidence
from store.structure import singular

COLOURS = 8
"""That the style sheet has for fields: `field-1` to `field-8`."""


@dataclass(frozen=True, slots=True)
class Field:
    """How the evidence of a field looks: its name for a person, a letter for those who can't tell colours, a class."""

    label: str
    letter: str
    css: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of the text from `start`; `field` None: no evidence. `ties` name the claims that it belongs to.

    `letters` are those of the evidence that ends here, `said` what all of it is, for a person.
    """

    text: str
    start: int
    field: Field | None = None
    ties: str = ""
    letters: str = ""
    said: str = ""


def tie(path: str, ordinal: int) -> str:
    """The name that a claim and its evidence share in a page: of the list's item, or of the field."""
    return f"{path.partition('.')[0]}-{ordinal}"


def label_of(path: str) -> str:
    """What a field is called: `headline_numbers.quote` is a headline number, `datasets` and `x.dataset` a dataset."""
    parts = path.split(".")
    name = parts[-2] if len(parts) > 1 and parts[-1] in ("quote", "name") else parts[-1]
    return singular(name).replace("_", " ")


def fields_of(paths: Iterable[str]) -> dict[str, Field]:
    """How each field's evidence looks. Fields of one name look alike; letters differ as long as there are any."""
    by_label: dict[str, Field] = {}
    letters: set[str] = set()
    looks = {}
    for path in dict.fromkeys(paths):
        label = label_of(path)
        if label not in by_label:
            last_word = label.rpartition(" ")[2].upper()
            letter = next((c for c in f"{last_word}{label.upper()}" if c.isalpha() and c not in letters), last_word[:1])
            letters.add(letter)
            by_label[label] = Field(label, letter, f"field-{len(by_label) % COLOURS + 1}")
        looks[path] = by_label[label]
    return looks


def is_placed(found: Evidence) -> bool:
    """Whether a piece of evidence stands in the text and says something that holds."""
    return found.start is not None and found.end is not None and found.reason is None


def pieces(text: str, evidence: Sequence[Evidence], fields: Mapping[str, Field]) -> Iterator[Piece]:
    """The text cut at the borders of the evidence that stands in it."""
    placed = [(found.start, found.end, found) for found in evidence if is_placed(found)]
    spans = [
        (start, end, found) for start, end, found in placed if start is not None and end is not None and start < end
    ]
    borders = sorted({0, len(text), *(b for start, end, _ in spans for b in (start, end) if b < len(text))})
    for start, end in itertools.pairwise(borders):
        covering = [(e - s, s, e, found) for s, e, found in spans if s <= start and end <= e]
        if not covering:
            yield Piece(text[start:end], start)
            continue
        covering.sort(key=lambda one: (one[0], one[1], one[3].path, one[3].ordinal))
        ending = dict.fromkeys(fields[found.path].letter for _, _, e, found in covering if e == end)
        yield Piece(
            text=text[start:end],
            start=start,
            field=fields[covering[0][3].path],
            ties=" ".join(dict.fromkeys(tie(found.path, found.ordinal) for *_, found in covering)),
            letters="".join(ending),
            said=", ".join(dict.fromkeys(fields[found.path].label for *_, found in covering)),
        )
