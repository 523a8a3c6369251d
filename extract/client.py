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

import instructor
import openai
from instructor.core.exceptions import IncompleteOutputException, InstructorRetryException
from openai.types.chat import ChatCompletion, ChatCompletionMessageFunctionToolCall
from openai.types.chat.chat_completion_message_function_tool_call import Function

from extract.budget import Budget
from extract.claims import Derived
from extract.conversation import CURRENT, Conversation, response_model, unwrapped
from extract.errors import CallError, ClaimbaseError, FatalError
from extract.failures import failure_of, shortened, status_failure, unsupported_parameter
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
_CHARS_A_TOKEN = 3.0
"""A cautious guess for a prompt's tokens before the endpoint has said any."""
_REFUSED_TRIES = 2
"""Connections refused before a run in which no call was ever answered is given up."""
_KEY_LENGTH = 8
"""A shorter key is no secret ("none"), and a word of the text as like as not."""

# instructor logs each failed call; those are rows here, and a log might hold what no log should.
logging.getLogger("instructor").addHandler(logging.NullHandler())
logging.getLogger("instructor").propagate = False


@dataclass(frozen=True, slots=True)
class Begun:
    """When a call was made: the time, and the clock that its latency is measured by."""

    at: datetime
    clock: float


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
        self._chars_a_token = _CHARS_A_TOKEN
        self._renamed: dict[str, str | None] = {}
        self._servers = [
            _Server(
                openai.AsyncOpenAI(base_url=url, api_key=endpoint.api_key, max_retries=0, timeout=patience.timeout_s)
            )
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

        Raises CallError for a record that got none, FatalError, BudgetReached or RunInterrupted for a run that ends.
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
        except (InstructorRetryException, IncompleteOutputException) as e:
            error = conversation.error
            if conversation.best is not None and (error is None or isinstance(error, CallError)):
                return conversation.best
            if error is not None:
                raise error from None
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
        chars = sum(len(str(m.get("content") or "")) for m in request["messages"])
        prompt = int(chars / self._chars_a_token) + 1
        async with (
            self.budget.reserved(prompt, self.recipe.asking.reply_tokens),
            self.limiter.slot(prompt) as slot,
        ):
            begun = Begun(datetime.now(UTC), time.perf_counter())
            try:
                completion = await self._send(request, slot)
            except CallError as e:
                tries.note(e)
                slot.refused, slot.retry_after_s = e.kind == "rate_limit", e.retry_after_s
                self._keep(conversation, request, begun, e)
                if e.kind == "connection" and not self.proven and tries.counted >= _REFUSED_TRIES:
                    raise FatalError("connection", f"nothing answers at {self.endpoint.shown}: {e.words}") from e
                raise
            except FatalError as e:
                self._keep(conversation, request, begun, e)
                raise
            slot.answered = self.proven = True
            self._keep(conversation, request, begun, completion)
            usage = conversation.attempts[-1]
            if usage.prompt_tokens:
                slot.used = usage.prompt_tokens + (usage.completion_tokens or 0)
                self._chars_a_token = min(self._chars_a_token, chars / usage.prompt_tokens) or _CHARS_A_TOKEN
            self._check(conversation, completion)
            return completion

    async def _send(self, request: dict[str, Any], slot: Slot) -> ChatCompletion:
        """Send a request and return its completion; raise what its failure means."""
        server = min(self._servers, key=lambda s: s.in_flight)
        try:
            async with asyncio.timeout(self.patience.timeout_s), server.counted():
                raw = await server.openai.chat.completions.with_raw_response.create(**self._named(request))
                self.limiter.heed(raw.headers)
                completion = raw.parse()
        except (openai.OpenAIError, TimeoutError, ValueError) as e:
            parameter = unsupported_parameter(e)
            if parameter and parameter not in self._renamed:
                self._renamed[parameter] = "max_completion_tokens" if parameter == "max_tokens" else None
                return await self._send(request, slot)
            raise self._redacted(failure_of(e, proven=self.proven)) from None
        if not isinstance(completion, ChatCompletion) or not completion.choices:
            raise self._redacted(self._error_in(completion))
        return completion

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
            error = CallError("refusal", self._without_key(shortened(choice.message.refusal)))
        elif choice.finish_reason == "content_filter":
            error = CallError("content_filter", "the endpoint's content filter withheld the reply")
        elif choice.finish_reason == "length":
            error = CallError("length", f"the reply was cut off at {self.recipe.asking.reply_tokens} tokens")
        if error:
            conversation.mark(error.kind, error.words)
            raise error
        if self.recipe.asking.mode == "tools" and not choice.message.tool_calls and choice.message.content:
            self._as_tool_call(completion)

    def _as_tool_call(self, completion: ChatCompletion) -> None:
        """Take JSON that was said in place of a tool call for one: some servers' models do that."""
        message = completion.choices[0].message
        said = unwrapped(message.content or "").strip()
        if said.startswith("{"):
            name = self.recipe.schema.model.__name__
            function = Function(name=name, arguments=said)
            message.tool_calls = [ChatCompletionMessageFunctionToolCall(id="said", type="function", function=function)]

    def _keep(
        self,
        conversation: Conversation,
        request: Mapping[str, Any],
        begun: Begun,
        answer: ChatCompletion | ClaimbaseError,
    ) -> None:
        """Add the row of a call. Usage is copied here: instructor changes it in place to a sum over calls."""
        completion = answer if isinstance(answer, ChatCompletion) else None
        error = answer if isinstance(answer, CallError | FatalError) else None
        usage = completion.usage if completion else None
        details = usage.prompt_tokens_details if usage else None
        tokens = (
            (usage.prompt_tokens, details.cached_tokens if details else None, usage.completion_tokens) if usage else ()
        )
        prompt, cached, reply = tokens or (None, None, None)
        said = said_in(completion) if completion else None
        conversation.attempts.append(
            Attempt(
                record_id=conversation.record.record_id,
                n=len(conversation.attempts) + 1,
                started_at=begun.at,
                latency_ms=(time.perf_counter() - begun.clock) * 1000,
                status="error" if error else "ok",
                error_type=error.kind if error else None,
                error=error.words if error else None,
                request_hash=request_hash(request),
                reply=self._without_key(said) if said else said,
                finish_reason=completion.choices[0].finish_reason if completion else None,
                prompt_tokens=prompt,
                cached_tokens=cached,
                completion_tokens=reply,
                cost_usd=self._cost(error, prompt, cached, reply),
            )
        )

    def _cost(
        self, error: CallError | FatalError | None, prompt: int | None, cached: int | None, reply: int | None
    ) -> float | None:
        """Return a call's dollars: nothing for one that was refused, unknown for one that may have been answered."""
        if error is not None and error.kind != "timeout" and self.budget.price is not None:
            return 0.0
        return self.budget.spend(prompt, cached, reply)

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
        renamed = {self._renamed.get(k, k): v for k, v in request.items()}
        return {k: v for k, v in renamed.items() if k is not None}

    def _redacted(self, error: CallError | FatalError) -> CallError | FatalError:
        """Take the key out of a provider's words, should it echo it."""
        if self._without_key(error.words) == error.words:
            return error
        words = self._without_key(error.words)
        return FatalError(error.kind, words) if isinstance(error, FatalError) else CallError(error.kind, words)

    def _without_key(self, words: str) -> str:
        return words.replace(self.endpoint.api_key, "[key]") if len(self.endpoint.api_key) >= _KEY_LENGTH else words


def said_in(completion: ChatCompletion) -> str:
    """Return what a completion says: the arguments of its tool call, else its content, else its refusal."""
    message = completion.choices[0].message
    for call in message.tool_calls or ():
        if isinstance(call, ChatCompletionMessageFunctionToolCall):
            return call.function.arguments or ""
    return message.content or message.refusal or ""


def request_hash(request: Mapping[str, Any]) -> str:
    """Return a hash of all that is sent, so that equal requests can be told in the table of attempts."""
    whole = json.dumps(request, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:20]
