"""Who may import whom: `schemas`, `prompts`, `store` no sibling, nobody `extract.cli`, no command what it needn't."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("extract", "schemas", "prompts", "store")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides which package it means"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_imports_only_what_its_layer_may(path: Path) -> None:
    package = path.relative_to(ROOT).parts[0]
    forbidden = set(PACKAGES) - {package} if package != "extract" else set()
    for name in imports(path):
        assert name.split(".")[0] not in forbidden, f"{path} imports {name}"
        assert f"{name}.".find("extract.cli.") < 0, f"{path} imports {name}: the command line is the top"
        assert name.split(".")[0] not in ("tests", "bench"), f"{path} imports {name}"


@pytest.mark.parametrize("path", [p for p in MODULES if p.parts[-2] == "store" or p.parts[-2] == "schemas"])
def test_lower_layers_know_no_model_client(path: Path) -> None:
    assert not {n.split(".")[0] for n in imports(path)} & {"openai", "instructor", "tenacity", "rich", "typer"} - (
        {"rich"} if path.name in ("formats.py", "text.py") else set()
    )


def test_the_environment_is_read_in_settings_alone() -> None:
    for path in MODULES:
        source = path.read_text(encoding="utf-8")
        if path.name != "settings.py":
            assert "environ" not in source and "getenv(" not in source, f"{path} reads the environment"


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"], ["sql", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\nfrom extract.cli import main\nsys.argv = ['claimbase', *sys.argv[1:]]\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('HEAVY', sorted({'openai', 'instructor', 'duckdb', 'tenacity', 'xllamacpp'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.splitlines()[-1] == "HEAVY []"
