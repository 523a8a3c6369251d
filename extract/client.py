"""Asks an endpoint about a record: instructor for form and re-asks, over a `create` of our own that keeps each call.

In that `create` stands all that happens to a single call: budget, rate, retry of transient faults, the row of the
attempt, and what instructor would take for bad JSON though it isn't (a refusal, a filtered or cut reply). Nothing is
asked for by `context=`: instructor would render the messages as templates and lose the braces of LaTeX.
"""

import asyncio
import hashlib
import json
import logging
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast
from urllib.parse import unquote, urlsplit

import instructor
import openai
from instructor.core.exceptions import InstructorRetryException
from openai.types.chat import ChatCompletion, ChatCompletionMessage, ChatCompletionMessageFunctionToolCall
from openai.types.chat.chat_completion_message_function_tool_call import Function

from extract.budget import Budget, Hold
from extract.claims import Derived
from extract.conversation import CURRENT, Conversation, response_model, unwrapped
from extract.errors import CallError, ClaimbaseError, FatalError
from extract.failures import failure_of, nothing_answered, shortened, status_failure, unsupported_parameter
from extract.limiter import Limiter, Slot
from extract.recipe import Recipe
from extract.retry import Tries, retrying
from extract.settings import Endpoint, Patience
from store.rows import Attempt

_MODES = {
    "json_schema": instructor.Mode.JSON_SCHEMA,
    "tools": instructor.Mode.TOOLS,
    "json": instructor.Mode.JSON,
    "md_json": instructor.Mode.MD_JSON,
}
_BYTES_A_TOKEN = 3.0
"""A cautious guess for a request's tokens before the endpoint has said any."""
_CONNECT_S = 10.0
"""A connection that takes longer is not coming."""
_FIRST_TRIES = 2
"""Calls of one reply that no model answered, before a run in which none has yet is given up: a wrong address."""
_SECRET_LENGTH = 8
"""A shorter key is no secret ("none"), and a word of the text as like as not."""

# instructor logs each failed call; those are rows here, and a log might hold what no log should.
logging.getLogger("instructor").addHandler(logging.NullHandler())
logging.getLogger("instructor").propagate = False


@dataclass(frozen=True, slots=True)
class Begun:
    """A call that was made: the time, the clock that its latency is measured by, its request's hash, what it holds."""

    at: datetime
    clock: float
    request_hash: str
    hold: Hold


@dataclass(slots=True)
class _Server:
    """One of an endpoint's servers, and the calls that it has under way."""

    openai: openai.AsyncOpenAI
    in_flight: int = 0

    @asynccontextmanager
    async def counted(self) -> AsyncIterator[None]:
        self.in_flight += 1
        try:
            yield
        finally:
            self.in_flight -= 1


