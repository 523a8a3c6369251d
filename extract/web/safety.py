"""Who may ask for a page, and what a page may do: checked before any page's code runs.

- The `Host` header must name this server, so that a page elsewhere can't reach it under a name of its own that it has
  pointed at loopback (DNS rebinding).
- With a token, everything but the sign-in page and the static files needs it, as a cookie that the sign-in sets.
- A POST must come from a page of ours: the `Origin`, if one is sent, is this server, and the page's CSRF token is in
  its form or in a header. It is a keyed hash of a random cookie, so another site can neither read nor guess it.
- What another site embeds or fetches (not: a link that a person follows) is refused: a hidden image can't run queries.
- Every answer has a Content-Security-Policy without inline script or style, and the other usual headers.

`docs/web.md` lists the attacks, `tests/test_web_safety.py` tries them. It is plain ASGI, as the app is served.
"""

import hashlib
import hmac
import ipaddress
import re
import secrets
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
SIGN_IN = "/sign-in"
LONGEST_BODY = 1 << 20
"""Bytes of a form; a note or a query is far shorter."""

_SESSION, _TOKEN = "claimbase-session", "claimbase-token"
"""Names of cookies."""

_HOST = re.compile(r"(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[0-9A-Za-z._-]+))(?::\d{1,5})?")
_ELSEWHERE = ("cross-site", "same-site")
"""What browsers say of a request that another origin's page makes; that of another port of this host is `same-site`."""
_SAFE = ("GET", "HEAD", "OPTIONS")
_OPEN_TO_ALL = (SIGN_IN, "/static/")
"""The beginnings of paths that need no token."""


@dataclass(frozen=True, slots=True)
class Door:
    """Who may come in. `hosts` are the names that this server answers to; `token` None: whoever reaches it.

    `any_address`: a literal address is one of its names too. Rebinding needs a name, so an address is safe.
    """

    hosts: frozenset[str]
    token: str | None = None
    any_address: bool = False
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32))

    def answers_to(self, host: str) -> bool:
        """Whether a `Host` header names this server; its port doesn't matter."""
        name = host_name(host)
        return name in self.hosts or (self.any_address and _is_address(name))

    def admits(self, token: str) -> bool:
        """Whether a token is the right one, in a time that doesn't tell how much of it is."""
        return self.token is None or hmac.compare_digest(token.encode(), self.token.encode())

    def csrf_of(self, session: str) -> str:
        """The CSRF token of a session."""
        return hmac.new(self.secret, session.encode(), hashlib.sha256).hexdigest()


def loopback_names() -> frozenset[str]:
    """The names of this machine for itself."""
    return frozenset(("127.0.0.1", "localhost", "::1"))


def own_names(bound: str) -> frozenset[str]:
    """The names that a server bound to an address that others reach may be called by."""
    return loopback_names() | {bound.lower(), socket.gethostname().lower(), socket.getfqdn().lower()}


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine reaches a server bound to this."""
    return host.lower() == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def host_name(host: str) -> str:
    """The name or address in a `Host` header, in lower case, without port and brackets; empty if it is none."""
    found = _HOST.fullmatch(host)
    return (found["address"] or found["name"]).lower() if found else ""


def form_of(request: Request) -> Mapping[str, str]:
    """The fields of a form that was posted; of one given twice the last."""
    form: Mapping[str, str] = request.state.form
    return form


class Guard:
    """The app behind the door."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app = app
        self._door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through to the app, or answer it with what is wrong."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers, cookies = Headers(scope=scope), _cookies(scope)
        session = cookies.get(_SESSION, "")
        fresh = not session
        if fresh:
            session = secrets.token_urlsafe(24)
        state = scope.setdefault("state", {})
        state["csrf"] = self._door.csrf_of(session)
        state["cross_site"] = headers.get("sec-fetch-site") in _ELSEWHERE
        sent = _Sender(send, f"{_SESSION}={session}; Path=/; HttpOnly; SameSite=Strict" if fresh else None)
        refusal = self._refusal(scope, headers, cookies)
        if refusal is None and scope["method"] not in _SAFE:
            body = await _body(receive)
            refusal = self._refusal_of_post(headers, body, state)
            receive = _replay(body or b"", receive)
        await (refusal or self._app)(scope, receive, sent)

    def _refusal(self, scope: Scope, headers: Headers, cookies: Mapping[str, str]) -> Response | None:
        if not self._door.answers_to(headers.get("host", "")):
            return _refused(421, "this server has another name; open it by the address that `claimbase serve` printed")
        if headers.get("sec-fetch-site") in _ELSEWHERE and not _is_followed_link(headers):
            return _refused(403, "another site may link to this page, and no more")
        if scope["path"].startswith(_OPEN_TO_ALL) or self._door.admits(cookies.get(_TOKEN, "")):
            return None
        if scope["method"] == "GET" and _wants_html(headers):
            return RedirectResponse(SIGN_IN, 303)
        return _refused(401, "sign in first")

    def _refusal_of_post(self, headers: Headers, body: bytes | None, state: dict[str, object]) -> Response | None:
        if body is None:
            return _refused(413, f"more than {LONGEST_BODY:,} bytes")
        if (origin := headers.get("origin")) is not None and not _same_origin(origin, headers.get("host", "")):
            return _refused(403, "the form is another site's")
        form: dict[str, str] = {}
        if headers.get("content-type", "").partition(";")[0].strip().lower() == "application/x-www-form-urlencoded":
            form = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
        given = headers.get("x-csrf-token") or form.pop("csrf", "")
        if not hmac.compare_digest(given.encode(), str(state["csrf"]).encode()):
            return _refused(403, "the page is from before the server was started anew; load it again")
        state["form"] = form
        return None


class _Sender:
    """Sends an answer with the headers that every one has."""

    def __init__(self, send: Send, cookie: str | None) -> None:
        self._send = send
        self._cookie = cookie

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("Cache-Control", "no-cache, private")
            if self._cookie:
                headers.append("Set-Cookie", self._cookie)
        await self._send(message)


def signed_in(token: str, response: Response) -> Response:
    """The response, with the cookie that holds the token."""
    response.set_cookie(_TOKEN, token, max_age=30 * 86_400, httponly=True, samesite="lax")
    return response


def _refused(status: int, why: str) -> Response:
    return PlainTextResponse(f"Refused: {why}.\n", status)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_followed_link(headers: Headers) -> bool:
    return headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"


def _wants_html(headers: Headers) -> bool:
    return "text/html" in headers.get("accept", "") and "hx-request" not in headers


def _same_origin(origin: str, host: str) -> bool:
    return urlsplit(origin).netloc.lower() == host.lower()


def _cookies(scope: Scope) -> dict[str, str]:
    try:
        parsed = SimpleCookie(Headers(scope=scope).get("cookie", ""))
    except CookieError:
        return {}
    return {name: morsel.value for name, morsel in parsed.items()}


async def _body(receive: Receive) -> bytes | None:
    """The whole body, None if it is longer than a form may be."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return bytes(body)
        body += message.get("body", b"")
        if len(body) > LONGEST_BODY:
            return None
        if not message.get("more_body", False):
            return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
