"""Each page of the web app without a browser: what it says of the database, in plain HTML."""

import csv
import gzip
import html as entities
import io
import json
import re
import threading
import time
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest
from starlette.testclient import TestClient

from extract.web import reads, rendering
from extract.web.marking import fields_of, pieces
from extract.web.reads import Reads
from store import reviewing
from store.db import Store
from store.query import run_query
from store.reviewing import Judgement
from store.rows import Evidence, Outcome, Record, Schema
from store.session import writing
from tests.browser import client
from tests.store_samples import NOON, PROMPT, a_record, a_run, done, made


def one(db: Path, query: str) -> str:
    return str(next(iter(run_query(db, query).rows))[0])


def rows_of(html: str) -> int:
    return html.partition("<tbody>")[2].partition("</tbody>")[0].count("<tr")


def test_home_leads_to_the_claims(site: TestClient) -> None:
    assert site.get("/").headers["location"] == "/claims"


def test_the_claims_are_those_of_the_view(site: TestClient, seeds_db: Path) -> None:
    total = int(one(seeds_db, "SELECT count(*) FROM claims"))
    first = site.get("/claims").text
    assert rows_of(first) == min(50, total)
    assert site.get("/claims/total").text.strip() == f'<span class="total">{total}</span>'
    gains = int(one(seeds_db, "SELECT count(*) FROM claims WHERE role = 'gain' AND unit = '%'"))
    some = site.get("/claims", params={"role": "gain", "unit": "%"}).text
    assert rows_of(some) == gains > 0
    assert f'of <span class="total">{gains}</span>' not in some  # it is counted when it is asked for
    site.get("/claims/total", params={"role": "gain", "unit": "%"})
    assert f'<span class="total">{gains}</span>' in site.get("/claims", params={"role": "gain", "unit": "%"}).text


def test_htmx_gets_the_table_alone(site: TestClient) -> None:
    part = site.get("/claims", headers={"HX-Request": "true"}).text
    assert "<html" not in part and part.lstrip().startswith('<section id="claims"')


def test_a_download_is_just_these_rows(site: TestClient, seeds_db: Path) -> None:
    answer = site.get("/claims.csv", params={"role": "gain", "sort": "-value"})
    assert answer.headers["content-disposition"] == 'attachment; filename="claims.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    wanted = run_query(seeds_db, "SELECT value FROM claims WHERE role = 'gain' ORDER BY value DESC NULLS LAST")
    assert [float(row["value"]) for row in rows] == [value for (value,) in wanted.rows]
    assert {row["role"] for row in rows} == {"gain"}


def test_every_page_is_light(site: TestClient, seeds_db: Path) -> None:
    """Under 100 kB over the wire with its style and scripts, but for the plot library."""
    paper = one(seeds_db, "SELECT record_id FROM headline_numbers GROUP BY 1 ORDER BY count(*) DESC LIMIT 1")
    for path in ("/claims", f"/paper/{paper}", "/runs", "/plots", "/sql?q=FROM+claims", "/views", "/views/claims"):
        html = site.get(path)
        size = _wire(html.content)
        for file in set(re.findall(r'(?:src|href)="(/static/[^"]+)"', html.text)):
            if "vega" not in file:
                size += _wire(site.get(file).content)
        assert size < 100_000, (path, size)


def _wire(body: bytes) -> int:
    return len(gzip.compress(body, 5))


def test_the_icon_is_where_browsers_look_for_it(site: TestClient) -> None:
    answer = site.get("/favicon.ico")
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("image/svg+xml")


def test_what_goes_over_the_wire_is_compressed(site: TestClient) -> None:
    assert site.get("/claims").headers["content-encoding"] == "gzip"


