"""The scripted model on a socket: an OpenAI-compatible endpoint on 127.0.0.1, with a few paths to steer it.

POST /v1/chat/completions (not streamed) and GET /v1/models; GET /stats, POST /reset, POST /script (a script as JSON),
POST /outage ({"seconds": S}: connections dropped and the port closed for that long), which need no key.
"""

import asyncio
import socket
import ssl
import struct

from aiohttp import web

from tests.scripted import replies
from tests.scripted.faults import Status
from tests.scripted.model import ScriptedModel
from tests.scripted.script import script_from_json

HOST = "127.0.0.1"
_DRIPS = 20


class ScriptedServer:
    """Serves a scripted model until stopped; lives in one event loop."""

    def __init__(self, model: ScriptedModel, *, port: int = 0, tls: ssl.SSLContext | None = None) -> None:
        self.model = model
        self.port = port
        self._tls = tls
        self._outage: asyncio.Task[None] | None = None
        app = web.Application(client_max_size=64 * 1024**2)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/stats", self._stats)
        app.router.add_post("/reset", self._reset)
        app.router.add_post("/script", self._script)
        app.router.add_post("/outage", self._begin_outage)
        # A client that gives up must free its place at once, so handlers are cancelled with their connection.
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as `base_url`."""
        return f"{'https' if self._tls else 'http'}://{HOST}:{self.port}/v1"

    async def start(self) -> None:
        """Listen; from now on `port` is the real one."""
        await self._runner.setup()
        await self._listen()

    async def stop(self) -> None:
        """Close the port and every connection."""
        if self._outage is not None:
            self._outage.cancel()
        await self._runner.cleanup()

    async def outage(self, seconds: float, spare: object = None) -> None:
        """Drop every connection (but one to be spared) and close the port; it opens again by itself after `seconds`."""
        if self._outage is not None:
            self._outage.cancel()
        for site in list(self._runner.sites):
            await site.stop()
        for connection in self._runner.server.connections if self._runner.server else []:
            if connection is not spare and connection.transport is not None:
                connection.transport.abort()
        self._outage = asyncio.create_task(self._reopen(seconds))

    async def _listen(self) -> None:
        site = web.TCPSite(self._runner, HOST, self.port, ssl_context=self._tls, backlog=1024, reuse_address=True)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def _reopen(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self._listen()

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        self.model.enter()
        try:
            raw = await request.read()
            if not self.model.authorizes(request.headers.get("Authorization")):
                return _response(_unauthorized())
            reply, delay = self.model.answer(raw)
            await asyncio.sleep(delay)
            return await _deliver(request, reply)
        finally:
            self.model.leave()

    async def _models(self, request: web.Request) -> web.Response:
        if not self.model.authorizes(request.headers.get("Authorization")):
            return _response(_unauthorized())
        names = self.model.script.models or ("scripted",)
        data = [{"id": name, "object": "model", "created": 1_700_000_000, "owned_by": "scripted"} for name in names]
        return web.json_response({"object": "list", "data": data})

    async def _stats(self, request: web.Request) -> web.Response:
        stats = self.model.stats()
        counts = {name: getattr(stats, name) for name in type(stats).__slots__}  # asdict can't copy a Counter
        return web.json_response({**counts, "recorded": list(self.model.recorded)})

    async def _reset(self, request: web.Request) -> web.Response:
        self.model.reset()
        return web.json_response({"ok": True})

    async def _script(self, request: web.Request) -> web.Response:
        try:
            self.model.follow(script_from_json(await request.json()))
        except (ValueError, TypeError) as wrong:
            return _response(replies.error(400, f"not a script: {wrong}"))
        return web.json_response({"ok": True})

    async def _begin_outage(self, request: web.Request) -> web.Response:
        seconds = float((await request.json())["seconds"])
        await self.outage(seconds, spare=request.protocol)
        response = web.json_response({"ok": True})
        response.force_close()
        return response


def _unauthorized() -> replies.Reply:
    return Status(401).reply(replies.Asked({}, "chat", "", "", "", ""), {})


def _response(reply: replies.Reply) -> web.Response:
    return web.Response(
        status=reply.status, body=reply.body, headers=list(reply.headers), content_type=reply.content_type
    )


async def _deliver(request: web.Request, reply: replies.Reply) -> web.StreamResponse:
    """The reply as the response to return; if it's to be slow or broken, it has been sent as far as it goes."""
    if reply.delivery == "hang":
        await asyncio.sleep(reply.seconds)
    if reply.delivery in ("whole", "hang"):
        return _response(reply)
    response = web.StreamResponse(status=reply.status, headers=list(reply.headers))
    response.content_type = reply.content_type
    response.content_length = len(reply.body)
    await response.prepare(request)
    if reply.delivery == "slow":
        size = -(-len(reply.body) // _DRIPS)
        for start in range(0, len(reply.body), size):
            await asyncio.sleep(reply.seconds / _DRIPS)
            await response.write(reply.body[start : start + size])
        return response
    await response.write(reply.body[: len(reply.body) // 2])
    if request.transport is not None:
        _break(request.transport, reset=reply.delivery == "reset")
    return response


def _break(transport: asyncio.Transport, *, reset: bool) -> None:
    """Close the connection: with FIN, or at once with RST, which a zero linger time makes of a close."""
    if reset:
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    else:
        transport.close()
