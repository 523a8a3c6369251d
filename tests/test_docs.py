"""docs/cli.md says what the program does: each help text word for word, each key of JSON, each exit code.

`python -m tests.test_docs` writes the program's help texts into the page, once a command or an option has changed.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from extract import console
from tests.conftest import MODEL, ROOT, SEEDS, Command, seed_script
from tests.scripted import running

FILE = ROOT / "docs" / "cli.md"
PAGE = FILE.read_text(encoding="utf-8")
BLOCK = re.compile(r"^```\n\$ claimbase([ a-z]*) --help\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HELP = dict(BLOCK.findall(PAGE))


def keys_under(heading: str) -> list[str]:
    """The first column of the table under a heading."""
    section = PAGE.partition(f"## `{heading}`\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)


@pytest.mark.parametrize("command", HELP)
def test_each_help_text_is_the_programs(claimbase: Command, command: str) -> None:
    said = claimbase(*command.split(), "--help")
    assert said.code == 0
    assert HELP[command].rstrip() == said.out.rstrip(), (
        "docs/cli.md shows another help; `python -m tests.test_docs` mends it"
    )


def commands(claimbase: Command, *group: str) -> Iterator[str]:
    """Each command, a group of them before its own, as a block of the page begins with it."""
    yield "".join(f" {name}" for name in group)
    said = claimbase(*group, "--help").out.partition("Commands:")[2]
    for name in re.findall(r"^  ([a-z]+)  ", said, re.MULTILINE):
        yield from commands(claimbase, *group, name)


def test_every_command_is_in_it(claimbase: Command) -> None:
    listed = set(commands(claimbase))
    assert len(listed) > 1 and listed == set(HELP)


def test_the_keys_of_json_are_these(claimbase: Command, tmp_path: Path) -> None:
    db = tmp_path / "claims.duckdb"
    with running(seed_script()) as server:
        arguments = [
            "run",
            SEEDS,
            "--db",
            db,
            "--model",
            MODEL,
            "--base-url",
            server.base_url,
            "--limit",
            "2",
            "--json",
        ]
        dry = json.loads(claimbase(*arguments, "--dry-run").out)
        summary = json.loads(claimbase(*arguments).out)
    [row] = json.loads(claimbase("status", "--json", "--db", db).out)
    assert keys_under("run --json") == list(summary)
    assert keys_under("run --dry-run --json") == list(dry)
    assert keys_under("status --json") == list(row)


def test_the_exit_codes_are_these() -> None:
    section = PAGE.partition("## Exit codes\n")[2].partition("\n## ")[0]
    codes = [int(code) for code in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)]
    assert codes == [0, console.MISTAKE, console.INCOMPLETE, console.INTERRUPTED]


@pytest.mark.parametrize("page", sorted((ROOT / "docs").rglob("*.md")), ids=lambda p: p.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def _helped(block: re.Match[str]) -> str:
    """A block of the page, with the help text that the program has now."""
    command = [sys.executable, "-m", "extract.cli", *block[1].split(), "--help"]
    env = {**os.environ, "COLUMNS": "80"}
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, cwd=ROOT, env=env)
    return f"```\n$ claimbase{block[1]} --help\n{done.stdout.rstrip()}\n```"


if __name__ == "__main__":
    FILE.write_text(BLOCK.sub(_helped, PAGE), encoding="utf-8")
