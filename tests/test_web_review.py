"""The review: in a browser by keyboard, found in SQL and in the export; undo; keys that are dead while typing."""

import html
import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from starlette.testclient import TestClient

from store.query import run_query
from store.rows import Outcome, Schema
from tests.browser import browser_page, chromium, client, serving
from tests.conftest import Command
from tests.store_samples import NOON, PROMPT, a_record, a_run, done, made

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["browser_page", "chromium"]

NOW = (
    "[document.getElementById('review')?.dataset.at, document.getElementById('saved')?.innerText, location.href].join()"
)


def rows(db: Path, sql: str) -> list[tuple[Any, ...]]:
    """What `claimbase sql` says, while the server runs in this process."""
    return list(run_query(db, sql).rows)


@pytest.fixture
def db(seeds_db: Path, tmp_path: Path) -> Path:
    """A copy of the seeds' database, to be written to."""
    return Path(shutil.copy(seeds_db, tmp_path / "claims.duckdb"))


@pytest.fixture
def page(browser_page: "Page", db: Path) -> Iterator["Page"]:
    """A page of a server of its own, where Anna has given her name."""
    browser_page.set_default_timeout(30_000)
    with serving(db) as address:
        begin(browser_page, address)
        yield browser_page


def begin(page: "Page", address: str, name: str = "Anna") -> None:
    page.goto(f"{address}/review")
    page.fill("#name", name)
    page.press("#name", "Enter")
    page.wait_for_selector(".queues")
    page.goto(f"{address}/review/next?queue=weakest")


def press(page: "Page", key: str) -> None:
    """Press a key, and wait until what it did is there."""
    before = page.evaluate(NOW)
    page.keyboard.press(key)
    page.wait_for_function(f"before => {NOW} !== before", arg=before)


def verdicts(db: Path) -> list[tuple[object, ...]]:
    return rows(db, "SELECT verdict, count(*) FROM reviews WHERE path <> '' GROUP BY ALL ORDER BY ALL")


