"""Examines an endpoint: is it up, is the model there, does it enforce a schema, which mode fits.

It makes a few calls with a question that a model can only get right by being held to the schema.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from extract.errors import CallError, FatalError
from extract.settings import LOCAL, Endpoint, Mode, openai_endpoint

_QUESTION = "Which colour has a clear sky at noon? Answer in plain prose, not in JSON."


class _Probe(BaseModel):
    """A key and values that no model chooses by itself: only a schema that is enforced brings them about."""

    zq_colour: Literal["quartz", "onyx"]


def examine(model: str, base_url: str | None, say: Callable[[str], None]) -> bool:
    """Say what an endpoint can do; return whether a run with this model would work."""
    with _endpoint(model, base_url) as endpoint:
        return asyncio.run(_examine(endpoint, model, say))


def _endpoint(model: str, base_url: str | None) -> AbstractContextManager[Endpoint]:
    if model == LOCAL:
        from extract.local import embedded_model

        return embedded_model()
    return nullcontext(openai_endpoint(base_url))


async def _examine(endpoint: Endpoint, model: str, say: Callable[[str], None]) -> bool:
    import openai

    client = openai.AsyncOpenAI(base_url=endpoint.base_urls[0], api_key=endpoint.api_key, max_retries=0, timeout=60)
    say(f"endpoint  {endpoint.shown}")
    enforced: dict[Mode, str] = {}
    try:
        for mode in ("json_schema", "tools"):
            started = time.perf_counter()
            enforced[mode] = await _probe(client, model, mode)
            say(f"{mode:<12}  {enforced[mode]} ({(time.perf_counter() - started) * 1000:.0f} ms)")
    except (CallError, FatalError) as e:
        words = e.words.replace(endpoint.api_key, "[key]") if len(endpoint.api_key) >= 8 else e.words
        say(f"no use: {words}")
        return False
    finally:
        await client.close()
    best: Mode = next((m for m, said in enforced.items() if said == "enforced"), "json")
    say(f"use       --mode {best}" + ("" if best in enforced else " (replies are checked here, and asked again)"))
    return True


async def _probe(client: Any, model: str, mode: Mode) -> str:
    """Return whether the endpoint holds this model to a schema in this mode. Raises what stops a run."""
    import openai

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
    message = completion.choices[0].message
    said = message.tool_calls[0].function.arguments if message.tool_calls else message.content or ""
    try:
        _Probe.model_validate_json(said)
    except ValidationError:
        return "not enforced"
    return "enforced"
