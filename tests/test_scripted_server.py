"""The scripted server, seen by the real openai client."""

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path

import openai
import pytest

from tests.scripted import (
    Asked,
    Script,
    faults,
    number,
    once,
    paper,
    running,
    spawned,
)
from tests.scripted.asking import SCHEMA, Server, ask, ask_async, connect, content, in_tools
from tests.scripted.replies import dumps, read_request

ROOT = Path(__file__).parents[1]
ALPHA = paper(task="alpha parsing", headline_numbers=[number("12%", metric="recall")])


# Answers


def test_an_answer_comes_the_way_it_is_asked_for() -> None:
    with running(Script(answers={"alpha": ALPHA})) as server:
        assert json.loads(content(ask(server, "about alpha"))) == ALPHA
        reply = ask(server, "about alpha", "tools")
        assert json.loads(in_tools(reply)) == ALPHA
        assert reply.choices[0].finish_reason == "tool_calls"
        assert content(ask(server, "about alpha", "chat")) == f"```json\n{dumps(ALPHA)}\n```"


def test_other_texts_get_the_default_and_are_counted() -> None:
    with running(Script(answers={"alpha": ALPHA}, default={"task": "none"})) as server:
        assert json.loads(content(ask(server, "about alphabets"))) == {"task": "none"}
        stats = server.stats()
    assert (stats.unmatched, stats.calls) == (1, {"<a>about alphabets</a>": 1})


def test_a_callable_sees_the_request_and_the_call() -> None:
    def answer(asked: Asked) -> dict[str, object]:
        return {"text": asked.text, "call": asked.call, "model": asked.model}

    with running(Script(default=answer)) as server:
        ask(server, "x")
        assert json.loads(content(ask(server, "x"))) == {"text": "<a>x</a>", "call": 2, "model": "m"}


def test_usage_is_characters_over_four() -> None:
    with running(Script(default={"task": "t"})) as server:
        usage = ask(server, "x").usage
        stats = server.stats()
    assert usage is not None
    prompt = f"Extract.\n<a>x</a>\n{dumps(SCHEMA['response_format'])}"
    assert usage.prompt_tokens == -(-len(prompt) // 4)
    assert usage.completion_tokens == -(-len('{"task": "t"}') // 4)
    assert (stats.tokens_in, stats.tokens_out) == (usage.prompt_tokens, usage.completion_tokens)
    assert stats.prompt_chars == len(prompt)


# The door


def test_another_key_is_refused() -> None:
    with running(Script(api_key="right")) as server:
        ask(server, "alpha", key="right")
        with pytest.raises(openai.AuthenticationError):
            ask(server, "alpha", key="wrong")
        stats = server.stats()
    assert (stats.requests, stats.unauthorized, stats.calls.total()) == (2, 1, 1)


def test_only_known_models() -> None:
    async def run(server: Server) -> list[str]:
        async with connect(server) as client:
            with pytest.raises(openai.NotFoundError):
                await ask_async(client, "alpha", model="m3")
            return [model.id async for model in client.models.list()]

    with running(Script(models=("m1", "m2"))) as server:
        assert asyncio.run(run(server)) == ["m1", "m2"]


# Steering and processes


def test_calls_overlap_and_the_most_in_flight_is_known() -> None:
    async def run(server: Server) -> None:
        async with connect(server) as client:
            await asyncio.gather(*(ask_async(client, str(n)) for n in range(16)))

    with running(Script(latency_ms=(500, 500))) as server:
        asyncio.run(run(server))
        stats = server.stats()
    assert (stats.requests, stats.most_in_flight, stats.in_flight) == (16, 16, 0)


def test_requests_are_kept_until_reset() -> None:
    with running(keep=2) as server:
        for text in ("one", "two", "three"):
            ask(server, text)
        assert [read_request(body).text for body in server.requests] == ["<a>two</a>", "<a>three</a>"]
        server.reset()
        assert (server.requests, server.stats().requests, server.stats().calls) == ([], 0, {})


def test_a_process_is_steered_like_a_thread() -> None:
    with spawned(Script(default={"n": 1}, rules=(once(faults.Status(503)),)), "--keep", "5") as server:
        with pytest.raises(openai.InternalServerError):
            ask(server, "alpha")
        assert json.loads(content(ask(server, "alpha"))) == {"n": 1}
        server.follow(Script(default={"n": 2}))
        assert json.loads(content(ask(server, "alpha"))) == {"n": 2}
        stats = server.stats()
        assert (stats.calls["<a>alpha</a>"], stats.faults["Status"], len(server.requests)) == (3, 1, 3)
        server.outage(1.0)
        with pytest.raises(openai.APIConnectionError):
            ask(server, "alpha")
        time.sleep(1.5)
        server.reset()
        assert server.stats().requests == 0
        server.process.kill()
        server.process.wait()
        with pytest.raises(openai.APIConnectionError):
            ask(server, "alpha")


def test_options_make_a_script(tmp_path: Path) -> None:
    text = "An abstract of some length, with no marker in it."
    answers, gold = tmp_path / "answers.jsonl", tmp_path / "gold.jsonl"
    answers.write_text(json.dumps({"text": text, "answer": {"n": 1}}) + "\n", encoding="utf-8")
    parts = {"contribution": "method", "task": ["t"], "method": [], "datasets": [], "baselines": [], "numbers": []}
    gold.write_text(json.dumps({"abstract": "Another.", "gold": parts}) + "\n", encoding="utf-8")
    rule = '{"fault": {"kind": "RateLimited", "form": "ms"}, "last": 1}'
    files = ["--answers", str(answers), "--gold", str(gold)]
    with spawned(None, *files, "--key", "k", "--latency-ms", "1-2", "--rule", rule, "--rate", "50") as server:
        with pytest.raises(openai.RateLimitError):
            ask(server, text, key="k")
        assert json.loads(content(ask(server, text, key="k"))) == {"n": 1}
        with pytest.raises(openai.RateLimitError):
            ask(server, "Another.", key="k")
        assert json.loads(content(ask(server, "Another.", key="k"))) == paper(task="t")


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--rule", '{"fault": {"kind": "Sulk"}}'], "fault 'Sulk' is unknown"),
        (["--rule", '{"fault": {"kind": "Status"}}'], "'code'"),
        (["--rule", '{"fault": {"kind": "Cut"}, "when": 1}'], "Rule has no field 'when'"),
        (["--answers", "ANSWERS"], "answers.jsonl:1: not a text with its answer: KeyError('answer')"),
    ],
)
def test_options_that_make_no_script(tmp_path: Path, options: list[str], says: str) -> None:
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"text": "x"}\n', encoding="utf-8")
    command = [sys.executable, "-m", "tests.scripted.server", *(str(answers) if o == "ANSWERS" else o for o in options)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert done.returncode == 2 and says in done.stderr and "Traceback" not in done.stderr
