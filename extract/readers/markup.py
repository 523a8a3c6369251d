"""Turns the marks of HTML, JATS and MathML inside an abstract into text a person would read.

What marks change the meaning of is written out: `10<sup>5</sup>` becomes `10^5`, never `105`. Only tags that those
languages have, and that are closed somewhere, are taken for tags: `p<q and r>s` and `$a<b>c$` stay as they are. LaTeX
is none of its business.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

_BREAKS = frozenset({"p", "br", "sec", "div", "li", "list", "list-item", "ul", "ol", "tr", "td", "th"})
_INLINE = frozenset(
    "i b em strong italic bold u sc tt span a sub sup inf monospace underline small font ext-link xref named-content "
    "styled-content title abstracttext inline-formula disp-formula tex-math alternatives fixed-case h1 h2 h3 h4".split()
)
_MATH = frozenset(
    "math mi mn mo mtext mrow msup msub msubsup mfrac msqrt mover munder mstyle mspace mfenced semantics annotation "
    "mtable mtr mtd mover munderover mpadded none mmultiscripts".split()
)
_KNOWN = _BREAKS | _INLINE | _MATH
_TITLES = frozenset({"title", "h1", "h2", "h3", "h4"})
_TAG = re.compile(
    r"<(?P<end>/?)(?:jats:|mml:|ns\d+:)?(?P<name>[A-Za-z][A-Za-z0-9-]*)"
    r"(?:\s+[\w:.-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'))*\s*(?P<empty>/?)>"
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_BETWEEN = {"msup": "^", "msub": "_", "mfrac": "/", "mover": "^", "munder": "_"}
_RAISED = re.compile(r"[+\-−–]?(?:\d[\d.,]*|[a-z])", re.IGNORECASE)


def unmarked(text: str) -> str:
    """Return `text` with entities undone and tags turned into text; the same object where there are none."""
    if "&" in text:
        text = _ENTITY.sub(lambda found: html.unescape(found[0]), text)
        text = _ENTITY.sub(lambda found: html.unescape(found[0]), text)  # `&amp;lt;`, escaped by two programs
    if "<" not in text:
        return text
    tags = [found for found in _TAG.finditer(text) if found["name"].lower() in _KNOWN]
    alone = _BREAKS | {found["name"].lower() for found in tags if found["end"]}
    writer, place = _Writer(), 0
    for found in tags:
        name = found["name"].lower()
        if name in alone or found["empty"]:
            writer.text(text[place : found.start()])
            _step(writer, name, ends=bool(found["end"]), empty=bool(found["empty"]))
            place = found.end()
    if not place:
        return text
    writer.text(text[place:])
    return writer.result()


def text_of(element: Element) -> str:
    """Return the text of an XML element, its marks turned into text. White space is as it stands."""
    writer = _Writer()
    for event in _events(element):
        if isinstance(event, tuple):
            writer.start(event[0]) if event[1] else writer.end(event[0])
        else:
            writer.text(event)
    return writer.result()


def local_name(tag: object) -> str:
    """Return the name of a tag without its namespace; empty for a comment or an instruction."""
    return tag.rpartition("}")[2].lower() if isinstance(tag, str) else ""


def _step(writer: "_Writer", name: str, *, ends: bool, empty: bool) -> None:
    if not ends:
        writer.start(name)
    if ends or empty or name == "br":
        writer.end(name)


def _events(root: Element) -> Iterator[str | tuple[str, bool]]:
    """Yield an element's text, and (name, starts or ends) for the elements in it; without recursion."""
    yield root.text or ""
    stack = [(root, iter(root))]
    while stack:
        element, children = stack[-1]
        child = next(children, None)
        if child is None:
            stack.pop()
            if stack:
                yield local_name(element.tag), False
                yield element.tail or ""
        elif isinstance(child.tag, str):
            yield local_name(child.tag), True
            yield child.text or ""
            stack.append((child, iter(child)))
        else:
            yield child.tail or ""


@dataclass(slots=True)
class _Open:
    """An element that isn't closed yet: its own pieces, and how many children it has had."""

    name: str
    pieces: list[str] = field(default_factory=list)
    children: int = 0


@dataclass(slots=True)
class _Writer:
    """Builds text from starts, ends and text; an end without a start is passed over, a start without an end closed."""

    stack: list[_Open] = field(default_factory=lambda: [_Open("")])

    def text(self, text: str) -> None:
        self.stack[-1].pieces.append(text)

    def start(self, name: str) -> None:
        parent = self.stack[-1]
        parent.children += 1
        if parent.name in _BETWEEN and parent.children == 2:
            parent.pieces.append(_BETWEEN[parent.name])
        if parent.name == "msubsup" and parent.children > 1:
            parent.pieces.append("_" if parent.children == 2 else "^")
        self.stack.append(_Open(name))

    def end(self, name: str) -> None:
        if all(element.name != name for element in self.stack[1:]):
            return
        while len(self.stack) > 1:
            ended = self.stack[-1].name
            self._close()
            if ended == name:
                return

    def result(self) -> str:
        while len(self.stack) > 1:
            self._close()
        return "".join(self.stack[0].pieces)

    def _close(self) -> None:
        element = self.stack.pop()
        before = self.stack[-1].pieces
        content = "".join(element.pieces)
        if self.stack[-1].name == "alternatives" and self.stack[-1].children > 1:
            if element.name != "tex-math":  # the same formula again
                return
            before.clear()
        if element.name in ("sup", "sub"):
            before.append(_moved(element.name, content, before))
        elif element.name == "tex-math":
            before.append(content if "$" in content or "\\begin" in content else f"${content.strip()}$")
        elif element.name in _TITLES:
            before.append(_heading(content))
        elif element.name in _BREAKS:
            before.append(f"\n{content}\n" if content.strip() or element.name == "br" else content)
        elif element.name == "mtext" or element.name not in _MATH:
            before.append(content)
        else:
            before.append(content.strip())


def _moved(name: str, content: str, before: list[str]) -> str:
    """Return what is raised or lowered, with a mark where the meaning hangs on it: `10^5`, but `CO2` and `5th`."""
    if before and "\n" in before[-1][len(before[-1].rstrip()) :]:  # a line break of the file's layout
        before[-1] = before[-1].rstrip()
    marked = _RAISED.fullmatch(content.strip()) and (name == "sup" or (before and before[-1][-1:].isdigit()))
    return f"{'^' if name == 'sup' else '_'}{content.strip()}" if marked else content


def _heading(content: str) -> str:
    """Return the heading of a part as `Methods: `; that of the whole, `Abstract`, says nothing."""
    words = content.strip().rstrip(":.").strip()
    return "" if not words or words.lower() in ("abstract", "summary") else f"\n{words}: "
