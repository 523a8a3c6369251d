"""What a run may spend, kept before the call that could pass it, and what each call has cost.

A call holds the most that it can use (its prompt and the longest reply). Where that no longer fits beside what is
spent and held, it waits for calls in flight to give back what they didn't use; where none is in flight, the run is at
its end. So the budget is never passed, and at most one call's worth of it is left unused. A call that may have been
answered, but didn't say what it used, counts with all that it held.
"""

import asyncio
import tomllib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from extract.errors import BudgetReached, SettingsError
from extract.settings import Limits, is_local

PRICES = Path(__file__).parent / "prices.toml"


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars for a million tokens: of the prompt, of its part that was cached, of the reply."""

    prompt: float
    cached: float
    reply: float

    def cost(self, prompt: int, cached: int, reply: int) -> float:
        """Return the dollars of one call; `cached` tokens are part of `prompt`."""
        return ((prompt - cached) * self.prompt + cached * self.cached + reply * self.reply) / 1e6


FREE = Price(0.0, 0.0, 0.0)


def load_prices(path: Path = PRICES) -> dict[str, Price]:
    """Read a price table (TOML, a table a model). Raises SettingsError for a file or an entry that can't be read."""
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        return {
            model: Price(float(p["prompt"]), float(p.get("cached", p["prompt"])), float(p["reply"]))
            for model, p in table.items()
            if isinstance(p, Mapping)
        }
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise SettingsError(f"prices {str(path)!r}: {e}; expected a table a model with prompt, cached, reply") from e


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """Return the price of a model, of its undated name if only that is listed, or None where it isn't known."""
    if is_local(model):
        return FREE
    names = [model, model.rpartition("/")[2]]
    return next((prices[n] for name in names for n in (name, _undated(name)) if n in prices), None)


def _undated(name: str) -> str:
    parts = name.split("-")
    while parts and parts[-1].isdigit():
        parts.pop()
    return "-".join(parts)


@dataclass(slots=True)
class Hold:
    """What one call may use, held while it goes on. It tells the budget what the call came to, once."""

    budget: "Budget"
    prompt: int
    reply: int

    @property
    def tokens(self) -> int:
        """The tokens held."""
        return self.prompt + self.reply

    @property
    def cost(self) -> float:
        """The dollars held, 0 where no price is known."""
        return self.budget.price.cost(self.prompt, 0, self.reply) if self.budget.price else 0.0

    def spend(self, prompt: int, cached: int, reply: int) -> float | None:
        """Count the usage that the endpoint stated; return its dollars, None where the price isn't known."""
        price = self.budget.price
        cost = price.cost(prompt, min(cached, prompt), reply) if price else None
        self.budget.tokens += prompt + reply
        self.budget.cost += cost or 0.0
        return cost

    def spend_unknown(self) -> float | None:
        """Count all that was held; return the dollars as far as they are known: none, unless they cost nothing."""
        self.budget.tokens += self.tokens
        self.budget.cost += self.cost
        return 0.0 if self.budget.price == FREE else None


class Budget:
    """Counts a run's tokens and dollars against its limits."""

    def __init__(self, limits: Limits, price: Price | None, model: str) -> None:
        if limits.max_cost is not None and price is None:
            raise SettingsError(
                f"--max-cost needs a price, and none is known for {model!r}; give one with --prices FILE"
            )
        self.max_tokens, self.max_cost, self.price = limits.max_tokens, limits.max_cost, price
        self.tokens = 0
        self.cost = 0.0
        self._held_tokens = 0
        self._held_cost = 0.0
        self._calls = 0
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def held(self, prompt: int, reply: int) -> AsyncIterator[Hold]:
        """Hold the most that a call can use while it goes on. Raises BudgetReached when it can't ever fit."""
        hold = Hold(self, prompt, reply)
        while not self._fits(hold):
            if not self._calls:
                raise BudgetReached(f"the next call could pass the budget: {self.said()}")
            self._changed.clear()
            await self._changed.wait()
        self._calls += 1
        self._held_tokens += hold.tokens
        self._held_cost += hold.cost
        try:
            yield hold
        finally:
            self._calls -= 1
            self._held_tokens -= hold.tokens
            self._held_cost = self._held_cost - hold.cost if self._calls else 0.0
            self._changed.set()

    def said(self) -> str:
        """Say what is spent and what may be."""
        parts = []
        if self.max_tokens is not None:
            parts.append(f"{self.tokens:,} of {self.max_tokens:,} tokens used")
        if self.max_cost is not None:
            parts.append(f"${self.cost:.4f} of ${self.max_cost:.4f} spent")
        return ", ".join(parts)

    def _fits(self, hold: Hold) -> bool:
        if self.max_tokens is not None and self.tokens + self._held_tokens + hold.tokens > self.max_tokens:
            return False
        return self.max_cost is None or self.cost + self._held_cost + hold.cost <= self.max_cost
