"""Finds the papers in a JSON value, whichever of the usual shapes it has, and lays each out flat.

Shapes: a paper; a list of them; an object that holds such a list (OpenReview's `notes`, Semantic Scholar's `data`,
OpenAlex's `results`, Crossref's `message.items`); an object of papers by their ids. OpenReview's `content` comes up
beside the note's own fields, plain (API 1) or as `{"value": …}` (API 2).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from extract.readers.fields import ABSTRACT, normal

LISTS = (
    "notes",
    "data",
    "results",
    "papers",
    "submissions",
    "items",
    "records",
    "entries",
    "documents",
    "publications",
)
"""Names of the list of papers in an object that holds one."""

_DEEPEST = 6


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper laid flat (`values` None: there stands no object but a `found`); `place` is where in the value."""

    place: str
    values: Mapping[str, object] | None
    found: str = ""


def papers(
    value: object, place: str = "", above: Mapping[str, object] | None = None, depth: int = 0
) -> Iterator[Paper]:
    """Yield the papers in a value. `above`: the venue and year of an object around it, which hold for what is in it."""
    if isinstance(value, list) and depth < _DEEPEST:
        for number, item in enumerate(value, 1):
            yield from papers(item, f"{place}, record {number}", above, depth + 1)
    elif not isinstance(value, dict):
        yield Paper(place, None, type(value).__name__)
    elif depth < _DEEPEST and (held := _held(value)) is not None:
        inherited = {**(above or {}), **{k: v for k, v in value.items() if k in ("venue", "year", "conference")}}
        yield from papers(held, place, inherited, depth + 1)
    elif depth < _DEEPEST and _is_by_id(value):
        for key, item in value.items():
            yield Paper(f"{place}, record {key!r}", {"id": key, **(above or {}), **flat(item)})
    else:
        yield Paper(place, {**(above or {}), **flat(value)})


def flat(value: Mapping[str, object]) -> dict[str, object]:
    """Return a paper's fields on one level, the wrappings of OpenReview, Semantic Scholar, OpenAlex and CSL undone."""
    content = value.get("content")
    if isinstance(content, dict):
        value = {**value, **content}
    fields = {name: _unwrapped(item) for name, item in value.items()}
    if isinstance(ids := fields.get("externalIds"), dict):
        fields.setdefault("doi", ids.get("DOI"))
    for name in ("journal", "primary_location", "host_venue", "publicationVenue"):
        if isinstance(held := fields.get(name), dict):
            fields[name] = held.get("name") or held.get("title") or held.get("display_name")
    for name in ("issued", "published", "published-print", "published-online"):
        if isinstance(held := fields.get(name), dict):
            fields[name] = _year_of(held)
    if (versions := fields.get("versions")) and isinstance(versions, list) and isinstance(versions[0], dict):
        fields.setdefault("published", versions[0].get("created"))  # arXiv's snapshot
    if "abstract" not in fields and isinstance(index := fields.get("abstract_inverted_index"), dict):
        fields["abstract"] = _in_order(index)
    return fields


def _unwrapped(item: object) -> object:
    return item["value"] if isinstance(item, dict) and "value" in item and len(item) <= 3 else item


def _held(value: Mapping[str, object]) -> object | None:
    """Return the list of papers that an object holds, None if it holds none or is a paper itself."""
    if _has_abstract(value) or "title" in value or isinstance(value.get("content"), dict):
        return None
    if isinstance(message := value.get("message"), dict):
        return message
    for name in LISTS:
        held = value.get(name)
        if isinstance(held, list) and held and all(isinstance(item, dict) for item in held[:10]):
            return held
    return None


def _is_by_id(value: Mapping[str, object]) -> bool:
    """Is this an object of papers by their ids: objects only, the first of which has an abstract?"""
    items = list(value.values())
    return (
        bool(items)
        and not _has_abstract(value)
        and "content" not in value
        and all(isinstance(item, dict) for item in items)
        and any(_has_abstract(flat(item)) for item in items[:10] if isinstance(item, dict))
    )


def _has_abstract(value: Mapping[str, object]) -> bool:
    return any(normal(name) in ABSTRACT for name in value)


def _year_of(date: Mapping[str, object]) -> object:
    """Return the year of a date in CSL's writing: `{"date-parts": [[2024, 5]]}`."""
    parts = date.get("date-parts")
    while isinstance(parts, Sequence) and not isinstance(parts, str) and parts:
        parts = parts[0]
    return parts or date.get("raw")


def _in_order(index: Mapping[str, object]) -> str:
    """Return the text of OpenAlex's index of words: `{"We": [0], "sort": [1]}`."""
    words = [
        (place, word)
        for word, places in index.items()
        if isinstance(places, list)
        for place in places
        if isinstance(place, int)
    ]
    return " ".join(word for _, word in sorted(words))