def test_a_paper_has_its_text_its_claims_and_its_calls(site: TestClient, seeds_db: Path) -> None:
    record_id = one(seeds_db, "SELECT record_id FROM headline_numbers GROUP BY 1 ORDER BY count(*) DESC LIMIT 1")
    store = Store(seeds_db)
    record, [claims] = store.record(record_id), store.claims_of(record_id)
    html = site.get(f"/paper/{record_id}").text
    abstract = html.partition('<p class="abstract" dir="auto">')[2].partition("</p>")[0]
    assert entities.unescape(re.sub(r"<[^>]*>", "", abstract)) == record.text
    for found in claims.evidence:
        if found.start is not None and found.reason is None:
            assert f'data-start="{found.start}"' in abstract
    assert html.count('<ol class="claims">') == 1
    assert "Raw reply" in html and claims.run_id in html


@pytest.fixture
def reviewed_db(tmp_path: Path) -> Path:
    """Four papers: of the first the number is corrected and one added, of the second it is rejected, then accepted."""
    store = made(tmp_path, a_run())
    records = [a_record(i) for i in range(1, 5)]
    store.save("run1", records, [done(record) for record in records])
    with writing(store.path) as con:
        for i, verdict, changes in (
            (1, "corrected", {"value": 15.0, "unit": "pp", "start": 47}),
            (1, "added", {"role": "score", "quote": "1", "value": 1.0, "start": 18, "end": 19}),
            (2, "rejected", None),
            (3, "accepted", None),
        ):
            subject = reviewing.subject_of(con, "paper")
            [item] = [one for one in reviewing.items_of(con, subject, records[i - 1].record_id) if one.path == NUMBERS]
            value = None if changes is None else {**item.known, **changes}
            claim = reviewing.content_of(con, subject, NUMBERS, value) if verdict == "added" else item.claim
            said = Judgement(
                *("Anna", "paper", records[i - 1].record_id, NUMBERS, claim, verdict),  # type: ignore[arg-type]
                value=json.dumps(value) if value else None,
            )
            reviewing.append(con, said)
    return store.path


NUMBERS = "headline_numbers"


def test_claims_are_shown_as_reviews_leave_them(reviewed_db: Path) -> None:
    """The page, the total, the download and the filters are of what holds, with where that comes from."""
    with client(reviewed_db) as site:
        html = site.get("/claims").text
        assert rows_of(html) == 4 and '<span class="total">4</span>' in site.get("/claims/total").text
        found = re.findall(r'<td class="number">([^<]*)</td>\s*<td class="nowrap">([^<]*)</td>', html)
        assert sorted(found) == [("1", "%"), ("15", "pp"), ("3.5", "%"), ("4.5", "%")]
        assert html.count('<span class="tag accent">corrected</span>') == 1
        assert html.count('<span class="tag accent">added</span>') == 1
        assert html.count('<span class="tag good">accepted</span>') == 1
        for asked, expected in (
            ({"origin": "corrected"}, [15.0]),
            ({"origin": "added"}, [1.0]),
            ({"verdict": "accepted"}, [3.5]),
            ({"verdict": "none"}, [4.5]),
            ({"origin": "model", "sort": "-value"}, [4.5, 3.5]),
        ):
            rows = list(csv.DictReader(io.StringIO(site.get("/claims.csv", params=asked).text)))
            assert [float(row["value"]) for row in rows] == expected, asked
            assert rows_of(site.get("/claims", params=asked).text) == len(expected)
        assert {"origin", "verdict", "reviewers"} <= set(rows[0])
        bars = site.get("/plots?kind=task&unit=%25").text
        assert "median 4, largest 4.5, 2 claims" in bars


def test_a_paper_is_shown_as_reviews_leave_it(reviewed_db: Path) -> None:
    with client(reviewed_db) as site:
        first = entities.unescape(site.get(f"/paper/{a_record(1).record_id}").text)
        assert "= 15 pp" in first and "The model said: 1.5\\%, value 1.5, unit %" in first
        assert 'id="c1"' in first and '<mark class="field-1" data-ties="headline_numbers-1" data-start="18"' in first
        second = site.get(f"/paper/{a_record(2).record_id}").text
        assert 'class="dropped"' in second and '<span class="tag bad">rejected</span>' in second
        fourth = site.get(f"/paper/{a_record(4).record_id}").text
        assert "rejected</span>" not in fourth and 'class="dropped"' not in fourth


