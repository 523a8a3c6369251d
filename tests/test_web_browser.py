"""The web app in a real browser: what a person does on each page, by mouse and by keyboard, and what axe-core says."""

import csv
import io
import json
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from extract.web import rendering
from store.query import run_query
from tests.browser import serving
from tests.store_samples import NOON, a_record, a_run, done, made

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

sync_api = pytest.importorskip("playwright.sync_api", reason="the browser tests need playwright")
expect = sync_api.expect

ROOT = Path(__file__).parents[1]
AXE = (ROOT / "node_modules" / "axe-core" / "axe.min.js", ROOT / ".venv" / "axe-core" / "axe.min.js")
PAGES = (
    "/claims?role=gain",
    "/paper/{record}",
    "/runs",
    "/runs/{run}",
    "/plots?kind=metric",
    "/sql?q=FROM+claims+LIMIT+3",
    "/views",
)


@pytest.fixture(scope="module")
def address(seeds_db: Path) -> Iterator[str]:
    """A server of the seeds' database for all tests of the module."""
    with serving(seeds_db) as served:
        yield served


def one(db: Path, query: str) -> str:
    return str(next(iter(run_query(db, query).rows))[0])


def fullest(db: Path) -> str:
    """The paper with the most numbers."""
    return one(db, "SELECT record_id FROM headline_numbers GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1")


def test_filter_and_download(browser_page: "Page", address: str, seeds_db: Path) -> None:
    page = browser_page
    page.goto(f"{address}/claims")
    total = one(seeds_db, "SELECT count(*) FROM claims")
    page.wait_for_selector(f"text=of {int(total):,}")
    page.select_option("#f-role", "gain")
    page.wait_for_url("**role=gain**")
    gains = int(one(seeds_db, "SELECT count(*) FROM claims WHERE role = 'gain'"))
    expect(page.locator("#claims tbody tr")).to_have_count(min(gains, 50))
    assert page.locator("#claims tbody td:nth-child(5)").all_inner_texts()
    page.click("thead >> text=Value")
    page.wait_for_url("**sort=value**")
    values = [float(v.replace(",", "")) for v in page.locator("#claims td.number:not(.unknown)").all_inner_texts()]
    assert values == sorted(values)
    assert page.input_value("#f-role") == "gain"
    with page.expect_download() as waiting:
        page.click("text=Download CSV")
    rows = list(csv.DictReader(io.StringIO(Path(waiting.value.path()).read_text(encoding="utf-8"))))
    assert len(rows) == gains and {row["role"] for row in rows} == {"gain"}
    page.go_back()
    page.wait_for_url("**role=gain**")


def test_open_a_paper_and_see_the_marks(browser_page: "Page", address: str, seeds_db: Path) -> None:
    page = browser_page
    page.goto(f"{address}/paper/{fullest(seeds_db)}")
    claim = page.locator(".claims > li").first
    assert page.locator("mark.lit").count() == 0
    claim.hover()
    lit = page.locator("mark.lit")
    assert claim.locator(".said").first.inner_text() in lit.all_inner_texts()
    page.mouse.move(2, 2)
    page.keyboard.press("j")
    page.keyboard.press("j")
    second = page.locator(".claims > li").nth(1)
    assert page.evaluate("document.activeElement") == second.evaluate("e => e") or "lit" in str(
        second.get_attribute("class")
    )
    mark = page.locator(f"mark[data-ties~='{claim.get_attribute('data-ties')}']").first
    mark.hover()
    assert "lit" in str(claim.get_attribute("class"))


def test_papers_by_keyboard(browser_page: "Page", address: str, seeds_db: Path) -> None:
    page = browser_page
    order = [str(r) for (r,) in run_query(seeds_db, "SELECT record_id FROM records ORDER BY rowid LIMIT 2").rows]
    page.goto(f"{address}/paper/{order[0]}")
    page.keyboard.press("l")
    page.wait_for_url(f"**/{order[1]}")
    page.keyboard.press("h")
    page.wait_for_url(f"**/{order[0]}")
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.wait_for_url("**/sql")
    page.fill("#q", "")
    page.type("#q", "ghul gs")  # keys are dead while a person types
    assert page.input_value("#q") == "ghul gs" and page.url.endswith("/sql")


def test_a_click_on_a_plot_leads_to_the_claims(browser_page: "Page", address: str) -> None:
    page = browser_page
    page.goto(f"{address}/plots?kind=metric")
    page.wait_for_selector("[data-drawn]")
    label = page.locator("table tbody th a").first.inner_text()
    with page.expect_download() as waiting:
        page.click("text=SVG")
    assert "<svg" in Path(waiting.value.path()).read_text(encoding="utf-8")
    with page.expect_download() as waiting:
        page.click("text=PNG")
    assert Path(waiting.value.path()).read_bytes().startswith(b"\x89PNG")
    page.locator(".canvas path[aria-roledescription=bar]").first.click()
    page.wait_for_url("**/claims?**")
    assert {text for text in page.locator("#claims tbody td:nth-child(6)").all_inner_texts()} == {label}


