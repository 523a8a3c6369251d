"""The naive loop that many write: instructor over the async client, `asyncio.gather` under a semaphore."""

import asyncio
from typing import Any, cast

import instructor
import openai

from bench.peers.asking import Paper, messages
from bench.peers.driving import KEY, MODEL, Task, read_task


async def ask_all(task: Task) -> list[dict[str, Any]]:
    """The answers, in the order of the abstracts."""
    client = instructor.from_openai(openai.AsyncOpenAI(base_url=task.base_url, api_key=KEY))
    free = asyncio.Semaphore(task.in_flight)

    async def ask(text: str) -> dict[str, Any]:
        async with free:
            paper = await client.chat.completions.create(
                model=MODEL, messages=cast(Any, messages(text)), response_model=Paper
            )
        return paper.model_dump()

    return await asyncio.gather(*map(ask, task.texts))


if __name__ == "__main__":
    given = read_task()
    given.finish(asyncio.run(ask_all(given)))
