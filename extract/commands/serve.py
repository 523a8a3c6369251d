"""The command `serve`: the web app over a database, until it is stopped."""

import ipaddress
import secrets
from typing import TYPE_CHECKING, Annotated

import typer

from extract.console import DEFAULT_DB, Db, reporting_errors, say
from extract.errors import SettingsError

if TYPE_CHECKING:
    from extract.web.safety import Door

PORT = 8765


def add_to(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command()(serve)


@reporting_errors
def serve(
    db: Db = DEFAULT_DB,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; all but loopback needs the token it prints.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65_535, help="The port; 0 takes a free one.")] = PORT,
    token: Annotated[
        str | None, typer.Option(metavar="TEXT", help="Ask for this token; unless given, one is made if needed.")
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", metavar="HOST", help="A name that browsers call this server by; may be given again."),
    ] = None,
    schema: Annotated[
        list[str] | None,
        typer.Option(
            "--schema",
            metavar="FILE.py:Class",
            help="A schema of your own whose claims can be corrected; may be given again.",
        ),
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Show the database in the browser, to look at, ask and review.

    It listens on loopback, reads while a run goes on, and is stopped with Ctrl-C.
    """
    try:
        from extract.web.serving import listen
    except ModuleNotFoundError as error:
        raise SettingsError(f"serve needs {error.name!r}; install it with: pip install 'claimbase[web]'") from error
    from schemas.registry import load_schema
    from store.db import Store

    Store(db).check()
    schemas = [load_schema(spec) for spec in schema or ()]
    listen(db, door_for(host, token, name or ()), host, port, say, schemas=schemas, open_browser=open_browser)


def door_for(host: str, token: str | None, names: list[str] | tuple[str, ...]) -> "Door":
    """Who may come in: on loopback whoever is on this machine, elsewhere who has the token, which is made if not given.

    Raises SettingsError for a token that is too short to keep anyone out.
    """
    from extract.web.safety import Door, is_loopback, loopback_names, own_names

    if token is not None and len(token) < 12:
        raise SettingsError("a --token needs 12 characters or more; leave it out, and one is made")
    extra = frozenset(name.lower() for name in names)
    if is_loopback(host):
        return Door(loopback_names() | {host.lower()} | extra, token)
    return Door(own_names(host) | extra, token or secrets.token_urlsafe(18), any_address=_is_wildcard(host))


def _is_wildcard(host: str) -> bool:
    """Whether an address means all of this machine's, so that which ones it has can't be listed."""
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False
