"""A large database to measure pages on: as many papers and headline numbers as asked for, through the real tables.

    python -m bench.big_database FILE [--papers N] [--numbers N] [--reviewed N]

The rows are made by DuckDB itself, in a few statements, so that a million take half a minute. Each abstract is put
together of sentences whose parts are known, so every offset is true and the views hold what a run's would. Words are
drawn by a hash of the paper's number: the same command makes the same rows. Datasets, baselines and tasks are used as
in the field, few of them much and most of them rarely. Of so many papers as are `--reviewed` one person has judged
every claim: in fifty of them one is rejected, and of the numbers one has another unit.
"""

import argparse
import json
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from extract.recipe import Recipe, make_recipe
from extract.settings import Asking
from store import effective, reviewing, session, views
from store.db import Store
from store.reviewed import contents, digests
from store.rows import Prompt, Run, Schema
from store.typed import names_of

PAPERS, NUMBERS = 200_000, 1_000_000
NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
RUN = "20260504-120000-large0"
MODEL = "made-up"

# Drawing squares a uniform number, so that the first of a list come up far more often than the last.
_MACROS = """
CREATE TEMP MACRO draw(n, salt) AS (hash(n * 1000 + salt) % 1000003) / 1000003.0;
CREATE TEMP MACRO pick(n, salt, size) AS (pow(draw(n, salt), 2) * size)::INTEGER;
CREATE TEMP MACRO one_of(words, n, salt) AS words[1 + (draw(n, salt) * len(words))::INTEGER % len(words)];
"""
_PAPERS = """
CREATE TEMP TABLE papers_made AS
SELECT i, 'b1-' || substr(sha256('paper ' || i), 1, 20) AS record_id,
    one_of(['retrieval', 'parsing', 'translation', 'segmentation', 'forecasting', 'detection', 'planning', 'ranking',
        'captioning', 'clustering', 'summarization', 'recognition'], i, 1) AS task_noun,
    one_of(['image', 'text', 'graph', 'speech', 'video', 'tabular', 'protein', 'code'], i, 2) || ' ' || task_noun
        || CASE WHEN draw(i, 3) < 0.5 THEN '' ELSE ' in setting ' || pick(i, 4, 120) END AS task,
    one_of(['Aster', 'Birch', 'Cedar', 'Dune', 'Ember', 'Fjord', 'Grove', 'Heron'], i, 5) || 'Net-' || i AS method,
    one_of(['method', 'method', 'method', 'benchmark', 'theory', 'empirical_study', 'dataset', 'system'], i, 6)
        AS contribution,
    2016 + (draw(i, 7) * 10)::INTEGER % 11 AS year,
    one_of(['Harbour', 'Meadow', 'Summit'], i, 8) AS venue
FROM range(?) t(i)
"""
# A number's sentence, cut where its parts meet: the offsets are sums of lengths.
_NUMBERS = """
CREATE TEMP TABLE numbers_made AS
WITH drawn AS (
    SELECT k % $papers AS i, k // $papers AS j, k,
        one_of(['score', 'score', 'gain', 'gain', 'scale'], k, 11) AS role,
        one_of(['accuracy', 'F1', 'BLEU', 'latency', 'memory', 'recall', 'error rate', 'perplexity', 'AUC', 'cost'],
            k, 12) AS metric,
        'Bench-' || pick(k, 13, 3000) AS dataset, 'Base-' || pick(k, 14, 900) AS baseline,
        one_of(['exact', 'exact', 'exact', 'approx', 'up_to'], k, 15) AS qualifier, draw(k, 16) AS r
    FROM range($numbers) t(k)),
priced AS (
    SELECT *, CASE role WHEN 'scale' THEN 'count' WHEN 'gain' THEN CASE WHEN r < 0.5 THEN '%' ELSE 'x' END
            ELSE CASE WHEN r < 0.7 THEN '%' ELSE '' END END AS unit,
        CASE role WHEN 'scale' THEN floor(10 + pow(r, 4) * 100000) ELSE round(1 + r * 98, 2) END AS value
    FROM drawn)
SELECT *, format('{:g}', value) || CASE unit WHEN '%' THEN '%' WHEN 'x' THEN 'x' ELSE '' END AS quote,
    CASE WHEN role = 'gain' THEN CASE WHEN r < 0.8 THEN 'increase' ELSE 'decrease' END END AS direction,
    ' On ' AS s1, ', the ' AS s2, ' is ' AS s3, ' against ' AS s4, '.' AS s5
FROM priced
"""
_PLACED = """
CREATE TEMP TABLE placed AS
WITH sentences AS (
    SELECT n.*, 'We propose ' || p.method || ' for ' || p.task || '.' AS opening,
        s1 || n.dataset || s2 || n.metric || s3 || n.quote || s4 || n.baseline || s5 AS sentence
    FROM numbers_made n JOIN papers_made p USING (i)),
set_out AS (
    SELECT *, len(opening) + coalesce(sum(len(sentence)) OVER (PARTITION BY i ORDER BY j
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)::INTEGER AS begins
    FROM sentences)
SELECT i, j, opening, sentence, quote, value, unit, role, direction, qualifier, metric, dataset, baseline,
    begins + len(s1) AS dataset_at, begins + len(s1 || dataset || s2) AS metric_at,
    begins + len(s1 || dataset || s2 || metric || s3) AS quote_at,
    begins + len(s1 || dataset || s2 || metric || s3 || quote || s4) AS baseline_at
FROM set_out
"""
_RECORDS = """
INSERT INTO records
SELECT p.record_id, 'made-up.jsonl', 'line ' || (p.i + 1), 'large:' || p.i,
    p.method || ': ' || p.task, coalesce(t.text, 'We propose ' || p.method || ' for ' || p.task || '.'),
    to_json({year: p.year, venue: p.venue})
FROM papers_made p LEFT JOIN (
    SELECT i, any_value(opening) || string_agg(sentence, '' ORDER BY j) AS text FROM placed GROUP BY i) t USING (i)
"""
_ANSWERS = """
CREATE TEMP TABLE answers AS
SELECT p.record_id, {
        contribution: p.contribution, task: p.task, method: p.method,
        datasets: coalesce(g.datasets, []), baselines: coalesce(g.baselines, []),
        headline_numbers: coalesce(g.numbers, [])} AS value,
    {
        method: lower(p.method), datasets: coalesce(g.dataset_names, []), baselines: coalesce(g.baseline_names, []),
        headline_numbers: coalesce(g.number_names, [])} AS canonical
FROM papers_made p LEFT JOIN (
    SELECT i,
        list({name: dataset, start: dataset_at, "end": dataset_at + len(dataset), match: 'exact'} ORDER BY j)
            AS datasets,
        list({name: baseline, start: baseline_at, "end": baseline_at + len(baseline), match: 'exact'} ORDER BY j)
            AS baselines,
        list({quote: quote, value: value, unit: unit, role: role, direction: direction, qualifier: qualifier,
            metric: metric, dataset: dataset, baseline: baseline, start: quote_at, "end": quote_at + len(quote),
            match: 'exact', note: NULL::VARCHAR} ORDER BY j) AS numbers,
        list(lower(dataset) ORDER BY j) AS dataset_names, list(lower(baseline) ORDER BY j) AS baseline_names,
        list({metric: lower(metric), dataset: lower(dataset), baseline: lower(baseline)} ORDER BY j) AS number_names
    FROM placed GROUP BY i) g USING (i)
"""
_OUTCOMES = """
INSERT INTO outcomes SELECT $run, record_id, 'done', NULL, NULL, to_json(value), $now FROM answers
"""
_EVIDENCE = """
INSERT INTO evidence
SELECT $run, record_id, path, j, said, place, place + len(said), 'exact', NULL FROM (
    SELECT p.record_id, n.j, unnest([
        {path: 'headline_numbers.quote', said: quote, place: quote_at},
        {path: 'headline_numbers.metric', said: metric, place: metric_at},
        {path: 'headline_numbers.dataset', said: dataset, place: dataset_at},
        {path: 'headline_numbers.baseline', said: baseline, place: baseline_at}], recursive := true)
    FROM placed n JOIN papers_made p USING (i))
UNION ALL SELECT $run, record_id, 'method', 0, method, 11, 11 + len(method), 'exact', NULL FROM papers_made
"""
_ATTEMPTS = """
INSERT INTO attempts (run_id, record_id, n, started_at, latency_ms, status, error_type, error, request_hash, reply,
    finish_reason, prompt_tokens, cached_tokens, completion_tokens, cost_usd)
SELECT $run, o.record_id, 1, $now, 400 + 900 * draw(p.i, 21), 'ok', NULL, NULL, substr(sha256(o.record_id), 1, 20),
    o.value, 'stop', 1200, 1024, 120, 0.0002
FROM outcomes o JOIN papers_made p USING (record_id)
"""
_VERDICTS = """
INSERT INTO reviews (review_id, judged_at, reviewer, schema_name, record_id, path, claim, verdict, value, settles)
SELECT 'v' || n, $now + to_milliseconds(n), 'Anna', 'paper', record_id, path, claim,
    CASE WHEN drawn = 0 AND path = 'headline_numbers' THEN 'corrected' WHEN drawn = 1 THEN 'rejected'
        ELSE 'accepted' END AS verdict,
    CASE verdict WHEN 'corrected' THEN json_merge_patch(item, '{"unit":"pp"}') END, false
FROM (SELECT *, row_number() OVER () AS n, hash(record_id || path || claim::VARCHAR) % 50 AS drawn FROM {claims})
UNION ALL SELECT 'd' || n, $now + to_days(1) + to_milliseconds(n), 'Anna', 'paper', record_id, '', digest, 'complete',
    NULL, false
FROM (SELECT *, row_number() OVER () AS n FROM {digests})
"""