def test_ten_claims_by_keyboard_are_in_sql_and_in_the_export(
    page: "Page", db: Path, claimbase: Command, tmp_path: Path
) -> None:
    judged = 0
    while judged < 10 or page.get_attribute("#review", "data-at") != "end":
        if page.get_attribute("#review", "data-at") == "end":
            press(page, "a")  # nothing is missing; on to the next abstract
            continue
        judged += 1
        if judged == 2:
            page.keyboard.press("x")
            press(page, "1")
        elif judged == 3:
            page.keyboard.press("c")
            page.keyboard.press("Enter")
            page.wait_for_selector("text=corrected:")
        else:
            press(page, "a")
    press(page, "a")
    assert verdicts(db) == [("accepted", judged - 2), ("corrected", 1), ("rejected", 1)]
    assert rows(db, "SELECT DISTINCT reviewer FROM reviews") == [("Anna",)]
    done_with = rows(db, "SELECT count(*) FROM reviewed_papers WHERE reviewed_by = 'Anna'")[0][0]
    to = tmp_path / "gold.jsonl"
    assert claimbase("export", "gold", "--to", to, "--db", db).code == 0
    lines = [json.loads(line) for line in to.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == done_with and all(line["reviewed_by"] == "Anna" for line in lines)


def test_undo_goes_on_after_the_server_was_started_anew(browser_page: "Page", db: Path) -> None:
    browser_page.set_default_timeout(30_000)
    with serving(db) as address:
        begin(browser_page, address)
        press(browser_page, "a")
        press(browser_page, "a")
    assert rows(db, "SELECT count(*) FROM verdicts") == [(2,)]
    with serving(db) as address:
        begin(browser_page, address)
        press(browser_page, "u")
        assert browser_page.get_attribute("#review", "data-at") == "1"
        press(browser_page, "u")
        assert browser_page.get_attribute("#review", "data-at") == "0"
        assert "undone" in browser_page.inner_text("#saved")
    assert rows(db, "SELECT count(*) FROM verdicts") == [(0,)]
    assert rows(db, "SELECT count(*) FROM reviews") == [(4,)]


def test_keys_are_dead_while_typing_and_printed_on_their_buttons(page: "Page", db: Path) -> None:
    page.keyboard.press("n")
    assert page.evaluate("document.activeElement.id") == "note"
    page.keyboard.type("a dull axx")
    assert page.input_value("#note") == "a dull axx"
    page.keyboard.press("Escape")
    assert page.evaluate("document.activeElement.id") == "card"
    assert rows(db, "SELECT count(*) FROM reviews") == [(0,)]
    keys = page.eval_on_selector_all("[data-press] kbd, summary kbd", "all => all.map(one => one.innerText)")
    assert {"a", "d", "x", "c", "n", "m", "u", "j", "l"} <= set(keys)
    assert not {key.lower() for key in keys} & {"r", "i"}
    named = page.eval_on_selector_all("[data-press]", "all => all.map(one => one.dataset.press)")
    assert not {key.lower() for key in named} & {"r", "i"}


def test_a_key_that_is_held_judges_one_claim(page: "Page", db: Path) -> None:
    before = page.evaluate(NOW)
    for repeat in (False, True, True, True):
        page.evaluate(
            "repeat => document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', bubbles: true, repeat}))",
            repeat,
        )
    page.evaluate("document.body.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', bubbles: true}))")  # too early
    page.wait_for_function(f"before => {NOW} !== before", arg=before)
    assert verdicts(db) == [("accepted", 1)]


def test_what_is_selected_becomes_a_claim_at_its_place(page: "Page", db: Path) -> None:
    text = page.inner_text("#abstract")
    start = page.evaluate(
        """() => {
            const spans = [...document.querySelectorAll("#abstract > span")];
            const span = spans.find((one) => one.firstChild.data.length > 40);
            const at = span.firstChild.data.indexOf(" ") + 1;
            const end = span.firstChild.data.indexOf(" ", at);
            document.getSelection().setBaseAndExtent(span.firstChild, at, span.firstChild, end);
            const range = document.createRange();
            range.selectNodeContents(document.getElementById("abstract"));
            range.setEnd(span.firstChild, at);
            return [...range.toString()].length;
        }"""
    )
    word = page.evaluate("document.getSelection().toString()")
    page.keyboard.press("m")
    assert page.input_value("#add-quote") == word
    page.select_option("#add-path", "baselines")
    assert not page.is_visible("#add-metric")
    before = page.evaluate(NOW)
    page.click("#add button.primary")
    page.wait_for_function(f"before => {NOW} !== before", arg=before)
    assert rows(db, "SELECT name, start FROM reviewed_baselines WHERE origin = 'added'") == [(word, start)]
    assert text[start:].startswith(word) or len(text) != len(list(text))


# --- without a browser


class Visitor:
    """A reviewer whose browser runs no script: it follows links and posts forms."""

    def __init__(self, site: TestClient, name: str = "Anna") -> None:
        self.site = site
        self.token = re.search(r'name="csrf" content="([^"]+)"', site.get("/review").text)[1]  # type: ignore[index]
        self.post("/review/name", name=name)

    def post(self, to: str, /, **form: str) -> Any:
        return self.site.post(to, data={"csrf": self.token, **form})

    def first(self, queue: str = "weakest") -> str:
        return str(self.site.get(f"/review/next?queue={queue}").headers["location"])

    def judge(self, to: str, verdict: str, /, **form: str) -> Any:
        """Say this of the claim that the page shows."""
        card = self.site.get(to).text.partition('id="card"')[2]
        claim = dict(re.findall(r'name="(path|claim)" value="([^"]*)"', card.partition("</form>")[0]))
        return self.post(to, verdict=verdict, **{key: html.unescape(said) for key, said in claim.items()}, **form)


@pytest.fixture
def visitor(db: Path) -> Iterator[Visitor]:
    with client(db) as site:
        yield Visitor(site)


def test_the_pages_work_without_a_script(visitor: Visitor, db: Path) -> None:
    path = visitor.first()
    answer = visitor.judge(path, "accepted")
    assert (answer.status_code, answer.headers["location"]) == (303, f"{path}&at=1")
    answer = visitor.judge(f"{path}&at=1", "rejected", reason="because")
    assert answer.status_code == 422 and "is none of" in html.unescape(answer.text)
    answer = visitor.judge(f"{path}&at=1", "corrected", quote="not in the text", role="gain")
    assert answer.status_code == 422 and "no quote of this abstract" in answer.text
    assert 'value="not in the text"' in answer.text
    assert verdicts(db) == [("accepted", 1)]
    assert "Saved " in visitor.site.get(path).text
    answer = visitor.post("/review/undo")
    assert answer.headers["location"].endswith("?at=0")


def test_a_name_is_asked_for_first_and_leads_back(db: Path) -> None:
    with client(db) as site:
        record_id = rows(db, "SELECT min(record_id) FROM records")[0][0]
        answer = site.get(f"/review/abstract/{record_id}?queue=weakest")
        assert answer.status_code == 303 and answer.headers["location"].startswith("/review?to=")
        token = re.search(r'name="csrf" content="([^"]+)"', site.get("/review").text)[1]  # type: ignore[index]
        for to, leads in ((f"/review/abstract/{record_id}", None), ("https://elsewhere.example", "/review")):
            answer = site.post("/review/name", data={"csrf": token, "name": " Zoë\n<b>; ", "to": to})
            assert answer.headers["location"] == (leads or to)
        assert "Zoë &lt;b&gt;" in site.get("/review").text
        assert site.post("/review/name", data={"csrf": token, "name": " "}).status_code == 422
        assert site.post("/review/name", data={"name": "Eve"}).status_code == 403


def test_a_sample_is_drawn_reviewed_and_measured(visitor: Visitor, db: Path) -> None:
    assert visitor.post("/review/sample", seed="7", size="2").status_code == 303
    assert visitor.post("/review/sample", seed="7", size="2").status_code == 409
    assert visitor.post("/review/sample", seed="a b", size="2").status_code == 422
    assert visitor.post("/review/sample", seed="8", size="0").status_code == 422
    path = visitor.first("sample-7")
    while path.startswith("/review/abstract"):
        verdict = "complete" if path.endswith("at=end") else "accepted"
        path = visitor.judge(path, verdict).headers["location"]
        if path.startswith("/review/next"):
            path = visitor.site.get(path).headers["location"]
    assert path == "/review?queue=sample-7&done=1"
    assert "nothing is left" in visitor.site.get(path).text
    assert rows(db, "SELECT count(*) FROM reviewed_papers WHERE reviewed_by = 'Anna'") == [(2,)]


def test_a_difference_is_settled_on_its_page(db: Path) -> None:
    with client(db) as site:
        path = Visitor(site).first()
        for name, verdict, form in (("Anna", "accepted", {}), ("Ben", "rejected", {"reason": "wrong name"})):
            assert Visitor(site, name).judge(f"{path}&at=0", verdict, **form).status_code == 303
        cleo = Visitor(site, "Cleo")
        said = site.get("/review/settle").text
        assert "Anna is right" in said and "Ben is right" in said and "wrong name" in said
        form = dict(re.findall(r'name="(record_id|path|claim)" value="([^"]*)"', said))
        form = {key: html.unescape(value) for key, value in form.items()}
        assert cleo.post("/review/settle", voice="Ben", **form).status_code == 303
        assert cleo.post("/review/settle", voice="Ben", **form).status_code == 409
        assert rows(db, "SELECT verdict FROM verdicts") == [("rejected",)]
        people = site.get("/review/reviewers").text
        assert "Anna, Ben" in people and "0.0%" in people


def test_a_text_with_markup_is_text(tmp_path: Path) -> None:
    store = made(tmp_path, a_run())
    record = a_record(1)
    hostile = replace(record, text=record.text + " <script>alert(1)</script>\r\n& more", title="<img src=x>")
    store.save("run1", [hostile], [done(hostile)])
    with client(store.path) as site:
        visitor = Visitor(site, "<script>")
        page = site.get(visitor.first()).text
        assert "<script>alert" not in page and "&lt;script&gt;alert(1)" in page and "<img src=x>" not in page
        visitor.judge(visitor.first(), "noted", note="<script>alert(2)</script>")
        assert "<script>alert(2)" not in site.get(visitor.first()).text


def test_a_schema_of_ones_own_is_accepted_and_rejected_but_not_written(tmp_path: Path) -> None:
    store = made(tmp_path)
    schema = Schema("sha256:12345", "trial", "{}", '{"phase": "VARCHAR", "sites": ["VARCHAR"]}')
    store.begin_run(a_run(schema=schema), schema, PROMPT)
    value = '{"phase": "II", "sites": ["Oslo", "Rome"]}'
    store.save("run1", [a_record(1)], [Outcome(a_record(1).record_id, "done", None, None, value, NOON)])
    with client(store.path) as site:
        visitor = Visitor(site)
        path = visitor.first()
        page = site.get(path).text
        assert "Oslo" in page and "Correct" not in page and "Add what was missed" not in page
        assert visitor.judge(path, "accepted").status_code == 303
        assert visitor.judge(f"{path}&at=1", "rejected", reason="wrong").status_code == 303
        assert visitor.judge(f"{path}&at=2", "corrected", quote="x").status_code == 422
        assert site.get("/review?schema=none").status_code == 404
    assert rows(store.path, "SELECT verdict, count(*) FROM verdicts GROUP BY ALL ORDER BY ALL") == [
        ("accepted", 1),
        ("rejected", 1),
    ]


# --- for everyone


def test_axe_finds_no_serious_fault_and_a_phone_is_wide_enough(chromium: "Browser", db: Path) -> None:
    from tests.test_web_browser import axe, axe_faults  # that module is skipped whole where there is no playwright

    if (script := axe()) is None:
        pytest.skip("axe-core is not there; `make axe` fetches it")
    found: list[object] = []
    with serving(db) as address:
        page = chromium.new_page(bypass_csp=True, viewport={"width": 360, "height": 800})
        page.set_default_timeout(30_000)
        for name in ("Anna", "Ben"):
            begin(page, address, name)
            if name == "Anna":
                page.keyboard.press("x")
            press(page, "1" if name == "Anna" else "a")
            press(page, "a")
        here = page.url
        for path in ("", "&at=0", "&at=end&open=add", "/review", "/review/settle", "/review/reviewers"):
            page.goto(address + path if path.startswith("/") else here.partition("&at=")[0] + path)
            found += axe_faults(page, script)
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, path
        page.close()
    assert not found, json.dumps(found, indent=1)
