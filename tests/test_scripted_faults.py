"""Each fault of the scripted server, as the real openai client meets it."""

import asyncio
import json
import shutil
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from pathlib import Path

import openai
import pytest
from openai.types.chat import ChatCompletion

from tests.scripted import (
    Script,
    always,
    faults,
    nth,
    number,
    once,
    paper,
    running,
    spawned,
)
from tests.scripted.asking import Server, ask, ask_async, connect, content, in_tools
from tests.scripted.replies import Mode, dumps

ROOT = Path(__file__).parents[1]
ALPHA = paper(task="alpha parsing", headline_numbers=[number("12%", metric="recall")])


# Faults in the answer


def broken(fault: faults.Fault, mode: Mode = "json") -> ChatCompletion:
    """The first reply under the fault, having checked that the second is right."""
    with running(Script(answers={"alpha": ALPHA}, rules=(once(fault),))) as server:
        reply = ask(server, "alpha", mode)
        right = ask(server, "alpha", mode)
        assert json.loads(in_tools(right) if mode == "tools" else content(right).strip("`json\n")) == ALPHA
        assert server.stats().faults == {type(fault).__name__: 1}
    return reply


@pytest.mark.parametrize("fault", [faults.Malformed(), faults.Truncated()])
@pytest.mark.parametrize("mode", ["json", "tools"])
def test_broken_json(fault: faults.Fault, mode: Mode) -> None:
    reply = broken(fault, mode)
    with pytest.raises(ValueError, match="line 1"):
        json.loads(in_tools(reply) if mode == "tools" else content(reply))
    if isinstance(fault, faults.Truncated):
        assert reply.choices[0].finish_reason == "length"


def test_nothing_said() -> None:
    assert broken(faults.Empty()).choices[0].message.content == ""
    assert broken(faults.Empty(null=True), "tools").choices[0].message.content is None
    assert broken(faults.Refusal("No.")).choices[0].message.refusal == "No."
    assert broken(faults.ContentFilter()).choices[0].finish_reason == "content_filter"


def test_json_of_another_shape() -> None:
    wrong = json.loads(content(broken(faults.WrongTypes())))
    assert wrong.keys() == ALPHA.keys()
    assert all(type(wrong[name]) is not type(ALPHA[name]) for name in ALPHA)
    extra = json.loads(content(broken(faults.ExtraFields("sure", 0.5))))
    assert extra["sure"] == extra["headline_numbers"][0]["sure"] == 0.5
    quotes = [
        found["quote"]
        for found in json.loads(in_tools(broken(faults.AbsentQuote("99 %"), "tools")))["headline_numbers"]
    ]
    assert quotes == ["12%", "99 %"]


def test_json_in_a_wrapping() -> None:
    text = dumps(ALPHA)
    assert content(broken(faults.Fenced())) == f"```json\n{text}\n```"
    assert content(broken(faults.Thinking("Hm {x}"))) == f"<think>\nHm {{x}}\n</think>\n\n{text}"
    assert content(broken(faults.Prose("Look: ", " Done."))) == f"Look: {text} Done."
    thinking = broken(faults.Thinking(), "tools")
    assert content(thinking).startswith("<think>") and in_tools(thinking) == text
    plain = broken(faults.PlainInTools(), "tools")
    assert plain.choices[0].message.tool_calls is None and content(plain) == text


def test_an_envelope_that_lacks_something() -> None:
    assert broken(faults.NoUsage()).usage is None
    assert broken(faults.NoChoices()).choices == []
    assert broken(faults.ErrorIn200()).choices is None
    assert isinstance(broken(faults.NotJsonBody()), str)


# Faults of the endpoint


@pytest.mark.parametrize(
    ("fault", "raised", "status", "code"),
    [
        (faults.Status(400), openai.BadRequestError, 400, None),
        (faults.Status(401), openai.AuthenticationError, 401, "invalid_api_key"),
        (faults.Status(402), openai.APIStatusError, 402, "payment_required"),
        (faults.Status(403), openai.PermissionDeniedError, 403, "unsupported_country_region_territory"),
        (faults.Status(404), openai.NotFoundError, 404, "model_not_found"),
        (faults.Status(408), openai.APIStatusError, 408, None),
        (faults.Status(409), openai.ConflictError, 409, None),
        (faults.Status(429), openai.RateLimitError, 429, "rate_limit_exceeded"),
        (faults.Status(500), openai.InternalServerError, 500, None),
        (faults.Status(502, "<html>Bad gateway</html>"), openai.InternalServerError, 502, None),
        (faults.Status(503), openai.InternalServerError, 503, None),
        (faults.Status(529), openai.InternalServerError, 529, None),
        (faults.InsufficientQuota(), openai.RateLimitError, 429, "insufficient_quota"),
        (faults.ContextLength(), openai.BadRequestError, 400, "context_length_exceeded"),
        (faults.InvalidSchema(), openai.BadRequestError, 400, None),
        (faults.ContentFilter(as_error=True), openai.BadRequestError, 400, "content_filter"),
    ],
    ids=str,
)
def test_an_error_status(
    fault: faults.Fault, raised: type[openai.APIStatusError], status: int, code: str | None
) -> None:
    with running(Script(rules=(always(fault),))) as server, pytest.raises(raised) as caught:
        ask(server, "alpha")
    assert (caught.value.status_code, caught.value.code) == (status, code)