def begin(store: Store, recipe: Recipe) -> None:
    """Make the file, with a run of the shipped schema in it."""
    loaded, prompt = recipe.schema, recipe.prompt
    run = Run(RUN, NOW, MODEL, "none", loaded.hash, prompt.hash, recipe.hash, "{}", "bench", "bench", 1)
    store.create()
    store.begin_run(
        run,
        Schema(loaded.hash, loaded.name, loaded.json_schema, json.dumps(loaded.structure)),
        Prompt(prompt.hash, prompt.name, prompt.version, prompt.text),
    )


def fill(con: duckdb.DuckDBPyConnection, recipe: Recipe, papers: int, numbers: int) -> None:
    """Add the papers and their headline numbers to an open database, in its transaction."""
    con.execute(_MACROS)
    con.execute(_PAPERS, [papers])
    con.execute(_NUMBERS, {"papers": papers, "numbers": numbers})
    con.execute(_PLACED)
    con.execute(_RECORDS)
    con.execute("INSERT INTO sources SELECT record_id, source, locator, source_id, title, meta FROM records")
    now = NOW.replace(tzinfo=None)
    con.execute(_ANSWERS)
    con.execute(_OUTCOMES, {"run": RUN, "now": now})
    con.execute(_EVIDENCE, {"run": RUN})
    con.execute(_ATTEMPTS, {"run": RUN, "now": now})
    _fill_claims(con, recipe)
    con.execute("UPDATE runs SET status = 'finished', finished_at = $now", {"now": now})


