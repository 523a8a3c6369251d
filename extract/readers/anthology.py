"""Reads the ACL Anthology's XML: a collection of volumes of papers."""

from collections.abc import Iterator
from xml.etree.ElementTree import tostring

from extract.readers.opening import Opened
from extract.readers.text import Entry
from extract.readers.trees import elements, first, text_at

SITE = "https://aclanthology.org/"


def entries(file: Opened) -> Iterator[Entry]:
    """Yield an entry for each paper; venue and year are its volume's, the id is the Anthology's own."""
    year = venue = None
    number = 0
    for element in elements(file, "meta", "paper"):
        if element.tag == "meta":
            year, venue = text_at(element, "year"), text_at(element, "booktitle")
            continue
        number += 1
        page = text_at(element, "url")
        abstract = first(element, "abstract")
        yield Entry(
            f"record {number}",
            {
                "title": text_at(element, "title"),
                "abstract": text_at(element, "abstract"),
                "id": page or text_at(element, "bibkey"),
                "url": f"{SITE}{page}/" if page and "://" not in page else page,
                "doi": text_at(element, "doi"),
                "year": year,
                "venue": venue,
            },
            form="plain",
            raw=tostring(abstract, encoding="unicode").strip() if abstract is not None and len(abstract) else None,
        )
