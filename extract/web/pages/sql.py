"""The page of SQL: one statement that only reads, its answer as a table, as CSV, or as a plot of two of its columns.

`store.query` does the guarding; here are the limits, as a page is for people: of time, of rows, of what a plot takes.
The statement is in the address, so that a question can be sent to a colleague. One that another site links to is shown
and not run.
"""

from collections.abc import Iterator
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from extract.web import cells, plot_specs
from extract.web.catalogue import relations
from extract.web.rendering import is_partial, with_query
from extract.web.site import Site, site_of
from store.errors import QueryFailed, QueryRefused
from store.formats import csv_lines
from store.query import Result, run_query

LONGEST_S = 10.0
"""How long a query may take."""

ROWS, CSV_ROWS = 1_000, 1_000_000
"""How many rows of the answer are shown, and how many a file gets."""

EXAMPLES = (
    (
        "Largest gains in percent, by task",
        "SELECT task, max(value) AS gain, arg_max(title, value) AS paper\nFROM claims\n"
        "WHERE role = 'gain' AND unit = '%'\nGROUP BY task ORDER BY gain DESC LIMIT 20",
    ),
    (
        "Datasets used most",
        "SELECT name, count(DISTINCT record_id) AS papers\nFROM datasets\nGROUP BY name ORDER BY papers DESC LIMIT 20",
    ),
    (
        "What came of each run",
        "SELECT run_id, model, o.status, o.error_type, count(*) AS records\n"
        "FROM outcomes o JOIN runs USING (run_id)\nGROUP BY ALL ORDER BY ALL",
    ),
)


def sql(request: Request) -> Response:
    """The editor with the schema beside it, and the answer if there is a question."""
    site = site_of(request)
    question = request.query_params.get("q", "").strip()
    context: dict[str, Any] = {"question": question, "answer": None, "refused": "", "held": False}
    if question and request.state.cross_site:
        context["held"] = True
    elif question:
        try:
            context["answer"] = _answer(request, site, question)
        except (QueryRefused, QueryFailed) as error:
            context["refused"] = str(error)
    if is_partial(request):
        return site.render(request, "sql_answer.html", **context)
    return site.render(
        request, "sql.html", **context, relations=_relations(site), examples=EXAMPLES, longest_s=LONGEST_S
    )


def download(request: Request) -> Response:
    """The answer as CSV; a refusal as text."""
    site = site_of(request)
    if request.state.cross_site:
        raise HTTPException(403, "another site brought this query here; open the SQL page and run it there")
    try:
        result = run_query(site.db, request.query_params.get("q", ""), CSV_ROWS, longest_s=LONGEST_S)
    except (QueryRefused, QueryFailed) as error:
        return site.render(request, "fault.html", 400, said=str(error), code=400)
    return StreamingResponse(
        _in_blocks(csv_lines(result)),
        media_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="answer.csv"'},
    )


def _answer(request: Request, site: Site, question: str) -> dict[str, Any]:
    with site.reads.open():  # so that the next question finds the file open
        result = run_query(site.db, question, ROWS, longest_s=LONGEST_S)
    rows = list(result.rows)
    asked = {name: request.query_params.get(name, "") for name in ("x", "y", "mark")}
    return {
        "table": cells.table(result.columns, result.types, rows),
        "cut": result.cut,
        "rows": len(rows),
        "limit": ROWS,
        "csv": with_query(request.app.url_path_for("sql_csv"), {"q": question}),
        "asked": asked,
        "marks": plot_specs.MARKS,
        "spec": _spec(result, rows, asked),
    }


def _spec(result: Result, rows: list[tuple[Any, ...]], asked: dict[str, str]) -> plot_specs.Spec | None:
    """A plot of two columns, if the address names two that are there."""
    names = list(result.columns)
    if asked["x"] not in names or asked["y"] not in names or asked["mark"] not in plot_specs.MARKS:
        return None
    columns = [cells.Column(name, kind) for name, kind in zip(names, result.types, strict=True)]
    x, y = names.index(asked["x"]), names.index(asked["y"])
    return plot_specs.of_two(columns[x], columns[y], [(row[x], row[y]) for row in rows], asked["mark"])


def _relations(site: Site) -> Any:
    def asked() -> Any:
        with site.reads.open() as con:
            return relations(con)

    return site.reads.remembered("relations", asked)


def _in_blocks(lines: Iterator[str]) -> Iterator[str]:
    """The lines, some at a time: each piece costs a turn of the event loop."""
    block: list[str] = []
    for line in lines:
        block.append(line)
        if len(block) == 2_000:
            yield "".join(block)
            block.clear()
    yield "".join(block)


ROUTES = (
    Route("/sql", sql, name="sql"),
    Route("/sql.csv", download, name="sql_csv"),
)
