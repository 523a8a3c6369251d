"""Examines an endpoint: is it up, is the model there, does it enforce a schema, which mode fits.

It asks a question that a model can only get right by being held to the schema, once in each mode that can hold it. Of
several servers alike it examines the first. It stores nothing.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from extract.errors import CallError, FatalError, MistakeError, SettingsError
from extract.report import way_out
from extract.settings import LOCAL, Endpoint, Mode, is_local, openai_endpoint

ENFORCED = "enforced"
_PROBED: tuple[Mode, ...] = ("json_schema", "tools")
_KEY_LENGTH = 8
"""A shorter key is no secret ("none"), and a word of the text as like as not."""
_QUESTION = "Which colour has a clear sky at noon? Answer in plain prose, not in JSON."


class _Probe(BaseModel):
    """A key and values that no model chooses by itself: only a schema that is enforced brings them about."""

    zq_colour: Literal["quartz", "onyx"]


def examine(model: str, base_url: str | None, say: Callable[[str], None]) -> None:
    """Say what an endpoint can do. Raises MistakeError, with the endpoint's words, where no run could use it."""
    with _endpoint(model, base_url) as endpoint:
        asyncio.run(_examine(endpoint, model, say))


def _endpoint(model: str, base_url: str | None) -> AbstractContextManager[Endpoint]:
    if not is_local(model):
        return nullcontext(openai_endpoint(base_url))
    if base_url:
        raise SettingsError(f"--base-url goes with a model served there; --model {LOCAL} is the embedded one")
    from extract.adapters import adapter_of
    from extract.local import embedded_model

    return embedded_model(adapter_of(model), servers=1)


async def _examine(endpoint: Endpoint, model: str, say: Callable[[str], None]) -> None:
    import openai

    client = openai.AsyncOpenAI(base_url=endpoint.base_urls[0], api_key=endpoint.api_key, max_retries=0, timeout=60)
    found: dict[Mode, str] = {}
    try:
        for mode in _PROBED[:1] if is_local(model) else _PROBED:
            started = time.perf_counter()
            found[mode] = await _probe(client, model, mode)
            if len(found) == 1:
                say(f"endpoint     {'embedded' if is_local(model) else endpoint.shown}")
                say(f"model        {model}")
            say(f"{mode:<11}  {found[mode]} ({(time.perf_counter() - started) * 1000:.0f} ms)")
    except (CallError, FatalError) as e:
        words = e.words.replace(endpoint.api_key, "[key]") if len(endpoint.api_key) >= _KEY_LENGTH else e.words
        raise MistakeError(f"{model!r} at {endpoint.shown} can't be used: {words}{way_out(e)}") from None
    finally:
        await client.close()
    if is_local(model):
        return
    best: Mode = next((mode for mode, said in found.items() if said == ENFORCED), "json")
    say(f"use          --mode {best}" + ("" if best in found else " (replies are checked, and asked again where bad)"))


async def _probe(client: Any, model: str, mode: Mode) -> str:
    """Return whether the endpoint holds this model to a schema in this mode. Raises what stops a run."""
    import openai
    from openai.types.chat import ChatCompletion

    from extract.completions import said_in
    from extract.failures import failure_of
    from schemas.sent import sent_schema

    schema = sent_schema(_Probe)
    asked: dict[str, Any]
    if mode == "json_schema":
        asked = {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "probe", "strict": True, "schema": schema},
            }
        }
    else:
        function = {"name": "probe", "parameters": schema, "strict": True}
        asked = {
            "tools": [{"type": "function", "function": function}],
            "tool_choice": {"type": "function", "function": {"name": "probe"}},
        }
    try:
        completion = await client.chat.completions.create(
            model=model, messages=[{"role": "user", "content": _QUESTION}], max_tokens=200, **asked
        )
    except openai.BadRequestError as e:
        return f"refused: {failure_of(e, proven=True)}"
    except openai.OpenAIError as e:
        raise failure_of(e, proven=False) from e
    if not isinstance(completion, ChatCompletion) or not completion.choices:
        raise CallError("server", "its answer holds no completion")
    try:
        _Probe.model_validate_json(said_in(completion))
    except ValidationError:
        return "not enforced"
    return ENFORCED
