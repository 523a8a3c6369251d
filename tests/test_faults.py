"""Each fault that an endpoint can show, as a run meets it: what becomes of its record, of the others, of the run.

The cases are also the rows of the table in docs/reliability.md, which a test compares.
"""

import itertools
import json
import re
import shutil
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from openai._models import construct_type
from openai.types.chat import ChatCompletion

from extract.completions import is_whole
from extract.settings import Mode, Patience
from tests.engine import (
    HASTY,
    ROOT,
    abstract,
    eventually,
    extract,
    marker,
    request_for,
    script,
    write_abstracts,
    write_texts,
)
from tests.scripted import Rule, always, faults, first, nth, once, running

TABLE = ROOT / "docs" / "reliability.md"
HUNG = replace(HASTY, timeout_s=1.0)


@dataclass(frozen=True, slots=True)
class Case:
    """A fault, and what it comes to. `calls` are the rows in `attempts`, `outcome` how its record ends."""

    name: str
    rule: Rule
    calls: tuple[str, ...]
    outcome: str
    code: int
    says: str
    modes: tuple[Mode, ...] = ("json_schema",)
    patience: Patience = HASTY

    @property
    def stored(self) -> str:
        """What is stored of the record, as the table says it."""
        return f"`{self.outcome}`; calls: {_counted(self.calls)}" if self.calls else "nothing is created"


def _counted(calls: tuple[str, ...]) -> str:
    runs: list[tuple[str, int]] = []
    for call in calls:
        if runs and runs[-1][0] == call:
            runs[-1] = (call, runs[-1][1] + 1)
        else:
            runs.append((call, 1))
    return ", ".join(f"{count} × `{call}`" if count > 1 else f"`{call}`" for call, count in runs)


ONE = marker(0)
BAD, OK = "invalid reply", "ok"
JSON_MODES: tuple[Mode, ...] = ("json_schema", "tools")
EACH_MODE: tuple[Mode, ...] = ("json_schema", "tools", "json", "md_json")
ASKED_AGAIN = "asked again with what was wrong"
NO_STOP = "not asked again: it would say the same; the others go on"
RETRIED = "tried again after a growing wait"

