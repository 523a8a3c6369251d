"""Which record a prompt is about: the keys, marker words or whole texts, that stand in it.

It finds keys as they are written; it doesn't fold white space or mark-up. Finding costs about the prompt's length,
not the number of keys, so that thousands of whole abstracts can be keys.
"""

import hashlib
import re
from collections.abc import Iterable

_LONGEST_MARKER = 31
_WORD = re.compile(r"\w+")


def short_key(text: str) -> str:
    """A name for a text in statistics: the text itself if short, else `sha256:` and 16 digits of its hash."""
    if len(text) <= 64:
        return text
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class KeyIndex:
    """The known keys. A key of up to 31 characters is a marker, which must stand as words of its own: `paper-1` is
    not found in `paper-12`. A longer key is a text, and found wherever it stands.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self._markers: dict[str, list[str]] = {}
        self._texts: dict[tuple[str, ...], list[str]] = {}
        for key in sorted({key.strip() for key in keys} - {""}):
            words = _WORD.findall(key)
            if len(key) <= _LONGEST_MARKER:
                # Markers of one family (`rec-1`, `rec-2`) differ at their end: the last word tells them apart.
                self._markers.setdefault(words[-1] if words else "", []).append(key)
            else:
                # What surrounds a text can run into its first or last word, but not into those between.
                inner = tuple(words[1:4]) if len(words) > 4 else ()
                self._texts.setdefault(inner, []).append(key)

    def find(self, text: str) -> tuple[str, ...]:
        """Every key that stands in the text, last the one to go by: the last text, else the longest marker.

        The last text, because examples come before the abstract that they explain.
        """
        words = _WORD.findall(text)
        return (*self._markers_in(text, words), *self._texts_in(text, words))

    def _markers_in(self, text: str, words: list[str]) -> list[str]:
        if not self._markers:
            return []
        candidates = (key for word in {"", *words} for key in self._markers.get(word, ()))
        return sorted((key for key in candidates if _stands_alone(key, text)), key=lambda key: (len(key), key))

    def _texts_in(self, text: str, words: list[str]) -> list[str]:
        if not self._texts:
            return []
        runs = {(), *zip(words, words[1:], words[2:], strict=False)}
        candidates = (key for inner in runs for key in self._texts.get(inner, ()))
        return sorted(
            (key for key in candidates if key in text), key=lambda key: (text.rfind(key) + len(key), len(key))
        )


def _stands_alone(key: str, text: str) -> bool:
    """Whether the key occurs with no letter, digit or underscore running on past either of its ends."""
    start = text.find(key)
    while start >= 0:
        end = start + len(key)
        runs_on = _joined(text[start - 1 : start], key[0]) or _joined(key[-1], text[end : end + 1])
        if not runs_on:
            return True
        start = text.find(key, start + 1)
    return False


def _joined(left: str, right: str) -> bool:
    """Whether two neighbouring characters (either may be missing) belong to one word."""
    return bool(_WORD.fullmatch(left) and _WORD.fullmatch(right))