def _fill_claims(con: duckdb.DuckDBPyConnection, recipe: Recipe) -> None:
    """Fill the typed table as `store.typed` does, but names are folded by case alone: its Python takes minutes."""
    structure, names = json.dumps(recipe.schema.structure), names_of(con, recipe.schema.hash)
    con.execute(
        f"""INSERT INTO {views.quoted(views.claims_table(recipe.schema.hash))} BY NAME
        SELECT record_id, {views.literal(RUN)} AS run_id, TIMESTAMP '{NOW:%Y-%m-%d %H:%M:%S}' AS finished_at,
            from_json(to_json(value), {views.literal(structure)}) AS value,
            from_json(to_json(canonical), {views.literal(json.dumps(names))}) AS canonical FROM answers"""
    )


def review(con: duckdb.DuckDBPyConnection, papers: int) -> None:
    """Add verdicts on all claims of so many papers, drawn by a hash, to an open database, in its transaction."""
    subject = reviewing.subject_of(con, "paper")
    con.execute(f"CREATE TEMP TABLE chosen AS FROM {subject.table} ORDER BY hash(record_id) LIMIT {papers}")
    claims, digested = (f"({made(subject, 'chosen')})" for made in (contents, digests))
    verdicts = _VERDICTS.replace("{claims}", claims).replace("{digests}", digested)
    con.execute(verdicts, {"now": NOW.replace(tzinfo=None)})
    effective.renew(con, subject.name)


def make(path: Path, papers: int = PAPERS, numbers: int = NUMBERS, reviewed: int = 0) -> None:
    """Make the database; the file must not be there yet."""
    recipe = make_recipe("paper", None, Asking(MODEL))
    begin(Store(path), recipe)
    with session.writing(path) as con:
        fill(con, recipe, papers, numbers)
        if reviewed:
            review(con, reviewed)


def main(argv: Sequence[str] | None = None) -> int:
    """Make the database, and say how long that took."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("file", type=Path)
    arguments.add_argument("--papers", type=int, default=PAPERS)
    arguments.add_argument("--numbers", type=int, default=NUMBERS)
    arguments.add_argument("--reviewed", type=int, default=0)
    options = arguments.parse_args(argv)
    if options.file.exists():
        arguments.error(f"{options.file} is there already")
    began = time.perf_counter()
    make(options.file, options.papers, options.numbers, options.reviewed)
    size = options.file.stat().st_size / 1e6
    print(
        f"{options.papers:,} papers, {options.numbers:,} numbers, {size:,.0f} MB: {time.perf_counter() - began:.0f} s"
    )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
