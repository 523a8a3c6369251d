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
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

import instructor
import openai
from instructor.core.exceptions import InstructorRetryException, ResponseParsingError
from openai.types.chat import ChatCompletion, ChatCompletionMessageFunctionToolCall
from openai.types.chat.chat_completion_message_function_tool_call import Function

from extract.budget import Budget, Hold
from extract.claims import Derived
from extract.completions import is_whole, logprobs_of, said_in, usage_of
from extract.conversation import CURRENT, Conversation, FirstReply, response_model
from extract.errors import CallError, ClaimbaseError, FatalError
from extract.failures import failure_of, nothing_answered, shortened, status_failure, unsupported_parameter
from extract.first_request import FirstRequest
from extract.limiter import Limiter, Slot
from extract.recipe import Recipe, messages_about
from extract.redaction import Secrets
from extract.replies import unwrapped
from extract.retry import Tries, retrying
from extract.server import Server, answer_in
from extract.settings import Endpoint, Patience
from store.rows import Attempt

_MODES = {
    "json_schema": instructor.Mode.JSON_SCHEMA,
    "tools": instructor.Mode.TOOLS,
    "json": instructor.Mode.JSON,
    "md_json": instructor.Mode.MD_JSON,
}
_POOL = 16
"""Calls that share a pool of connections, which looks at each of its connections at each call."""
_BYTES_A_TOKEN = 3.0
"""A cautious guess for a request's tokens before the endpoint has said any."""
_CONNECT_S = 10.0
"""A connection that takes longer is not coming."""
_FIRST_TRIES = 2
"""Calls of one reply that no model answered, before a run in which none has yet is given up: a wrong address."""

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
        self._secrets = Secrets(endpoint)
        timeout = openai.Timeout(patience.timeout_s, connect=min(_CONNECT_S, patience.timeout_s))
        self._servers = [
            Server(url, endpoint.api_key, timeout) for url in endpoint.base_urls for _ in range(0, limiter.most, _POOL)
        ]
        mode = _MODES[recipe.asking.mode]
        create = instructor.patch(create=self._create, mode=mode)
        self._instructor = instructor.AsyncInstructor(client=self._servers[0].openai, create=create, mode=mode)
        self._reply_model = response_model(recipe)
        self._parameters: dict[str, Any] = {"model": recipe.asking.model, "max_tokens": recipe.asking.reply_tokens}
        if recipe.asking.temperature is not None:
            self._parameters["temperature"] = recipe.asking.temperature
        if recipe.asking.logprobs:
            self._parameters["logprobs"] = True
        self._first = FirstRequest(recipe, mode, self._reply_model, self._parameters)

    async def ask(self, conversation: Conversation) -> Derived:
        """Return the claims that a record's last good reply comes to; its attempts are in the conversation.

        Raises CallError for a record that got none, FatalError, BudgetReached or RunInterrupted for a run that ends;
        what ends a run doesn't take the good reply that a record has already.
        """
        CURRENT.set(conversation)
        if (derived := await self._ask_first(conversation)) is not None:
            return derived
        try:
            answer = await self._instructor.chat.completions.create(
                response_model=self._reply_model,
                messages=cast(
                    Any, messages_about(self.recipe.prompt, conversation.record.text, conversation.record.title)
                ),
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

    async def _ask_first(self, conversation: Conversation) -> Derived | None:
        """Return what the first reply comes to; None if it won't do: instructor is handed it, to ask again.

        Most first replies will do, and instructor's own work on one is a quarter of a call's processor time
        (`docs/decisions/005-thin-first-call.md`).
        """
        completion: ChatCompletion | None = None
        try:
            completion = await self._create(**self._first.about(conversation.record.text, conversation.record.title))
            return conversation.judge(said_in(completion))
        except ResponseParsingError as e:
            conversation.first = FirstReply(e, completion)
            return None

    async def close(self) -> None:
        """Close the connections."""
        for server in self._servers:
            await server.close()

    async def _create(self, **request: Any) -> ChatCompletion:
        """Get one reply, with retries: the function that instructor calls. Its first call was made before it."""
        conversation = CURRENT.get()
        if (first := conversation.first) is not None and not first.told:
            return first.tell()
        conversation.first = None
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
                response = await server.post(named)
                self.limiter.heed(response.headers, slot)
                completion = answer_in(response)
        except (openai.OpenAIError, TimeoutError, ValueError) as e:
            parameter = unsupported_parameter(e)
            if parameter in named:  # else another call has found that out while this one was under way
                self._renamed[parameter] = "max_completion_tokens" if parameter == "max_tokens" else None
            if parameter in named or (parameter and self._named(request) != named):
                return await self._send(request, slot)
            slot.lost = nothing_answered(e)
            slot.strange = slot.lost or not isinstance(e, openai.APIStatusError | openai.APITimeoutError | TimeoutError)
            raise self._secrets.out_of_error(failure_of(e, proven=self.proven)) from None
        if not is_whole(completion):
            slot.strange = not isinstance(completion, ChatCompletion)
            raise self._secrets.out_of_error(self._error_in(completion))
        return self._secrets.out_of_completion(cast(ChatCompletion, completion))

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
            error = CallError("refusal", self._secrets.out_of(shortened(choice.message.refusal)))
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
                logprobs=logprobs_of(completion),
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
            request["response_format"]["json_schema"]["strict"] = self.recipe.strict
            request["response_format"]["json_schema"]["schema"] = self.recipe.sent
        elif mode == "tools":
            function = request["tools"][0]["function"]
            request["tools"] = [{"type": "function", "function": {**function, "strict": self.recipe.strict}}]
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
