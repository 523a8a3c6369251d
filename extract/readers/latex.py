r"""Undoes the LaTeX that BibTeX is written in: `{\"a}`, `\&`, `{BERT}`, `\emph{…}`, `--`.

Once, and outside of math: what stands between dollars stays as it is, and so does what a program escaped on the way in
(`\textbackslash textbf\{…\}` comes out as `\textbf{…}`). It is for BibTeX alone: abstracts of other formats that hold
LaTeX hold it as their own words.
"""

import re
import unicodedata
from functools import cache

_ACCENTS = {
    "`": "\u0300", "'": "\u0301", "^": "\u0302", "~": "\u0303", '"': "\u0308", "=": "\u0304", ".": "\u0307",
    "u": "\u0306", "v": "\u030c", "H": "\u030b", "c": "\u0327", "k": "\u0328", "r": "\u030a", "d": "\u0323",
    "b": "\u0331",
}  # fmt: skip
_STYLES = frozenset(
    "text textbf textit textrm textsc textsf texttt textnormal textmd textup textsl emph mbox hbox underline uline "
    "url path ensuremath bf it em rm sc tt sf bfseries itshape scshape ttfamily sffamily rmfamily upshape mdseries "
    "tiny small footnotesize normalsize large Large protect relax noindent".split()
)
_SYMBOLS = {
    "textbackslash": "\\", "textasciitilde": "~", "textasciicircum": "^", "textquotesingle": "'",
    "textquotedblleft": "“",
    "textquotedblright": "”", "textquoteleft": "‘", "textquoteright": "’", "textendash": "–", "textemdash": "—",
    "textgreater": ">", "textless": "<", "textbar": "|", "textunderscore": "_", "textdollar": "$", "textpercent": "%",
    "textbraceleft": "{", "textbraceright": "}", "ldots": "…", "dots": "…", "textellipsis": "…", "par": "\n\n",
    "newline": "\n", "i": "ı", "j": "ȷ", "times": "×", "texttimes": "×", "textmu": "µ", "pm": "±", "textpm": "±",
    "sim": "∼", "percent": "%", "space": " ", "textquotedbl": '"', "slash": "/", "textregistered": "®",
    "texttrademark": "™", "textcopyright": "©", "textdegree": "°", "degree": "°",
}  # fmt: skip
_SPACES = {"\\": "\n", " ": " ", "\n": " ", ",": "\u2009", ";": " ", ":": " ", "-": "", "/": "", "@": "", "!": ""}
"""What the commands of one sign print: spaces, breaks, nothing."""
_ESCAPED = frozenset("%&#_${}")
_TOKEN = re.compile(
    r"(?P<math>\$\$[^$]*\$\$|\$(?:\\.|[^$\\])*\$|\\\((?:\\[^)]|[^\\])*\\\)|\\\[(?:\\[^\]]|[^\\])*\\\])"
    r"|\\(?P<accent>[`'^~\"=.]|[uvHckrdb](?![A-Za-z]))\s*(?P<letter>\{\\?[A-Za-z]?\}|\\[ij](?![A-Za-z])|[A-Za-z])"
    r"|\\(?P<raised>textsuperscript|textsubscript)\s*\{(?P<content>[^{}]*)\}"
    r"|\\href\s*\{(?P<link>[^{}]*)\}(?=\s*\{)"
    r"|\\(?P<word>[A-Za-z]+)\*?(?P<gap>\s*)(?P<none>\{\})?(?P<argument>(?=\{))?"
    r"|\\(?P<sign>[^A-Za-z])"
    r"|(?P<brace>[{}])|(?P<quote>``|''|---?|(?<=\S)~)",
    re.DOTALL,
)
_SIGNS = {"``": "“", "''": "”", "--": "–", "---": "—", "~": "\u00a0"}


def unescaped(text: str) -> str:
    """Return `text` as it would be printed, math aside; the same object where nothing of LaTeX is in it."""
    if not any(mark in text for mark in ("\\", "{", "}", "``", "''", "--", "~")):
        return text
    written = _TOKEN.sub(_write, text)
    return unicodedata.normalize("NFC", written) if written != text else text


def _write(found: re.Match[str]) -> str:
    """Return what one token prints; a branch for each kind of them."""
    if found["math"] is not None:
        return found["math"]
    if found["accent"] is not None:
        letter = found["letter"].strip("{}\\")
        return {"i": "i", "j": "j"}.get(letter, letter) + _ACCENTS[found["accent"]] if letter else ""
    if found["raised"] is not None:
        return _raised(found["raised"], found["content"])
    if found["link"] is not None:
        return ""
    if found["word"] is not None:
        return _word(found)
    if found["sign"] is not None:
        return _sign(found["sign"])
    return "" if found["brace"] else _SIGNS[found["quote"]]


def _raised(name: str, content: str) -> str:
    r"""Return `10\textsuperscript{5}` as `^5`, an ordinal's `th` as it is, a subscript plain."""
    raised = name == "textsuperscript" and re.fullmatch(r"[+\-−]?\d+", content.strip())
    return f"^{content.strip()}" if raised else content


def _sign(sign: str) -> str:
    if sign in _ESCAPED:
        return sign
    return _SPACES.get(sign, f"\\{sign}")


def _word(found: re.Match[str]) -> str:
    """Return what a command by name prints: of one that isn't known its argument, else its own name, to be seen."""
    name, gap = found["word"], found["gap"]
    if name in _STYLES:
        return ""
    symbol = _symbol(name)
    if symbol is None:
        return "" if found["argument"] is not None else found[0]
    return symbol + ("" if found["none"] is None else gap)


@cache
def _symbol(name: str) -> str | None:
    """Return the characters of a symbol's command: ours, or pylatexenc's table, which comes with bibtexparser."""
    if name in _SYMBOLS:
        return _SYMBOLS[name]
    from pylatexenc.latex2text import get_default_latex_context_db

    spec = get_default_latex_context_db().get_macro_spec(name)
    symbol = getattr(spec, "simplify_repl", None)
    return symbol if isinstance(symbol, str) and "%" not in symbol and len(symbol) <= 3 else None
