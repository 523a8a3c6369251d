"""What goes on about one record while it is being asked: its attempts, and the judging of each reply.

instructor parses a reply by calling `model_validate_json` of the response model. That model, made once a run, hands the
reply to the conversation of the record at hand (a context variable: each record is a task of its own), which checks it
against the schema and the text, and either accepts it or says in a few short lines what to ask again for.
"""

from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from instructor.core.exceptions import ResponseParsingError
from instructor.processing.function_calls import ResponseSchema
from openai.types.chat import ChatCompletion
from pydantic import BaseModel

from extract.certainty import Certainties
from extract.claims import Derived, derive
from extract.errors import ClaimbaseError, Kind
from extract.failures import shortened
from extract.grounding import GroundedText
from extract.recipe import Recipe
from extract.replies import ReplyUnfit, read_reply
from store.rows import Attempt, Record

CURRENT: ContextVar["Conversation"] = ContextVar("conversation")

_FAULTS = 8
"""Faults listed in a re-ask; the history grows with each one, and a model mends a few at a time."""


@dataclass(slots=True)
class FirstReply:
    """A first reply that won't do, and why: instructor is told of it as if its own first call had got it."""

    error: ResponseParsingError
    completion: ChatCompletion | None
    told: bool = False

    def tell(self) -> ChatCompletion:
        """Return the reply, for instructor to parse, once. Raises its error if it said nothing."""
        self.told = True
        if self.completion is None:
            raise self.error
        return self.completion


class Conversation:
    """One record being asked. `attempts` grows by a row a call; `best` is the last reply that fits the schema."""

    def __init__(self, recipe: Recipe, record: Record) -> None:
        self.recipe = recipe
        self.record = record
        self.attempts: list[Attempt] = []
        self.best: Derived | None = None
        self.replies = 0
        self._best_attempt = 0
        self.error: ClaimbaseError | None = None
        self.first: FirstReply | None = None

    @cached_property
    def text(self) -> GroundedText:
        """The record's text, folded once for all replies."""
        return GroundedText(self.record.text)

    def judge(self, reply: str) -> Derived:
        """Return what a reply comes to. Raises ResponseParsingError, which instructor asks again for, if it won't do.

        A reply that fits the schema but has faults (a quote that the text doesn't hold, a unit that it contradicts) is
        asked again too, as long as that may be; the last one is taken without what is wrong in it.
        """
        if self.first is not None:  # judged before instructor was handed it
            raise self.first.error
        self.replies += 1
        try:
            answer = read_reply(self.recipe.schema.model, reply)
            sure = Certainties.of(reply, self.attempts[-1].logprobs) if self.attempts else None
            derived = derive(self.recipe.schema.fields, answer, self.text, sure, dict(self.recipe.asking.calibration))
        except ReplyUnfit as e:
            raise self._rejected(e.faults) from None
        if self.best is None or len(derived.faults) <= len(self.best.faults):
            self.best, self._best_attempt = derived, len(self.attempts) - 1
        if derived.faults and self.replies <= self.recipe.asking.reasks:
            raise self._rejected(derived.faults)
        return derived

    def nothing_said(self) -> ResponseParsingError:
        """Return the error for a reply without content, with its row marked."""
        self.replies += 1
        return self._rejected(["the reply is empty"])

    def take_best(self) -> Derived | None:
        """Return the last reply that fits the schema, faults and all, its row marked as the accepted one."""
        if self.best is not None:
            of = self._best_attempt
            self.attempts[of] = replace(self.attempts[of], status="ok", error_type=None, error=None)
        return self.best

    def mark(self, kind: Kind, words: str) -> None:
        """Mark the last attempt's reply as not accepted."""
        self.attempts[-1] = replace(self.attempts[-1], status="invalid", error_type=kind, error=words)

    def _rejected(self, faults: list[str]) -> ResponseParsingError:
        listed = faults[:_FAULTS] + ([f"and {len(faults) - _FAULTS} more"] if len(faults) > _FAULTS else [])
        self.mark("reply", shortened("; ".join(listed)))
        return ResponseParsingError("\n".join(f"- {line}" for line in listed), mode=self.recipe.asking.mode)


def response_model(recipe: Recipe) -> type[BaseModel]:
    """Return the model that instructor is given: it sends the recipe's schema and hands each reply to `judge`."""

    class Reply(ResponseSchema):
        @classmethod
        def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
            return {"title": recipe.schema.model.__name__, **recipe.sent}

        @classmethod
        def model_validate_json(cls, json_data: str | bytes | bytearray, **kwargs: Any) -> Any:
            return CURRENT.get().judge(json_data if isinstance(json_data, str) else bytes(json_data).decode())

    Reply.__name__ = recipe.schema.model.__name__
    return Reply
