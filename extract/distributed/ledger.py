"""The run's limits as one book, from which each worker is given its share: concurrency, rate, tokens, money.

It is an actor of the run, and pure: no Ray, no waiting. Workers report in a beat, some times a second, and each beat is
answered with a grant. What holds at any moment, whoever comes, goes or dies:

- the places given to workers are at most the run's concurrency: a share grows only by what others have let go;
- the calls and tokens given out within a time are at most what the bucket of the run's rate holds and lets in;
- the budget given out and not given back is at most the budget.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from extract.limiter import Bucket
from extract.settings import Limits

_BEATS_A_SECOND = 400
"""That the actor is asked for in all; it can answer some 2,000."""
_QUICK_S, _CALM_S = 0.05, 0.25
"""Between a worker's beats: where a rate or a budget is shared out, and where only concurrency is."""
_PART_OF_BUDGET = 4
"""A worker gets at most this part of its even share of what is left of a budget, so that none is idle for another."""


@dataclass(frozen=True, slots=True)
class Amount:
    """Tokens and dollars of a budget."""

    tokens: int = 0
    dollars: float = 0.0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.tokens + other.tokens, self.dollars + other.dollars)

    def __sub__(self, other: "Amount") -> "Amount":
        return Amount(self.tokens - other.tokens, self.dollars - other.dollars)


NOTHING = Amount()


@dataclass(frozen=True, slots=True)
class Beat:
    """What a worker says. `occupied`: the most calls that it may have in flight by what it was told before.

    `calls` and `tokens` are wanted of the rate; of the budget `needed` is what the next call lacks, `wanted` what would
    do for some calls; `spent` is in all, `back` is given back.
    """

    occupied: int
    calls: float = 0.0
    tokens: float = 0.0
    needed: Amount = NOTHING
    wanted: Amount = NOTHING
    spent: Amount = NOTHING
    back: Amount = NOTHING


@dataclass(frozen=True, slots=True)
class Grant:
    """What a worker is told: how many calls it may have in flight from now on, and what more it may use.

    `over` says that the budget can't hold the next call, in words; `again_s` is when to beat again.
    """

    places: int
    calls: float = 0.0
    tokens: float = 0.0
    budget: Amount = NOTHING
    over: str | None = None
    stopping: bool = False
    again_s: float = _CALM_S


@dataclass(slots=True)
class Account:
    """What one worker has: places, and of the budget what it was given and what it has said it spent."""

    places: int = 0
    given: Amount = NOTHING
    spent: Amount = NOTHING


class Rate(Bucket):
    """A bucket that gives what it has, up to what is wanted; it owes nothing."""

    def draw(self, wanted: float, *, whole: bool = False) -> float:
        """Take up to `wanted` out; return how much it was. Of what is given `whole`, a fraction stays in."""
        self._flow()
        given = max(0.0, min(wanted, self._level))
        given = float(math.floor(given)) if whole else given
        self._level -= given
        return given


class Ledger:
    """The book of one run."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits = limits
        self.calls = Rate(limits.rpm / 60, max(1.0, limits.rpm / 60), clock) if limits.rpm else None
        self.tokens = Rate(limits.tpm / 60, max(1.0, limits.tpm / 6), clock) if limits.tpm else None
        self.accounts: dict[str, Account] = {}
        self.gone = NOTHING
        self.stopping = False

    def join(self, worker: str) -> None:
        """Open a worker's account. It has no place before its first beat."""
        self.accounts[worker] = Account()

    def leave(self, worker: str, spent: Amount | None = None) -> None:
        """Close a worker's account: its places are free, and what it didn't spend goes back.

        Of one that has died nothing is known since its last beat (`spent` None): what it held counts as spent.
        """
        account = self.accounts.pop(worker, None)
        if account is not None:
            self.gone += account.given if spent is None else spent

    def stop(self) -> None:
        """Tell all workers, each with its next beat, to begin no further call."""
        self.stopping = True

    def beat(self, worker: str, beat: Beat) -> Grant:
        """Answer a worker's beat. One whose account was closed, as it was taken for dead, is told to stop."""
        account = self.accounts.get(worker)
        if account is None:
            return Grant(places=0, stopping=True)
        account.spent, account.given = beat.spent, account.given - beat.back
        places = self._places(worker)
        account.places = max(places, beat.occupied)
        budget, over = self._budget(account, beat)
        account.given += budget
        return Grant(
            places=places,
            calls=self.calls.draw(math.ceil(beat.calls), whole=True) if self.calls and beat.calls > 0 else 0.0,
            tokens=self.tokens.draw(beat.tokens) if self.tokens and beat.tokens > 0 else 0.0,
            budget=budget,
            over=over,
            stopping=self.stopping,
            again_s=self._again_s(),
        )

    def _places(self, worker: str) -> int:
        """Return a worker's even share of the run's concurrency, as far as the others have left it free."""
        workers = list(self.accounts)
        share, more = divmod(self.limits.concurrency, len(workers))
        even = share + (workers.index(worker) < more)
        others = sum(account.places for name, account in self.accounts.items() if name != worker)
        return max(0, min(even, self.limits.concurrency - others))

    def _budget(self, account: Account, beat: Beat) -> tuple[Amount, str | None]:
        """Return what a worker gets of the budget; and the words that say so, if nobody can make this call any more."""
        if beat.needed == NOTHING:
            return NOTHING, None
        given = self.gone
        for each in self.accounts.values():
            given += _larger(each.given, each.spent)  # a call may come to more than was held for it
        tokens = _part(self.limits.max_tokens, given.tokens, beat.needed.tokens, beat.wanted.tokens, self._parts)
        dollars = _part(self.limits.max_cost, given.dollars, beat.needed.dollars, beat.wanted.dollars, self._parts)
        if tokens is not None and dollars is not None:
            return Amount(int(tokens), dollars), None
        unspent = any(_exceeds(each.given, each.spent) for each in self.accounts.values())
        return NOTHING, None if unspent else self.said()

    @property
    def _parts(self) -> int:
        return _PART_OF_BUDGET * len(self.accounts)

    def said(self) -> str:
        """Say what is spent and what may be."""
        spent = self.gone
        for account in self.accounts.values():
            spent += account.spent
        parts = []
        if self.limits.max_tokens is not None:
            parts.append(f"{spent.tokens:,} of {self.limits.max_tokens:,} tokens used")
        if self.limits.max_cost is not None:
            parts.append(f"${spent.dollars:.4f} of ${self.limits.max_cost:.4f} spent")
        return ", ".join(parts)

    def _again_s(self) -> float:
        limits = self.limits
        quick = any(limit is not None for limit in (limits.rpm, limits.tpm, limits.max_cost, limits.max_tokens))
        return max(_QUICK_S if quick else _CALM_S, len(self.accounts) / _BEATS_A_SECOND)


def _part(limit: float | None, given: float, needed: float, wanted: float, parts: int) -> float | None:
    """Return how much of a limit a worker gets: what is wanted, but no more than a part of what is left.

    At least what is needed; None if that much isn't left.
    """
    if limit is None:
        return 0.0
    left = limit - given
    if needed > left:
        return None
    return max(needed, min(wanted, math.floor(left / parts) if isinstance(limit, int) else left / parts))


def _larger(one: Amount, other: Amount) -> Amount:
    return Amount(max(one.tokens, other.tokens), max(one.dollars, other.dollars))


def _exceeds(given: Amount, spent: Amount) -> bool:
    """Is there anything in an account that may still be spent or given back? (Dollars are sums of floats.)"""
    return given.tokens > spent.tokens or given.dollars - spent.dollars > 1e-9
