"""Faults in how the reply comes: error statuses, rate limits, bodies of another kind, broken and slow connections.

Cut, reset, slow and hung replies are only marked as such here; the server carries them out. What the model itself
says wrong is in `bad_answers`.
"""

import json
import math
import time
from dataclasses import dataclass, replace
from email.utils import formatdate
from typing import Literal

from tests.scripted.replies import Answer, Asked, Reply, dumps, error, said

RetryAfterForm = Literal["seconds", "date", "ms", "none"]

# Type, code and message of OpenAI's errors; 402 and 529 are other providers', in the same shape.
_ERRORS: dict[int, tuple[str, str | None, str]] = {
    400: ("invalid_request_error", None, "Invalid request."),
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided."),
    402: ("billing_error", "payment_required", "Insufficient balance."),
    403: ("invalid_request_error", "unsupported_country_region_territory", "You are not allowed to do this."),
    404: ("invalid_request_error", "model_not_found", "The model does not exist or you do not have access to it."),
    408: ("timeout", None, "Request timed out."),
    409: ("conflict", None, "The resource is locked by another request."),
    429: ("requests", "rate_limit_exceeded", "Rate limit reached for requests."),
    500: ("server_error", None, "The server had an error while processing your request."),
    502: ("server_error", None, "Bad gateway."),
    503: ("server_error", None, "The engine is currently overloaded, please try again later."),
    529: ("overloaded_error", None, "Overloaded."),
}


@dataclass(frozen=True, slots=True)
class Status:
    """An error status with OpenAI's body for it, or with a body and headers of your own."""

    code: int
    body: str | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        if self.body is not None:
            return Reply(self.code, self.body.encode(), self.headers, content_type="text/plain")
        kind, code, message = _ERRORS.get(self.code, ("server_error", None, f"Status {self.code}."))
        return error(self.code, message, kind=kind, code=code, headers=self.headers)


@dataclass(frozen=True, slots=True)
class RateLimited:
    """A 429 that says when to come back, in one of the forms in use, or doesn't say."""

    retry_after: float = 1.0
    form: RetryAfterForm = "seconds"

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        return rate_limited(self.retry_after, self.form)


def rate_limited(seconds: float, form: RetryAfterForm) -> Reply:
    """A 429; `Retry-After` holds whole seconds or a date (both rounded up), `retry-after-ms` milliseconds."""
    headers = {
        "seconds": (("Retry-After", str(math.ceil(seconds))),),
        "date": (("Retry-After", formatdate(math.ceil(time.time() + seconds), usegmt=True)),),
        "ms": (("retry-after-ms", f"{seconds * 1000:.0f}"),),
        "none": (),
    }[form]
    kind, code, message = _ERRORS[429]
    return error(429, message, kind=kind, code=code, headers=headers)


@dataclass(frozen=True, slots=True)
class InsufficientQuota:
    """A 429 that waiting doesn't mend: no money left."""

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        message = "You exceeded your current quota, please check your plan and billing details."
        return error(429, message, kind="insufficient_quota", code="insufficient_quota")


@dataclass(frozen=True, slots=True)
class ContextLength:
    """A 400 for a prompt longer than the model's context."""

    limit: int = 8192

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        message = (
            f"This model's maximum context length is {self.limit} tokens. "
            f"However, your messages resulted in {asked.prompt_tokens} tokens."
        )
        return error(400, message, code="context_length_exceeded", param="messages")


@dataclass(frozen=True, slots=True)
class InvalidSchema:
    """A 400 on the schema that was sent with the request."""

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        message = (
            "Invalid schema for response_format: 'additionalProperties' is required to be supplied and to be false."
        )
        return error(400, message, param="response_format")


@dataclass(frozen=True, slots=True)
class ErrorIn200:
    """An error's body under status 200, as gateways send when the provider behind them fails."""

    code: int = 502
    message: str = "Provider returned error"

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        return Reply(200, json.dumps({"error": {"message": self.message, "code": self.code}}).encode())


@dataclass(frozen=True, slots=True)
class NotJsonBody:
    """A web page under status 200, as a captive portal or a wrong base URL answers."""

    html: str = "<!doctype html><title>Sign in</title><p>Please sign in to the network.</p>"

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        return Reply(200, self.html.encode(), content_type="text/html")


@dataclass(frozen=True, slots=True)
class Reset:
    """The connection is reset (RST) with half of the right reply sent."""

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        return replace(said(asked, dumps(answer)), delivery="reset")


@dataclass(frozen=True, slots=True)
class Cut:
    """The connection is closed (FIN) with half of the right reply sent."""

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        return replace(said(asked, dumps(answer)), delivery="cut")


@dataclass(frozen=True, slots=True)
class SlowBody:
    """The right reply, its body dripping in over `seconds`."""

    seconds: float

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        return replace(said(asked, dumps(answer)), delivery="slow", seconds=self.seconds)


@dataclass(frozen=True, slots=True)
class Hang:
    """Nothing for `seconds`, then the right reply if the client is still there."""

    seconds: float

    def reply(self, asked: Asked, answer: Answer) -> Reply:
        return replace(said(asked, dumps(answer)), delivery="hang", seconds=self.seconds)