def test_papers_follow_each_other(site: TestClient, seeds_db: Path) -> None:
    """From the first by Next to the last, each once, in the order that they were read in."""
    order = [str(r) for (r,) in run_query(seeds_db, "SELECT record_id FROM records ORDER BY rowid").rows]
    path: str | None = f"/paper/{order[0]}"
    seen = []
    while path is not None:
        html = site.get(path).text
        seen.append(path.removeprefix("/paper/"))
        found = re.search(r'href="(/paper/[^"]+)" data-key="l"', html)
        path = found[1] if found else None
    assert seen == order


def test_papers_keep_to_the_filter(site: TestClient, seeds_db: Path) -> None:
    with_gains = {str(r) for (r,) in run_query(seeds_db, "SELECT record_id FROM claims WHERE role = 'gain'").rows}
    first = one(
        seeds_db,
        """SELECT record_id FROM records WHERE record_id IN (SELECT record_id FROM claims WHERE role = 'gain')
        ORDER BY rowid LIMIT 1""",
    )
    seen, path = set(), f"/paper/{first}?role=gain"
    while path:
        seen.add(path.removeprefix("/paper/").partition("?")[0])
        found = re.search(r'href="(/paper/[^"]+)" data-key="l"', site.get(path).text)
        path = found[1] if found else ""
    assert seen == with_gains


def test_what_is_not_there_is_said(site: TestClient) -> None:
    for path, said in (
        ("/paper/none", "no record"),
        ("/runs/none", "no run"),
        ("/views/none", "no view"),
        ("/x", "Not Found"),
    ):
        answer = site.get(path)
        assert answer.status_code == 404 and said in answer.text, path


def test_a_run_is_shown_with_what_failed(tmp_path: Path) -> None:
    store = made(tmp_path, a_run())
    records = [a_record(i) for i in range(3)]
    outcomes = [done(record) for record in records[:2]]
    failed = Outcome(records[2].record_id, "failed", "timeout", "no answer in 3 s", None, NOON)
    store.save("run1", records, [*outcomes, failed])
    store.end_run("run1", "finished", NOON)
    with client(store.path) as site:
        html = site.get("/runs/run1").text
        assert "no answer in 3 s" in html and "timeout" in html and ">2</dd>" in html
        assert "run1" in site.get("/runs").text
        events = site.get("/runs/run1/events").text
    assert events.count("event: part") == 1 and events.rstrip().endswith("event: ended\ndata:")


def test_another_schema_is_shown_by_its_own_columns(tmp_path: Path) -> None:
    trial = Schema("s1-trial", "trial", "{}", '{"drug": "VARCHAR", "arms": [{"dose": "DOUBLE", "value": "DOUBLE"}]}')
    store = Store(tmp_path / "trials.duckdb")
    store.create()
    store.begin_run(a_run(schema=trial), trial, PROMPT)
    value = '{"drug": "Harmlessol", "arms": [{"dose": 5, "value": 0.5}, {"dose": 10, "value": 0.75}]}'
    store.save("run1", [a_record(1)], [Outcome(a_record(1).record_id, "done", None, None, value, NOON)])
    with client(store.path) as site:
        assert site.get("/").headers["location"] == "/views"
        assert "no claims of the shipped schema" in site.get("/claims").text
        assert "no claims of the shipped schema" in site.get("/plots").text
        html = site.get("/views/trial_claims?sort=-value").text
        assert re.findall(r'<td class="number">([\d.]+)</td>', html)[:3] == ["1", "10", "0.75"]
        paper = site.get(f"/paper/{a_record(1).record_id}").text
        assert "Harmlessol" in paper and "dose" in paper


