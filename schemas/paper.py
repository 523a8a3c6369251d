"""The shipped schema: what a machine-learning paper offers, and the numbers that its abstract states.

The field descriptions are the annotation guidelines in short: they are what the model reads, word for word.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, model_validator

from schemas.base import Name, NumberQuote, QualifierOf, UnitOf, ValueOf
from schemas.qualifiers import Qualifier

Contribution = Literal[
    "method", "theory", "benchmark", "dataset", "metric", "system", "empirical_study", "survey", "position"
]


class HeadlineNumber(BaseModel):
    """A number that the abstract states about results or about the size of the evidence."""

    quote: NumberQuote = Field(description="the number with its sign, unit symbol and LaTeX, no other words")
    value: Annotated[float | None, ValueOf("quote")] = None
    unit: Annotated[str, UnitOf("quote")] = Field(
        description='%, pp (points of a percentage), x (a factor), count, s, GB, USD ...; "" for a plain score'
    )
    role: Literal["score", "gain", "scale"] = Field(
        description="absolute result; difference or ratio; size of data, model or study"
    )
    direction: Literal["increase", "decrease"] | None = Field(description="of a gain: how the metric moves")
    qualifier: Annotated[Qualifier | None, QualifierOf("quote")] = None
    metric: Name | None = Field(description="what is measured or counted, shortest phrase")
    dataset: Name | None = Field(description="the named dataset it is for")
    baseline: Name | None = Field(description="what a gain is over")

    @model_validator(mode="after")
    def _only_a_gain_moves(self) -> "HeadlineNumber":
        if self.role != "gain":
            self.direction = None
        return self


class Paper(BaseModel):
    """The claims of one abstract."""

    contribution: Contribution = Field(description="what the paper mainly offers")
    task: str = Field(description="the problem, a noun phrase of 2 to 8 usual words")
    method: Name | None = Field(description="name of what is proposed, its acronym first; not a description")
    datasets: list[Name] = Field(description="each named dataset, benchmark or simulator; no models, no metrics")
    baselines: list[Name] = Field(description="named methods or models that results are compared with")
    headline_numbers: list[HeadlineNumber] = Field(
        description="each number on results or size of evidence, words too (twice), in order; a range is two. Not: "
        "digits in names, math, years, background"
    )
