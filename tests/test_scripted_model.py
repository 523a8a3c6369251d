"""The scripted model without a socket: which record, which rule, which limit, and scripts as JSON."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.scripted import (
    Limits,
    Rule,
    Script,
    always,
    answer_from_gold,
    faults,
    first,
    nth,
    number,
    once,
    paper,
    short_key,
)
from tests.scripted.limits import Bucket, duration
from tests.scripted.model import ScriptedModel
from tests.scripted.records import KeyIndex
from tests.scripted.replies import read_request
from tests.scripted.script import script_from_json, script_to_json

ALPHA = paper(task="alpha parsing", headline_numbers=[number("12%", metric="recall")])
SCHEMA: dict[str, object] = {"response_format": {"type": "json_schema", "json_schema": {"name": "P", "schema": {}}}}


def request(text: str, **more: object) -> bytes:
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": text}], **more}).encode()


# Records


def test_a_re_ask_is_about_the_same_record() -> None:
    turns = [("system", "Extract."), ("user", "alpha"), ("assistant", "{"), ("user", "Not JSON: beta")]
    body = {"model": "m", "messages": [{"role": role, "content": text} for role, text in turns]}
    assert read_request(body).text == "alpha"
    assert read_request(body, examples=1).text == "Not JSON: beta"


def test_a_text_in_parts_is_read() -> None:
    parts = [{"type": "text", "text": "alpha"}, {"type": "text", "text": "beta"}]
    assert read_request({"messages": [{"role": "user", "content": parts}]}).text == "alpha\nbeta"


@given(
    st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=6, unique_by=str.strip),
    st.text(),
    st.text(),
)
@settings(deadline=None)
def test_a_key_is_found_whatever_wraps_it(keys: list[str], before: str, after: str) -> None:
    index = KeyIndex(keys)
    for key in keys + keys:  # a second time, when the index knows where it found one before
        assert key.strip() in index.find(f"{before} {key} {after}")


@given(st.text("ab, .é", min_size=32).filter(lambda text: len(text.strip()) >= 32), st.text("ab "), st.text("ab "))
@settings(deadline=None)
def test_a_text_is_found_even_where_words_run_into_it(text: str, before: str, after: str) -> None:
    assert KeyIndex([text]).find(before + text + after) == (text.strip(),)


def test_a_marker_is_found_as_a_word_only() -> None:
    index = KeyIndex(["paper-1", "paper-12", "§"])
    assert index.find("see paper-12.") == ("paper-12",)
    assert set(index.find("paper-1, paper-12 and 3§4")) == {"paper-1", "paper-12", "§"}
    assert index.find("paper-123 newspaper-1") == ()


def test_of_two_texts_the_last_one_is_the_record() -> None:
    example, abstract = "An example that explains what is wanted.", "An abstract about the parsing of long texts."
    script = Script(answers={example: {"n": 1}, abstract: {"n": 2}})
    reply, _ = ScriptedModel(script).answer(request(f"{example}\n\n{abstract}", **SCHEMA))
    assert json.loads(json.loads(reply.body)["choices"][0]["message"]["content"]) == {"n": 2}


# Rules


def struck(rule: Rule, calls: list[str]) -> list[int]:
    """The numbers of the calls that the rule strikes, of calls about these texts."""
    model = ScriptedModel(Script(answers={"alpha": ALPHA, "beta": ALPHA}, rules=(rule,)))
    return [n for n, text in enumerate(calls, 1) if model.answer(request(text))[0].status == 500]


def test_rules_count_calls_of_a_record_or_of_all() -> None:
    down, turns = faults.Status(500), ["alpha", "beta"] * 4
    assert struck(once(down), turns) == [1, 2]
    assert struck(first(2, down, "beta"), turns) == [2, 4]
    assert struck(nth(3, down), turns) == [5, 6]
    assert struck(always(down, "alpha"), turns) == [1, 3, 5, 7]
    assert struck(Rule(down, first=2, last=6, every=2, counted="all"), turns) == [2, 4, 6]


def test_a_rule_finds_a_marker_within_a_text_that_has_an_answer() -> None:
    text = "We study zebra crossings at great length and in every weather."
    model = ScriptedModel(Script(answers={text: ALPHA}, rules=(once(faults.Status(500), "zebra"),)))
    assert [model.answer(request(f"Read: {text}"))[0].status for _ in range(2)] == [500, 200]
    assert model.stats().calls == {short_key(text): 2}


# Limits, latency, usage


@pytest.mark.parametrize("raw", [b"{", b"[]", b'{"messages": []}', request("x", stream=True)])
def test_a_request_that_makes_no_sense_is_a_400(raw: bytes) -> None:
    reply, _ = ScriptedModel(Script()).answer(raw)
    assert reply.status == 400 and json.loads(reply.body)["error"]["type"] == "invalid_request_error"


def test_the_rate_limit_lets_in_a_burst_then_its_rate() -> None:
    now = [0.0]
    script = Script(limits=Limits(rate=10, burst=5, retry_after="ms", headers=True))
    model = ScriptedModel(script, clock=lambda: now[0])
    replies = [model.answer(request("x"))[0] for _ in range(7)]
    assert [reply.status for reply in replies] == [200] * 5 + [429] * 2
    assert dict(replies[0].headers) == {
        "x-ratelimit-limit-requests": "600",
        "x-ratelimit-remaining-requests": "4",
        "x-ratelimit-reset-requests": "100ms",
    }
    assert dict(replies[5].headers)["retry-after-ms"] == "100"
    now[0] = 0.3
    assert [model.answer(request("x"))[0].status for _ in range(4)] == [200] * 3 + [429]
    assert model.stats().refused == 3


def test_the_rate_limit_counts_tokens_too() -> None:
    now = [0.0]
    model = ScriptedModel(Script(limits=Limits(tokens_per_minute=30, headers=True)), clock=lambda: now[0])
    statuses = [model.answer(request("x" * 40))[0] for _ in range(4)]  # 11 tokens each, with the line after it
    assert [reply.status for reply in statuses] == [200, 200, 429, 429]
    assert dict(statuses[1].headers)["x-ratelimit-remaining-tokens"] == "8"


@given(st.lists(st.floats(0, 2), max_size=60))
@settings(deadline=None)
def test_a_bucket_never_gives_more_than_burst_and_rate_allow(pauses: list[float]) -> None:
    now, taken = [0.0], 0
    bucket = Bucket(3, 4, lambda: now[0])
    for pause in pauses:
        now[0] += pause
        if bucket.wait(1) == 0:
            bucket.take(1)
            taken += 1
    assert taken <= 4 + 3 * now[0] + 1e-6


def test_durations_as_openai_writes_them() -> None:
    assert [duration(s) for s in (0, 0.1204, 1.5, 360)] == ["0ms", "121ms", "1.5s", "6m0s"]


def test_latencies_are_the_same_for_the_same_seed() -> None:
    def drawn(seed: int) -> list[float]:
        model = ScriptedModel(Script(latency_ms=(40, 360), latency_by_key={"slow": (900, 900)}, seed=seed))
        return [model.answer(request(text))[1] for text in ("a", "b", "slow", "c")]

    assert drawn(1) == drawn(1) != drawn(2)
    assert drawn(1)[2] == 0.9
    assert all(0.04 <= delay <= 0.36 for delay in drawn(1)[:2])


def test_cached_tokens_are_the_start_shared_with_the_prompt_before() -> None:
    model = ScriptedModel(Script(cache=True))
    prefix = "Read this carefully: "
    seen = [json.loads(model.answer(request(prefix + text))[0].body)["usage"] for text in ("one", "two", "two")]
    assert [usage["prompt_tokens_details"]["cached_tokens"] for usage in seen] == [0, 5, 6]


def test_a_row_of_gold_becomes_a_reply() -> None:
    found = {"quote": "7%", "value": 7, **number("7%", metric="F1")}
    gold = {"contribution": "method", "task": ["a", "b"], "method": [], "datasets": [["D", "D long"]], "baselines": []}
    row = {"id": "1", "gold": {**gold, "numbers": [found]}}
    assert answer_from_gold(row) == paper(task="a", datasets=["D"], headline_numbers=[number("7%", metric="F1")])


# Scripts as JSON


def test_every_fault_and_a_whole_script_survive_json() -> None:
    every = [kind(**NEEDED.get(name, {})) for name, kind in faults.kinds().items()]
    script = Script(
        answers={"alpha": ALPHA},
        rules=tuple(Rule(fault, "alpha", first=n, last=n, counted="all") for n, fault in enumerate(every, 1)),
        latency_ms=(1, 2),
        latency_by_key={"alpha": (3, 4)},
        limits=Limits(rate=3, burst=2, retry_after="date"),
        models=("m",),
    )
    assert script_from_json(json.loads(json.dumps(script_to_json(script)))) == script
    assert len(every) == 25


NEEDED: dict[str, dict[str, Any]] = {
    "Status": {"code": 500, "headers": (("X-A", "b"),)},
    "SlowBody": {"seconds": 1.0},
    "Hang": {"seconds": 1.0},
}


def test_a_callable_stays_in_its_process() -> None:
    with pytest.raises(TypeError, match="'default' is a callable"):
        script_to_json(Script(default=lambda asked: {}))