def test_an_empty_database_has_all_pages(tmp_path: Path) -> None:
    store = Store(tmp_path / "empty.duckdb")
    store.create()
    with client(store.path) as site:
        for path in ("/claims", "/runs", "/plots", "/sql", "/views", "/views/records", "/sql?q=FROM+records"):
            assert site.get(path).status_code == 200, path


def test_a_missing_database_is_said(tmp_path: Path) -> None:
    with client(tmp_path / "none.duckdb") as site:
        answer = site.get("/claims")
        assert answer.status_code == 500 and "no database at" in answer.text


def test_a_query_is_answered_and_plotted(site: TestClient) -> None:
    asked = {"q": "SELECT role, count(*) AS n FROM claims GROUP BY 1", "x": "role", "y": "n", "mark": "bar"}
    html = site.get("/sql", params=asked).text
    assert '<script type="application/json" class="spec">' in html
    assert site.get("/sql.csv", params=asked).text.startswith("role,n\n")
    part = site.get("/sql", params=asked, headers={"HX-Request": "true"}).text
    assert part.lstrip().startswith('<section id="answer"')


@pytest.mark.parametrize("kind", ["task", "metric", "datasets", "time", "spread"])
def test_a_plots_links_lead_to_what_is_behind(tmp_path: Path, kind: str) -> None:
    store = made(tmp_path, a_run())
    records = [a_record(i) for i in range(1, 5)]
    store.save("run1", records, [_scored(record) for record in records])
    with client(store.path) as site:
        html = site.get("/plots", params={"kind": kind}).text
        [*links] = re.findall(r'<th scope="row" class="text"><a href="([^"]+)">', html)
        assert links
        assert json.loads(html.partition('class="spec">')[2].partition("</script>")[0])
        for link in links:
            answer = site.get(link.replace("&amp;", "&"))
            assert answer.status_code == 200
            assert rows_of(answer.text) > 0
            assert "No claim is like this" not in answer.text


def _scored(record: Record) -> Outcome:
    """An outcome that has a gain, and a score of a metric on a dataset."""
    outcome = done(record)
    value = json.loads(str(outcome.value))
    gain = value["headline_numbers"][0] | {"metric": "accuracy"}
    value["headline_numbers"] = [gain, gain | {"role": "score", "direction": None}]
    return replace(outcome, value=json.dumps(value))


def test_papers_without_a_number_are_found_too(site: TestClient, seeds_db: Path) -> None:
    """A dataset may be used by papers that state no headline number: the claims' page then lists the papers."""
    name = one(
        seeds_db,
        """SELECT name FROM datasets WHERE record_id NOT IN (SELECT record_id FROM headline_numbers)
        AND lower(name) NOT IN (SELECT lower(name) FROM datasets SEMI JOIN headline_numbers USING (record_id))
        LIMIT 1""",
    )
    html = site.get("/claims", params={"uses": f"={name}"}).text
    assert "No headline number is like this" in html
    assert re.search(r'<a href="/paper/[^"]+">', html)


def test_it_reads_while_another_writes(tmp_path: Path) -> None:
    """A writer is never kept out for long by pages, nor a page by a writer."""
    store = made(tmp_path, a_run())
    ended = threading.Event()

    def write() -> None:
        for i in range(12):
            store.save("run1", [a_record(i)], [done(a_record(i))])
            time.sleep(0.05)
        ended.set()

    writer = threading.Thread(target=write)
    with client(store.path) as site:
        writer.start()
        answers = []
        while not ended.is_set():
            answers.append(site.get("/claims").status_code)
        writer.join()
        assert set(answers) == {200} and len(answers) > 3
        assert rows_of(site.get("/claims").text) == int(one(store.path, "SELECT count(*) FROM claims"))


