"""The scripted model: takes a request's bytes, follows the script, counts, and says what to reply and how late.

It knows no sockets, so it can be tested and driven without any; `endpoint` puts it on one.
"""

import json
import random
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from tests.scripted import limits
from tests.scripted.faults import Status, rate_limited
from tests.scripted.records import KeyIndex, short_key
from tests.scripted.replies import CHARS_PER_TOKEN, Answer, Asked, Reply, dumps, error, read_request, said
from tests.scripted.script import Script


@dataclass(slots=True)
class Stats:
    """What has happened since the last reset. Tokens and characters are of calls answered, not of those refused.

    `refused` counts the 429s of the server's own limits, `unmatched` the calls that got the default although there
    are answers, `cpu_s` the seconds that the server's whole process has spent computing.
    """

    requests: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    refused: int = 0
    unauthorized: int = 0
    unmatched: int = 0
    request_bytes: int = 0
    prompt_chars: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    calls: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    cpu_s: float = 0.0


class ScriptedModel:
    """Follows one script at a time. Its counts outlive a change of script; the calls that rules count do not."""

    def __init__(self, script: Script, *, keep: int = 0, clock: Callable[[], float] = time.monotonic) -> None:
        self.counts = Stats()
        self.recorded: deque[Mapping[str, object]] = deque(maxlen=keep)
        self._clock = clock
        self._cpu_from = time.process_time()
        self.follow(script)

    def follow(self, script: Script) -> None:
        """Follow this script from now on: its rules see first calls, its buckets are full, its latencies start anew."""
        self.script = script
        self._answers = {key.strip(): answer for key, answer in script.answers.items()}
        self._latencies = {key.strip(): span for key, span in script.latency_by_key.items()}
        self._index = KeyIndex(script.keys())
        self._random = random.Random(script.seed)
        self._calls: Counter[str] = Counter()
        self._overall = 0
        self._last_prompt = ""
        rate, per_minute = script.limits.rate, script.limits.tokens_per_minute
        burst = script.limits.burst or max(1, round(rate or 1))
        self._requests = limits.Bucket(rate, burst, self._clock) if rate else None
        self._tokens = limits.Bucket(per_minute / 60, per_minute, self._clock) if per_minute else None

    def reset(self) -> None:
        """Zero every count, forget recorded requests, and start the script anew. Calls in flight stay counted."""
        self.counts = Stats(in_flight=self.counts.in_flight, most_in_flight=self.counts.in_flight)
        self.recorded.clear()
        self._cpu_from = time.process_time()
        self.follow(self.script)

    def enter(self) -> None:
        """A request has come in."""
        self.counts.requests += 1
        self.counts.in_flight += 1
        self.counts.most_in_flight = max(self.counts.most_in_flight, self.counts.in_flight)

    def leave(self) -> None:
        """A request is answered, or its client is gone."""
        self.counts.in_flight -= 1

    def stats(self) -> Stats:
        """A copy of the counts as they are now."""
        calls, faults = self.counts.calls.copy(), self.counts.faults.copy()
        return replace(self.counts, calls=calls, faults=faults, cpu_s=time.process_time() - self._cpu_from)

    def authorizes(self, authorization: str | None) -> bool:
        """Whether the header bears the script's key, if it has one."""
        allowed = self.script.api_key is None or authorization == f"Bearer {self.script.api_key}"
        self.counts.unauthorized += not allowed
        return allowed

    def answer(self, raw: bytes) -> tuple[Reply, float]:
        """The reply to a chat request's body, and the seconds to wait before it."""
        self.counts.request_bytes += len(raw)
        try:
            body = json.loads(raw)
            asked = read_request(body, self.script.examples)
        except (ValueError, AttributeError) as wrong:
            return error(400, f"We could not parse your request: {wrong}"), 0.0
        self.recorded.append(body)
        if body.get("stream"):
            return error(400, "This server does not stream.", param="stream"), 0.0
        if self.script.models and asked.model not in self.script.models:
            return Status(404).reply(asked, {}), 0.0
        wait = self._wait(asked)
        if wait > 0:
            self.counts.refused += 1
            return self._with_limits(rate_limited(wait, self.script.limits.retry_after)), 0.0
        return self._follow_script(asked)

    def _wait(self, asked: Asked) -> float:
        """Seconds until the rate limits would let this request in; 0 takes its share of them."""
        wanted = [(bucket, n) for bucket, n in ((self._requests, 1), (self._tokens, asked.prompt_tokens)) if bucket]
        wait = max((bucket.wait(n) for bucket, n in wanted), default=0.0)
        if wait == 0:
            for bucket, n in wanted:
                bucket.take(n)
        return wait

    def _follow_script(self, asked: Asked) -> tuple[Reply, float]:
        found = self._index.find(asked.text)
        record = found[-1] if found else short_key(asked.text)
        self._calls[record] += 1
        self.counts.calls[short_key(record)] += 1
        asked = replace(asked, keys=frozenset(found), call=self._calls[record], cached_tokens=self._cached(asked))
        answer = self._answer(asked, found)
        self._overall += 1
        for rule in self.script.rules:
            if rule.strikes(asked.keys, asked.call, self._overall):
                self.counts.faults[type(rule.fault).__name__] += 1
                reply = rule.fault.reply(asked, answer)
                break
        else:
            reply = said(asked, dumps(answer))
        self.counts.prompt_chars += len(asked.prompt)
        self.counts.tokens_in += asked.prompt_tokens
        self.counts.tokens_cached += asked.cached_tokens
        self.counts.tokens_out += reply.completion_tokens
        return self._with_limits(reply), self._latency(found)

    def _answer(self, asked: Asked, found: tuple[str, ...]) -> Answer:
        key = next((key for key in reversed(found) if key in self._answers), None)
        self.counts.unmatched += key is None and bool(self._answers)
        answer = self.script.default if key is None else self._answers[key]
        return answer(asked) if callable(answer) else answer

    def _latency(self, found: tuple[str, ...]) -> float:
        key = next((key for key in reversed(found) if key in self._latencies), None)
        low, high = self.script.latency_ms if key is None else self._latencies[key]
        return self._random.uniform(low, high) / 1000

    def _cached(self, asked: Asked) -> int:
        """Whole tokens at the prompt's start that are the same as in the prompt before it."""
        if not self.script.cache:
            return 0
        same, end = 0, min(len(asked.prompt), len(self._last_prompt))
        while same < end:
            middle = (same + end + 1) // 2
            if self._last_prompt.startswith(asked.prompt[:middle]):
                same = middle
            else:
                end = middle - 1
        self._last_prompt = asked.prompt
        return same // CHARS_PER_TOKEN

    def _with_limits(self, reply: Reply) -> Reply:
        if not self.script.limits.headers:
            return reply
        named = (("requests", self._requests), ("tokens", self._tokens))
        more = [header for name, bucket in named if bucket for header in limits.headers(name, bucket)]
        return replace(reply, headers=(*reply.headers, *more))
