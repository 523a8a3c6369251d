"""What a run may spend: the arithmetic of the budget, and runs that come to its end."""

import asyncio
import random
from pathlib import Path

import pytest

from extract.budget import FREE, Budget, Price, load_prices, price_of
from extract.errors import BudgetReached, SettingsError
from extract.settings import LOCAL, Limits
from tests.engine import HASTY, extract, marker, request_for, script, write_abstracts
from tests.scripted import always, faults, once, running

DEAR = Price(prompt=1000.0, cached=100.0, reply=2000.0)
"""A tenth of a cent a token, and more."""


def test_a_price_is_for_a_million_tokens() -> None:
    assert DEAR.cost(prompt=1000, cached=400, reply=100) == pytest.approx(0.6 + 0.04 + 0.2)


def test_prices_are_found_by_name_without_date_or_maker() -> None:
    prices = load_prices()
    for name in ("gpt-4o-mini", "gpt-4o-mini-2024-07-18", "openai/gpt-4o-mini"):
        assert price_of(name, prices) == prices["gpt-4o-mini"]
    assert price_of("someone-elses-model", prices) is None
    assert price_of(LOCAL, prices) == FREE


def test_a_price_table_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text("[a]\nprompt = 1\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"prices\.toml"):
        load_prices(path)


def test_an_unknown_price_can_not_be_kept_to(tmp_path: Path) -> None:
    inputs = [write_abstracts(tmp_path, 1)]
    limits = Limits(max_cost=1.0)
    request = request_for("http://127.0.0.1:9/v1", tmp_path / "c.duckdb", inputs, model="unheard-of", limits=limits)
    with pytest.raises(SettingsError, match="--max-cost needs a price, and none is known for 'unheard-of'"):
        extract(request)


@pytest.mark.parametrize("seed", range(5))
def test_the_budget_is_never_passed(seed: int) -> None:
    """Calls that use any part of what they hold, some of them all, some not saying."""
    chance = random.Random(seed)
    budget = Budget(Limits(max_tokens=20_000, max_cost=25.0), DEAR, "dear")
    reached = 0

    async def call() -> None:
        nonlocal reached
        prompt, reply = chance.randint(1, 500), chance.randint(1, 900)
        try:
            async with budget.held(prompt, reply) as hold:
                await asyncio.sleep(chance.uniform(0, 0.002))
                if chance.random() < 0.1:
                    hold.spend_unknown()
                else:
                    hold.spend(chance.randint(1, prompt), 0, chance.randint(1, reply))
                assert budget.tokens <= 20_000 and budget.cost <= 25.0
        except BudgetReached:
            reached += 1

    async def run() -> None:
        await asyncio.gather(*(call() for _ in range(200)))

    asyncio.run(run())
    assert reached > 0
    assert budget.tokens > 20_000 - 1400 or budget.cost > 25.0 - DEAR.cost(500, 0, 900)


def test_max_tokens_stops_a_run(tmp_path: Path) -> None:
    inputs, db = [write_abstracts(tmp_path, 40)], tmp_path / "c.duckdb"
    limits = Limits(max_tokens=30_000)
    with running(script(40, latency_ms=(1, 60))) as server:
        first = extract(request_for(server, db, inputs, limits=limits))
        used = server.stats().tokens_in + server.stats().tokens_out
        assert first.code == 3 and first.ended.status == "stopped"
        assert str(first.ended.error).startswith("the next call could pass the budget: ")
        assert first.rows("SELECT sum(prompt_tokens + completion_tokens) FROM attempts") == [(used,)]
        assert 30_000 - 2 * 4096 < used <= 30_000
        done = first.ended.tally.done
        assert first.rows("SELECT count(*) FROM papers") == [(done,)] and done == server.stats().requests
        second = extract(request_for(server, db, inputs, limits=limits))  # the same command goes on
        assert second.ended.tally.finished_before == done and second.ended.tally.done > 0


def test_max_cost_stops_a_run(tmp_path: Path) -> None:
    inputs, db = [write_abstracts(tmp_path, 40)], tmp_path / "c.duckdb"
    with running(script(40, latency_ms=(1, 60))) as server:
        run = extract(request_for(server, db, inputs, limits=Limits(max_cost=0.006)))
    ((spent,),) = run.rows("SELECT sum(cost_usd) FROM attempts")
    most_of_one_call = load_prices()["gpt-4o-mini"].cost(1600, 0, 4096)
    assert run.code == 3 and 0.006 - most_of_one_call < spent <= 0.006


def test_calls_that_may_have_been_answered_count_whole(tmp_path: Path) -> None:
    """A time-out and an answer without usage may both have been paid for; a refused call was not."""
    inputs, db = [write_abstracts(tmp_path, 10)], tmp_path / "c.duckdb"
    rules = (once(faults.Status(500), marker(0)), always(faults.NoUsage(), marker(1)))
    with running(script(10, *rules)) as server:
        run = extract(request_for(server, db, inputs, limits=Limits(max_tokens=11_500), concurrency=1))
    assert run.code == 3
    query = """SELECT contains(text, 'Zeta1net'), error_type, cost_usd FROM attempts JOIN records USING (record_id)
        WHERE cost_usd IS NULL OR error_type IS NOT NULL ORDER BY ALL"""
    assert run.rows(query) == [(False, "server", 0.0), (True, None, None)]
    assert run.ended.tally.done < 5  # 10 calls of some 1,000 tokens, were it not for the one that held 5,000


def test_a_good_reply_is_kept_when_the_budget_ends(tmp_path: Path) -> None:
    """A record whose second call no longer fits keeps its first reply, without the quote that isn't in the text."""
    inputs, db = [write_abstracts(tmp_path, 1)], tmp_path / "c.duckdb"
    with running(script(1, always(faults.AbsentQuote()))) as server:
        run = extract(request_for(server, db, inputs, limits=Limits(max_tokens=6_200), patience=HASTY))
        assert server.stats().requests == 1
    assert (run.code, run.outcome(), run.calls()) == (0, "done", ["ok"])
    assert run.rows("SELECT count(*) FROM rejected") == [(1,)]
