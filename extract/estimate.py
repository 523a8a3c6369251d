"""Estimates what a run would use, without a call: which records it would ask, their tokens, their cost."""

import json
from dataclasses import asdict, dataclass
from typing import Any

from extract.budget import PRICES, load_prices, price_of
from extract.job import Prepared
from extract.selection import Selection
from extract.settings import is_local
from extract.tally import Tally

_CHARS_A_TOKEN = 4.0
"""Of English prose with the tokenizers of today's large models."""
_REPLY_TOKENS = 250
"""Of a usual reply: an abstract of two or three numbers."""
_LOCAL_REPLY_TOKENS = 100
"""Of the embedded model, which writes no white space into its JSON."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What would be asked, and about what that takes. `cost_usd` is None where no price is known."""

    read: int
    records: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None

    def row(self) -> dict[str, Any]:
        """Return it as a JSON object's fields."""
        return asdict(self)


def estimate(prepared: Prepared) -> Estimate:
    """Go through a prepared run's records and add up what asking them would take."""
    request, recipe = prepared.request, prepared.recipe
    tally = Tally()
    selection = Selection(prepared.store, recipe.hash, request.ask, request.limit, tally)
    local = is_local(request.model)  # it is held to the schema by a grammar: no token of that is read
    static = sum(len(m["content"]) for m in recipe.prompt.messages("")) + (0 if local else len(json.dumps(recipe.sent)))
    records = characters = 0
    for chunk in selection.chunks(prepared.records):
        records += len(chunk)
        characters += sum(len(record.text) for record in chunk)
    prompt = round((records * static + characters) / _CHARS_A_TOKEN)
    completion = records * (_LOCAL_REPLY_TOKENS if local else _REPLY_TOKENS)
    price = price_of(request.model, load_prices(request.prices or PRICES))
    return Estimate(tally.read, records, prompt, completion, price.cost(prompt, 0, completion) if price else None)
