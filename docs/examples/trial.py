"""A clinical trial by its abstract: whom it treated, with what, against what, and what came of it."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, computed_field, model_validator

from schemas.base import Name, NumberQuote, QualifierOf, Quote, UnitOf, ValueOf
from schemas.qualifiers import Qualifier


class Population(BaseModel):
    """Who took part."""

    described: Quote | None = Field(description="who took part, shortest phrase")
    size: NumberQuote | None = Field(description="how many took part")
    count: Annotated[float | None, ValueOf("size")] = None


class Outcome(BaseModel):
    """One thing that was measured, with its effect."""

    name: Name = Field(description="what was measured, shortest phrase")
    measure: Literal["hazard_ratio", "odds_ratio", "risk_ratio", "difference", "rate", "other"] = Field(
        description="of what kind the effect is"
    )
    effect: NumberQuote = Field(description="the effect size as written")
    value: Annotated[float | None, ValueOf("effect")] = None
    unit: Annotated[str, UnitOf("effect")] = Field(description='%, days, mg ...; "" for none')
    ci_low: NumberQuote | None = Field(description="lower end of its confidence interval")
    low: Annotated[float | None, ValueOf("ci_low")] = None
    ci_high: NumberQuote | None = Field(description="upper end of it")
    high: Annotated[float | None, ValueOf("ci_high")] = None
    p: NumberQuote | None = Field(description="the number of its p-value")
    p_value: Annotated[float | None, ValueOf("p")] = None
    p_bound: Annotated[Qualifier | None, QualifierOf("p")] = None

    @computed_field
    def excludes_none(self) -> bool | None:
        """Does the interval leave out no effect at all: 1 of a ratio, 0 of a difference?"""
        if self.low is None or self.high is None or self.measure in ("rate", "other"):
            return None
        none = 0.0 if self.measure == "difference" else 1.0
        return not self.low <= none <= self.high


class Trial(BaseModel):
    """What one abstract says of its trial."""

    design: Literal["randomized", "observational", "single_arm", "other"] = Field(description="how it compares")
    registration: Quote | None = Field(description="its number in a registry")
    weeks: int | None = Field(description="how long patients were treated or followed, in weeks", ge=1)
    population: Population = Field(description="who took part")
    intervention: Name = Field(description="the treatment under trial, its name alone")
    comparator: Name | None = Field(description="what it is compared with")
    outcomes: list[Outcome] = Field(description="each effect with its number, in order")

    @model_validator(mode="after")
    def _compares_two_things(self) -> "Trial":
        if self.comparator == self.intervention:
            raise ValueError("comparator: it is the intervention itself; name what that is compared with, or null")
        return self
