"""What every page works with: the database, the templates, and how a page is made of both. It knows no page."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from jinja2 import Environment
from starlette.requests import Request
from starlette.responses import HTMLResponse

from extract.web.reads import Reads
from extract.web.rendering import make_templates, render
from schemas.registry import LoadedSchema
from store.db import Store


@dataclass(frozen=True, slots=True)
class Site:
    """One database and what shows it."""

    reads: Reads
    templates: Environment = field(default_factory=make_templates)
    schemas: Mapping[str, LoadedSchema] = field(default_factory=dict)
    """The schemas of one's own that the server was told of, by their fingerprints."""

    @property
    def db(self) -> Path:
        """The database's file."""
        return self.reads.path

    @property
    def store(self) -> Store:
        """The database as the engine sees it. What of it writes must stand in `with site.reads.alone()`."""
        return Store(self.reads.path, self.reads.wait_s)

    def render(self, request: Request, name: str, status: int = 200, **context: object) -> HTMLResponse:
        """A page of a template; `db_name` and the parameters of `context` are in it."""
        known: Mapping[str, object] = {"db_name": self.db.name, **context}
        return render(request, self.templates, name, known, status)


def site_of(request: Request) -> Site:
    """The site that a request is to."""
    site = request.app.state.site
    assert isinstance(site, Site)
    return site
