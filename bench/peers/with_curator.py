"""bespokelabs-curator: an `LLM` with a response format, over all abstracts, its cache switched off."""

from typing import Any

from bespokelabs import curator  # type: ignore[import-not-found]  # lives in an environment of its own

from bench.peers.asking import Paper, messages
from bench.peers.driving import KEY, MODEL, Task, read_task


class Extractor(curator.LLM):  # type: ignore[misc]
    """Asks for the claims of an abstract."""

    response_format = Paper

    def prompt(self, row: dict[str, str]) -> list[dict[str, str]]:
        """The messages about a row's abstract."""
        return messages(row["abstract"])

    def parse(self, row: dict[str, str], response: Paper) -> dict[str, Any]:
        """A row of what came of it."""
        return response.model_dump()


def extract_all(task: Task) -> list[dict[str, Any]]:
    """A row an abstract."""
    extractor = Extractor(
        model_name=MODEL,
        backend="openai",
        backend_params={
            "base_url": task.base_url,
            "api_key": KEY,
            "max_concurrent_requests": task.in_flight,
            "max_requests_per_minute": 10_000_000,
            "max_tokens_per_minute": 10_000_000_000,
        },
    )
    found = extractor([{"abstract": text} for text in task.texts])
    rows = found.dataset if hasattr(found, "dataset") else found
    return [dict(row) for row in rows]


if __name__ == "__main__":
    given = read_task()
    given.finish(extract_all(given))