class Client:
    """The way to one endpoint for one run."""

    def __init__(
        self, endpoint: Endpoint, recipe: Recipe, limiter: Limiter, budget: Budget, patience: Patience
    ) -> None:
        self.endpoint, self.recipe, self.patience = endpoint, recipe, patience
        self.limiter, self.budget = limiter, budget
        self.proven = False
        self._bytes_a_token = _BYTES_A_TOKEN
        self._renamed: dict[str, str | None] = {}
        self._secrets = secrets_of(endpoint)
        timeout = openai.Timeout(patience.timeout_s, connect=min(_CONNECT_S, patience.timeout_s))
        self._servers = [
            _Server(openai.AsyncOpenAI(base_url=url, api_key=endpoint.api_key, max_retries=0, timeout=timeout))
            for url in endpoint.base_urls
        ]
        mode = _MODES[recipe.asking.mode]
        create = instructor.patch(create=self._create, mode=mode)
        self._instructor = instructor.AsyncInstructor(client=self._servers[0].openai, create=create, mode=mode)
        self._reply_model = response_model(recipe)
        self._parameters: dict[str, Any] = {"model": recipe.asking.model, "max_tokens": recipe.asking.reply_tokens}
        if recipe.asking.temperature is not None:
            self._parameters["temperature"] = recipe.asking.temperature

    async def ask(self, conversation: Conversation) -> Derived:
        """Return the claims that a record's last good reply comes to; its attempts are in the conversation.

        Raises CallError for a record that got none, FatalError, BudgetReached or RunInterrupted for a run that ends;
        what ends a run doesn't take the good reply that a record has already.
        """
        CURRENT.set(conversation)
        try:
            answer = await self._instructor.chat.completions.create(
                response_model=self._reply_model,
                messages=cast(Any, self.recipe.prompt.messages(conversation.record.text)),
                max_retries=self.recipe.asking.reasks,
                **self._parameters,
            )
            return cast(Derived, answer)
        except InstructorRetryException as e:
            if not isinstance(e.__cause__, ClaimbaseError | ValueError):
                raise (e.__cause__ or e) from None  # a fault of the program itself, which no row should hide
            if (best := conversation.take_best()) is not None:
                return best
            if conversation.error is not None:
                raise conversation.error from None
            words = conversation.attempts[-1].error if conversation.attempts else str(e)
            raise CallError("reply", shortened(words or "no usable reply")) from None

    async def close(self) -> None:
        """Close the connections."""
        for server in self._servers:
            await server.openai.close()

    async def _create(self, **request: Any) -> ChatCompletion:
        """Get one reply, with retries: the function that instructor calls."""
        conversation = CURRENT.get()
        request = self._strict(request)
        tries = Tries()
        try:
            async for attempt in retrying(self.patience, tries, self.limiter.stopping):
                with attempt:
                    return await self._call(conversation, request, tries)
        except ClaimbaseError as e:
            conversation.error = e
            raise
        raise AssertionError("tenacity ends by returning or raising")  # pragma: no cover

    async def _call(self, conversation: Conversation, request: dict[str, Any], tries: Tries) -> ChatCompletion:
        """Make one call, under budget and limiter, and keep its row whatever comes of it."""
        sent = json.dumps(request, sort_keys=True, ensure_ascii=False, default=str).encode("utf-8", "surrogatepass")
        prompt = int(len(sent) / self._bytes_a_token) + 1
        async with (
            self.budget.held(prompt, self.recipe.asking.reply_tokens) as hold,
            self.limiter.slot(prompt) as slot,
        ):
            begun = Begun(datetime.now(UTC), time.perf_counter(), hashlib.sha256(sent).hexdigest()[:20], hold)
            try:
                completion = await self._send(request, slot)
            except CallError as e:
                tries.note(e, lost=slot.lost)
                slot.refused, slot.retry_after_s = e.kind == "rate_limit", e.retry_after_s
                self._keep(conversation, begun, e)
                tries.strange += slot.strange
                if tries.strange >= _FIRST_TRIES and not self.proven:
                    raise FatalError(e.kind, f"no model answers at {self.endpoint.shown}: {e.words}") from e
                raise
            except FatalError as e:
                self._keep(conversation, begun, e)
                raise
            slot.answered = self.proven = True
            self._keep(conversation, begun, completion)
            usage = conversation.attempts[-1]
            if usage.prompt_tokens:
                slot.used = usage.prompt_tokens + (usage.completion_tokens or 0)
                self._bytes_a_token = min(self._bytes_a_token, len(sent) / usage.prompt_tokens)
            self._check(conversation, completion)
            return completion

    async def _send(self, request: dict[str, Any], slot: Slot) -> ChatCompletion:
        """Send a request and return its completion; raise what its failure means."""
        server = min(self._servers, key=lambda s: s.in_flight)
        named = self._named(request)
        try:
            async with asyncio.timeout(self.patience.timeout_s), server.counted():
                raw = await server.openai.chat.completions.with_raw_response.create(**named)
                self.limiter.heed(raw.headers, slot)
                completion = raw.parse()
        except (openai.OpenAIError, TimeoutError, ValueError) as e:
            parameter = unsupported_parameter(e)
            if parameter in named:  # else another call has found that out while this one was under way
                self._renamed[parameter] = "max_completion_tokens" if parameter == "max_tokens" else None
            if parameter in named or (parameter and self._named(request) != named):
                return await self._send(request, slot)
            slot.lost = nothing_answered(e)
            slot.strange = slot.lost or not isinstance(e, openai.APIStatusError | openai.APITimeoutError | TimeoutError)
            raise self._redacted(failure_of(e, proven=self.proven)) from None
        if not is_whole(completion):
            slot.strange = not isinstance(completion, ChatCompletion)
            raise self._redacted(self._error_in(completion))
        return self._cleaned(cast(ChatCompletion, completion))

    def _error_in(self, completion: object) -> CallError | FatalError:
        """Say what a 200 without a completion means: some gateways put the upstream's error in it."""
        extra = getattr(completion, "model_extra", None) or {}
        error = extra.get("error")
        if not isinstance(error, Mapping):
            return CallError("server", "the endpoint's answer holds no completion")
        code = error.get("code")
        status = code if isinstance(code, int) else 500
        return status_failure(status, error, shortened(str(error.get("message") or error)), {}, proven=self.proven)

    def _check(self, conversation: Conversation, completion: ChatCompletion) -> None:
        """Raise CallError for a reply that is whole as an answer but no answer: refused, filtered, or cut off."""
        choice = completion.choices[0]
        error: CallError | None = None
        if choice.message.refusal:
            error = CallError("refusal", self._without_secrets(shortened(choice.message.refusal)))
        elif choice.finish_reason == "content_filter":
            error = CallError("content_filter", "the endpoint's content filter withheld the reply")
        elif choice.finish_reason == "length":
            error = CallError("length", f"the reply was cut off at {self.recipe.asking.reply_tokens} tokens")
        if error:
            conversation.mark(error.kind, error.words)
            raise error
        if not said_in(completion).strip():
            raise conversation.nothing_said()
        if self.recipe.asking.mode == "tools":
            self._as_tool_call(completion)

    def _as_tool_call(self, completion: ChatCompletion) -> None:
        """Take JSON that was said in place of a tool call for one: some servers' models do that."""
        message = completion.choices[0].message
        said = "" if message.tool_calls else unwrapped(message.content or "").strip()
        if said.startswith("{"):
            name = self.recipe.schema.model.__name__
            function = Function(name=name, arguments=said)
            message.tool_calls = [ChatCompletionMessageFunctionToolCall(id="said", type="function", function=function)]

    def _keep(self, conversation: Conversation, begun: Begun, answer: ChatCompletion | CallError | FatalError) -> None:
        """Add the row of a call. Usage is copied here: instructor changes it in place to a sum over calls."""
        completion = answer if isinstance(answer, ChatCompletion) else None
        error = None if isinstance(answer, ChatCompletion) else answer
        prompt, cached, reply = usage_of(completion)
        conversation.attempts.append(
            Attempt(
                record_id=conversation.record.record_id,
                n=len(conversation.attempts) + 1,
                started_at=begun.at,
                latency_ms=(time.perf_counter() - begun.clock) * 1000,
                status="error" if error else "ok",
                error_type=error.kind if error else None,
                error=error.words if error else None,
                request_hash=begun.request_hash,
                reply=said_in(completion) if completion else None,
                finish_reason=completion.choices[0].finish_reason if completion else None,
                prompt_tokens=prompt,
                cached_tokens=cached,
                completion_tokens=reply,
                cost_usd=self._cost(begun.hold, error, (prompt, cached, reply)),
            )
        )

    def _cost(
        self, hold: Hold, error: CallError | FatalError | None, usage: tuple[int | None, int | None, int | None]
    ) -> float | None:
        """Return a call's dollars: nothing for one that was refused, unknown for one that may have been answered."""
        if error is not None and error.kind != "timeout":
            return 0.0
        prompt, cached, reply = usage
        if prompt is None or reply is None:
            return hold.spend_unknown()
        return hold.spend(prompt, cached or 0, reply)

    def _strict(self, request: dict[str, Any]) -> dict[str, Any]:
        """Ask for the schema to be enforced, which instructor doesn't; leave out what only instructor needs."""
        mode = self.recipe.asking.mode
        if mode == "json_schema":
            request["response_format"]["json_schema"]["strict"] = True
            request["response_format"]["json_schema"]["schema"] = self.recipe.sent
        elif mode == "tools":
            function = request["tools"][0]["function"]
            request["tools"] = [{"type": "function", "function": {**function, "strict": True}}]
        return request

    def _named(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Leave out, or name otherwise, the parameters that this endpoint has said it doesn't take."""
        named: dict[str, Any] = {}
        for parameter, value in request.items():
            name: str | None = parameter
            while name in self._renamed:
                name = self._renamed[name]
            if name is not None:
                named[name] = value
        return named

    def _redacted(self, error: CallError | FatalError) -> CallError | FatalError:
        """Take the secrets out of a provider's words, should it echo them."""
        words = self._without_secrets(error.words)
        if isinstance(error, FatalError):
            return FatalError(error.kind, words)
        return CallError(error.kind, words, error.retry_after_s)

    def _cleaned(self, completion: ChatCompletion) -> ChatCompletion:
        """Take the secrets out of what a completion says, should a server echo them there."""
        message = completion.choices[0].message
        message.content = message.content and self._without_secrets(message.content)
        message.refusal = message.refusal and self._without_secrets(message.refusal)
        for call in message.tool_calls or ():
            if isinstance(call, ChatCompletionMessageFunctionToolCall):
                call.function.arguments = self._without_secrets(call.function.arguments or "")
        return completion

    def _without_secrets(self, words: str) -> str:
        for secret in self._secrets:
            words = words.replace(secret, "[secret]")
            cut = next((n for n in range(len(secret) - 1, 3, -1) if words.endswith(f"{secret[:n]}…")), 0)
            words = f"{words[: -cut - 1]}…" if cut else words  # words that were shortened within it
        return words


def said_in(completion: ChatCompletion) -> str:
    """Return what a completion says: the arguments of its tool call, else its content, else its refusal."""
    message = completion.choices[0].message
    for call in message.tool_calls or ():
        if isinstance(call, ChatCompletionMessageFunctionToolCall):
            return call.function.arguments or ""
    return message.content or message.refusal or ""


def usage_of(completion: ChatCompletion | None) -> tuple[int | None, int | None, int | None]:
    """Return the tokens that a completion says it took: of the prompt, of its cached part, of the reply."""
    usage = completion.usage if completion else None
    if usage is None:
        return None, None, None
    details = usage.prompt_tokens_details
    counts = (usage.prompt_tokens, details.cached_tokens if details else None, usage.completion_tokens)
    prompt, cached, reply = (n if isinstance(n, int) else None for n in counts)  # the client doesn't check types
    return prompt, cached, reply


def secrets_of(endpoint: Endpoint) -> tuple[str, ...]:
    """Return what must never be shown or stored: the key, and a password in an address."""
    passwords = [urlsplit(url).password or "" for url in endpoint.base_urls]
    known = {endpoint.api_key, *passwords, *map(unquote, passwords)}
    return tuple(sorted((s for s in known if len(s) >= _SECRET_LENGTH), key=len, reverse=True))


def is_whole(completion: object) -> bool:
    """Is this a completion with a message in it? The client builds its types from whatever JSON came, unchecked."""
    if not isinstance(completion, ChatCompletion) or not isinstance(completion.choices, list) or not completion.choices:
        return False
    message = getattr(completion.choices[0], "message", None)
    if not isinstance(message, ChatCompletionMessage) or not isinstance(message.content, str | None):
        return False
    return isinstance(message.refusal, str | None) and isinstance(message.tool_calls, list | None)
