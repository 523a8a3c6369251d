"""Reads Atom feeds as arXiv's API gives them."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from extract.readers.opening import Opened
from extract.readers.text import Entry
from extract.readers.trees import elements, every, text_at

_ABSTRACT_PAGE = "arxiv.org/abs/"


def entries(file: Opened) -> Iterator[Entry]:
    """Yield an entry for each of the feed's; the id is arXiv's own (`2401.00001v1`)."""
    for number, entry in enumerate(elements(file, "entry"), 1):
        address = text_at(entry, "id") or ""
        values: dict[str, object] = {
            "title": text_at(entry, "title"),
            "abstract": text_at(entry, "summary"),
            "id": address.partition(_ABSTRACT_PAGE)[2] or address,
            "url": _page(entry) or address,
            "doi": text_at(entry, "doi"),
            "year": text_at(entry, "published") or text_at(entry, "updated"),
            "venue": text_at(entry, "journal_ref"),
            "keywords": [term for category in every(entry, "category") if (term := category.get("term"))],
        }
        yield Entry(f"record {number}", values, form="plain")


def _page(entry: Element) -> str | None:
    return next((link.get("href") for link in every(entry, "link") if link.get("rel") == "alternate"), None)
