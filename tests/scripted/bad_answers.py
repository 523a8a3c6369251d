"""Faults in what the model says: replies with status 200 whose content, or envelope, is not what was asked for.

Statuses, rate limits and broken connections are in `bad_responses`; `faults` lists both.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from tests.scripted.replies import Answer, Asked, Reply, completion, content_only, dumps, error, number, said


@dataclass(frozen=True, slots=True)
class Malformed:
    """An answer that isn't JSON."""

    text: str = '{"task": "broken", "method": '

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        return said(asked, self.text)


@dataclass(frozen=True, slots=True)
class Truncated:
    """The answer's first half, with `finish_reason` length."""

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        text = dumps(answer)
        return said(asked, text[: len(text) // 2], finish="length")


@dataclass(frozen=True, slots=True)
class Empty:
    """No content at all: an empty string, or null."""

    null: bool = False

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        return content_only(asked, None if self.null else "")


@dataclass(frozen=True, slots=True)
class Refusal:
    """The model declines: null content and a `refusal`."""

    text: str = "I'm sorry, I can't help with that."

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        return content_only(asked, None, refusal=self.text)


@dataclass(frozen=True, slots=True)
class ContentFilter:
    """The provider's filter: a 200 with `finish_reason` content_filter, or, as Azure does for a prompt, a 400."""

    as_error: bool = False

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        if self.as_error:
            return error(400, "The response was filtered by the content policy.", code="content_filter", param="prompt")
        return content_only(asked, None, finish="content_filter")


@dataclass(frozen=True, slots=True)
class WrongTypes:
    """Every field of the answer with another type than it should have."""

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        return said(asked, dumps({name: {"value": value} for name, value in answer.items()}))


@dataclass(frozen=True, slots=True)
class ExtraFields:
    """The answer with a field more, on its top level and in each object of its lists."""

    name: str = "confidence"
    value: float = 0.9

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        fields = {name: [self._more(x) for x in v] if isinstance(v, list) else v for name, v in answer.items()}
        return said(asked, dumps(self._more(fields)))

    def _more(self, value: object) -> object:
        return {**value, self.name: self.value} if isinstance(value, Mapping) else value


@dataclass(frozen=True, slots=True)
class Fenced:
    """The answer in a Markdown fence, asked for or not."""

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        fenced = f"```json\n{dumps(answer)}\n```"
        return said(asked, fenced) if asked.mode == "tools" else content_only(asked, fenced)


@dataclass(frozen=True, slots=True)
class Thinking:
    """A `<think>` block before the answer; in TOOLS mode it is the content beside the call."""

    text: str = "The abstract says {so}, hence..."

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        return _around(asked, f"<think>\n{self.text}\n</think>\n\n", answer, "")


@dataclass(frozen=True, slots=True)
class Prose:
    """Sentences around the answer; in TOOLS mode they are the content beside the call."""

    before: str = "Here is what the abstract says:\n\n"
    after: str = "\n\nLet me know if you need anything else."

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        return _around(asked, self.before, answer, self.after)


def _around(asked: Asked, before: str, answer: Answer, after: str) -> Reply:
    if asked.mode == "tools":
        return said(asked, dumps(answer), beside=before + after)
    return content_only(asked, before + dumps(answer) + after)


@dataclass(frozen=True, slots=True)
class PlainInTools:
    """A right answer as plain content although a tool call was asked for."""

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        return content_only(asked, dumps(answer))


@dataclass(frozen=True, slots=True)
class AbsentQuote:
    """The answer with a quote more, which the text doesn't hold, in the list `field` of strings or headline numbers."""

    quote: str = "123.45 parsecs"
    field: str = "headline_numbers"

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        found = answer.get(self.field)
        quotes = list(found) if isinstance(found, list) else []
        strings = bool(quotes) and isinstance(quotes[0], str)
        quotes.append(self.quote if strings or self.field != "headline_numbers" else number(self.quote))
        return said(asked, dumps({**answer, self.field: quotes}))


@dataclass(frozen=True, slots=True)
class NoUsage:
    """A right answer without `usage`, as some local servers send."""

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        return _edited(said(asked, dumps(answer)), usage=None)


@dataclass(frozen=True, slots=True)
class NoChoices:
    """A completion with an empty list of choices."""

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        return _edited(completion(asked, {}, "", finish="stop"), choices=[])


def _edited(reply: Reply, **fields: object) -> Reply:
    body = {**json.loads(reply.body), **fields}
    return replace(reply, body=json.dumps({name: v for name, v in body.items() if v is not None}).encode())
