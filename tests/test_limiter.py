"""When calls start: rules one by one and whole runs on a clock of their own, then one against the real server."""

import asyncio
import heapq
import itertools
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest

from extract.errors import FatalError, RunInterrupted
from extract.limiter import Bucket, Limiter, Pace, Slot, duration_s
from extract.settings import Limits, Patience
from tests import scripted
from tests.engine import extract, request_for, script, write_abstracts
from tests.scripted import running
from tests.scripted.limits import Bucket as ServerBucket
from tests.scripted.limits import headers as stated

Says = Literal["whole seconds", "exactly", "nothing", "headers"]


@dataclass
class Clock:
    """A clock that is told the time."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def limiter(clock: Clock, concurrency: int = 8, rpm: float | None = None, tpm: float | None = None) -> Limiter:
    return Limiter(Limits(concurrency, rpm, tpm), Patience(), asyncio.Event(), clock)


def refuse(of: Limiter, slot: Slot, retry_after_s: float | None = None) -> None:
    slot.refused, slot.retry_after_s = True, retry_after_s
    of.end(slot)


def answer(of: Limiter, slot: Slot) -> None:
    slot.answered = True
    of.end(slot)


# Rules


def test_a_bucket_lets_a_debt_be_paid_first() -> None:
    clock = Clock()
    bucket = Bucket(rate=10, burst=20, clock=clock)
    assert bucket.wait_s(20) == 0
    bucket.take(50)
    assert bucket.wait_s(5) == pytest.approx(3.5)
    clock.now = 3.5
    assert bucket.wait_s(5) == pytest.approx(0)
    bucket.take(-100)
    assert bucket.wait_s(999) == 0  # more than it holds waits for a full one


def test_a_429_halves_the_window_once_a_flight_and_answers_open_it() -> None:
    clock = Clock()
    of = limiter(clock, concurrency=16)
    slots = [of.take(1) for _ in range(16)]
    assert of.full
    clock.now = 1.0
    for slot in slots[:5]:
        refuse(of, slot)
    assert of.window == 8
    for slot in slots[5:]:
        answer(of, slot)
    assert 8 < of.window <= 16


def test_a_run_starts_small_and_opens_with_each_answer() -> None:
    of = limiter(Clock(), concurrency=64)
    slots = [of.take(1) for _ in range(16)]
    assert of.full
    for slot in slots:
        answer(of, slot)
    assert of.window == 32


def test_the_first_429_stops_all_calls_for_as_long_as_it_says() -> None:
    clock = Clock()
    of = limiter(clock)
    refuse(of, of.take(1), retry_after_s=7.0)
    assert of.wait_s(1) == pytest.approx(7.0)


def test_waits_grow_while_nothing_is_let_through() -> None:
    clock, waits = Clock(), []
    of = limiter(clock)
    for _ in range(7):
        refuse(of, of.take(1))
        waits.append(of.wait_s(1))
        clock.now += waits[-1]
    assert waits == pytest.approx([1, 2, 4, 8, 16, 30, 30])


def test_the_pace_is_what_was_let_through_between_two_refusals() -> None:
    clock = Clock()
    pace = Pace(clock)
    for _ in range(30):
        pace.take()
    clock.now = 1.0
    assert not pace.slow()  # the first time it isn't known
    for _ in range(40):
        clock.now += 0.1
        pace.take()
    pace.forget(clock.now)
    assert pace.slow() and pace.rate == pytest.approx(0.97 * 39 / 4)
    clock.now += 10
    assert pace.rate and pace.rate > 39 / 4


def test_what_remains_is_spread_until_the_reset() -> None:
    clock = Clock()
    of = limiter(clock)
    slot = of.take(100)
    of.take(100)
    clock.now = 1.0
    of.heed({"x-ratelimit-remaining-requests": "11", "x-ratelimit-reset-requests": "6s"}, slot)
    assert of.wait_s(100) == 0  # 10 remain for the 6 s since the last one was sent
    of.take(100)
    assert of.wait_s(100) == pytest.approx(5 / 9)
    of.heed({"x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m0s"}, slot)
    assert of.wait_s(100) == pytest.approx(59)


def test_limits_that_a_person_states() -> None:
    clock = Clock()
    of = limiter(clock, rpm=60, tpm=6000)
    of.take(1200)
    assert of.wait_s(1) == pytest.approx(2.01)  # a call a second; 200 tokens of debt at 100 a second, and one more
    slot = of.take(0)
    slot.used = -100  # a call that came to less than was thought gives back
    of.end(slot)
    assert of.wait_s(1) == pytest.approx(2.0)


def test_where_nothing_answers_one_call_tries_for_all() -> None:
    clock, waits = Clock(), []
    of = limiter(clock)
    slots = [of.take(1) for _ in range(8)]
    for slot in slots:
        slot.lost = True
        of.end(slot)
    for _ in range(4):
        waits.append(of.wait_s(1))
        clock.now += waits[-1]
        slot = of.take(1)
        assert of.full
        slot.lost = True
        of.end(slot)
    assert waits == pytest.approx([0.5, 1, 2, 4])
    clock.now += 8
    for _ in range(7):
        answer(of, of.take(1))
    assert of.window == 8


@pytest.mark.parametrize("how", ["refused", "lost"])
def test_patience_ends(how: str) -> None:
    clock = Clock()
    of = limiter(clock)
    clock.now = 901.0
    slot = of.take(1)
    setattr(slot, how, True)
    with pytest.raises(FatalError, match="for 900 s"):
        of.end(slot)


def test_a_429_that_asks_for_too_much_ends_the_run() -> None:
    of = limiter(Clock())
    with pytest.raises(FatalError, match="86,400 s"):
        refuse(of, of.take(1), retry_after_s=86_400)


@pytest.mark.parametrize(("text", "seconds"), [("6m0s", 360), ("1.5s", 1.5), ("120ms", 0.12), ("20", 20), ("soon", 0)])
def test_a_reset_time_is_read(text: str, seconds: float) -> None:
    assert duration_s(text) == pytest.approx(seconds)


def test_a_waiting_call_is_let_go_when_the_run_stops() -> None:
    async def run() -> None:
        stopping = asyncio.Event()
        of = Limiter(Limits(rpm=1), Patience(), stopping)
        of.take(1)

        async def wait() -> None:
            async with of.slot(1):
                raise AssertionError("let through")

        waiting = asyncio.create_task(wait())
        await asyncio.sleep(0.01)
        stopping.set()
        with pytest.raises(RunInterrupted):
            await waiting

    asyncio.run(run())


# Whole runs


@dataclass
class Endpoint:
    """An endpoint on a clock: a bucket of requests, answers after a latency, refusals at once."""

    clock: Clock
    rate: float
    burst: float
    latency_s: tuple[float, float]
    says: Says
    chance: random.Random = field(default_factory=lambda: random.Random(1))

    def __post_init__(self) -> None:
        self.bucket = ServerBucket(self.rate, self.burst, self.clock)

    def reply(self) -> tuple[float, float | None, Mapping[str, str]]:
        """Seconds until the reply, the seconds that a refusal is for (None: an answer), its headers."""
        wait = self.bucket.wait(1)
        if wait > 0:
            return 0.001, wait, {}
        self.bucket.take(1)
        return self.chance.uniform(*self.latency_s), None, dict(stated("requests", self.bucket))


def simulate(endpoint: Endpoint, records: int, concurrency: int = 64) -> tuple[float, float]:
    """Run so many records; return the achieved part of the endpoint's rate, and the part of calls refused."""
    clock, of = endpoint.clock, limiter(endpoint.clock, concurrency)
    numbers = itertools.count()
    events: list[tuple[float, int, Slot | None, float | None, Mapping[str, str]]] = []
    waiting, answered, refused = records, 0, 0
    while answered < records:
        due = clock.now + of.wait_s(1) if waiting and not of.full else math.inf
        if due <= clock.now:
            clock.now += 0.005  # what a call takes of the processor
            slot, (after, wait, headers) = of.take(1), endpoint.reply()
            waiting -= 1
            heapq.heappush(events, (clock.now + after, next(numbers), slot, wait, headers))
            continue
        if not events or due < events[0][0]:
            clock.now = due
            continue
        clock.now, _, ended, wait, headers = heapq.heappop(events)
        if ended is None:
            waiting += 1  # a refused call comes back after the time it was asked to wait
        elif wait is None:
            answered += 1
            of.heed(headers if endpoint.says == "headers" else {}, ended)
            answer(of, ended)
        else:
            refused += 1
            asked = {"exactly": wait, "nothing": None}.get(endpoint.says, math.ceil(wait))
            heapq.heappush(events, (clock.now + (asked or 0), next(numbers), None, None, {}))
            refuse(of, ended, asked)
    return records / clock.now / endpoint.rate, refused / (records + refused)


