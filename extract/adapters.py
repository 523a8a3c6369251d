"""The adapters of the embedded model: the shipped one, and those that `claimbase train` makes in a folder.

An adapter answers by one schema, the one that it was trained on, and its folder says which (`card.json`).
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from extract.errors import SettingsError
from extract.settings import LOCAL

ADAPTER, CARD = "adapter.gguf", "card.json"
SHIPPED = Path(__file__).parent / "embedded"
TRAINED_PROMPT = "trained"
"""The prompt that adapters are trained on: title, abstract and the numbers in it, with no word of instruction."""


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter on file. `digest` tells it from others, wherever it lies; `schema` and its hash: what it answers by.

    `prompt_version`: of the prompt that it was trained on, and has to be asked with.
    `calibration` is what makes its token probabilities a confidence (`certainty.Calibration`).
    """

    path: Path
    digest: str
    schema: str
    schema_hash: str
    prompt_version: int
    calibration: tuple[tuple[str, tuple[float, float, float]], ...]
    shipped: bool


def adapter_of(model: str) -> Adapter:
    """Return the adapter of `local`, the shipped one, or of `local:FOLDER`.

    Raises SettingsError where the folder holds none, or one that was not finished.
    """
    _, _, named = model.partition(":")
    folder = Path(named) if named else SHIPPED
    try:
        content = (folder / ADAPTER).read_bytes()
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
        schema, schema_hash = str(card["schema"]), str(card["schema_hash"])
        prompt_version = int(card["prompt_version"])
        calibration = tuple((kind, (float(b), float(t), float(m))) for kind, (b, t, m) in card["calibration"].items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
        raise SettingsError(
            f"--model {model}: {str(folder)!r} holds no adapter ({e}); name the folder that claimbase train wrote to, "
            f"or --model {LOCAL} for the shipped one"
        ) from None
    digest = hashlib.sha256(content).hexdigest()[:20]
    return Adapter(folder / ADAPTER, digest, schema, schema_hash, prompt_version, calibration, shipped=not named)
