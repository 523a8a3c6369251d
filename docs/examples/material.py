"""The materials that an abstract reports on, and the properties measured of each, with the conditions."""

from enum import Enum
from typing import Annotated, Literal

from pydantic import BaseModel, Field, computed_field

from schemas.base import Name, NumberQuote, QualifierOf, Quote, UnitOf, ValueOf
from schemas.qualifiers import Qualifier


class Form(Enum):
    """In what form a material was studied."""

    BULK = "bulk"
    FILM = "film"
    POWDER = "powder"
    FIBRE = "fibre"
    OTHER = "other"


class AtTemperature(BaseModel):
    """A temperature, as a condition."""

    kind: Literal["temperature"]
    quote: NumberQuote = Field(description="the temperature as written, with its unit")
    value: Annotated[float | None, ValueOf("quote")] = None
    unit: Annotated[str, UnitOf("quote")] = Field(description="K or °C")

    @computed_field
    def kelvin(self) -> float | None:
        """The temperature on one scale, so that conditions can be compared."""
        shift = {"K": 0.0, "°C": 273.15}.get(self.unit)
        return None if shift is None or self.value is None else self.value + shift


class Described(BaseModel):
    """A condition in words."""

    kind: Literal["described"]
    words: Quote = Field(description="any other condition, as written")


class Measurement(BaseModel):
    """One number measured of a material."""

    property: Name = Field(description="what was measured")
    quote: NumberQuote = Field(description="the number as written, with its unit symbol")
    value: Annotated[float | None, ValueOf("quote")] = None
    unit: Annotated[str, UnitOf("quote")] = Field(description='GPa, eV, % ...; "" for none')
    qualifier: Annotated[Qualifier | None, QualifierOf("quote")] = None
    condition: Annotated[AtTemperature | Described, Field(discriminator="kind")] | None = Field(
        description="under what it was measured"
    )


class Material(BaseModel):
    """A material with all that was measured of it."""

    name: Name = Field(description="the material, as the abstract calls it")
    form: Form = Field(description="in what form it was studied")
    made_by: list[Name] = Field(description="each step by which it was made")
    measurements: list[Measurement] = Field(description="each number measured of it, in order")


class Report(BaseModel):
    """What one abstract reports."""

    materials: list[Material] = Field(description="each material that numbers are given of")