def test_the_file_is_kept_for_a_moment_and_let_go_for_a_writer(
    seeds_db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "IDLE_S", 0.8)
    path = tmp_path / "copy.duckdb"
    path.write_bytes(seeds_db.read_bytes())
    site = Reads(path, wait_s=0.05)
    with site.open():
        pass
    with pytest.raises(Exception, match="held by"), writing(path, 0.05):
        pass
    with writing(path, 5.0) as con:
        con.execute("UPDATE runs SET model = 'another'")
    with site.open():
        pass
    with site.writing() as con:  # at once: the app knows what it keeps
        con.execute("UPDATE runs SET model = 'a third'")
    site.close()


def test_the_file_is_not_kept_while_a_run_goes_on(tmp_path: Path) -> None:
    path = made(tmp_path, a_run()).path
    site = Reads(path)
    with site.open():
        pass
    with writing(path, 0.0) as con:  # not a moment's wait
        assert con.execute("SELECT count(*) FROM runs").fetchone() == (1,)
    site.close()


def test_an_answer_is_remembered_until_the_database_changes(tmp_path: Path) -> None:
    store = made(tmp_path, a_run())
    site = Reads(store.path)
    asked = []

    def ask() -> int:
        asked.append(1)
        return len(asked)

    assert [site.remembered("key", ask), site.remembered("key", ask)] == [1, 1]
    store.save("run1", [a_record(1)], [done(a_record(1))])
    assert site.remembered("key", ask) == 2
    store.save("run1", [a_record(2)], [done(a_record(2))])
    assert site.remembered("key", ask, stale_s=60) == 2
    site.close()


def test_a_marked_text_is_the_text() -> None:
    text = "𝒜 gain of 12% on the MarbleQA set"
    evidence = [
        Evidence("numbers.quote", 0, "12%", 10, 13, "exact"),
        Evidence("numbers.dataset", 0, "the MarbleQA set", 17, 33, "exact"),
        Evidence("datasets", 0, "MarbleQA", 21, 29, "exact"),
        Evidence("numbers.metric", 0, "gain", None, None, "absent", "not in the text"),
    ]
    made_pieces = list(pieces(text, evidence, fields_of(e.path for e in evidence)))
    assert "".join(piece.text for piece in made_pieces) == text
    assert all(text[p.start : p.start + len(p.text)] == p.text for p in made_pieces)
    assert [(p.text, p.ties, p.letters) for p in made_pieces if p.field] == [
        ("12%", "numbers-0", "N"),
        ("the ", "numbers-0", ""),
        ("MarbleQA", "datasets-0 numbers-0", "D"),
        (" set", "numbers-0", "D"),
    ]


def test_a_locked_database_is_said(seeds_db: Path, tmp_path: Path) -> None:
    path = tmp_path / "copy.duckdb"
    path.write_bytes(seeds_db.read_bytes())
    with client(path) as site:
        site.app.state.site.reads.wait_s = 0.05  # type: ignore[attr-defined]
        with duckdb.connect(path):
            answer = site.get("/claims")
        assert answer.status_code == 503 and "held by" in answer.text


def test_every_vendored_file_has_its_licence() -> None:
    folder = rendering.STATIC / "vendor"
    said = (folder / "LICENSES.md").read_text(encoding="utf-8")
    for file in folder.iterdir():
        assert file.name == "LICENSES.md" or f"`{file.name}`" in said, file.name


def test_no_page_fetches_anything_from_elsewhere() -> None:
    """Neither a template nor a script or style of ours names an address, but for the name space of SVG."""
    for file in (*rendering.HERE.rglob("*.html"), *rendering.STATIC.glob("*.*")):
        text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text and "https://" not in text, file.name


def test_a_view_is_downloaded_whole(site: TestClient, seeds_db: Path) -> None:
    answer = site.get("/view.csv", params={"name": "datasets"})
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert len(rows) == int(one(seeds_db, "SELECT count(*) FROM datasets")) > 0
    assert answer.headers["content-disposition"] == 'attachment; filename="datasets.csv"'
    assert site.get("/view.csv", params={"name": "none"}).status_code == 404
