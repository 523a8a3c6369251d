"""The first request about a record is, in each mode, the one that instructor would have sent."""

import asyncio
import json
from typing import Any, get_args

import instructor
import openai
import pytest

from extract.conversation import response_model
from extract.first_request import FirstRequest
from extract.recipe import Recipe, make_recipe, messages_about
from extract.settings import Asking, Mode

MODES = {
    "json_schema": instructor.Mode.JSON_SCHEMA,
    "tools": instructor.Mode.TOOLS,
    "json": instructor.Mode.JSON,
    "md_json": instructor.Mode.MD_JSON,
}
ABSTRACTS = (
    "We present Calm, which sorts 12\\% more pebbles.",
    "Braces {{abstract}} and {% raw %}, a </abstract> tag, and \\textbf{3.1}.",
)


class Sent(Exception):
    """Raised in place of a call, with what would have been sent."""


def sent_by_instructor(recipe: Recipe, mode: Mode, abstract: str, title: str | None) -> dict[str, Any]:

    async def create(**request: Any) -> Any:
        raise Sent(request)

    async def ask() -> None:
        async with openai.AsyncOpenAI(base_url="http://127.0.0.1:9/v1", api_key="none") as client:
            patched = instructor.patch(create=create, mode=MODES[mode])
            asking = instructor.AsyncInstructor(client=client, create=patched, mode=MODES[mode])
            messages: Any = messages_about(recipe.prompt, abstract, title)
            await asking.chat.completions.create(
                response_model=response_model(recipe), messages=messages, max_retries=0, model="m", max_tokens=9
            )

    with pytest.raises(instructor.core.exceptions.InstructorRetryException) as caught:
        asyncio.run(ask())
    assert isinstance(caught.value.__cause__, Sent)
    request: dict[str, Any] = caught.value.__cause__.args[0]
    return request


@pytest.mark.parametrize("mode", get_args(Mode))
@pytest.mark.parametrize("abstract", ABSTRACTS)
@pytest.mark.parametrize(("prompt", "title"), [("paper", None), ("trained", None), ("trained", "On {{numbers}}")])
def test_it_is_what_instructor_sends(mode: Mode, abstract: str, prompt: str, title: str | None) -> None:
    recipe = make_recipe("paper", prompt, Asking("m", mode))
    first = FirstRequest(recipe, MODES[mode], response_model(recipe), {"model": "m", "max_tokens": 9})
    first.about("another abstract", "another title")
    assert json.dumps(first.about(abstract, title), sort_keys=True) == json.dumps(
        sent_by_instructor(recipe, mode, abstract, title), sort_keys=True
    )
