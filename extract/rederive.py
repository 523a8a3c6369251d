"""Derives the claims again from the stored replies, without a call: for when the code that reads them got better.

Only what comes out otherwise than it is stored is written. A reply is read by the schema it was asked for; one of
another fingerprint, an older form of the schema, is not read as if it were of this one.
"""

import itertools
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from extract.certainty import Calibration, Certainties
from extract.claims import derive
from extract.errors import MistakeError
from extract.grounding import GroundedText
from extract.replies import ReplyUnfit, read_reply
from schemas.registry import LoadedSchema, load_schema
from store.db import Store
from store.query import run_query
from store.results import Reply
from store.rows import Outcome, Schema
from store.text import clean, clean_json
from store.views import literal

_AT_ONCE = 1_000
"""Replies whose stored claims are looked up, and rewritten, together."""

Stored = tuple[str, list[str]]
"""What is stored of an outcome's claims: the JSON of its value, and a JSON row for each piece of evidence, sorted."""


@dataclass(slots=True)
class Rederived:
    """How many replies were read again, how many records' claims changed, how many replies the schema refuses now."""

    read: int = 0
    changed: int = 0
    unfit: int = 0


def rederive(store: Store, schema: str) -> Rederived:
    """Derive all claims of a schema again and replace those that differ.

    Raises MistakeError where no run used the schema in its present form, SchemaError or StoreError.
    """
    loaded = load_schema(schema)
    done = Rederived()
    replies = store.replies(loaded.hash)
    batch = list(itertools.islice(replies, _AT_ONCE))
    if not batch:
        raise MistakeError(
            f"{store.path} holds no replies of schema {schema!r} in its present form; `claimbase run` asks for them"
        )
    store.use_schema(Schema(loaded.hash, loaded.name, loaded.json_schema, json.dumps(loaded.structure)))
    while batch:
        _rederive(store, loaded, batch, done)
        batch = list(itertools.islice(replies, _AT_ONCE))
    return done


def _rederive(store: Store, schema: LoadedSchema, batch: Sequence[Reply], done: Rederived) -> None:
    """Derive a batch again and write what differs, a transaction a run."""
    stored = _stored(store, batch)
    calibrations = _calibrations(store, batch)
    changed: defaultdict[str, list[Outcome]] = defaultdict(list)
    for reply in batch:
        done.read += 1
        outcome = _derived(schema, reply, calibrations[reply.run_id])
        if outcome is None:
            done.unfit += 1
        elif _as_stored(outcome) != stored[reply.run_id, reply.record_id]:
            done.changed += 1
            changed[reply.run_id].append(outcome)
    for run_id, outcomes in changed.items():
        store.replace_claims(run_id, outcomes)


def _derived(schema: LoadedSchema, reply: Reply, calibration: Calibration) -> Outcome | None:
    """Return what a reply comes to now, or None where the schema refuses it."""
    try:
        answer = read_reply(schema.model, reply.reply)
        sure = Certainties.of(reply.reply, reply.logprobs)
        derived = derive(schema.fields, answer, GroundedText(reply.text), sure, calibration)
    except ReplyUnfit:
        return None
    value = json.dumps(derived.value, ensure_ascii=False, separators=(",", ":"))
    return Outcome(reply.record_id, "done", None, None, value, datetime.now(UTC), (), tuple(derived.evidence))


def _calibrations(store: Store, batch: Iterable[Reply]) -> dict[str, Calibration]:
    """Look up what makes a confidence of token probabilities in each run: it goes with the model that was asked."""
    runs = ", ".join(sorted({literal(reply.run_id) for reply in batch}))
    query = f"SELECT run_id, settings->'$.asking.calibration' FROM runs WHERE run_id IN ({runs})"  # noqa: S608
    return {run: dict(json.loads(said) if said else ()) for run, said in run_query(store.path, query).rows}


def _as_stored(outcome: Outcome) -> Stored:
    rows = [(e.path, e.ordinal, clean(e.quote), e.start, e.end, e.match, e.reason) for e in outcome.evidence]
    return clean_json(outcome.value or ""), sorted(map(_row, rows))


def _stored(store: Store, batch: Iterable[Reply]) -> dict[tuple[str, str], Stored]:
    """Look up what is stored of the outcomes that these replies came to."""
    wanted = ", ".join(f"({literal(reply.run_id)}, {literal(reply.record_id)})" for reply in batch)
    among = f"WHERE (run_id, record_id) IN ({wanted})"
    values = f"SELECT run_id, record_id, value FROM outcomes {among}"  # noqa: S608
    columns = 'run_id, record_id, path, ordinal, quote, start, "end", match, reason'
    quotes = f"SELECT {columns} FROM evidence {among}"  # noqa: S608
    found: dict[tuple[str, str], Stored] = {}
    for run_id, record_id, value in run_query(store.path, values).rows:
        found[run_id, record_id] = (value, [])
    for run_id, record_id, *evidence in run_query(store.path, quotes).rows:
        found[run_id, record_id][1].append(_row(evidence))
    return {key: (value, sorted(rows)) for key, (value, rows) in found.items()}


def _row(evidence: Sequence[object]) -> str:
    return json.dumps(list(evidence), ensure_ascii=False)
