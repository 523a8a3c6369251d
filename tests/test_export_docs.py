"""The page on exports: each of its commands runs, there is one for each format, and its frames are as it says."""

import re
import shlex
from pathlib import Path

import pytest

from extract.cli import main
from store.export import EXPORT_FORMATS, SUFFIXES
from tests.store_samples import a_record, a_run, done, made

PAGE = (Path(__file__).parents[1] / "docs" / "exports.md").read_text(encoding="utf-8")
COMMANDS = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
PYTHON = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a database of the default name."""
    store = made(tmp_path, a_run())
    records = [a_record(i) for i in range(1, 4)]
    store.save("run1", records, [done(record) for record in records])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(command: str) -> int:
    program, *arguments = shlex.split(command)
    assert program == "claimbase"
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert isinstance(ended.value.code, int)
    return ended.value.code


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_of_the_page_writes_its_file(
    folder: Path, command: str, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run(command) == 0
    out, said = capfdbinary.readouterr()
    assert re.search(rb"^\d rows? written to ", said)
    written = {path.name for path in folder.iterdir()} - {"claims.duckdb"}
    assert written == set() if out else len(written) == 1


def test_the_page_has_a_command_for_each_format_and_a_row_for_each_suffix() -> None:
    used = {SUFFIXES[suffix] for command in COMMANDS for suffix in SUFFIXES if f"{suffix}" in command}
    assert used == set(EXPORT_FORMATS)
    table = re.findall(r"^\| (`\..*?) \| `(\w+)` \|", PAGE, re.MULTILINE)
    assert {suffix: name for suffixes, name in table for suffix in re.findall("`(.*?)`", suffixes)} == SUFFIXES


@pytest.mark.parametrize("code", PYTHON)
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_the_pages_data_frames_are_made(code: str, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(library)
    monkeypatch.setattr("store.frames.LIBRARIES", (library,))
    names: dict[str, object] = {}
    exec(code, names)
    assert [len(names["claims"]), len(names["gains"])] == [3, 1]  # type: ignore[arg-type]


def test_the_format_overrules_the_suffix(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("claimbase export claims --to table.txt --format latex") == 0
    assert (folder / "table.txt").read_text().startswith("% \\usepackage{booktabs}")
    assert run("claimbase export claims --to table.csv --format docx") == 2
    assert "expected one of csv, tsv, jsonl, parquet, xlsx, markdown, latex, bibtex" in capsys.readouterr().err
    assert run("claimbase export claims --to a.md --for-spreadsheets") == 2
    assert "csv, tsv, xlsx are" in capsys.readouterr().err
