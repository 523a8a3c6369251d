"""What `claimbase run` tells the readers, what it says of what they met, and what it imports for them."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests import reader_samples as samples
from tests.conftest import ROOT, Command

LIBRARIES = {"rispy", "bibtexparser", "pylatexenc", "openpyxl", "defusedxml", "duckdb"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_columns_are_named_on_the_command_line(claimbase: Command, folder: Path) -> None:
    (folder / "a.csv").write_text("Nr,Words\n1,We sort.\n2,We stack.\n", encoding="utf-8")
    refused = claimbase("run", "a.csv", "--dry-run")
    assert (refused.code, refused.out) == (2, "")
    assert refused.err == (
        "claimbase: a.csv: no column for the abstract among 'Nr', 'Words'; name it with --text-column\n"
    )
    said = claimbase("run", "a.csv", "--text-column", "Words", "--id-column", "Nr", "--dry-run")
    assert said.code == 0 and said.out.startswith("2 of 2 records would be asked")
    wrong = claimbase("run", "a.csv", "--text-column", "Words", "--title-column", "Name", "--dry-run")
    assert wrong.code == 2 and "no column 'Name', as --title-column says" in wrong.err


def test_what_was_left_out_is_named_at_the_end(claimbase: Command, folder: Path) -> None:
    (folder / "library.bib").write_text(samples.BIBTEX + "@article{open31, abstract = {Never", encoding="utf-8")
    said = claimbase("run", "library.bib", "--dry-run")
    assert said.code == 0 and said.out.startswith("2 of 2 records would be asked")
    assert said.err.splitlines()[:3:2] == [
        "1 record without an abstract:",
        "1 record broken and left out:",
    ]
    assert "library.bib: line 15: no abstract in 'A title alone'" in said.err
    assert "library.bib, line 16: not an entry" in said.err


def test_strict_stops_instead(claimbase: Command, folder: Path) -> None:
    (folder / "a.jsonl").write_text('{"abstract": "One."}\n{"abstract": \n', encoding="utf-8")
    said = claimbase("run", "a.jsonl", "--strict")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("claimbase: a.jsonl, line 2: not JSON: ") and said.err.count("\n") == 1
    assert not (folder / "claims.duckdb").exists()


def test_a_folder_a_pattern_and_standard_input_are_read(folder: Path) -> None:
    for name in ("plain.txt", "zotero.csv"):
        (folder / name).write_text(samples.TEXTS[name], encoding="utf-8")
    command = [sys.executable, "-m", "extract.cli", "run", ".", "*.txt", "-", "--dry-run"]
    done = subprocess.run(
        command,
        input=samples.RIS,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT)},
        cwd=folder,
        check=True,
    )
    assert done.stdout.startswith("2 of 6 records would be asked")


def test_a_library_is_imported_when_its_format_is_met(folder: Path) -> None:
    for name, needs in {
        "plain.txt": set[str](),
        "lines.jsonl": set[str](),
        "library.ris": {"rispy"},
        "pubmed.xml": {"defusedxml"},
    }.items():
        (folder / name).write_text(samples.TEXTS[name], encoding="utf-8")
        code = (
            "import sys\nfrom extract.readers import read\n"
            f"assert len(list(read([{name!r}]))) == 2\nprint(*sorted({LIBRARIES} & set(sys.modules)))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            env={"PYTHONPATH": str(ROOT)},
            cwd=folder,
            check=True,
        )
        assert set(done.stdout.split()) == needs
