"""Makes the peers' virtual environments: each of its own, from the registry, by name and pinned version.

They stay in `.bench/` of the repository (or where CLAIMBASE_BENCH says), and are made once.
"""

import os
import subprocess
import sys
import venv
from collections.abc import Mapping
from pathlib import Path

from bench.samples import ROOT

FOLDER = Path(os.environ.get("CLAIMBASE_BENCH", ROOT / ".bench"))
REQUIREMENTS: Mapping[str, tuple[str, ...]] = {
    "langextract": ("langextract[openai]==1.7.1",),
    "instructor": ("instructor==1.17.0", "openai==3.3.0"),
    "openai": ("openai==3.3.0",),
    "curator": ("bespokelabs-curator==0.1.31",),
}
"""What is installed for each peer. instructor and openai are pinned to the releases that claimbase itself uses."""


def python_of(peer: str) -> Path | None:
    """The interpreter of a peer's environment, made if it isn't there; None, with a word why, where that fails."""
    folder = FOLDER / peer
    python, ready = folder / "bin" / "python", folder / "ready"
    wanted = "\n".join(REQUIREMENTS[peer])
    if ready.exists() and ready.read_text(encoding="utf-8") == wanted:
        return python
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / ".gitignore").write_text("*\n", encoding="utf-8")
    print(f"installing {', '.join(REQUIREMENTS[peer])} into {folder}", file=sys.stderr)
    venv.create(folder, with_pip=True, clear=True)
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *REQUIREMENTS[peer]],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        print(f"{peer} can't be installed: {done.stderr.strip()[-500:]}", file=sys.stderr)
        return None
    ready.write_text(wanted, encoding="utf-8")
    return python


def env_of(home: Path) -> dict[str, str]:
    """What a peer is run with: a home folder of its own; curator without cache, telemetry, display and download.

    curator counts tokens with tiktoken, which downloads its tables; litellm, which it depends on, has them.
    """
    tables = next((FOLDER / "curator").glob("lib/python*/site-packages/litellm/litellm_core_utils/tokenizers"), home)
    curator = {"CACHE_DIR": str(home / "curator"), "DISABLE_CACHE": "1", "DISABLE_RICH_DISPLAY": "1"}
    named = {f"CURATOR_{name}": value for name, value in curator.items()}
    return {"HOME": str(home), "TELEMETRY_ENABLED": "false", "TIKTOKEN_CACHE_DIR": str(tables), **named}


def version_of(peer: str) -> str:
    """A peer's package with its version, as in its requirement."""
    return REQUIREMENTS[peer][0].replace("==", " ")
