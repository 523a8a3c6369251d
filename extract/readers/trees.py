"""Reads XML safely, an element at a time: no entities, no DTD from elsewhere, no network, bounded memory."""

from collections.abc import Iterator
from typing import BinaryIO
from xml.etree.ElementTree import Element, ParseError

from extract.errors import InputError
from extract.readers.markup import local_name, text_of
from extract.readers.opening import Opened

MAX_ELEMENT = 32 << 20
"""Bytes of XML between two records: more isn't read."""


def elements(file: Opened, *names: str) -> Iterator[Element]:
    """Yield the elements of these local names (lower case) as they end; each is emptied after its use.

    Raises InputError for what isn't well-formed, with the line, and for what declares entities.
    """
    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import iterparse

    source = _Bounded(file.stream, file.source.name)
    open_elements: list[Element] = []
    try:
        for event, element in iterparse(source, events=("start", "end"), forbid_dtd=False):
            if event == "start":
                open_elements.append(element)
                continue
            open_elements.pop()
            if local_name(element.tag) in names:
                source.used = 0
                yield element
                element.clear()
                if open_elements:
                    open_elements[-1].remove(element)
    except DefusedXmlException as e:
        problem = "declares entities or names another file, which isn't read; save it as plain XML"
        raise InputError(file.source.name, problem) from e
    except ParseError as e:
        raise InputError(
            file.source.name, f"not XML: {str(e).partition(':')[0]}; is the file whole?", e.position[0]
        ) from e
    except (ValueError, LookupError) as e:  # an encoding that nobody knows
        raise InputError(file.source.name, f"not XML that can be read: {e}") from e


def text_at(element: Element, *path: str) -> str | None:
    """Return the text of the first element at a path of local names (lower case), None if there is none."""
    found = first(element, *path)
    return text_of(found).strip() or None if found is not None else None


def first(element: Element, *path: str) -> Element | None:
    """Return the first element at a path of local names."""
    return next(every(element, *path), None)


def every(element: Element, *path: str) -> Iterator[Element]:
    """Yield the elements at a path of local names."""
    for child in element:
        if local_name(child.tag) == path[0]:
            if len(path) == 1:
                yield child
            else:
                yield from every(child, *path[1:])


class _Bounded:
    """The bytes of a file, as long as `used` of them (set back at each record) stay under MAX_ELEMENT."""

    def __init__(self, stream: BinaryIO, name: str) -> None:
        self._stream, self._name, self.used = stream, name, 0

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self.used += len(data)
        if self.used > MAX_ELEMENT:
            raise InputError(self._name, f"over {MAX_ELEMENT >> 20} MiB of XML without a record; what is in it?")
        return data
