"""The first request about a record is, in each mode, the one that instructor would have sent."""

import asyncio
import json
from typing import Any, get_args

import instructor
import openai
import pytest

from extract.conversation import response_model
from extract.first_request import FirstRequest
from extract.recipe import make_recipe
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


def sent_by_instructor(mode: Mode, abstract: str) -> dict[str, Any]:
    recipe = make_recipe("paper", None, Asking("m", mode))

    async def create(**request: Any) -> Any:
        raise Sent(request)

    async def ask() -> None:
        async with openai.AsyncOpenAI(base_url="http://127.0.0.1:9/v1", api_key="none") as client:
            patched = instructor.patch(create=create, mode=MODES[mode])
            asking = instructor.AsyncInstructor(client=client, create=patched, mode=MODES[mode])
            messages: Any = recipe.prompt.messages(abstract)
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
def test_it_is_what_instructor_sends(mode: Mode, abstract: str) -> None:
    recipe = make_recipe("paper", None, Asking("m", mode))
    first = FirstRequest(recipe, MODES[mode], response_model(recipe), {"model": "m", "max_tokens": 9})
    first.about("another abstract")
    assert json.dumps(first.about(abstract), sort_keys=True) == json.dumps(
        sent_by_instructor(mode, abstract), sort_keys=True
    )
