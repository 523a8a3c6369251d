r"""Writes an answer as a LaTeX table in the manner of booktabs; and escapes text for LaTeX, as BibTeX needs it too.

The data is shown as it is written: an abstract's own `\alpha` or `$` comes out as these characters and is never run.
Up to `MOST_ROWS_OF_TABULAR` rows are a `tabular`, which fits into a `table`; more are a `longtable`, which breaks over
pages. Numbers are aligned right; a column of text with a long cell is a paragraph. It makes no preamble.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from store.formats import is_number, shown_cells
from store.query import Result, Row
from store.text import visible

MOST_ROWS_OF_TABULAR = 40

_LOOKED_AT = 1_000  # rows by which the columns' kinds are told
_LONG = 40  # characters
_WRITTEN = {
    **{character: f"\\{character}" for character in "&%$#_"},
    "\\": r"\textbackslash{}",
    # BibTeX counts \{ as a brace.
    "{": r"\textbraceleft{}",
    "}": r"\textbraceright{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    # ¡, ¿ and a dash in LaTeX's first encoding.
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}
# The second half: what the fonts would join with the character after it, into a dash, a quotation mark, ¿ or ¡.
_SPECIAL = re.compile(r"[&%$#_\\{}~^<>|]|-(?=-)|`(?=`)|'(?=')|,(?=,)|[?!](?=`)")


def escaped(text: str) -> str:
    """The text on one line, such that LaTeX prints its characters."""
    return _SPECIAL.sub(lambda found: _WRITTEN.get(found[0]) or found[0] + "{}", visible(text))


def latex_lines(result: Result) -> Iterator[str]:
    """The answer as a table, each piece a line with its end."""
    rows = iter(result.rows)
    first = list(itertools.islice(rows, _LOOKED_AT))
    columns = "".join(_column(number, kind, first) for number, kind in enumerate(result.types))
    head = _line(visible(name) for name in result.columns)
    body = (_line(shown_cells(row)) for row in itertools.chain(first, rows))
    if result.count > MOST_ROWS_OF_TABULAR:
        yield "% \\usepackage{booktabs,longtable}\n"
        yield f"\\begin{{longtable}}{{{columns}}}\n\\toprule\n{head}\\midrule\n\\endhead\n\\bottomrule\n\\endfoot\n"
        yield from body
        yield "\\end{longtable}\n"
    else:
        yield "% \\usepackage{booktabs}\n"
        yield f"\\begin{{tabular}}{{{columns}}}\n\\toprule\n{head}\\midrule\n"
        yield from body
        yield "\\bottomrule\n\\end{tabular}\n"


def _column(number: int, kind: str, rows: Sequence[Row]) -> str:
    if is_number(kind):
        return "r"
    is_long = any(len(str(row[number])) > _LONG for row in rows)
    return r"p{0.3\linewidth}" if is_long else "l"


def _line(cells: Iterable[str]) -> str:
    return " & ".join(_cell(cell) for cell in cells) + " \\\\\n"


def _cell(text: str) -> str:
    # After the \\ of the line before, a bracket or a star would be its argument.
    return f"{{{text[0]}}}{escaped(text[1:])}" if text.startswith(("[", "*")) else escaped(text)