CASES = (
    Case("malformed once", once(faults.Malformed(), ONE), (BAD, OK), "done", 0, ASKED_AGAIN, EACH_MODE),
    Case("malformed always", always(faults.Malformed(), ONE), (BAD,) * 3, "failed reply", 3,
         "asked again `--reasks` times (2), then a failed row; the others go on", JSON_MODES),
    Case("truncated", always(faults.Truncated(), ONE), ("invalid length",), "failed length", 3, NO_STOP, JSON_MODES),
    Case("empty content once", once(faults.Empty(), ONE), (BAD, OK), "done", 0, "asked again", JSON_MODES),
    Case("null content once", once(faults.Empty(null=True), ONE), (BAD, OK), "done", 0, "asked again", JSON_MODES),
    Case("empty content always", always(faults.Empty(), ONE), (BAD,) * 3, "failed reply", 3,
         "asked again `--reasks` times (2), then a failed row", JSON_MODES),
    Case("refusal", always(faults.Refusal(), ONE), ("invalid refusal",), "failed refusal", 3, NO_STOP, JSON_MODES),
    Case("content filter, of the reply", always(faults.ContentFilter(), ONE), ("invalid content_filter",),
         "failed content_filter", 3, NO_STOP, JSON_MODES),
    Case("content filter, of the prompt (400)", always(faults.ContentFilter(as_error=True), ONE),
         ("error content_filter",), "failed content_filter", 3, NO_STOP),
    Case("wrong types", once(faults.WrongTypes(), ONE), (BAD, OK), "done", 0, ASKED_AGAIN, JSON_MODES),
    Case("extra fields", always(faults.ExtraFields(), ONE), (OK,), "done", 0, "taken without them", JSON_MODES),
    Case("fenced", always(faults.Fenced(), ONE), (OK,), "done", 0, "the fence is taken off",
         ("json_schema", "md_json")),
    Case("with `<think>`", always(faults.Thinking(), ONE), (OK,), "done", 0, "the thinking is taken off", JSON_MODES),
    Case("prose around", always(faults.Prose(), ONE), (OK,), "done", 0, "the sentences are taken off", JSON_MODES),
    Case("JSON as plain text in TOOLS mode", always(faults.PlainInTools(), ONE), (OK,), "done", 0,
         "taken for the tool call", ("tools",)),
    Case("absent quote once", once(faults.AbsentQuote(), ONE), (BAD, OK), "done", 0, ASKED_AGAIN, JSON_MODES),
    Case("absent quote always", always(faults.AbsentQuote(), ONE), (BAD, BAD, OK), "done", 0,
         "asked again `--reasks` times (2); then that value alone is left out, and a row in `rejected`", JSON_MODES),
    Case("429 once, no Retry-After", once(faults.RateLimited(form="none"), ONE), ("error rate_limit", OK), "done", 0,
         "the whole run slows down; no try is used up"),
    Case("429 once, Retry-After in seconds", once(faults.RateLimited(1, "seconds"), ONE), ("error rate_limit", OK),
         "done", 0, "the same, after the time asked for"),
    Case("429 once, Retry-After as a date", once(faults.RateLimited(1, "date"), ONE), ("error rate_limit", OK), "done",
         0, "the same, after the time asked for"),
    Case("429 ten times", first(10, faults.RateLimited(0.01, "ms"), ONE), ("error rate_limit",) * 10 + (OK,), "done", 0,
         "the same, ten times"),
    Case("429 ten times, no Retry-After", first(10, faults.RateLimited(form="none"), ONE),
         ("error rate_limit",) * 10 + (OK,), "done", 0, "the same, with waits that grow while nothing is let through"),
    Case("500 once", once(faults.Status(500), ONE), ("error server", OK), "done", 0, RETRIED),
    Case("500 always", always(faults.Status(500), ONE), ("error server",) * 6, "failed server", 3,
         "6 tries, then a failed row that the next run asks again"),
    Case("502 with a web page, once", once(faults.Status(502, "<html>Bad gateway</html>"), ONE), ("error server", OK),
         "done", 0, RETRIED),
    Case("503 with Retry-After", once(faults.Status(503, "busy", (("Retry-After", "1"),)), ONE), ("error server", OK),
         "done", 0, "tried again after the time asked for"),
    Case("408 once", once(faults.Status(408), ONE), ("error timeout", OK), "done", 0, RETRIED),
    Case("409 once", once(faults.Status(409), ONE), ("error server", OK), "done", 0, RETRIED),
    Case("401", always(faults.Status(401)), (), "none", 2, "the run stops at once, in the provider's words"),
    Case("402", always(faults.Status(402)), (), "none", 2, "the run stops at once, in the provider's words"),
    Case("403", always(faults.Status(403)), (), "none", 2, "the run stops at once, in the provider's words"),
    Case("404", always(faults.Status(404)), (), "none", 2, "the run stops at once, in the provider's words"),
    Case("insufficient_quota (429)", always(faults.InsufficientQuota()), (), "none", 2,
         "the run stops at once, in the provider's words"),
    Case("invalid schema (400)", always(faults.InvalidSchema()), (), "none", 2,
         "the run stops at once, in the provider's words"),
    Case("context length (400)", always(faults.ContextLength(), ONE), ("error too_long",), "failed too_long", 3,
         NO_STOP),
    Case("reset in mid-reply", once(faults.Reset(), ONE), ("error connection", OK), "done", 0, RETRIED),
    Case("cut off in mid-reply", once(faults.Cut(), ONE), ("error connection", OK), "done", 0, RETRIED),
    Case("slow body", always(faults.SlowBody(0.3), ONE), (OK,), "done", 0, "waited for, up to `--timeout`"),
    Case("hung until the time-out", once(faults.Hang(30), ONE), ("error timeout", OK), "done", 0,
         "given up after `--timeout`, and tried again; its cost is unknown (null)", patience=HUNG),
    Case("200 that holds an error", once(faults.ErrorIn200(), ONE), ("error server", OK), "done", 0,
         "taken for the error that it holds"),
    Case("200 without choices", once(faults.NoChoices(), ONE), ("error server", OK), "done", 0, RETRIED),
    Case("200 with a web page, once", once(faults.NotJsonBody(), ONE), ("error server", OK), "done", 0, RETRIED),
    Case("200 with a web page, always", always(faults.NotJsonBody()), (), "none", 2,
         "the run stops after 2 of them, before any other answer: a wrong address"),
    Case("usage missing", always(faults.NoUsage(), ONE), (OK,), "done", 0,
         "taken; tokens and cost are null, and the summary says that the cost is unknown"),
)  # fmt: skip

