"""What a run may spend, kept before the call that could pass it, and what each call has cost.

A call reserves the most that it can use (its prompt and the longest reply). Where that no longer fits beside what is
spent and reserved, it waits for calls in flight to give back what they didn't use; where none is in flight, the run is
at its end. So the budget is never passed, and at most one call's worth of it is left unused.
"""

import asyncio
import tomllib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from extract.errors import BudgetReached, SettingsError
from extract.settings import LOCAL, Limits

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
    if model == LOCAL or model.startswith(f"{LOCAL}:"):
        return Price(0.0, 0.0, 0.0)
    names = [model, model.rpartition("/")[2]]
    return next((prices[n] for name in names for n in (name, _undated(name)) if n in prices), None)


def _undated(name: str) -> str:
    parts = name.split("-")
    while parts and parts[-1].isdigit():
        parts.pop()
    return "-".join(parts)


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
        self._reserved_tokens = 0
        self._reserved_cost = 0.0
        self._calls = 0
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def reserved(self, prompt: int, reply: int) -> AsyncIterator[None]:
        """Hold the most that a call can use while it goes on. Raises BudgetReached when it can't ever fit."""
        tokens = prompt + reply
        cost = self.price.cost(prompt, 0, reply) if self.price else 0.0
        while not self._fits(tokens, cost):
            if not self._calls:
                raise BudgetReached(f"the next call could pass the budget: {self.said()}")
            self._changed.clear()
            await self._changed.wait()
        self._calls += 1
        self._reserved_tokens += tokens
        self._reserved_cost += cost
        try:
            yield
        finally:
            self._calls -= 1
            self._reserved_tokens -= tokens
            self._reserved_cost -= cost
            self._changed.set()

    def spend(self, prompt: int | None, cached: int | None, reply: int | None) -> float | None:
        """Count a call's own usage; return its dollars, None where the usage or the price isn't known."""
        if prompt is None or reply is None:
            return None
        self.tokens += prompt + reply
        if self.price is None:
            return None
        cost = self.price.cost(prompt, min(cached or 0, prompt), reply)
        self.cost += cost
        return cost

    def said(self) -> str:
        """Say what is spent and what may be."""
        parts = []
        if self.max_tokens is not None:
            parts.append(f"{self.tokens:,} of {self.max_tokens:,} tokens used")
        if self.max_cost is not None:
            parts.append(f"${self.cost:.4f} of ${self.max_cost:.4f} spent")
        return ", ".join(parts)

    def _fits(self, tokens: int, cost: float) -> bool:
        if self.max_tokens is not None and self.tokens + self._reserved_tokens + tokens > self.max_tokens:
            return False
        return self.max_cost is None or self.cost + self._reserved_cost + cost <= self.max_cost
