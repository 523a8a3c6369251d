"""The scripted server as a program: an OpenAI-compatible endpoint on 127.0.0.1 that follows a script.

It prints its base URL as the first line on stdout and serves until SIGINT or SIGTERM. GET /stats, POST /reset, POST
/script and POST /outage steer it while it runs. Tests and benchmarks start it through `launch`.
"""

import argparse
import asyncio
import json
import signal
import ssl
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import get_args

from tests.scripted.certificate import self_signed
from tests.scripted.endpoint import ScriptedServer
from tests.scripted.faults import RetryAfterForm
from tests.scripted.model import ScriptedModel
from tests.scripted.replies import Answer, answer_from_gold
from tests.scripted.script import Script, script_from_json

# Options that set the field of Script, or of Limits, of the same name.
_FIELDS = ("latency_ms", "seed", "api_key", "models", "cache", "examples", "rules")
_LIMITS = ("rate", "burst", "tokens_per_minute", "retry_after", "headers")


def arguments(description: str) -> argparse.ArgumentParser:
    """The parser. An option that isn't given is None, and leaves what --script says."""
    parser = argparse.ArgumentParser(prog="python -m tests.scripted.server", description=description)
    add = parser.add_argument
    add("--port", type=int, default=0, help="0 (the default) takes a free one")
    add("--script", metavar="FILE", help="a script as JSON, - for stdin; the options below change it")
    add("--answers", type=Path, metavar="FILE", help='JSON lines {"text": ..., "answer": {...}}')
    add("--gold", type=Path, metavar="FILE", help="answers of the `paper` schema from JSON lines of gold")
    add("--rule", dest="rules", type=json.loads, action="append", metavar="JSON", help="repeatable; see script.Rule")
    add("--latency-ms", type=_span, metavar="LOW[-HIGH]", help="fixed, or spread uniformly")
    add("--seed", type=int, help="of the latencies")
    add("--rate", type=float, help="requests a second; 429 beyond it")
    add("--burst", type=int, help="requests that may come at once (default: a second's worth)")
    add("--tokens-per-minute", type=float, help="prompt tokens a minute; 429 beyond it")
    add("--retry-after", choices=get_args(RetryAfterForm), help="how a 429 says when to come back")
    add("--ratelimit-headers", dest="headers", action="store_const", const=True, help="send x-ratelimit-* headers")
    add("--key", dest="api_key", help="the only API key let in")
    add("--model", dest="models", action="append", help="repeatable; other models get 404 (default: any is known)")
    add("--cache", action="store_const", const=True, help="count as cached what a prompt shares with the one before")
    add("--examples", type=int, help="assistant messages that belong to the prompt")
    add("--keep", type=int, default=0, help="how many request bodies /stats shows")
    add("--tls-self-signed", action="store_true", help="serve https with a certificate that nobody trusts")
    return parser


def _span(text: str) -> list[float]:
    low, _, high = text.partition("-")
    return [float(low), float(high or low)]


def script_from_options(options: argparse.Namespace) -> Script:
    """The script that --script and the other options describe; raises ValueError or OSError where they don't."""
    given = _read_object(options.script) if options.script else {}
    given |= _told(options, _FIELDS)
    limits = given.get("limits") or {}
    if not isinstance(limits, dict):
        raise ValueError(f"limits: expected a JSON object, found {limits!r}")
    given["limits"] = limits | _told(options, _LIMITS)
    answers: dict[str, object] = {}
    if options.gold:
        answers |= _read_rows(options.gold, lambda row: (row["abstract"], answer_from_gold(row)))
    if options.answers:
        answers |= _read_rows(options.answers, lambda row: (row["text"], row["answer"]))
    if answers:
        given["answers"] = answers
    return script_from_json(given)


def _told(options: argparse.Namespace, names: tuple[str, ...]) -> dict[str, object]:
    return {name: value for name in names if (value := getattr(options, name)) is not None}


def _read_object(name: str) -> dict[str, object]:
    value = json.loads(sys.stdin.read() if name == "-" else Path(name).read_text(encoding="utf-8"))
    if not isinstance(value, dict):
        raise ValueError(f"{name}: expected a JSON object, found {type(value).__name__}")
    return value


def _read_rows(path: Path, read: Callable[[dict[str, object]], tuple[object, object]]) -> dict[str, Answer]:
    """Answers by text; raises ValueError with the file and line of a row that holds none."""
    answers: dict[str, Answer] = {}
    with path.open(encoding="utf-8") as lines:
        for n, line in enumerate(lines, 1):
            try:
                text, answer = read(json.loads(line))
            except (KeyError, TypeError, ValueError) as wrong:
                raise ValueError(f"{path}:{n}: not a text with its answer: {wrong!r}") from wrong
            if not isinstance(text, str) or not isinstance(answer, Mapping):
                raise ValueError(f"{path}:{n}: expected a string and its answer as an object")
            answers[text] = answer
    return answers


async def serve(script: Script, *, port: int, keep: int, tls: ssl.SSLContext | None) -> None:
    """Serve until SIGINT or SIGTERM; prints the base URL once it listens."""
    server = ScriptedServer(ScriptedModel(script, keep=keep), port=port, tls=tls)
    await server.start()
    print(server.base_url, flush=True)
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    await stopped.wait()
    await server.stop()


def main() -> None:
    """The command."""
    parser = arguments(str(__doc__))
    options = parser.parse_args()
    try:
        script = script_from_options(options)
        tls = self_signed() if options.tls_self_signed else None
    except (OSError, ValueError, TypeError, RuntimeError) as wrong:
        parser.error(str(wrong))
    asyncio.run(serve(script, port=options.port, keep=options.keep, tls=tls))


if __name__ == "__main__":
    main()
