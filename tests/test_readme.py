"""What the README shows can be done: its commands parse, its questions are answered, its schema is one."""

import json
import re
import shlex
from pathlib import Path

import pytest
import typer

from extract import cli
from schemas.registry import load_schema
from store.query import run_query
from store.rows import Schema
from store.views import views_of
from tests.conftest import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def shell_lines() -> list[str]:
    """Each line of the shell blocks, with those that a backslash continues joined."""
    joined = "".join(blocks("sh")).replace("\\\n", " ")
    return [line for line in joined.splitlines() if shlex.split(line, comments=True)]


def test_the_readme_has_what_is_looked_for() -> None:
    assert len(blocks("sql")) >= 3 and len(shell_lines()) >= 5


@pytest.mark.parametrize("line", shell_lines())
def test_each_command_parses(line: str) -> None:
    program, *arguments = shlex.split(line, comments=True)
    if program == "make":
        targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        assert set(arguments) <= set(targets)
    elif program == "claimbase":
        group = typer.main.get_group(cli.app)
        name, *options = arguments
        assert name in group.commands, f"no such command: {name}"
        with group.commands[name].make_context(name, options) as context:  # raises for an option that isn't known
            assert context.params
    else:
        assert program in ("pip", "python", "git", "cd"), f"what is {program!r}?"


@pytest.mark.parametrize("query", blocks("sql"), ids=lambda q: " ".join(q.split())[:50])
def test_each_question_is_answered(query: str, seeds_db: Path) -> None:
    result = run_query(seeds_db, query)
    rows = list(result.rows)
    if "rejected" not in query:  # gold holds nothing that the abstracts don't
        assert rows
    if list(result.columns) == ["misplaced"]:
        assert rows == [(0,)]


def test_questions_of_the_issue_are_among_them(seeds_db: Path) -> None:
    answers = [(list(result.columns), list(result.rows)) for result in (run_query(seeds_db, q) for q in blocks("sql"))]
    gains = next(rows for columns, rows in answers if columns[:1] == ["task"] and "value" in columns)
    assert len(gains) >= 5
    used = next(rows for columns, rows in answers if columns == ["name", "papers"])
    assert all(isinstance(papers, int) for _, papers in used)
    faster = next((columns, rows) for columns, rows in answers if "times" in columns and "over" in columns)
    assert all(row[faster[0].index("times")] > 2 for row in faster[1])


def test_its_schema_is_one(tmp_path: Path) -> None:
    [source] = blocks("python")
    (tmp_path / "trials.py").write_text(source, encoding="utf-8")
    [spec] = re.findall(r"--schema (\w+\.py:\w+)", README)

    loaded = load_schema(f"{tmp_path}/{spec}")
    views = {
        v.name for v in views_of([Schema(loaded.hash, loaded.name, loaded.json_schema, json.dumps(loaded.structure))])
    }
    named = re.findall(r"gives the views (.*?)\.\s", README, re.DOTALL)[0]
    assert set(re.findall(r"`(\w+)`", named)) <= views
