"""Decodes bytes to lines or blocks of text: UTF-8 with or without BOM, UTF-16, Windows-1252 where nothing else fits.

A line that isn't UTF-8 is read as Windows-1252 by itself, so that one stray byte doesn't turn a whole file's letters
into others, and said aloud. What the text means is for the formats.
"""

import codecs
import io
from collections.abc import Callable, Iterator
from typing import BinaryIO

from extract.readers.notices import FileNotices

MAX_LINE = 8 << 20
"""Bytes (in UTF-16: characters) of the longest line that is read: far over any abstract, far under any memory."""

_BLOCK = 1 << 20


def is_utf16(head: bytes) -> str | None:
    """Return the name of the UTF-16 that a file's first bytes are in, by its BOM or its NULs; None if in none."""
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    even, odd = head[0:512:2], head[1:512:2]
    if len(odd) >= 4 and odd.count(0) > 0.4 * len(odd) and not even.count(0):
        return "utf-16-le"
    if len(odd) >= 4 and even.count(0) > 0.4 * len(even) and not odd.count(0):
        return "utf-16-be"
    return None


def decoded_lines(stream: BinaryIO, notices: FileNotices) -> Iterator[tuple[int, str]]:
    """Yield the lines with their physical numbers from 1, without their ends.

    Lines end at LF or CR LF (at CR in a file without an LF): the other separators of Unicode may stand inside an
    abstract. A line of more than MAX_LINE is broken: it is said and passed over.
    """
    encoding = is_utf16(_peek(stream))
    if encoding:
        yield from _utf16_lines(stream, encoding, notices)
        return
    readline, end = _readline(stream)
    number, offset = 0, 0
    while raw := readline(MAX_LINE + 1):
        number += 1
        length = len(raw)
        if length > MAX_LINE:
            while raw and not raw.endswith(end):
                raw = readline(_BLOCK)
                length += len(raw)
            _too_long(notices, number)
        else:
            if number == 1:
                raw = raw.removeprefix(codecs.BOM_UTF8)
            yield number, _decoded(raw, number, offset + length - len(raw), notices).rstrip("\r\n")
        offset += length


def blocks(stream: BinaryIO, notices: FileNotices) -> Iterator[str]:
    """Yield the text in blocks of about a MiB. A block that isn't UTF-8 is read as Windows-1252 from there on."""
    encoding = is_utf16(_peek(stream))
    if encoding not in (None, "utf-16"):
        notices.guessed(f"no byte order mark; read as {str(encoding).upper()}", 1)
    decoder = codecs.getincrementaldecoder(encoding or "utf-8-sig")("replace" if encoding else "strict")
    offset = 0
    while True:
        raw = stream.read(_BLOCK)
        try:
            yield decoder.decode(raw, final=not raw)
        except UnicodeDecodeError as e:
            held = len(e.object) - len(raw)
            notices.guessed(_not_utf8(e.object[e.start], offset - held + e.start))
            yield _as_1252(e.object)  # with what the decoder still held of the block before
            decoder.reset()
        offset += len(raw)
        if not raw:
            return


def _decoded(raw: bytes, number: int, offset: int, notices: FileNotices) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as e:
        notices.guessed(_not_utf8(raw[e.start], offset + e.start), number)
        return _as_1252(raw)


def _not_utf8(byte: int, offset: int) -> str:
    return f"not UTF-8: byte {byte:#04x} at offset {offset}; read as Windows-1252, save it as UTF-8 if that is wrong"


def _as_1252(raw: bytes) -> str:
    """Decode as Windows-1252, with the five bytes that it leaves undefined as in Latin-1."""
    try:
        return raw.decode("cp1252")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _utf16_lines(stream: BinaryIO, encoding: str, notices: FileNotices) -> Iterator[tuple[int, str]]:
    if encoding != "utf-16":
        notices.guessed(f"no byte order mark; read as {encoding.upper()}", 1)
    text = io.TextIOWrapper(stream, encoding=encoding, errors="replace", newline="\n")
    number = 0
    while line := text.readline(MAX_LINE + 1):
        number += 1
        if len(line) > MAX_LINE:
            while line and not line.endswith("\n"):
                line = text.readline(MAX_LINE)
            _too_long(notices, number)
            continue
        yield number, line.rstrip("\r\n")
    text.detach()


def _too_long(notices: FileNotices, number: int) -> None:
    notices.broken(f"a line of over {MAX_LINE >> 20} MiB; expected a record, or a line of one, in less", number)


def _readline(stream: BinaryIO) -> tuple[Callable[[int], bytes], bytes]:
    """Return what reads the next line of at most so many bytes, and how lines end: with LF, or with CR."""
    head = _peek(stream)
    if b"\r" not in head or b"\n" in head:
        return stream.readline, b"\n"
    text = io.TextIOWrapper(stream, encoding="latin-1", newline="\r")
    return lambda size: text.readline(size).encode("latin-1"), b"\r"


def _peek(stream: BinaryIO) -> bytes:
    return stream.peek(1) if isinstance(stream, io.BufferedReader) else b""
