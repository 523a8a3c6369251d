"""SQL macros for the questions that are asked most: `FROM leaderboard('nuScenes', 'mAP')`.

Those that fold names and metrics are there in every database, the others where the shipped schema's views are. They
are made with the views, each with a comment by which it is known as ours; a person's own macro of the name stays.
"""

from dataclasses import dataclass

import duckdb

from store.comparable import metric_keys_sql
from store.naming import fold_sql
from store.sqltext import literal

OURS = "claimbase: "
"""Starts the comment of each view and macro that is made here."""

_NEEDED = {
    *(("claims", f"{name}_canonical") for name in ("method", "metric", "dataset", "baseline")),
    *(("claims", name) for name in ("role", "direction", "qualifier", "si_value", "better", "work")),
    ("baselines", "canonical"),
}
"""The views and columns that the macros of rows ask: those of the shipped schema."""

_YEAR = "TRY_CAST(regexp_extract(coalesce(meta->>'year', meta->>'date', meta->>'published'), '[0-9]{4}') AS INTEGER)"

# A paper may say a score several times, and be there in several versions: its best one counts. Scores whose units can't
# be compared are ranked apart.
_SCORES = f"""
SELECT c.work, c.title, c.method, c.quote, c.value, c.unit, c.qualifier, c.si_value, c.si_unit, r.year, c.record_id,
    coalesce(mode(c.better) OVER (), 'higher') AS better
FROM claims c JOIN (SELECT record_id, {_YEAR} AS year FROM records) r USING (record_id)
WHERE c.role = 'score' AND c.dataset_canonical IN (canonical(of_dataset), of_dataset)
    AND c.metric_canonical IN (canonical_metric(of_metric), of_metric)
"""  # noqa: S608
_LEADERBOARD = f"""
WITH scores AS ({_SCORES}),
signed AS (SELECT *, CASE better WHEN 'lower' THEN -si_value ELSE si_value END AS goodness FROM scores),
best AS (SELECT * FROM signed
    QUALIFY row_number() OVER (PARTITION BY work, method, si_unit ORDER BY goodness DESC, record_id) = 1)
SELECT rank() OVER (PARTITION BY si_unit ORDER BY goodness DESC) AS rank, method, title, year, quote, value, unit,
    qualifier, si_value, si_unit, better, work
FROM best ORDER BY count(*) OVER (PARTITION BY si_unit) DESC, si_unit, rank, title
"""  # noqa: S608
_HISTORY = f"""
WITH scores AS ({_SCORES}),
years AS (SELECT year, si_unit, better, count(DISTINCT work) AS papers,
        CASE better WHEN 'lower' THEN min(si_value) ELSE max(si_value) END AS best,
        CASE better WHEN 'lower' THEN arg_min(title, si_value) ELSE arg_max(title, si_value) END AS title
    FROM scores WHERE year IS NOT NULL GROUP BY year, si_unit, better)
SELECT *, CASE better WHEN 'lower' THEN min(best) OVER before ELSE max(best) OVER before END AS best_so_far
FROM years WINDOW before AS (PARTITION BY si_unit ORDER BY year) ORDER BY si_unit, year
"""  # noqa: S608
_BEATS = """
SELECT c.method_canonical AS method, c.baseline_canonical AS baseline, c.dataset_canonical AS dataset,
    c.metric_canonical AS metric, c.quote, c.value, c.unit, c.qualifier, c.title, c.work, c.record_id
FROM claims c SEMI JOIN baselines b ON b.record_id = c.record_id AND b.canonical = c.baseline_canonical
WHERE c.role = 'gain' AND c.method IS NOT NULL AND c.baseline_canonical <> c.method_canonical
    AND c.direction IS NOT DISTINCT FROM CASE c.better WHEN 'lower' THEN 'decrease' ELSE 'increase' END
"""
_CONFLICTS = """
SELECT method_canonical AS method, dataset_canonical AS dataset, metric_canonical AS metric, si_unit,
    count(DISTINCT si_value) AS numbers, min(si_value) AS low, max(si_value) AS high,
    list(DISTINCT quote ORDER BY quote) AS quotes, count(DISTINCT work) AS papers,
    list(DISTINCT record_id ORDER BY record_id) AS record_ids
FROM claims WHERE role = 'score' AND qualifier = 'exact'
    AND method IS NOT NULL AND dataset IS NOT NULL AND metric IS NOT NULL
GROUP BY ALL HAVING count(DISTINCT si_value) > 1 ORDER BY papers DESC, numbers DESC, method, dataset, metric
"""


@dataclass(frozen=True, slots=True)
class Macro:
    """A macro to make: its name, its parameters, what it gives in one sentence, its SQL. `table`: it gives rows."""

    name: str
    parameters: str
    about: str
    sql: str
    table: bool = True


def make_macros(con: duckdb.DuckDBPyConnection) -> None:
    """Make all macros anew. Within a transaction, once the views are there."""
    columns = con.execute("SELECT table_name, column_name FROM duckdb_columns() WHERE NOT internal").fetchall()
    rows = con.execute(
        """SELECT DISTINCT function_name, function_type, comment FROM duckdb_functions()
        WHERE NOT internal AND function_type IN ('macro', 'table_macro')"""
    ).fetchall()
    taken = set()
    for name, kind, comment in rows:
        if str(comment or "").startswith(OURS):
            con.execute(f'DROP MACRO {"TABLE " if kind == "table_macro" else ""}"{name}"')
        else:
            taken.add(str(name).lower())
    for macro in (*SCALARS, *TABLES) if set(columns) >= _NEEDED else SCALARS:
        if macro.name not in taken:
            table = "TABLE " if macro.table else ""
            con.execute(f"CREATE MACRO {macro.name}({macro.parameters}) AS {table}{macro.sql}")
            con.execute(f"COMMENT ON MACRO {table}{macro.name} IS {literal(OURS + macro.about)}")


def _form(otherwise: str) -> str:
    """SQL: the form of the parameter's key by the aliases, else `otherwise`, SQL that knows the key as `k.key`."""
    return f"""(SELECT coalesce(a.canonical, {otherwise}) FROM (SELECT {fold_sql("of_name")} AS key) k
        LEFT JOIN aliases a USING (key))"""  # noqa: S608


SCALARS = (
    Macro(
        "canonical",
        "of_name",
        "the canonical form of a name, by the aliases and by folding",
        _form("k.key"),
        table=False,
    ),
    Macro(
        "canonical_metric",
        "of_name",
        "the canonical form of a metric's name: `Acc@1` is `top1accuracy`",
        _form(f"{metric_keys_sql()}[k.key], k.key"),
        table=False,
    ),
)
TABLES = (
    Macro("leaderboard", "of_dataset, of_metric", "the best score of each paper on a dataset and metric", _LEADERBOARD),
    Macro("history", "of_dataset, of_metric", "the best score on a dataset and metric, year by year", _HISTORY),
    Macro("beats", "", "who claims to beat whom: a gain of a method over a named baseline", _BEATS),
    Macro("conflicts", "", "methods with two numbers for one dataset and metric", _CONFLICTS),
)
