"""One record in, one outcome out. A model's errors become rows; only what ends a whole run is raised."""

import json
from datetime import UTC, datetime

from extract.client import Client
from extract.conversation import Conversation
from extract.errors import CallError, Kind
from extract.recipe import Recipe
from store.rows import Outcome, Record


class Extractor:
    """Extracts one record at a time by a recipe; any number may be under way at once."""

    def __init__(self, recipe: Recipe, client: Client) -> None:
        self.recipe = recipe
        self.client = client

    async def extract(self, record: Record) -> Outcome:
        """Return a record's outcome, with its attempts and evidence.

        Raises FatalError, BudgetReached or RunInterrupted, and nothing else that an endpoint does.
        """
        conversation = Conversation(self.recipe, record)
        if not _is_text(record.text):
            return _failed(
                conversation, "text", "the text holds half a surrogate pair: it can't be sent, mend its encoding"
            )
        try:
            derived = await self.client.ask(conversation)
        except CallError as e:
            return _failed(conversation, e.kind, e.words)
        return Outcome(
            record_id=record.record_id,
            status="done",
            error_type=None,
            error=None,
            value=json.dumps(derived.value, ensure_ascii=False, separators=(",", ":")),
            finished_at=datetime.now(UTC),
            attempts=tuple(conversation.attempts),
            evidence=tuple(derived.evidence),
        )


def _failed(conversation: Conversation, kind: Kind, words: str) -> Outcome:
    attempts = tuple(conversation.attempts)
    return Outcome(conversation.record.record_id, "failed", kind, words, None, datetime.now(UTC), attempts)


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
