"""How the plain clients ask: a short system prompt and a Pydantic model, as their documentation would have it written.

The model has the fields of the shipped schema. Nothing checks a quote against the text, or reads a number in it.
"""

from pydantic import BaseModel, ConfigDict

SYSTEM = "Extract the claims of the paper from its abstract. Use the abstract's exact words for every name and number."


class Number(BaseModel):
    """A headline number with what is said of it."""

    model_config = ConfigDict(extra="forbid")

    quote: str
    unit: str
    role: str
    direction: str | None
    qualifier: str
    metric: str | None
    dataset: str | None
    baseline: str | None


class Paper(BaseModel):
    """The claims of an abstract."""

    model_config = ConfigDict(extra="forbid")

    contribution: str
    task: str
    method: str | None
    datasets: list[str]
    baselines: list[str]
    headline_numbers: list[Number]


def messages(text: str) -> list[dict[str, str]]:
    """The messages of a request about an abstract."""
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