def test_a_query_its_plot_and_a_refused_one(browser_page: "Page", address: str) -> None:
    page = browser_page
    page.goto(f"{address}/sql")
    page.fill("#q", "SELECT role, count(*) AS n FROM claims GROUP BY 1")
    page.press("#q", "Control+Enter")
    page.wait_for_selector("#answer table")
    assert "q=SELECT" in page.url
    page.select_option("#axis-x", "role")
    page.select_option("#axis-y", "n")
    page.click("form[aria-label='Plot two columns'] button")
    page.wait_for_selector("[data-drawn] svg")
    page.fill("#q", "DROP TABLE records")
    page.press("#q", "Control+Enter")
    page.wait_for_selector("#answer .fault")
    assert "DROP is not allowed" in page.inner_text("#answer")


def test_a_run_advances_on_the_page(browser_page: "Page", tmp_path: Path) -> None:
    store = made(tmp_path, a_run())
    page, ready = browser_page, threading.Event()

    def go_on() -> None:
        ready.wait(20)
        for i in range(4):
            store.save("run1", [a_record(i)], [done(a_record(i))])
        ready.clear()
        ready.wait(20)
        store.end_run("run1", "finished", NOON)

    with serving(store.path) as served:
        page.goto(f"{served}/runs/run1")
        assert page.inner_text("#done") == "0"
        writer = threading.Thread(target=go_on)
        writer.start()
        ready.set()
        expect(page.locator("#done")).to_have_text("4", timeout=20_000)
        ready.set()
        page.wait_for_selector("#going .tag.good", timeout=20_000)
        writer.join()
    assert page.inner_text("#going .tag") == "finished"


def test_pages_work_without_javascript(chromium: "Browser", address: str, seeds_db: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/claims")
    page.select_option("#f-role", "gain")
    page.click("text=Filter >> visible=true")
    assert "role=gain" in page.url
    page.click("thead >> text=Metric")
    assert "sort=metric" in page.url and "role=gain" in page.url
    page.locator("tbody th a").first.click()
    assert "/paper/" in page.url and page.locator("mark").count() > 0
    page.goto(f"{address}/sql?q=SELECT+41%2B1+AS+n")
    assert page.inner_text("#answer td") == "42"
    page.goto(f"{address}/plots?kind=metric")
    assert page.locator("tbody th a").count() > 0
    context.close()


def test_no_page_is_wider_than_its_window(chromium: "Browser", address: str, seeds_db: Path) -> None:
    page = chromium.new_page()
    for path in paths(seeds_db):
        page.set_viewport_size({"width": 1280, "height": 800})
        page.goto(address + path)
        for width in (1280, 360):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    page.close()


def paths(db: Path) -> list[str]:
    run = one(db, "SELECT run_id FROM runs LIMIT 1")
    return [path.format(record=fullest(db), run=run) for path in PAGES]


def axe() -> Path | None:
    named = os.environ.get("CLAIMBASE_AXE")
    return next((path for path in ([Path(named)] if named else AXE) if path.exists()), None)


def axe_faults(page: "Page", script: Path) -> list[object]:
    """What axe-core finds serious on a page, light and dark; in dark colours alone, as all else is as in light."""
    page.add_script_tag(path=script)
    found: list[object] = []
    for scheme, only in (("light", {}), ("dark", {"runOnly": ["color-contrast"]})):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light", reduced_motion="reduce")
        result = page.evaluate("only => axe.run(document, {resultTypes: ['violations'], ...only})", only)
        found += [
            (page.url, scheme, fault["id"], [node["html"][:200] for node in fault["nodes"][:3]])
            for fault in result["violations"]
            if fault["impact"] in ("serious", "critical")
        ]
    return found


def test_axe_finds_no_serious_fault(chromium: "Browser", address: str, seeds_db: Path) -> None:
    if (script := axe()) is None:
        pytest.skip("axe-core is not there; `make axe` fetches it")
    page = chromium.new_page(bypass_csp=True)
    found = []
    for path in (*paths(seeds_db), "/claims?q=nothing+like+it", "/sign-in", "/nowhere"):
        page.goto(address + path)
        found += axe_faults(page, script)
    page.close()
    assert not found, json.dumps(found, indent=1)


def test_every_colour_pair_of_the_marks_has_contrast() -> None:
    """Text on each field's ground, 4.5 to 1 or more, in both schemes; axe-core looks at those alone that a page has."""
    css = (rendering.STATIC / "site.css").read_text(encoding="utf-8")
    light, dark = re.findall(r":root \{(.*?)\n\s*\}", css, re.DOTALL)
    for block, base in ((light, ""), (dark, light)):
        colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", base + block))
        grounds = ["ground", "raised", "sunk", "accent-soft", *(f"field-{i}" for i in range(1, 9))]
        for ground in grounds:
            assert _contrast(colours["text"], colours[ground]) >= 4.5, ground
        for i in range(1, 9):
            assert _contrast(colours[f"field-{i}-line"], colours[f"field-{i}"]) >= 4.5, i
        for name in ("good", "warn", "bad"):
            assert _contrast(colours[name], colours[f"{name}-soft"]) >= 4.5, name
        assert _contrast(colours["on-accent"], colours["accent"]) >= 4.5
        for ground in ("ground", "raised", "sunk"):
            assert _contrast(colours["quiet"], colours[ground]) >= 4.5, ground
            assert _contrast(colours["link"], colours[ground]) >= 4.5, ground


def _contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, as WCAG 2 defines it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)
