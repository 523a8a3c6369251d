"""Makes text safe: for DuckDB, whose text is UTF-8 and has no lone surrogates, and for a terminal."""

import re

_SURROGATE = re.compile("[\ud800-\udfff]")
# In JSON text: an escaped backslash (what follows it is text), a whole pair, which stays, or half of a pair.
_ESCAPED = re.compile(
    r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(?P<half>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_SPACES = re.compile(r"[\t\n\x0b\x0c\r\x85\u2028\u2029]+")
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def clean(text: str) -> str:
    """The text with each lone surrogate as U+FFFD, so with all offsets as they were. NUL stays: DuckDB keeps it."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def clean_json(text: str) -> str:
    r"""JSON text with each lone surrogate as U+FFFD, also one that is written as an escape (`\ud800`)."""
    if "\\u" in text:
        text = _ESCAPED.sub(lambda found: "\\ufffd" if found["half"] else found[0], text)
    return clean(text)


def visible(text: str) -> str:
    """The text on one line that moves no cursor and turns no line: white space is a space, other controls are shown.

    C0 controls and DEL become their pictures (ESC is U+241B), C1 controls and marks of direction U+FFFD.
    """
    return _CONTROLS.sub(_picture, _SPACES.sub(" ", text))


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"
