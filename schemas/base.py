"""The marks a schema puts on its fields, to say which of them code ties to the text and which code fills in.

A plain Pydantic model is a schema. These marks make it one whose values can be trusted:

- `Quote`, `Name`, `NumberQuote`: a string that must be copied from the text; it is looked up there, and what isn't
  there never becomes a claim. A `Name` may differ from the text in its letters' case (a model that begins a name with a
  capital is right), and the text's way of writing it is kept. A `NumberQuote` is compared, and read, as a number.
- `ValueOf("quote")`: the number that the quote means. Code fills it; no model is ever asked for it.
- `UnitOf("quote")`: the unit of that number. The model is asked, and its answer is checked against the text.
- `QualifierOf("quote")`: how that number is meant ("up to", "about"). Code reads it from the words beside the number.

What code fills in has the default None, so that a reply can do without it.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

MARK = "x-"
"""Before the keys of a JSON schema that tell of a field's marks: they are part of its fingerprint, and never sent."""
DERIVED = f"{MARK}derived-from"
"""The key that tells a field which code fills in."""


@dataclass(frozen=True, slots=True)
class Verbatim:
    """The string is copied from the text. `number`: it must agree as a number too, whatever mark-up stands around."""

    kind: Literal["text", "number"]
    any_case: bool = False

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(core_schema), f"{MARK}verbatim": self.kind, f"{MARK}any-case": self.any_case}


@dataclass(frozen=True, slots=True)
class ValueOf:
    """The field holds the value of the number quoted in the field `quote` of the same model: derived, never asked."""

    quote: str

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(core_schema), DERIVED: self.quote}


@dataclass(frozen=True, slots=True)
class UnitOf:
    """The field holds the unit of the number quoted in the field `quote` of the same model: asked and checked."""

    quote: str

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(core_schema), f"{MARK}unit-of": self.quote}


@dataclass(frozen=True, slots=True)
class QualifierOf:
    """The field says how the number quoted in `quote` of the same model is meant: read from the words beside it."""

    quote: str

    def __get_pydantic_json_schema__(self, core_schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(core_schema), DERIVED: self.quote}


Quote = Annotated[str, Verbatim("text")]
Name = Annotated[str, Verbatim("text", any_case=True)]
NumberQuote = Annotated[str, Verbatim("number")]


class SchemaError(ValueError):
    """A schema that can't be used, in one line that says what, where and the way out."""
