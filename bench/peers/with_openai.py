"""The bare client: `chat.completions.create` with a JSON schema, tasks under a semaphore, replies through Pydantic."""

import asyncio
from typing import Any, cast

import openai

from bench.peers.asking import Paper, messages
from bench.peers.driving import KEY, MODEL, Task, read_task


async def ask_all(task: Task) -> list[dict[str, Any]]:
    """The answers, in the order of the abstracts."""
    client = openai.AsyncOpenAI(base_url=task.base_url, api_key=KEY, max_retries=0)
    free = asyncio.Semaphore(task.in_flight)
    schema = {"name": "Paper", "strict": True, "schema": Paper.model_json_schema()}

    async def ask(text: str) -> dict[str, Any]:
        async with free:
            reply = await client.chat.completions.create(
                model=MODEL,
                messages=cast(Any, messages(text)),
                response_format=cast(Any, {"type": "json_schema", "json_schema": schema}),
            )
        return Paper.model_validate_json(reply.choices[0].message.content or "").model_dump()

    return await asyncio.gather(*map(ask, task.texts))


if __name__ == "__main__":
    given = read_task()
    given.finish(asyncio.run(ask_all(given)))
