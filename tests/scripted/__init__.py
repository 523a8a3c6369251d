"""An OpenAI-compatible server on loopback that answers, dawdles and fails as a script says.

    with running(Script(answers={"alpha": paper(task="parsing")}, rules=(once(faults.Malformed()),))) as server:
        client = AsyncOpenAI(base_url=server.base_url, api_key="any", max_retries=0)

It knows OpenAI's wire format and nothing of the engine that is tested against it.
"""

from tests.scripted import faults
from tests.scripted.launch import SpawnedServer, ThreadedServer, running, spawned
from tests.scripted.model import Stats
from tests.scripted.records import short_key
from tests.scripted.replies import Answer, Asked, answer_from_gold, number, paper
from tests.scripted.script import Limits, Rule, Script, always, first, nth, once

__all__ = [
    "Answer",
    "Asked",
    "Limits",
    "Rule",
    "Script",
    "SpawnedServer",
    "Stats",
    "ThreadedServer",
    "always",
    "answer_from_gold",
    "faults",
    "first",
    "nth",
    "number",
    "once",
    "paper",
    "running",
    "short_key",
    "spawned",
]
