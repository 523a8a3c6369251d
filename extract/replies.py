"""Reads a reply by its schema, whose code is the user's own: whatever that raises is a fault of the reply, in a line.

It looks up no quote and knows no conversation: `claims` and `conversation` do.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from extract.failures import shortened
from schemas.shape import FieldShape

_THINKING = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(r"\A\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)
_OBJECT = re.compile(r"\{.*\}", re.DOTALL)


class ReplyUnfit(ValueError):
    """A reply that doesn't fit its schema. `faults`: why, a short line each."""

    def __init__(self, faults: Sequence[str]) -> None:
        self.faults = list(faults)
        super().__init__("; ".join(faults))


def read_reply(model: type[BaseModel], reply: str) -> BaseModel:
    """Return what a reply says, checked by the model and its validators. Raises ReplyUnfit."""
    try:
        return model.model_validate_json(unwrapped(reply))
    except ValidationError as e:
        raise ReplyUnfit(faults_of(e)) from None
    except Exception as e:  # a validator of the user's own may raise anything; Pydantic takes ValueErrors only
        raise ReplyUnfit([f"reply: a validator fails on it: {_shown(e)}"]) from e


class Said(dict[str, Any]):
    """A model's fields as JSON values, with the model itself: its computed fields are to see what is kept of it."""

    __slots__ = ("of",)

    def __init__(self, values: Mapping[str, Any], of: BaseModel) -> None:
        super().__init__(values)
        self.of = of


def said_in(reply: BaseModel, fields: Sequence[FieldShape]) -> dict[str, Any]:
    """Return a reply as JSON values by the fields' names, without what is computed. Raises ReplyUnfit.

    Of a schema with computed fields each model is a `Said`, which holds a copy of its own.
    """
    try:
        values = reply.model_dump(mode="json", by_alias=False, exclude_computed_fields=True, warnings=False)
    except Exception as e:  # a serializer of the user's own may raise anything
        raise ReplyUnfit([f"reply: a serializer fails on it: {_shown(e)}"]) from e
    return _with_models(values, reply.model_copy(deep=True), fields) if _compute(fields) else values


def computed(model: BaseModel, name: str) -> tuple[Any, str | None]:
    """Return a computed field as a JSON value, or None and why the schema's code fails on it."""
    try:
        return model.model_dump(mode="json", by_alias=False, include={name}, warnings=False)[name], None
    except Exception as e:  # the user's own code may raise anything
        return None, _shown(e)


def _compute(fields: Sequence[FieldShape]) -> bool:
    return any(f.computed or _compute(f.fields) for f in fields)


def _with_models(values: dict[str, Any], model: BaseModel, fields: Sequence[FieldShape]) -> Said:
    said = Said(values, model)
    for f in fields:
        held = getattr(model, f.name, None) if f.kind == "model" else None
        if isinstance(held, BaseModel):
            said[f.name] = _with_models(values[f.name], held, f.fields)
        elif held is not None:
            said[f.name] = [_with_models(v, m, f.fields) for v, m in zip(values[f.name], held, strict=True)]
    return said


def unwrapped(reply: str) -> str:
    """Take off a reply what is around its JSON: a model's thinking, a code fence, sentences before and after.

    instructor's JSON modes take off none of it.
    """
    bare = _THINKING.sub("", reply, count=1)
    fenced = _FENCE.match(bare)
    if fenced:
        return fenced[1]
    braced = _OBJECT.search(bare)
    return braced[0] if braced else bare


def faults_of(error: ValidationError) -> list[str]:
    """Say what Pydantic found, a short line a fault, without its links to documentation."""
    return [
        f"{'.'.join(str(p) for p in fault['loc']) or 'reply'}: {shortened(fault['msg'])}"
        for fault in error.errors(include_url=False, include_context=False, include_input=False)
    ]


def _shown(error: Exception) -> str:
    return shortened(f"{type(error).__name__}: {' '.join(str(error).split())}")
