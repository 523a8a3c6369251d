"""The run's limits shared out: whoever comes, beats, goes or dies, the sums hold; and a worker's side of it."""

import asyncio
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extract.budget import Price
from extract.distributed.ledger import NOTHING, Amount, Beat, Grant, Ledger
from extract.distributed.sharing import Drawn, LeasedBudget, SharedLimiter, Sharing
from extract.errors import BudgetReached, RunInterrupted
from extract.settings import Limits, Patience

PRICE = Price(1.0, 1.0, 1.0)


@dataclass
class Clock:
    """Time that goes when it is told to."""

    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Simulated:
    """A worker as the ledger sees it: it keeps to what it is told, and uses as much of that as it is asked to."""

    name: str
    granted: int = 0
    in_flight: int = 0
    given: int = 0
    spent: int = 0
    told: list[Grant] = field(default_factory=list)

    def beat(self, ledger: Ledger, wants: int, calls: int, goes_back: bool) -> Grant:
        """Beat once, wanting so many tokens of the budget and calls of the rate."""
        back = self.given - self.spent if goes_back and not self.in_flight else 0
        self.given -= back
        grant = ledger.beat(
            self.name,
            Beat(
                occupied=max(self.granted, self.in_flight),
                calls=calls,
                needed=Amount(wants),
                wanted=Amount(4 * wants),
                spent=Amount(self.spent),
                back=Amount(back),
            ),
        )
        self.granted, self.given = grant.places, self.given + grant.budget.tokens
        self.told.append(grant)
        return grant

    def call(self, more: int) -> None:
        """Begin as many calls as it may, or end some."""
        self.in_flight = min(self.granted, self.in_flight + more) if more > 0 else max(0, self.in_flight + more)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["join", "beat", "beat", "beat", "call", "spend", "leave", "die"]),
        st.integers(0, 4),
        st.integers(-6, 12),
    ),
    max_size=120,
)


@settings(max_examples=80, deadline=None)
@given(STEPS, st.integers(1, 12), st.integers(10, 400))
def test_the_sums_hold_whoever_comes_or_goes(steps: list[tuple[str, int, int]], concurrency: int, budget: int) -> None:
    clock = Clock()
    ledger = Ledger(Limits(concurrency=concurrency, rpm=120.0, max_tokens=budget), clock)
    workers: dict[str, Simulated] = {}
    spent, calls = 0, 0.0
    for n, (what, which, amount) in enumerate(steps):
        clock.now += 0.1
        name = f"w{which}"
        if what == "join" and name not in workers:
            ledger.join(name)
            workers[name] = Simulated(name)
        worker = workers.get(name)
        if worker is None:
            continue
        if what == "beat":
            calls += worker.beat(ledger, max(0, amount), max(0, amount), goes_back=n % 2 == 0).calls
        elif what == "call":
            worker.call(amount)
        elif what == "spend":
            used = min(max(0, amount), worker.given - worker.spent)
            worker.spent, spent = worker.spent + used, spent + used
        elif what in ("leave", "die"):
            ledger.leave(name, Amount(worker.spent) if what == "leave" else None)
            del workers[name]
        assert sum(max(one.granted, one.in_flight) for one in workers.values()) <= concurrency
        assert spent <= budget
        assert sum(one.given for one in workers.values()) + ledger.gone.tokens <= budget
        assert calls <= 2.0 + 2.0 * clock.now  # a second's worth at once, then 120 a minute


def test_a_rate_is_given_out_whole_though_each_beat_finds_but_a_part_of_a_call() -> None:
    clock = Clock()
    ledger = Ledger(Limits(concurrency=12, rpm=600.0), clock)
    workers = [Simulated(f"w{n}") for n in range(3)]
    for worker in workers:
        ledger.join(worker.name)
    calls = 0.0
    for _ in range(200):  # ten seconds, a beat of each in every twentieth
        clock.now += 0.05
        calls += sum(worker.beat(ledger, 0, 4, goes_back=False).calls for worker in workers)
    assert calls == pytest.approx(10 + 100, abs=1)


def test_all_places_are_given_out_and_taken_over() -> None:
    ledger = Ledger(Limits(concurrency=10))
    workers = [Simulated(f"w{n}") for n in range(3)]
    for worker in workers:
        ledger.join(worker.name)
    for _ in range(3):
        for worker in workers:
            worker.beat(ledger, 0, 0, goes_back=False)
    assert [worker.granted for worker in workers] == [4, 3, 3]
    ledger.leave("w0")
    for worker in workers[1:]:
        worker.beat(ledger, 0, 0, goes_back=False)
    assert [worker.granted for worker in workers[1:]] == [5, 5]


def test_a_newcomer_gets_places_only_as_others_let_them_go() -> None:
    ledger = Ledger(Limits(concurrency=8))
    old, new = Simulated("old"), Simulated("new")
    ledger.join("old")
    assert old.beat(ledger, 0, 0, goes_back=False).places == 8
    old.call(8)
    ledger.join("new")
    assert new.beat(ledger, 0, 0, goes_back=False).places == 0
    old.beat(ledger, 0, 0, goes_back=False)
    old.call(-3)
    old.beat(ledger, 0, 0, goes_back=False)
    assert new.beat(ledger, 0, 0, goes_back=False).places == 3


