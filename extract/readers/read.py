"""Reads records out of whatever a person names: finds the files, tells their formats, hands each to its reader.

It knows which formats there are and what they share: a record without an abstract is said, what is broken costs itself
only, a file that gives nothing is an error. What stands in a format is the format's own module.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from extract.errors import InputError
from extract.readers import (
    anthology,
    atom,
    bibtex,
    json_documents,
    jsonl,
    paragraphs,
    parquet,
    pubmed,
    tables,
    tagged,
    xlsx,
)
from extract.readers.fields import Columns
from extract.readers.inputs import Source, find
from extract.readers.notices import FileNotices, Notices
from extract.readers.opening import Opened, opened
from extract.readers.sniff import Format, format_of
from extract.readers.text import Entry, name_of, record_of
from store.rows import Record

READERS: Mapping[Format, Callable[[Opened], Iterator[Entry]]] = {
    "paragraphs": paragraphs.entries,
    "json lines": jsonl.entries,
    "json": json_documents.entries,
    "table": tables.entries,
    "parquet": parquet.entries,
    "xlsx": xlsx.entries,
    "bibtex": bibtex.entries,
    "ris": tagged.ris_entries,
    "medline": tagged.medline_entries,
    "pubmed": pubmed.entries,
    "atom": atom.entries,
    "anthology": anthology.entries,
}
ALL_USUAL = Columns()


def read(inputs: Iterable[str], columns: Columns = ALL_USUAL, notices: Notices | None = None) -> Iterator[Record]:
    """Yield the records of all inputs (files, folders, patterns, addresses, `-`), in order, lazily.

    What is wrong with single records goes to `notices`. Raises InputError for an input that isn't there or can't be
    read, and for one without an abstract; a file that a folder or a pattern named raises only if all are so. Strict
    notices raise at the first record that is broken.
    """
    notices = notices or Notices()
    found, fault = False, None
    for source in find(inputs):
        own = notices.for_file(source.name)
        try:
            for record in records_in(source, columns, own):
                found = True
                yield record
        except InputError as e:
            if not source.found:
                raise
            own.nothing(e)
            fault = fault or e
    if fault is not None and not found:
        raise fault


def check_inputs(inputs: Iterable[str], columns: Columns = ALL_USUAL) -> list[Source]:
    """Return the files that inputs name, each of which was opened and has a format that is read; else InputError.

    Standard input is left unread; a file that a folder or a pattern named is left to `read`.
    """
    sources = find(inputs)
    for source in sources:
        if source.size is not None and not source.found:
            with opened(source, columns, Notices().for_file(source.name)) as file:
                format_of(file)
    return sources


def records_in(source: Source, columns: Columns, notices: FileNotices) -> Iterator[Record]:
    """Yield the records of one file. Raises InputError if there are none; a fault after the first one is a notice."""
    found, fault = 0, None
    kind: Format | None = None
    try:
        with opened(source, columns, notices) as file:
            kind = format_of(file)
            for entry in READERS[kind](file):
                record = record_of(entry, source.name, columns)
                if record is None:
                    notices.no_abstract(entry.place, name_of(entry, columns))
                else:
                    found += 1
                    yield record
    except InputError as e:
        fault = e
    if found and fault:
        notices.broke(InputError(fault.source, f"{fault.problem}; nothing after that is read", fault.line))
    elif not found:
        raise fault or _nothing(source, kind, notices)


def _nothing(source: Source, kind: Format | None, notices: FileNotices) -> InputError:
    """Return the error of a file that was read to its end and has no abstract in it, with what it has in place."""
    without, broken, first = notices.counts["no_abstract"], notices.counts["broken"], notices.first_broken
    if first is not None and not without:
        more = f" ({broken - 1:,} more such)" if broken > 1 else ""
        return InputError(source.name, f"{first.problem}{more}", first.line)
    if without:
        also = f", {broken:,} broken" if broken else ""
        return InputError(
            source.name, f"no abstract in it: {without:,} record{'s' * (without > 1)} without one{also}, read as {kind}"
        )
    wanted = "paragraphs divided by blank lines, or an export" if kind == "paragraphs" else "records with an abstract"
    return InputError(source.name, f"no abstract in it, read as {kind}; expected {wanted}")
