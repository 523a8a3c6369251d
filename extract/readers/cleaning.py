r"""Makes an abstract the text that a person would read, by what its format puts into it.

Only what a format brings is undone: wrapped lines everywhere, marks and entities where data comes from the web or a
publisher, LaTeX where it is BibTeX's. LaTeX that an abstract itself holds (`17.06\%`, `$x^2$`) stays as it is, and so
do control characters and halves of surrogate pairs: the extractor refuses what can't be sent, in a row of its own.
"""

import re
from typing import Literal

from extract.readers.latex import unescaped
from extract.readers.markup import unmarked

Form = Literal["plain", "marked", "bibtex"]
"""What stands in a text: words alone; also entities and tags; also the escapes of BibTeX."""

_PARAGRAPH = re.compile(r"[ \t]*\r?\n[ \t]*(?:\r?\n[ \t]*)+")
_HYPHEN_WRAP = re.compile(r"(?<=[a-z]-)[ \t]*\r?\n[ \t]*(?=[a-z])(?!(?:and|or|to|nor)\b)")
_WRAP = re.compile(r"[ \t]*[\r\n]+[ \t]*")


def cleaned(text: str, form: Form) -> str:
    """Return `text` as a person would read it, its paragraphs divided by a blank line."""
    if form == "bibtex":
        text = unescaped(text)
    if form != "plain":
        text = unmarked(text)
    return unwrapped(text)


def unwrapped(text: str) -> str:
    """Return `text` with wrapped lines joined by a space; a word broken after its hyphen gets none."""
    text = text.strip()
    if "\n" not in text and "\r" not in text:
        return text
    return "\n\n".join(_WRAP.sub(" ", _HYPHEN_WRAP.sub("", paragraph.strip())) for paragraph in _PARAGRAPH.split(text))