OTHERS = {
    "connection refused": ("test_nothing_listens", "2 tries, then one line", "nothing is created", 2),
    "TLS error": ("test_a_certificate_that_nobody_trusts", "2 tries, then one line", "nothing is created", 2),
    "401 in mid-run": ("test_a_fatal_answer_in_mid_run", "the run stops at once", "what was done before", 2),
    "server gone in mid-run": (
        "test_a_server_that_is_gone_for_a_while",
        "one call at a time tries for all, with growing waits, up to 15 min; no try is used up",
        "`done`; calls: any number of `error connection`, `ok`",
        0,
    ),
    "400 on a parameter": (
        "test_a_parameter_that_the_endpoint_does_not_take",
        "asked again without it, or by its other name, as are all later calls",
        "`done`; calls: `ok`",
        0,
    ),
    "duplicate records": ("test_a_text_that_comes_twice", "asked once, counted as repeated", "one record", 0),
    "one record of 19 always failing": ("test_one_of_nineteen_fails", "the others go on", "18 `done`, 1 `failed`", 3),
    "each transient fault on each of 19 records": ("test_each_transient_fault_once", RETRIED, "19 `done`", 0),
    "429 once on each of 19 records": ("test_each_record_is_refused_once", "the run slows down", "19 `done`", 0),
}


def each_case() -> Iterator[ParameterSet]:
    for case in CASES:
        for mode in case.modes:
            yield pytest.param(case, mode, id=f"{case.name}-{mode}" if len(case.modes) > 1 else case.name)


@pytest.mark.parametrize(("case", "mode"), list(each_case()))
def test_fault(case: Case, mode: Mode, tmp_path: Path) -> None:
    inputs = [write_abstracts(tmp_path, 3)]
    with running(script(3, case.rule)) as server:
        run = extract(request_for(server, tmp_path / "c.duckdb", inputs, mode=mode, patience=case.patience))
        assert server.stats().faults
    assert run.code == case.code
    if not case.calls:
        assert not run.db.exists() and list(tmp_path.iterdir()) == [Path(inputs[0])]
        assert run.ended.error is not None and len(str(run.ended.error).splitlines()) == 1
        return
    assert (run.calls(0), run.outcome(0)) == (list(case.calls), case.outcome)
    for n in (1, 2):
        assert (run.calls(n), run.outcome(n)) == (["ok"], "done")
    assert run.rows("SELECT count(*) FROM papers") == [(3 if case.outcome == "done" else 2,)]


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after_is_waited_for(form: faults.RetryAfterForm, tmp_path: Path) -> None:
    inputs = [write_abstracts(tmp_path, 1)]
    with running(script(1, once(faults.RateLimited(1 if form == "seconds" else 2, form)))) as server:
        run = extract(request_for(server, tmp_path / "c.duckdb", inputs))
    ((waited,),) = run.rows("SELECT epoch(max(started_at) - min(started_at)) FROM attempts")
    assert run.calls() == ["error rate_limit", "ok"] and waited >= 1


def test_nothing_listens(tmp_path: Path) -> None:
    inputs = [write_abstracts(tmp_path, 3)]
    with socket.socket() as taken:  # bound, so that no other program listens there, but listening to nobody
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        run = extract(request_for(url, tmp_path / "c.duckdb", inputs))
    assert run.code == 2 and not run.db.exists()
    assert str(run.ended.error).startswith(f"no model answers at {url}: ")


@pytest.mark.skipif(shutil.which("openssl") is None, reason="the openssl program makes the certificate")
def test_a_certificate_that_nobody_trusts(tmp_path: Path) -> None:
    inputs = [write_abstracts(tmp_path, 3)]
    with running(script(3), tls=True) as server:
        run = extract(request_for(server, tmp_path / "c.duckdb", inputs))
    assert run.code == 2 and not run.db.exists()
    assert "CERTIFICATE_VERIFY_FAILED" in str(run.ended.error)


def test_a_fatal_answer_in_mid_run(tmp_path: Path) -> None:
    inputs, db = [write_abstracts(tmp_path, 8)], tmp_path / "c.duckdb"
    with running(script(8, always(faults.Status(401), marker(5)))) as server:
        run = extract(request_for(server, db, inputs, concurrency=1))
        assert (run.code, run.ended.status, str(run.ended.error)) == (2, "stopped", "401: Incorrect API key provided.")
        assert run.rows("SELECT status FROM runs") == [("stopped",)]
        assert run.rows("SELECT count(*) FROM papers") == [(5,)]
        server.follow(script(8))
        again = extract(request_for(server, db, inputs, concurrency=1))
        assert (again.code, again.ended.tally.finished_before, again.ended.tally.done) == (0, 5, 3)