def test_who_was_taken_for_dead_is_told_to_stop() -> None:
    ledger = Ledger(Limits())
    ledger.join("w")
    ledger.leave("w")
    assert ledger.beat("w", Beat(0)) == Grant(places=0, stopping=True)


def test_a_budget_is_over_only_when_nobody_holds_any_of_it() -> None:
    ledger = Ledger(Limits(concurrency=2, max_tokens=100))
    one, two = Simulated("one"), Simulated("two")
    ledger.join("one")
    ledger.join("two")
    while (grant := one.beat(ledger, 10, 0, goes_back=False)).budget != NOTHING:
        assert grant.over is None
    assert two.beat(ledger, 10, 0, goes_back=False).over is None  # one may give some back
    one.spent = one.given
    assert one.beat(ledger, 0, 0, goes_back=True).over is None
    over = two.beat(ledger, 10, 0, goes_back=False).over
    assert over is not None and "of 100 tokens used" in over


async def _connected(
    ledger: Ledger, names: list[str], limits: Limits
) -> list[tuple[SharedLimiter, LeasedBudget, asyncio.Task[None]]]:
    made = []
    for name in names:
        ledger.join(name)
        stopping = asyncio.Event()
        limiter = SharedLimiter(limits, limits.concurrency, Patience(), stopping)
        budget = LeasedBudget(limits, PRICE, "m", 1, stopping)

        async def ask(beat: Beat, name: str = name) -> Grant:
            return ledger.beat(name, beat)

        sharing = Sharing(limiter, budget, ask, lambda places: None)
        await sharing.beat()
        made.append((limiter, budget, asyncio.create_task(sharing.keep_beating())))
    return made


async def _spend_all(limiter: SharedLimiter, budget: LeasedBudget, used: int, most: list[int], now: list[int]) -> None:
    while True:
        try:
            async with budget.held(used, 0) as hold, limiter.slot(used):
                now[0] += 1
                most[0] = max(most[0], now[0])
                await asyncio.sleep(0.001)
                hold.spend(used, 0, 0)
                now[0] -= 1
        except BudgetReached:
            return


def test_workers_use_a_budget_up_and_no_more() -> None:
    async def run() -> tuple[int, int]:
        limits = Limits(concurrency=6, max_tokens=1_000)
        ledger, most, now = Ledger(limits), [0], [0]
        workers = await _connected(ledger, ["a", "b", "c"], limits)
        askers = (_spend_all(one, budget, 30, most, now) for one, budget, _ in workers for _ in range(4))
        await asyncio.wait_for(asyncio.gather(*askers), 20)
        for *_, beating in workers:
            beating.cancel()
        return sum(budget.tokens for _, budget, _ in workers), most[0]

    spent, most = asyncio.run(run())
    assert 1_000 - 30 < spent <= 1_000
    assert most <= 6


def test_a_call_that_waits_for_its_budget_ends_with_the_run() -> None:
    async def run() -> None:
        limits = Limits(max_tokens=10)
        ledger = Ledger(limits)
        ((limiter, budget, beating),) = await _connected(ledger, ["a"], limits)
        limiter.stopping.set()
        with pytest.raises(RunInterrupted):
            async with budget.held(20, 0):
                pass
        beating.cancel()

    asyncio.run(asyncio.wait_for(run(), 5))


def test_a_rate_is_drawn_as_it_is_used() -> None:
    drawn = Drawn()
    assert drawn.wait_s(1) > 0 and drawn.wanted() == 1
    drawn.fill(3)
    assert drawn.wait_s(1) == 0
    drawn.take(1)
    drawn.take(1)
    assert drawn.wanted() == 2 * 2 - 1
    drawn.take(2)  # a reply that was longer than thought: owed
    assert drawn.wait_s(1) > 0 and drawn.wanted() == 1 + 2 * 2 + 1


def test_the_rate_of_a_run_holds_over_its_workers() -> None:
    async def run() -> int:
        limits = Limits(concurrency=8, rpm=1_200)
        ledger, began = Ledger(limits), [0]
        workers = await _connected(ledger, ["a", "b", "c", "d"], limits)

        async def call(limiter: SharedLimiter) -> None:
            while True:
                async with limiter.slot(1):
                    began[0] += 1

        calls = [asyncio.create_task(call(limiter)) for limiter, *_ in workers for _ in range(2)]
        await asyncio.sleep(1.5)
        for task in (*calls, *(beating for *_, beating in workers)):
            task.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        return began[0]

    count = asyncio.run(run())
    assert 25 <= count <= 20 + 1.6 * 20


def test_headers_are_obeyed_for_the_workers_share_alone() -> None:
    async def run() -> float:
        limiter = SharedLimiter(Limits(concurrency=10), 5, Patience(), asyncio.Event())
        limiter.grant(5)
        slot = limiter.take(1)
        limiter.heed({"x-ratelimit-remaining-requests": "100", "x-ratelimit-reset-requests": "60"}, slot)
        return limiter._stated["requests"].amount

    assert asyncio.run(run()) == 50
