"""Pictures of each page for the documentation, light and dark, from a database of the seeds.

    python -m bench.screenshots [--db FILE] [--to FOLDER]

Without --db the seeds are extracted by the embedded model first, as `make demo` does. Two people then review some
claims of a copy, so that there is something of that to see. It needs chromium (see `tests/browser.py`).
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page, sync_playwright

from store import reviewing, session
from store.query import run_query
from store.reviewing import Judgement, Verdict
from tests.browser import chromium_path, serving

ROOT = Path(__file__).parents[1]
SEEDS = ROOT / "seeds" / "neurips_2026_papers.txt"
WIDE, PHONE = (1360, 850), (390, 844)
SCHEMES = ("light", "dark")
# Of the papers, the one that says most: with the most kinds of evidence, then the most numbers.
_FULLEST = """SELECT record_id FROM headline_numbers GROUP BY 1
ORDER BY count(metric) + count(dataset) + count(baseline) DESC, count(*) DESC, 1 LIMIT 1"""
_QUESTION = """SELECT role, count(*) AS claims, round(median(value), 1) AS median
FROM headline_numbers GROUP BY ALL ORDER BY claims DESC"""
NUMBERS = "headline_numbers"
_SAID: Sequence[tuple[str, int, Verdict, str | None]] = (
    *(("Anna", 0, "accepted", None), ("Anna", 1, "rejected", "not a result")),
    *(("Ben", 0, "accepted", None), ("Ben", 1, "accepted", None), ("Ben", 2, "rejected", "wrong metric")),
)
"""What is said of a paper's first numbers: by whom, of which, what, and why."""


def review(db: Path) -> None:
    """Judge some claims of the fullest paper, two people on the same ones."""
    paper = str(next(iter(run_query(db, _FULLEST).rows))[0])
    with session.writing(db) as con:
        subject = reviewing.subject_of(con, "paper")
        items = [item for item in reviewing.items_of(con, subject, paper) if item.path == NUMBERS]
        for reviewer, at, verdict, reason in _SAID:
            if at < len(items):
                claim = items[at].claim
                reviewing.append(con, Judgement(reviewer, "paper", paper, NUMBERS, claim, verdict, reason=reason))


def pages(db: Path) -> Iterator[tuple[str, str]]:
    """The pictures to take, each a name and an address."""
    paper = next(iter(run_query(db, _FULLEST).rows))[0]
    run = next(iter(run_query(db, "SELECT run_id FROM runs ORDER BY started_at DESC LIMIT 1").rows))[0]
    yield "claims", "/claims"
    yield "paper", f"/paper/{paper}"
    yield "review", f"/review/abstract/{paper}?queue=weakest&at=2"
    yield "queues", "/review"
    yield "settle", "/review/settle"
    yield "reviewers", "/review/reviewers"
    yield "runs", "/runs"
    yield "run", f"/runs/{run}"
    yield "plots", "/plots?kind=metric&unit=x"
    question = {"q": _QUESTION, "x": "role", "y": "claims", "mark": "bar"}
    yield "sql", f"/sql?{urlencode(question)}"
    yield "views", "/views"


def take(browser: Browser, address: str, db: Path, folder: Path) -> None:
    """Take them all."""
    for scheme in SCHEMES:
        for width, names in ((WIDE, None), (PHONE, ("claims", "paper", "review"))):
            page = browser.new_page(
                viewport={"width": width[0], "height": width[1]},
                color_scheme="dark" if scheme == "dark" else "light",
                device_scale_factor=1,
            )
            page.context.add_cookies([{"name": "claimbase-reviewer", "value": "Anna", "url": address}])
            for name, path in pages(db):
                if names is None or name in names:
                    _take(page, address + path, folder / f"{name}{'' if names is None else '-phone'}-{scheme}.png")
            page.close()


def _take(page: Page, address: str, to: Path) -> None:
    page.goto(address)
    page.wait_for_load_state("networkidle")
    if page.locator("[data-plot]").count():
        page.wait_for_selector("[data-drawn]")
    if (
        page.locator(".claims > li").first.is_visible()
        and page.viewport_size is not None
        and page.viewport_size["width"] == WIDE[0]
    ):
        page.locator(".claims > li").first.hover()
    page.screenshot(path=to)
    print(to, flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    """Take the pictures, and say the name of each."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--db", type=Path)
    arguments.add_argument("--to", type=Path, default=ROOT / "docs" / "images")
    options = arguments.parse_args(argv)
    if (path := chromium_path()) is None:
        arguments.error("no chromium; install it, or name it in CLAIMBASE_CHROMIUM")
    options.to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="screenshots-") as folder:
        db = Path(folder) / "claims.duckdb"
        if options.db is None:
            command = [sys.executable, "-m", "extract.cli", "run", str(SEEDS), "--db", str(db)]
            subprocess.run(command, check=True, cwd=ROOT)
        else:
            shutil.copy(options.db, db)
        review(db)
        with serving(db) as address, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
            take(browser, address, db, options.to)
            browser.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
