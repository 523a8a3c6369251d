"""Derives the claims again from the stored replies, without a call: for when the code that reads them got better."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby

from pydantic import ValidationError

from extract.claims import derive
from extract.conversation import unwrapped
from extract.grounding import GroundedText
from schemas.registry import LoadedSchema, load_schema
from store.db import Store
from store.results import Reply
from store.rows import Outcome


@dataclass(slots=True)
class Rederived:
    """How many replies were read again, how many records' claims changed, how many replies the schema refuses now."""

    read: int = 0
    changed: int = 0
    unfit: int = 0


def rederive(store: Store, schema: str) -> Rederived:
    """Derive all claims of a schema again and replace those that differ. Raises SchemaError or StoreError."""
    loaded = load_schema(schema)
    done = Rederived()
    for run_id, replies in groupby(store.replies(loaded.hash), key=lambda reply: reply.run_id):
        changed = list(_changed(loaded, replies, done))
        if changed:
            store.replace_claims(run_id, changed)
    return done


def _changed(schema: LoadedSchema, replies: Iterator[Reply], done: Rederived) -> Iterator[Outcome]:
    for reply in replies:
        done.read += 1
        try:
            answer = schema.model.model_validate_json(unwrapped(reply.reply))
        except ValidationError:
            done.unfit += 1
            continue
        derived = derive(schema.fields, answer, GroundedText(reply.text))
        value = json.dumps(derived.value, ensure_ascii=False, separators=(",", ":"))
        done.changed += 1
        evidence = tuple(derived.evidence)
        yield Outcome(reply.record_id, "done", None, None, value, datetime.now(UTC), (), evidence)
