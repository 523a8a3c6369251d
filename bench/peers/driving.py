"""What the peers' drivers share: what they are told, and the one line of JSON that they end with.

    python -m bench.peers.NAME ABSTRACTS.jsonl BASE_URL IN_FLIGHT OUT.jsonl

Runs in a peer's own environment, so it imports the standard library only.
"""

import json
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

MODEL = "gpt-4o-mini"
KEY = "none"


@dataclass(frozen=True, slots=True)
class Task:
    """The abstracts to ask about, where, how many at once, and where to leave what comes of it."""

    texts: list[str]
    base_url: str
    in_flight: int
    out: str
    began: float = field(default_factory=time.perf_counter)

    def finish(self, results: Iterable[object]) -> None:
        """Write the results as JSON lines, and say how long it took since the task was read: imports aren't in it."""
        written = 0
        with open(self.out, "w", encoding="utf-8") as out:
            for result in results:
                out.write(json.dumps(result, ensure_ascii=False) + "\n")
                written += 1
        print(json.dumps({"seconds": time.perf_counter() - self.began, "done": written}))


def read_task() -> Task:
    """Read the task from the command line."""
    path, base_url, in_flight, out = sys.argv[1:5]
    with open(path, encoding="utf-8") as lines:
        texts = [json.loads(line)["abstract"] for line in lines]
    return Task(texts, base_url, int(in_flight), out)
