"""The first request about a record, worked out once a run: what instructor would send, with the abstract put in.

instructor makes it anew for each record, schema and all, and then makes the call; here it is asked once what it would
send in this mode, about a stand-in for the abstract. Re-asks are its own (`client`).
"""

from collections.abc import Mapping
from typing import Any

import instructor
from instructor.processing import handle_response_model
from pydantic import BaseModel

from extract.recipe import Recipe, listed_numbers
from prompts.loader import ABSTRACT


class FirstRequest:
    """What is sent about each record: all of it but the abstract is the same."""

    def __init__(
        self, recipe: Recipe, mode: instructor.Mode, reply: type[BaseModel], parameters: Mapping[str, Any]
    ) -> None:
        self._prompt = recipe.prompt
        self._stand_in = self._last_message(ABSTRACT)
        messages = recipe.prompt.messages(ABSTRACT)
        _, self._static = handle_response_model(reply, mode=mode, messages=messages, **parameters)
        said = [message["content"] for message in self._static["messages"]]
        self._at = next(i for i, content in enumerate(said) if self._stand_in in content)

    def about(self, abstract: str, title: str | None = None) -> dict[str, Any]:
        """Return the request about an abstract."""
        messages = list(self._static["messages"])
        message = messages[self._at]
        content = message["content"].replace(self._stand_in, self._last_message(abstract, title))
        messages[self._at] = {**message, "content": content}
        return {**self._static, "messages": messages}

    def _last_message(self, abstract: str, title: str | None = None) -> str:
        return self._prompt.about(abstract, title, listed_numbers(self._prompt, abstract))
