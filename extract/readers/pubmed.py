"""Reads PubMed's XML: articles and book chapters, structured abstracts as `BACKGROUND: …`."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element, tostring

from extract.readers.markup import text_of
from extract.readers.opening import Opened
from extract.readers.text import Entry
from extract.readers.trees import elements, every, first, text_at


def entries(file: Opened) -> Iterator[Entry]:
    """Yield an entry for each article; `raw` is the XML of an abstract that has marks or labels in it."""
    for number, element in enumerate(elements(file, "pubmedarticle", "pubmedbookarticle"), 1):
        citation = first(element, "medlinecitation")
        if citation is None:
            citation = first(element, "bookdocument")
        article = first(citation, "article") if citation is not None else None
        if citation is None:
            file.notices.broken(f"record {number}: no MedlineCitation in it; expected an article as PubMed writes it")
            continue
        yield _entry(f"record {number}", element, citation, citation if article is None else article)


def _entry(place: str, element: Element, citation: Element, article: Element) -> Entry:
    abstract = first(article, "abstract")
    values: dict[str, object] = {
        "title": text_at(article, "articletitle") or text_at(article, "book", "booktitle"),
        "id": text_at(citation, "pmid"),
        "doi": _doi(element, article),
        "year": text_at(article, "journal", "journalissue", "pubdate", "year")
        or text_at(article, "journal", "journalissue", "pubdate", "medlinedate")
        or text_at(article, "book", "pubdate", "year"),
        "journal": text_at(article, "journal", "title"),
        "keywords": [text_of(word).strip() for word in every(citation, "keywordlist", "keyword")],
    }
    if abstract is None:
        return Entry(place, values, form="plain")
    parts = list(every(abstract, "abstracttext"))
    values["abstract"] = "\n".join(_part(part) for part in parts)
    changed = any(part.get("Label") or len(part) for part in parts) or len(parts) > 1
    raw = tostring(abstract, encoding="unicode").strip() if changed else None
    return Entry(place, values, form="plain", raw=raw)


def _part(part: Element) -> str:
    """Return a part of an abstract, with its label before it if it has one that says something."""
    text, label = text_of(part).strip(), (part.get("Label") or "").strip()
    return f"{label}: {text}" if label and text and label.upper() != "UNLABELLED" else text


def _doi(element: Element, article: Element) -> str | None:
    for place in (every(article, "elocationid"), every(element, "pubmeddata", "articleidlist", "articleid")):
        for found in place:
            if "doi" in (found.get("EIdType"), found.get("IdType")) and found.text:
                return found.text
    return None
