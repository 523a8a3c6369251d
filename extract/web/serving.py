"""Runs the web app under uvicorn: one process, one event loop, threads for what waits on the database."""

import contextlib
import socket
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path

import uvicorn

from extract.errors import SettingsError
from extract.web.app import make_app
from extract.web.safety import SIGN_IN, Door
from schemas.registry import LoadedSchema

Say = Callable[[str], None]


def listen(
    db: Path,
    door: Door,
    host: str,
    port: int,
    say: Say,
    *,
    schemas: Sequence[LoadedSchema] = (),
    open_browser: bool = False,
) -> None:
    """Serve until Ctrl-C. Says the address once connections are taken. Raises SettingsError if it can't listen."""
    bound = _bind(host, port)
    url = address(host, bound.getsockname()[1], door)
    app = make_app(db, door, schemas=schemas)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=2,
        lifespan="off",  # or a second Ctrl-C shows a traceback of it
    )
    say(f"{db} at {url}  (Ctrl-C stops)")
    if open_browser:
        webbrowser.open(url)
    with contextlib.suppress(KeyboardInterrupt):  # how it is stopped; uvicorn passes the signal on when all is closed
        uvicorn.Server(config).run(sockets=[bound])
    app.state.site.reads.close()


def address(host: str, port: int, door: Door) -> str:
    """What to open in a browser; with the token, if there is one."""
    shown = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)  # noqa: S104
    url = f"http://{f'[{shown}]' if ':' in shown else shown}:{port}/"
    return url if door.token is None else f"{url.rstrip('/')}{SIGN_IN}?token={door.token}"


def _bind(host: str, port: int) -> socket.socket:
    bound = None
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
        bound.listen(128)
    except OSError as error:
        if bound is not None:
            bound.close()
        why = error.strerror or str(error)
        raise SettingsError(f"can't listen on {host}:{port}: {why}; name another with --host and --port") from error
    return bound
