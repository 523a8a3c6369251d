"""A recipe: schema, prompt, model and parameters. Two answers of one recipe for one text are the same question asked.

What a recipe needs is worked out once for a run: the prompt with the schema's fields in it, the JSON schema to send,
and the check that each of the prompt's examples is right by its own text.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from extract.adapters import TRAINED_PROMPT
from extract.claims import derive
from extract.grounding import GroundedText
from extract.replies import ReplyUnfit, read_reply
from extract.settings import Asking
from prompts.loader import Prompt, PromptError, load_prompt, shipped
from schemas.describe import describe
from schemas.quantity import scan
from schemas.registry import LoadedSchema, load_schema
from schemas.sent import Bounds, sent_schema
from schemas.strict import refusals

_NO_PART = frozenset(("reasks", "logprobs", "trained_on", "trained_prompt", "calibration"))
"""Parameters that leave the answer as it is."""
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
    def strict(self) -> bool:
        """Can an endpoint be told to hold the model to it? Else it is advice, and the reply is checked all the same."""
        return not refusals(self.sent)

    @cached_property
    def hash(self) -> str:
        """A hash of schema, prompt, model and parameters: of what makes an answer what it is, and nothing else."""
        parameters = {k: v for k, v in asdict(self.asking).items() if k not in _NO_PART and v != ""}
        whole = json.dumps([self.schema.hash, self.prompt.hash, parameters, self.sent], sort_keys=True)
        return f"q1-{hashlib.sha256(whole.encode()).hexdigest()[:20]}"


def make_recipe(schema: str, prompt: str | None, asking: Asking) -> Recipe:
    """Load schema and prompt by name or path and check them against each other.

    Without a prompt of its own the schema's shipped one is taken: for the embedded model the one that it was trained
    on, for a user's schema the general one. Raises SchemaError or PromptError, one line each.
    """
    loaded = load_schema(schema)
    own = TRAINED_PROMPT if asking.trained_on == loaded.hash else loaded.name
    name = prompt or (own if own in shipped() else "any")
    version = asking.trained_prompt if name == TRAINED_PROMPT and asking.trained_prompt else None
    recipe = Recipe(loaded, load_prompt(name, describe(loaded.fields), version), asking)
    _check_examples(recipe)
    return recipe


def messages_about(prompt: Prompt, text: str, title: str | None = None) -> list[dict[str, str]]:
    """Return what a model is asked about an abstract: the prompt, with the numbers of the text if it lists them."""
    return prompt.messages(text, title, listed_numbers(prompt, text))


def listed_numbers(prompt: Prompt, text: str) -> list[str]:
    """Return the numbers of a text that this prompt says; none if it lists none."""
    return [text[span.start : span.end] for span in scan(text)] if prompt.lists_numbers else []


def _check_examples(recipe: Recipe) -> None:
    """Raise PromptError for an example whose reply isn't of the schema or quotes what its text doesn't say."""
    for n, example in enumerate(recipe.prompt.examples, 1):
        where = f"prompt {recipe.prompt.name!r}, example {n}"
        try:
            reply = read_reply(recipe.schema.model, example.reply)
            faults = derive(recipe.schema.fields, reply, GroundedText(example.abstract)).faults
        except ReplyUnfit as e:
            raise PromptError(f"{where}: its reply is not of schema {recipe.schema.name!r}: {e.faults[0]}") from e
        if faults:
            raise PromptError(f"{where}: {faults[0]}")