@pytest.mark.parametrize("says", ["whole seconds", "exactly", "nothing", "headers"])
@pytest.mark.parametrize("latency_s", [(0, 0), (0.2, 0.2), (0, 0.4), (0, 2), (2, 2)], ids=str)
def test_a_run_finds_the_rate_of_its_endpoint(says: Says, latency_s: tuple[float, float]) -> None:
    achieved, refused = simulate(Endpoint(Clock(), 20, 20, latency_s, says), records=2000)
    assert achieved >= 0.85 and refused < 0.05


@pytest.mark.parametrize(("rate", "burst"), [(20, 100), (20, 5), (5, 5), (100, 100), (100, 10)])
def test_other_rates_and_bursts(rate: float, burst: float) -> None:
    achieved, refused = simulate(Endpoint(Clock(), rate, burst, (0.1, 0.3), "whole seconds"), records=int(rate * 100))
    assert achieved >= 0.85 and refused < 0.08


@pytest.mark.parametrize("retry_after", ["seconds", "none"])
def test_a_run_against_a_server_that_refuses(tmp_path: Path, retry_after: Literal["seconds", "none"]) -> None:
    """Loose bounds, for it is no test of the machine's speed: what must not be is a storm of refused calls."""
    limits = scripted.Limits(rate=100, burst=30, retry_after=retry_after)
    inputs = [write_abstracts(tmp_path, 150)]
    with running(script(150, limits=limits)) as server:
        run = extract(
            request_for(server, tmp_path / "c.duckdb", inputs, concurrency=64, patience=Patience()),
        )
        stats = server.stats()
    assert run.code == 0 and run.rows("SELECT count(*) FROM papers") == [(150,)]
    assert stats.refused <= 0.15 * stats.requests
    assert run.rows("SELECT count(*) FROM attempts WHERE error_type = 'rate_limit'") == [(stats.refused,)]
