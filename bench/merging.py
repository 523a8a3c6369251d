"""The merge of many parts into a database, and what a run's look-up in it takes then: `bench.scale merge`.

The parts have the shape of a run's own, with texts and ids of their own; each merge is done twice.
"""

import json
import random
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import duckdb

from bench.samples import MODEL, abstracts
from bench.store import NOW, RUN, outcomes, shuffled
from extract.distributed.parts import LocalFolder, table_of
from extract.readers.text import make_record
from extract.recipe import make_recipe
from extract.selection import CHUNK
from extract.settings import Asking
from store.db import Store
from store.journal import Begun, begun_to_json
from store.merging import merge
from store.rows import Prompt, Run, Schema
from store.sqltext import literal
from tests import engine

PER_PART = 5_000
STATE = """SELECT (SELECT count(*) FROM outcomes), (SELECT count(*) FROM attempts), (SELECT count(*) FROM evidence),
    (SELECT count(*) FROM claims), (SELECT bit_xor(hash(o)) FROM outcomes o), (SELECT bit_xor(hash(e)) FROM evidence e)
"""


def make_parts(folder: Path, count: int) -> int:
    """Write parts of so many outcomes of real shape, their texts and ids their own; return their bytes."""
    recipe = make_recipe("paper", None, Asking(MODEL))
    loaded, prompt = recipe.schema, recipe.prompt
    run = Run(RUN, NOW, MODEL, "scripted", loaded.hash, prompt.hash, recipe.hash, "{}", "bench", "bench", 1)
    schema = Schema(loaded.hash, loaded.name, loaded.json_schema, json.dumps(loaded.structure))
    begun = Begun(run, schema, Prompt(prompt.hash, prompt.name, prompt.version, prompt.text))
    texts = shuffled(abstracts(PER_PART))
    records = (make_record(t, "made", f"{n}", f"p{n}", f"A paper of its own {n}") for n, t in enumerate(texts))
    LocalFolder(folder).write(f"w.{RUN}.0.parquet", table_of(begun, list(outcomes(records, recipe))))
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE first AS FROM read_parquet('{folder}/w.{RUN}.0.parquet')")
        for n in range(1, count // PER_PART):
            new = (
                f"'r1-' || left(md5(record_id || '{n}'), 20) AS record_id, text || ' {n}' AS text, "
                f"title || ' {n}' AS title, locator || '.{n}' AS locator, source_id || '.{n}' AS source_id"
            )
            metadata = f"KV_METADATA {{claimbase: {literal(begun_to_json(begun))}}}"
            con.execute(
                f"COPY (SELECT * REPLACE ({new}) FROM first) TO '{folder}/w.{RUN}.{n}.parquet' "
                f"(FORMAT parquet, COMPRESSION zstd, {metadata})"
            )
    return sum(path.stat().st_size for path in folder.iterdir())


def merging(folder: Path, count: int) -> Iterator[str]:
    """Parts merged twice; memory is the peak of this process."""
    parts = folder / "parts"
    parts.mkdir()
    size = make_parts(parts, count)
    yield f"{count:,} outcomes in {count // PER_PART} parts, {size / 1e6:,.0f} MB, {size / count:,.0f} bytes each"
    store, paths = Store(folder / "merged.duckdb"), sorted(parts.iterdir())
    began, before = time.perf_counter(), time.process_time()
    first = merge(store, paths)
    took, used = time.perf_counter() - began, time.process_time() - before
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    bytes_ = store.path.stat().st_size
    yield (
        f"merged in {took:.0f} s, {count / took:,.0f} a second, {used:.0f} s of a core, peak {peak:,.0f} MB; "
        f"database {bytes_ / 1e6:,.0f} MB"
    )
    state = engine.rows(store.path, STATE)
    random.Random(1).shuffle(paths)
    began = time.perf_counter()
    second = merge(store, paths)
    again = time.perf_counter() - began
    assert (first.new, second.new) == (count, 0) and engine.rows(store.path, STATE) == state
    yield f"merged again in {again:.1f} s: nothing new, the same rows ({state})"
    ids = [row[0] for row in engine.rows(store.path, f"SELECT record_id FROM records USING SAMPLE {CHUNK}")]
    [(recipe,)] = engine.rows(store.path, "SELECT recipe FROM runs")
    began = time.perf_counter()
    assert len(store.known(recipe, ids)) == len(ids)
    yield f"a run's look for {len(ids):,} records that are done: {time.perf_counter() - began:.2f} s"
