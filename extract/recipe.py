"""A recipe: schema, prompt, model and parameters. Two answers of one recipe for one text are the same question asked.

What a recipe needs is worked out once for a run: the prompt with the schema's fields in it, the JSON schema to send,
and the check that each of the prompt's examples is right by its own text.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from extract.claims import derive
from extract.grounding import GroundedText
from extract.settings import LOCAL, Asking
from prompts.loader import Prompt, PromptError, load_prompt, shipped
from schemas.describe import describe
from schemas.registry import LoadedSchema, load_schema
from schemas.sent import Bounds, sent_schema

BOUNDS = Bounds(items=24, characters=200)
"""Of a bounded schema. Beyond the longest list (22) and string (120) of the annotated abstracts."""


@dataclass(frozen=True)
class Recipe:
    """What makes an answer. `hash` is what a finished record is known by, beside its text."""

    schema: LoadedSchema
    prompt: Prompt
    asking: Asking

    @cached_property
    def sent(self) -> dict[str, Any]:
        """The JSON schema that is sent."""
        return sent_schema(self.schema.model, BOUNDS if self.asking.bounded else None)

    @cached_property
    def hash(self) -> str:
        """A hash of schema, prompt, model and parameters; how often a bad reply is asked again is no part of it."""
        parameters = {k: v for k, v in asdict(self.asking).items() if k != "reasks"}
        whole = json.dumps([self.schema.hash, self.prompt.hash, parameters, self.sent], sort_keys=True)
        return f"q1-{hashlib.sha256(whole.encode()).hexdigest()[:20]}"


def make_recipe(schema: str, prompt: str | None, asking: Asking) -> Recipe:
    """Load schema and prompt by name or path and check them against each other.

    Without a prompt of its own the schema's shipped one is taken: for the embedded model the one that it was trained
    on, for a user's schema the general one. Raises SchemaError or PromptError, one line each.
    """
    loaded = load_schema(schema)
    local = [f"{loaded.name}-{LOCAL}"] if asking.model == LOCAL else []
    name = prompt or next(n for n in [*local, loaded.name, "any"] if n in shipped())
    recipe = Recipe(loaded, load_prompt(name, describe(loaded.fields)), asking)
    _check_examples(recipe)
    return recipe


def _check_examples(recipe: Recipe) -> None:
    """Raise PromptError for an example whose reply isn't of the schema or quotes what its text doesn't say."""
    for n, example in enumerate(recipe.prompt.examples, 1):
        where = f"prompt {recipe.prompt.name!r}, example {n}"
        try:
            reply = recipe.schema.model.model_validate_json(example.reply)
        except ValidationError as e:
            first = e.errors(include_url=False)[0]
            place = ".".join(str(p) for p in first["loc"])
            raise PromptError(
                f"{where}: its reply is not of schema {recipe.schema.name!r}: {place}: {first['msg']}"
            ) from e
        faults = derive(recipe.schema.fields, reply, GroundedText(example.abstract)).faults
        if faults:
            raise PromptError(f"{where}: {faults[0]}")
