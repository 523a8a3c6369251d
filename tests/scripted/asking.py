"""Asking a scripted server through the real openai client, as tests do."""

import asyncio

import openai
from openai.types.chat import ChatCompletion

from tests.scripted.launch import SpawnedServer, ThreadedServer
from tests.scripted.replies import Mode

Server = ThreadedServer | SpawnedServer
TOOLS: dict[str, object] = {"tools": [{"type": "function", "function": {"name": "Paper", "parameters": {}}}]}
SCHEMA: dict[str, object] = {"response_format": {"type": "json_schema", "json_schema": {"name": "Paper", "schema": {}}}}
EXTRA: dict[Mode, dict[str, object]] = {"tools": TOOLS, "json": SCHEMA, "chat": {}}


async def ask_async(
    client: openai.AsyncOpenAI, text: str, mode: Mode = "json", model: str = "m", timeout: float = 30
) -> ChatCompletion:
    """One chat request with the text wrapped in `<a>`, the answer asked for in this mode."""
    return await client.chat.completions.create(
        model=model,
        messages=[{"role": "system", "content": "Extract."}, {"role": "user", "content": f"<a>{text}</a>"}],
        extra_body=EXTRA[mode],
        timeout=timeout,
    )


def connect(server: Server, key: str = "any") -> openai.AsyncOpenAI:
    """A client without retries; close it, or use it in `async with`."""
    return openai.AsyncOpenAI(base_url=server.base_url, api_key=key, max_retries=0)


def ask(server: Server, text: str, mode: Mode = "json", key: str = "any", timeout: float = 30) -> ChatCompletion:
    """`ask_async` with a client and an event loop of its own."""

    async def run() -> ChatCompletion:
        async with connect(server, key) as client:
            return await ask_async(client, text, mode, timeout=timeout)

    return asyncio.run(run())


def content(reply: ChatCompletion) -> str:
    """The first choice's content."""
    return reply.choices[0].message.content or ""


def in_tools(reply: ChatCompletion) -> str:
    """The arguments of the call to `Paper`."""
    calls = reply.choices[0].message.tool_calls
    assert calls and calls[0].type == "function" and calls[0].function.name == "Paper"
    return calls[0].function.arguments
