"""Says what an error from an endpoint means: the one place that sorts them into kinds.

It knows the openai client's exceptions and the error bodies of OpenAI-compatible servers. It retries nothing.
"""

import asyncio
import email.utils
import re
import time
from collections.abc import Mapping
from typing import Any

import openai

from extract.errors import CallError, FatalError

WORDS = 300
"""Characters of a provider's message that are kept."""

_TOO_LONG = re.compile(r"context[ _](length|size|window)|maximum context|too (long|large|many tokens)", re.IGNORECASE)
_FILTERED = re.compile(r"content[ _-]?(filter|policy|management)|safety system", re.IGNORECASE)
_UNPAID = re.compile(r"insufficient_quota|billing|credit|payment|insufficient balance", re.IGNORECASE)
_SCHEMA = re.compile(r"response_format|json_?schema|\bschema\b|grammar|\btools?\b|function", re.IGNORECASE)
_NO_CONNECTION = ("ConnectError", "ConnectTimeout")
_PARAMETERS = ("temperature", "max_tokens", "max_completion_tokens")


def failure_of(error: Exception, *, proven: bool) -> CallError | FatalError:
    """Return what an exception of the openai client means for a run.

    `proven`: has a call of this run been answered yet? A 400 that fits no known kind is a fault of one record in a run
    that works, and of all in one that never has.
    """
    if isinstance(error, openai.APITimeoutError | asyncio.TimeoutError) and not nothing_answered(error):
        return CallError("timeout", "no answer in time")
    if isinstance(error, openai.APIConnectionError):
        cause = error.__cause__ or error
        return CallError("connection", shortened(str(cause)) or f"the connection broke ({type(cause).__name__})")
    if isinstance(error, openai.APIStatusError):
        body = error.body if isinstance(error.body, Mapping) else {}
        return status_failure(error.status_code, body, words_of(error), error.response.headers, proven=proven)
    if isinstance(error, openai.APIError | ValueError):
        return CallError("server", shortened(f"the endpoint's answer can't be read: {error}"))
    raise error


def nothing_answered(error: Exception) -> bool:
    """Is this an error of a call for which no connection could be made at all (none there, no route, bad TLS)?

    Told by name: which library makes the connections is the openai client's own affair.
    """
    return isinstance(error, openai.APIConnectionError) and type(error.__cause__).__name__ in _NO_CONNECTION


def status_failure(
    status: int, body: Mapping[str, Any], words: str, headers: Mapping[str, str], *, proven: bool
) -> CallError | FatalError:
    """Return what an HTTP status with an error body means."""
    code = f"{body.get('code') or ''} {body.get('type') or ''}"
    said = f"{status}: {words}"
    if status in (401, 403):
        return FatalError("auth", said)
    if status == 404:
        return FatalError("not_found", said)
    if status == 402 or (status == 429 and _UNPAID.search(f"{code} {words}")):
        return FatalError("payment", said)
    if status == 429:
        return CallError("rate_limit", said, retry_after_s(headers))
    if status in (408, 409) or status >= 500:
        return CallError("timeout" if status == 408 else "server", said, retry_after_s(headers))
    return _refused_request(code, words, said, proven=proven)


def _refused_request(code: str, words: str, said: str, *, proven: bool) -> CallError | FatalError:
    """Sort a 400, 413, 422: about this text, or about the way that all are asked?"""
    both = f"{code} {words}"
    if _FILTERED.search(both):
        return CallError("content_filter", said)
    if _TOO_LONG.search(both) or said.startswith("413"):
        return CallError("too_long", said)
    if _SCHEMA.search(both) or not proven:
        return FatalError("schema" if _SCHEMA.search(both) else "bad_request", said)
    return CallError("bad_request", said)


def unsupported_parameter(error: Exception) -> str | None:
    """Return the parameter that a 400 complains of, if it is one that a call can do without or name otherwise."""
    if not isinstance(error, openai.BadRequestError):
        return None
    body = error.body if isinstance(error.body, Mapping) else {}
    named = body.get("param")
    if named in _PARAMETERS:
        return str(named)
    words = words_of(error)
    if "unsupported" in words.lower() or "not support" in words.lower():
        return next((p for p in _PARAMETERS if f"'{p}'" in words or f"`{p}`" in words), None)
    return None


def words_of(error: openai.APIStatusError) -> str:
    """Return the provider's own words: the message of its error body, else the body's beginning."""
    body = error.body
    if isinstance(body, Mapping):
        message = body.get("message") or body.get("detail") or body.get("error")
        if message:
            return shortened(str(message))
    return shortened(str(body or error.message))


def shortened(words: str) -> str:
    """Put words on one line of at most WORDS characters."""
    line = " ".join(words.split())
    return line if len(line) <= WORDS else f"{line[: WORDS - 1]}…"


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds an endpoint asks to be left alone: Retry-After, as a number or a date (RFC 9110, 10.2.3).

    The finer `retry-after-ms` that OpenAI sends goes first. None where there is none, or it can't be read.
    """
    try:
        if milliseconds := headers.get("retry-after-ms"):
            return max(0.0, float(milliseconds) / 1000)
        value = headers.get("retry-after")
        if not value:
            return None
        if re.fullmatch(r"\s*\d+(\.\d+)?\s*", value):
            return float(value)
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None
