"""Plots as Vega-Lite specifications, made from rows: what is drawn, without a colour. Pure.

Colours and fonts come from the style sheet, in the browser, so that a plot is light or dark as the page is. A datum
with an `href` leads there when it is clicked; the same links stand in the table under each plot.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from extract.web.cells import Column

MARKS = ("bar", "point", "line")
_WIDEST_LABEL = 260
_UPRIGHT = 12
"""So many labels of an axis have room to stand upright."""


@dataclass(frozen=True, slots=True)
class Spec:
    """A plot, and what it shows in a sentence."""

    about: str
    vega: dict[str, Any]


def bars(about: str, rows: Sequence[dict[str, Any]], value_title: str, whole: bool = False) -> Spec:
    """Horizontal bars, the longest first; a row has `name`, `value`, `said` (for the tooltip) and `href`.

    `whole`: the values are counts, so no tick stands between two of them.
    """
    return Spec(
        about,
        {
            "data": {"values": list(rows)},
            "mark": {"type": "bar", "cursor": "pointer", "cornerRadiusEnd": 2},
            "height": {"step": 24},
            "width": "container",
            "encoding": {
                "y": {"field": "name", "type": "nominal", "sort": None, "title": None, **_labels()},
                "x": {
                    "field": "value",
                    "type": "quantitative",
                    "title": value_title,
                    "axis": {"tickMinStep": 1, "format": ",d"} if whole else {"format": "~r"},
                },
                "tooltip": {"field": "said"},
            },
        },
    )


def grid(about: str, rows: Sequence[dict[str, Any]], x_title: str) -> Spec:
    """A table of dots, larger for more; a row has `x`, `name`, `value`, `said` and `href`."""
    return Spec(
        about,
        {
            "data": {"values": list(rows)},
            "mark": {"type": "circle", "cursor": "pointer", "opacity": 0.9},
            "height": {"step": 30},
            "width": "container",
            "encoding": {
                "y": {"field": "name", "type": "nominal", "sort": None, "title": None, **_labels()},
                "x": {"field": "x", "type": "ordinal", "title": x_title, "axis": {"labelAngle": 0, "labelLimit": 120}},
                "size": {"field": "value", "type": "quantitative", "title": "papers", "scale": {"range": [20, 700]}},
                "tooltip": {"field": "said"},
            },
        },
    )


def spread(about: str, rows: Sequence[dict[str, Any]], value_title: str) -> Spec:
    """Dots along a line, one a claim, over a box of their quartiles; a row has `value`, `name`, `said` and `href`."""
    x = {"field": "value", "type": "quantitative", "title": value_title, "scale": {"zero": False}}
    return Spec(
        about,
        {
            "data": {"values": list(rows)},
            "width": "container",
            "height": 220,
            "layer": [
                {"mark": {"type": "boxplot", "extent": "min-max", "size": 60, "opacity": 0.35}, "encoding": {"x": x}},
                {
                    "transform": [{"calculate": "random()", "as": "jitter"}],
                    "mark": {"type": "point", "cursor": "pointer", "size": 70, "filled": True, "opacity": 0.8},
                    "encoding": {
                        "x": x,
                        "y": {
                            "field": "jitter",
                            "type": "quantitative",
                            "axis": None,
                            "scale": {"domain": [-0.6, 1.6]},
                        },
                        "tooltip": {"field": "said"},
                    },
                },
            ],
        },
    )


def of_two(x: Column, y: Column, rows: Sequence[tuple[Any, Any]], mark: str) -> Spec:
    """Two columns of an answer against each other, in the answer's order."""
    values = [{"x": _plain(a), "y": _plain(b)} for a, b in rows if a is not None and b is not None]
    return Spec(
        f"{y.name} by {x.name}",
        {
            "data": {"values": values},
            "mark": {"type": mark, "tooltip": True, **({"filled": True} if mark == "point" else {})},
            "width": "container",
            "height": 320,
            "encoding": {
                "x": _axis("x", x, [one["x"] for one in values]),
                "y": _axis("y", y, [one["y"] for one in values]),
            },
        },
    )


def _axis(field: str, column: Column, values: Sequence[Any]) -> dict[str, Any]:
    axis: dict[str, Any] = {"labelLimit": 160}
    if field == "x" and len(set(values)) <= _UPRIGHT:
        axis["labelAngle"] = 0
    kind = "quantitative" if column.is_number else "temporal" if _is_time(column) else "nominal"
    return {"field": field, "type": kind, "title": column.name, "sort": None, "axis": axis}


def _is_time(column: Column) -> bool:
    return column.kind.upper().startswith(("TIMESTAMP", "DATE"))


def _plain(value: Any) -> Any:
    return value if isinstance(value, (bool, int, float)) else str(value)


def _labels() -> dict[str, Any]:
    return {"axis": {"labelLimit": _WIDEST_LABEL, "ticks": False, "domain": False}}