def test_when_to_come_back_is_said_in_each_form() -> None:
    forms: tuple[faults.RetryAfterForm, ...] = ("seconds", "date", "ms", "none")
    rules = tuple(nth(n, faults.RateLimited(1.5, form)) for n, form in enumerate(forms, 1))
    headers = []
    now = time.time()
    with running(Script(rules=rules)) as server:
        for _ in forms:
            with pytest.raises(openai.RateLimitError) as caught:
                ask(server, "alpha")
            headers.append(caught.value.response.headers)
        ask(server, "alpha")
    assert headers[0]["retry-after"] == "2"
    assert 1 <= parsedate_to_datetime(headers[1]["retry-after"]).timestamp() - now < 10
    assert headers[2]["retry-after-ms"] == "1500" and "retry-after" not in headers[2]
    assert "retry-after" not in headers[3] and "retry-after-ms" not in headers[3]


def cause(error: BaseException) -> str:
    """The names of the exceptions under this one and what they say, outermost first."""
    below = error.__cause__ or error.__context__
    return f"{type(error).__name__}: {error}\n" + (cause(below) if below else "")


@pytest.mark.parametrize(
    ("fault", "says"), [(faults.Reset(), "ReadError"), (faults.Cut(), "without sending complete message body")], ids=str
)
def test_a_connection_that_breaks_in_mid_reply(fault: faults.Fault, says: str) -> None:
    with running(Script(rules=(once(fault),))) as server:
        with pytest.raises(openai.APIConnectionError) as caught:
            ask(server, "alpha")
        assert not isinstance(caught.value, openai.APITimeoutError)
        assert says in cause(caught.value)
        ask(server, "alpha")


def test_a_slow_body_arrives_whole() -> None:
    with running(Script(default=ALPHA, rules=(always(faults.SlowBody(0.3)),))) as server:
        start = time.perf_counter()
        assert json.loads(content(ask(server, "alpha"))) == ALPHA
        assert time.perf_counter() - start >= 0.3


def test_a_client_that_gives_up_frees_its_place() -> None:
    with running(Script(rules=(once(faults.Hang(60)),))) as server:
        with pytest.raises(openai.APITimeoutError):
            ask(server, "alpha", timeout=0.5)
        assert eventually(lambda: server.stats().in_flight == 0)
        ask(server, "alpha")


def is_up(server: Server) -> bool:
    try:
        return bool(ask(server, "alpha").choices)
    except openai.APIConnectionError:
        return False


def eventually(holds: Callable[[], bool], seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.01)
    return False


def test_a_server_stops_under_calls_in_flight() -> None:
    async def run() -> object:
        with running(Script(rules=(always(faults.Hang(60)),))) as server:
            async with connect(server) as client:
                call = asyncio.create_task(ask_async(client, "alpha"))
                while server.stats().in_flight == 0:
                    await asyncio.sleep(0.01)
                await asyncio.to_thread(server.outage, 0.0)
                return (await asyncio.gather(call, return_exceptions=True))[0]

    assert isinstance(asyncio.run(run()), openai.APIConnectionError)


def test_an_outage_refuses_connections_and_ends() -> None:
    with running() as server:
        ask(server, "alpha")
        url = server.base_url
        server.outage(1.0)
        with pytest.raises(openai.APIConnectionError) as caught:
            ask(server, "alpha")
        assert "ConnectError" in cause(caught.value)
        assert eventually(lambda: is_up(server))
        assert server.base_url == url


@pytest.mark.skipif(shutil.which("openssl") is None, reason="the openssl program makes the certificate")
def test_a_certificate_that_nobody_trusts() -> None:
    with running(tls=True) as server, pytest.raises(openai.APIConnectionError) as caught:
        ask(server, "alpha")
    assert "CERTIFICATE_VERIFY_FAILED" in cause(caught.value)
    with spawned(None, "--tls-self-signed") as other:
        assert other.stats().requests == 0