def test_a_server_that_is_gone_for_a_while(tmp_path: Path) -> None:
    inputs = [write_abstracts(tmp_path, 60)]
    patience = Patience(first_wait_s=0.1, longest_wait_s=0.4)
    with running(script(60, latency_ms=(10, 50))) as server:

        def go_away() -> None:
            assert eventually(lambda: server.stats().requests >= 20)
            server.outage(1.5)

        with ThreadPoolExecutor(1) as beside:
            gone = beside.submit(go_away)
            run = extract(request_for(server, tmp_path / "c.duckdb", inputs, patience=patience))
            gone.result()
    assert run.code == 0
    assert run.rows("SELECT status, count(*) FROM outcomes GROUP BY ALL") == [("done", 60)]
    ended = [at for (at,) in run.rows("SELECT finished_at FROM outcomes ORDER BY ALL")]
    assert max(b - a for a, b in itertools.pairwise(ended)) > timedelta(seconds=1)
    ((lost,),) = run.rows("SELECT count(*) FROM attempts WHERE error_type = 'connection'")
    assert 0 < lost < 8 + 8 + 2 / 0.1  # those in flight, those that found it gone, and one call at a time from then on


def test_a_parameter_that_the_endpoint_does_not_take(tmp_path: Path) -> None:
    """All calls in flight are told so at once: first that it has another name, then that it isn't known by that."""
    inputs = [write_abstracts(tmp_path, 16)]

    def refusal(name: str) -> faults.Fault:
        return faults.Status(
            400, json.dumps({"error": {"message": f"Unsupported parameter: '{name}'.", "param": name}})
        )

    rules = (
        Rule(refusal("max_tokens"), last=8, counted="all"),
        Rule(refusal("max_completion_tokens"), first=9, last=16, counted="all"),
        Rule(refusal("temperature"), first=17, last=24, counted="all"),
    )
    with running(script(16, *rules, latency_ms=(100, 100))) as server:
        run = extract(request_for(server, tmp_path / "c.duckdb", inputs, concurrency=8))
        bodies = server.requests
    assert run.code == 0 and run.rows("SELECT count(*) FROM papers") == [(16,)]
    assert [len([b for b in bodies if name in b]) for name in ("max_tokens", "max_completion_tokens")] == [8, 8]
    assert len(bodies) == 24 + 16 and not {"max_tokens", "max_completion_tokens", "temperature"} & bodies[-1].keys()


@pytest.mark.parametrize(
    "choices",
    [None, [], "none", [{}], [{"message": None}], [{"message": {"content": 7}}], [{"message": {"tool_calls": "x"}}]],
    ids=str,
)
def test_a_completion_of_another_shape_is_none(choices: object) -> None:
    """The client builds its types from whatever JSON came."""
    completion = construct_type(value={"choices": choices}, type_=ChatCompletion)
    assert isinstance(completion, ChatCompletion) and not is_whole(completion)


def test_a_text_that_comes_twice(tmp_path: Path) -> None:
    texts = [abstract(0), abstract(1), f"  {abstract(0)}\n"]
    inputs = [write_texts(tmp_path / "a.jsonl", texts), write_texts(tmp_path / "b.jsonl", texts[1:])]
    with running(script(2)) as server:
        run = extract(request_for(server, tmp_path / "c.duckdb", inputs))
        assert server.stats().requests == 2
    assert (run.code, run.ended.tally.read, run.ended.tally.repeated, run.ended.tally.done) == (0, 5, 3, 2)
    assert run.rows("SELECT count(*) FROM records") == [(2,)]


def test_one_of_nineteen_fails(tmp_path: Path) -> None:
    inputs = [write_abstracts(tmp_path, 19)]
    with running(script(19, always(faults.Status(500), marker(7)))) as server:
        run = extract(request_for(server, tmp_path / "c.duckdb", inputs))
    assert run.code == 3 and run.rows("SELECT count(*) FROM papers") == [(18,)]
    assert run.rows("SELECT error_type, error FROM failures") == [
        ("server", "500: The server had an error while processing your request.")
    ]


