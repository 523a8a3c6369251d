"""Reads a JSON document: a list of papers, an object of them, or one value after another.

A list is read an item at a time, whatever its length; an object as a whole, up to MAX_VALUE. What is broken in a
document can't be stepped over: its records before that are read, and the place is said.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from extract.errors import InputError
from extract.readers.encodings import blocks
from extract.readers.json_values import papers
from extract.readers.jsonl import json_fault
from extract.readers.opening import Opened
from extract.readers.text import Entry

MAX_VALUE = 256 << 20
"""Characters of the largest object, or item of a list, that is read."""

_SPACE = " \t\r\n"
_DECODER = json.JSONDecoder(strict=False)


def entries(file: Opened) -> Iterator[Entry]:
    """Yield an entry for each paper in the document. Raises InputError at the line where it is broken."""
    text = _Text(blocks(file.stream, file.notices), file.source.name)
    number = 0
    while text.peek():
        if in_list := text.peek() == "[":
            text.step()
        while text.peek() and not (in_list and text.peek() == "]"):
            line = text.line
            value = text.value()
            number += 1
            for paper in papers(value):
                if paper.values is None:
                    file.notices.broken(f"record {number} is {paper.found}{paper.place}; expected an object", line)
                else:
                    yield Entry(f"record {number}{paper.place}", paper.values, extras=True)
            if not in_list:
                break
            text.end_of_item()
        if in_list:
            if not text.peek():
                raise InputError(file.source.name, "not JSON: the list isn't closed; is the file whole?", text.line)
            text.step()


@dataclass(slots=True)
class _Text:
    """The part of a document that is being read; `place` is how far, `line` the physical line of that, from 1."""

    source: Iterator[str]
    name: str
    buffer: str = ""
    place: int = 0
    line: int = 1
    ended: bool = field(default=False)

    def peek(self) -> str:
        """Return the next character that isn't white space, "" at the end."""
        while True:
            while self.place < len(self.buffer):
                if self.buffer[self.place] not in _SPACE:
                    return self.buffer[self.place]
                self.step()
            if not self._more():
                return ""

    def step(self) -> None:
        """Go past one character."""
        self.line += self.buffer[self.place] == "\n"
        self.place += 1

    def end_of_item(self) -> None:
        """Go past the comma after an item. Raises InputError if neither one nor the end of the list stands there."""
        following = self.peek()
        if following == ",":
            self.step()
        elif following not in ("]", ""):
            raise InputError(self.name, f"not JSON: found {following!r} after an item; expected ',' or ']'", self.line)

    def value(self) -> object:
        """Return the next value. Raises InputError for what isn't JSON, and for more than MAX_VALUE."""
        wanted = 0
        while True:
            try:
                value, end = _DECODER.raw_decode(self.buffer, self.place)
            except RecursionError as e:
                raise InputError(self.name, "not JSON that can be read: nested too deep", self.line) from e
            except ValueError as e:
                wanted = max(2 * (len(self.buffer) - self.place), 1)
                if self._goes_on(e) and self._fill(wanted):
                    continue
                line = self.line + self.buffer.count("\n", self.place, getattr(e, "pos", self.place))
                raise InputError(self.name, f"not JSON: {json_fault(e)}; expected a list of objects", line) from e
            if end == len(self.buffer) and self._more():  # a number may go on
                continue
            self.line += self.buffer.count("\n", self.place, end)
            self.place = end
            return value

    def _goes_on(self, error: ValueError) -> bool:
        """May more of the file mend this error? It stands at the end of what is read so far, or a string is open."""
        if not isinstance(error, json.JSONDecodeError):
            return False
        return error.pos >= len(self.buffer) - 16 or error.msg.startswith("Unterminated string")

    def _fill(self, wanted: int) -> bool:
        """Read until the value that begins here has `wanted` characters, or to the end; False if there is no more."""
        if len(self.buffer) - self.place > MAX_VALUE:
            problem = f"a JSON value of over {MAX_VALUE >> 20} MiB; write it as JSON lines (jq -c '.notes[]' FILE)"
            raise InputError(self.name, problem, self.line)
        parts, length = [self.buffer[self.place :]], len(self.buffer) - self.place
        before = length
        while length < wanted and (block := self._next()):
            parts.append(block)
            length += len(block)
        self.buffer, self.place = "".join(parts), 0
        return length > before

    def _more(self) -> bool:
        """Read one block more; False at the end."""
        block = self._next()
        if block:
            self.buffer, self.place = self.buffer[self.place :] + block, 0
        return bool(block)

    def _next(self) -> str:
        """Return the next block that isn't empty, "" at the end."""
        while not self.ended:
            block = next(self.source, None)
            self.ended = block is None
            if block:
                return block
        return ""
