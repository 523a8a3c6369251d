"""Makes pages of templates: Jinja2 with everything escaped, and the few ways in which values are shown.

It knows no page. No text from the database is ever marked as safe HTML, so none can be anything but text.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse

from extract import __version__

HERE = Path(__file__).parent
STATIC = HERE / "static"


@dataclass(frozen=True, slots=True)
class Entry:
    """A link in the head of every page: to the route `name`; `key` is pressed after g."""

    name: str
    title: str
    key: str


NAVIGATION = (
    Entry("claims", "Claims", "c"),
    Entry("review", "Review", "e"),
    Entry("runs", "Runs", "u"),
    Entry("plots", "Plots", "p"),
    Entry("sql", "SQL", "s"),
    Entry("views", "Views", "v"),
)


def make_templates() -> Environment:
    """The templates and what they can use; StrictUndefined, so that a misspelt name fails a test and not a reader."""
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "number": number,
        "count": count,
        "when": when,
        "dollars": dollars,
        "short": short,
        "iso": iso,
        "pair": pair,
    }
    made.globals |= {"asset": asset, "csrf_field": _csrf_field, "named": named, "version": __version__}
    made.globals |= {"navigation": NAVIGATION, "with_query": with_query}
    return made


def render(
    request: Request, templates: Environment, name: str, context: Mapping[str, object], status: int = 200
) -> HTMLResponse:
    """A page of this template, which sees the request as `request` and its state's `csrf`."""
    html = templates.get_template(name).render(
        {"request": request, "csrf": getattr(request.state, "csrf", ""), **context}
    )
    return HTMLResponse(html, status_code=status)


def is_partial(request: Request) -> bool:
    """Whether htmx asks, and for a part of a page: then the part alone is the answer."""
    return request.headers.get("HX-Request") == "true" and request.headers.get("HX-History-Restore-Request") != "true"


def with_query(path: str, parameters: Mapping[str, object]) -> str:
    """A path with a query of the parameters that say something."""
    said = {key: value for key, value in parameters.items() if value not in (None, "")}
    return f"{path}?{urlencode(said)}" if said else path


@cache
def _stamp() -> str:
    """A hash of all static files: in their addresses, so that modules that import each other have it in common."""
    whole = hashlib.sha256()
    for file in sorted(path for path in STATIC.rglob("*") if path.is_file()):
        whole.update(file.read_bytes())
    return whole.hexdigest()[:10]


def asset(name: str) -> str:
    """The address of a file of `static/`, which changes with any of them, so that it may be cached for ever."""
    return f"/static/{_stamp()}/{name}"


@pass_context
def _csrf_field(context: Context) -> Markup:
    return Markup('<input type="hidden" name="csrf" value="{}">').format(context["csrf"])


def number(value: float | None) -> str:
    """A value as it is read: grouped thousands, no digits that aren't there, nothing for None."""
    if value is None:
        return ""
    if abs(value) >= 1e15 or value != value:
        return f"{value:g}"
    return f"{value:,.10f}".rstrip("0").rstrip(".") if abs(value) >= 1e-6 or value == 0 else f"{value:.6g}"


def count(value: int) -> str:
    """A count, its thousands grouped."""
    return f"{value:,}"


def when(time: datetime | None) -> str:
    """A time in UTC to the second, nothing for None."""
    return "" if time is None else _utc(time).strftime("%Y-%m-%d %H:%M:%S")


def iso(time: datetime) -> str:
    """A time for a machine, as `<time datetime>` wants it."""
    return _utc(time).isoformat(timespec="seconds")


def _utc(time: datetime) -> datetime:
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


def dollars(cost_usd: float | None) -> str:
    """A cost: `$0.0123`, `$0`, or that it is unknown."""
    return "unknown" if cost_usd is None else f"${cost_usd:,.4f}" if cost_usd else "$0"


def short(text: object, characters: int) -> str:
    """A text of at most so many characters; a longer one ends in …."""
    whole = str(text)
    return whole if len(whole) <= characters else whole[: characters - 1].rstrip() + "…"


def named(title: str | None, text: str) -> str:
    """What a paper is called: its title, or how its abstract begins."""
    return short(title, 160) if title else short(" ".join(text[:400].split()), 90)


def pair(value: str) -> tuple[str, str]:
    """A choice that is shown as it is."""
    return value, value
