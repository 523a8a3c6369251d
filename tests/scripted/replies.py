"""What the scripted server says: a request read into what it asks for, and answers written as completions.

It knows OpenAI's chat format and the three ways an answer can be asked for (a tool call, JSON content, plain chat).
It does not choose an answer, misbehave or touch a socket: see `script`, `faults` and `endpoint`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Answer = Mapping[str, object]
Mode = Literal["tools", "json", "chat"]
Delivery = Literal["whole", "slow", "cut", "reset", "hang"]

CHARS_PER_TOKEN = 4
_ABSENT: Mapping[str, object] = {}


@dataclass(frozen=True, slots=True)
class Asked:
    """One chat request: its mode, the text that the record is looked for in, and what it weighs.

    `call` counts from 1 the requests seen for this record, this one included.
    """

    body: Mapping[str, object]
    mode: Mode
    model: str
    tool: str
    text: str
    prompt: str
    keys: frozenset[str] = frozenset()
    call: int = 1
    cached_tokens: int = 0

    @property
    def prompt_tokens(self) -> int:
        """Characters of messages and schema over four, rounded up."""
        return tokens(self.prompt)


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes over the wire, and how: `seconds` is the length of a slow delivery or of a hang before the reply."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    content_type: str = "application/json"
    delivery: Delivery = "whole"
    seconds: float = 0.0
    completion_tokens: int = 0


def tokens(text: str) -> int:
    """Tokens by the rule of four characters each, rounded up; no tokenizer is asked."""
    return -(-len(text) // CHARS_PER_TOKEN)


def dumps(value: object) -> str:
    """JSON as models write it: no spaces saved, letters outside ASCII as they are."""
    return json.dumps(value, ensure_ascii=False)


def read_request(body: Mapping[str, object], examples: int = 0) -> Asked:
    """Read a chat request; raises ValueError where it has no user message.

    The record's text is the last user message before the first assistant message, so that re-asks (an assistant
    message and a correction after it) don't change it. `examples` is the number of assistant messages that belong
    to the prompt itself, for few-shot prompts written as turns.
    """
    messages = [message for message in _list(body.get("messages")) if isinstance(message, Mapping)]
    text: str | None = None
    for message in messages:
        if message.get("role") == "user":
            text = _content(message)
        elif message.get("role") == "assistant":
            examples -= 1
            if examples < 0 and text is not None:
                break
    if text is None:
        raise ValueError("the request has no user message")
    schema = body.get("tools") or body.get("response_format") or ""
    prompt = "\n".join([*map(_content, messages), dumps(schema) if schema else ""])
    mode: Mode = "tools" if body.get("tools") else "json" if body.get("response_format") else "chat"
    return Asked(body, mode, str(body.get("model", "")), _tool_name(body), text, prompt)


def _content(message: Mapping[str, object]) -> str:
    """A message's text: its string, its text parts joined, or the tool calls that it made."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return dumps(message["tool_calls"]) if message.get("tool_calls") else ""


def _tool_name(body: Mapping[str, object]) -> str:
    """The function that the request forces, else the first that it offers, else nothing."""
    first = next(iter(_list(body.get("tools"))), _ABSENT)
    for holder in (body.get("tool_choice"), first):
        function = holder.get("function") if isinstance(holder, Mapping) else None
        if isinstance(function, Mapping) and isinstance(function.get("name"), str):
            return str(function["name"])
    return ""


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def said(asked: Asked, text: str, *, finish: str = "stop", beside: str | None = None) -> Reply:
    """A completion whose answer is `text`, where the request wants it: a tool's arguments, content, or fenced content.

    In TOOLS mode `beside` is the content next to the call.
    """
    if asked.mode == "tools":
        call = {"id": "call_1", "type": "function", "function": {"name": asked.tool, "arguments": text}}
        message: dict[str, object] = {"role": "assistant", "content": beside, "tool_calls": [call]}
        return completion(asked, message, text + (beside or ""), finish="tool_calls" if finish == "stop" else finish)
    content = f"```json\n{text}\n```" if asked.mode == "chat" else text
    return content_only(asked, content, finish=finish)


def content_only(asked: Asked, content: str | None, *, finish: str = "stop", refusal: str | None = None) -> Reply:
    """A completion with this content as it stands, whatever the mode; None is a null content."""
    message: dict[str, object] = {"role": "assistant", "content": content, "refusal": refusal}
    return completion(asked, message, (content or "") + (refusal or ""), finish=finish)


def completion(asked: Asked, message: Mapping[str, object], counted: str, *, finish: str) -> Reply:
    """The envelope around one message; `counted` is the text that its completion tokens are counted on."""
    sent, received = asked.prompt_tokens, tokens(counted)
    envelope = {
        "id": "chatcmpl-scripted",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": asked.model,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": sent,
            "completion_tokens": received,
            "total_tokens": sent + received,
            "prompt_tokens_details": {"cached_tokens": asked.cached_tokens},
        },
    }
    return Reply(200, json.dumps(envelope).encode(), completion_tokens=received)


def error(
    status: int,
    message: str,
    *,
    kind: str = "invalid_request_error",
    code: str | None = None,
    param: str | None = None,
    headers: tuple[tuple[str, str], ...] = (),
) -> Reply:
    """An error in OpenAI's shape: `{"error": {"message", "type", "param", "code"}}`."""
    body = {"error": {"message": message, "type": kind, "param": param, "code": code}}
    return Reply(status, json.dumps(body).encode(), headers)


def number(quote: str, **labels: str | None) -> dict[str, object]:
    """One headline number of the `paper` schema: a percentage that rose, unless `labels` say otherwise."""
    defaults: dict[str, object] = {"unit": "%", "role": "gain", "direction": "increase", "qualifier": "exact"}
    return {"quote": quote, **defaults, "metric": None, "dataset": None, "baseline": None, **labels}


def paper(**fields: object) -> dict[str, object]:
    """A whole answer of the `paper` schema: empty where the schema allows it, unless `fields` say otherwise."""
    empty: dict[str, object] = {"contribution": "method", "task": "an unnamed task", "method": None}
    return {**empty, "datasets": [], "baselines": [], "headline_numbers": [], **fields}


def answer_from_gold(row: Mapping[str, object]) -> dict[str, object]:
    """The reply of the `paper` schema that a row of gold stands for: the first form of each list.

    Raises KeyError where the row lacks a field that every gold row has.
    """
    gold = row["gold"]
    if not isinstance(gold, Mapping):
        raise TypeError(f"gold row {row.get('id')!r}: found {type(gold).__name__} under 'gold', expected an object")
    labels = ("quote", "unit", "role", "direction", "qualifier", "metric", "dataset", "baseline")
    return {
        "contribution": gold["contribution"],
        "task": _first(gold["task"]),
        "method": _first(gold["method"]),
        "datasets": [_first(forms) for forms in _list(gold["datasets"])],
        "baselines": [_first(forms) for forms in _list(gold["baselines"])],
        "headline_numbers": [{label: found.get(label) for label in labels} for found in gold["numbers"]],
    }


def _first(forms: object) -> object:
    """The first of a list of equally right forms, None of an empty one; a string is its own first form."""
    return next(iter(forms), None) if isinstance(forms, list) else forms
