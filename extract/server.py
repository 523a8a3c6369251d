"""One server of an endpoint: posts requests, and counts the calls that it has under way.

It posts by the openai client's own `post`. `chat.completions.create` walks through a request and its types before that,
to rename what it might have to: nothing in ours, for a quarter of a call's processor time.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import openai
from openai.types.chat import ChatCompletion

_BEARER: openai.RequestOptions = {"security": {"bearer_auth": True}}


class Server:
    """A connection pool to one address. Any number of calls may be under way at once."""

    def __init__(self, base_url: str, api_key: str, timeout: openai.Timeout) -> None:
        self.openai = openai.AsyncOpenAI(base_url=base_url, api_key=api_key, max_retries=0, timeout=timeout)
        self.in_flight = 0

    @asynccontextmanager
    async def counted(self) -> AsyncIterator[None]:
        """Count a call while the block runs."""
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1

    async def post(self, request: dict[str, Any]) -> httpx2.Response:
        """Post a request for a completion; return the response. Raises openai's errors, also for an error status."""
        return await self.openai.post("/chat/completions", cast_to=httpx2.Response, body=request, options=_BEARER)

    async def close(self) -> None:
        """Close the connections."""
        await self.openai.close()


def answer_in(response: httpx2.Response) -> object:
    """Return the completion that a response holds, its types unchecked, or else what does stand there.

    Raises ValueError for what is said to be JSON and isn't.
    """
    if "json" not in response.headers.get("content-type", ""):
        return response.text
    said = response.json()
    return ChatCompletion.construct(**said) if isinstance(said, dict) else said