def test_each_transient_fault_once(tmp_path: Path) -> None:
    met: list[faults.Fault] = [
        *(faults.Status(code) for code in (408, 409, 500, 502, 503, 529)),
        *(faults.Reset(), faults.Cut(), faults.ErrorIn200(), faults.NoChoices(), faults.NotJsonBody(), faults.Hang(30)),
    ]
    inputs = [write_abstracts(tmp_path, 19)]
    # The endpoint has answered once before it fails, else it would be taken for none.
    rules = [once(faults.Malformed()), *(nth(n, fault) for n, fault in enumerate(met, 2))]
    patience = replace(HUNG, tries=len(met) + 1)
    with running(script(19, *rules)) as server:
        run = extract(request_for(server, tmp_path / "c.duckdb", inputs, patience=patience, concurrency=19))
    assert run.code == 0 and run.rows("SELECT count(*) FROM papers") == [(19,)]
    assert run.rows("SELECT DISTINCT n FROM (SELECT count(*) AS n FROM attempts GROUP BY record_id)") == [
        (len(rules) + 1,)
    ]
    assert run.rows(
        "SELECT status, error_type, count(*), count(prompt_tokens) FROM attempts GROUP BY ALL ORDER BY ALL"
    ) == [
        ("error", "connection", 38, 0),
        ("error", "server", 19 * 8, 0),
        ("error", "timeout", 38, 0),
        ("invalid", "reply", 19, 19),
        ("ok", None, 19, 19),
    ]


@pytest.mark.parametrize("form", ["seconds", "date", "ms", "none"])
def test_each_record_is_refused_once(form: faults.RetryAfterForm, tmp_path: Path) -> None:
    inputs = [write_abstracts(tmp_path, 19)]
    with running(script(19, once(faults.RateLimited(0.5, form)))) as server:
        run = extract(request_for(server, tmp_path / "c.duckdb", inputs, concurrency=19))
    assert run.code == 0 and run.rows("SELECT count(*) FROM papers") == [(19,)]
    assert run.rows("SELECT status, error_type, count(*) FROM attempts GROUP BY ALL ORDER BY ALL") == [
        ("error", "rate_limit", 19),
        ("ok", None, 19),
    ]


def test_each_call_has_its_own_usage(tmp_path: Path) -> None:
    inputs = [write_abstracts(tmp_path, 5)]
    with running(script(5, nth(1, faults.Malformed()), nth(2, faults.AbsentQuote()))) as server:
        run = extract(request_for(server, tmp_path / "c.duckdb", inputs))
        stats = server.stats()
    sums = run.rows("SELECT count(*), sum(prompt_tokens), sum(completion_tokens) FROM attempts")
    assert sums == [(15, stats.tokens_in, stats.tokens_out)]
    tally = run.ended.tally
    assert (tally.calls, tally.prompt_tokens, tally.completion_tokens) == sums[0]
    assert run.rows("SELECT round(sum(cost_usd), 9) FROM attempts") == [(round(tally.cost_usd or 0, 9),)]


def test_an_unknown_usage_is_said(tmp_path: Path) -> None:
    inputs = [write_abstracts(tmp_path, 2)]
    with running(script(2, once(faults.NoUsage(), marker(0)))) as server:
        run = extract(request_for(server, tmp_path / "c.duckdb", inputs))
    assert run.ended.tally.cost_usd is None
    query = "SELECT prompt_tokens IS NULL, completion_tokens IS NULL, cost_usd IS NULL FROM attempts ORDER BY ALL"
    assert run.rows(query) == [(False,) * 3, (True,) * 3]


def table() -> str:
    """The table as the cases make it."""
    lines = [
        "| Fault | What the run does | Stored of the record | Exit code | Test |",
        "| --- | --- | --- | --- | --- |",
    ]
    for case in CASES:
        lines.append(f"| {case.name} | {case.says} | {case.stored} | {case.code} | `test_fault` |")
    for name, (test, says, stored, code) in OTHERS.items():
        lines.append(f"| {name} | {says} | {stored} | {code} | `{test}` |")
    return "\n".join(lines)


def test_the_table_in_the_docs_is_that_of_the_cases() -> None:
    page = TABLE.read_text(encoding="utf-8")
    assert table() in page
    written = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").glob("test_*.py"))
    for test in re.findall(r"`(test_\w+)`", page):
        assert f"def {test}(" in written, test
