"""An adapter as a file of llama.cpp's: GGUF, its numbers in float16."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGUFReader, GGUFWriter

from extract.errors import InputError
from extract.training.lora import PARTS

_ARCHITECTURE = "gemma3"
_OURS = re.compile(r"layers\.(\d+)\.(self_attn\.\w_proj|mlp\.\w+_proj)\.lora_([AB])")
_THEIRS = re.compile(r"blk\.(\d+)\.(\w+)\.weight\.lora_([ab])")


def write_adapter(path: Path, adapter: Mapping[str, torch.Tensor], rank: int) -> None:
    """Write an adapter whose scale is 2, as `lora.AdaptedModel` trains it."""
    named: dict[str, torch.Tensor] = {}
    for name, numbers in adapter.items():
        match = _OURS.search(name)
        if match is None:
            raise ValueError(f"{name!r} is no part of an adapter")
        named[f"blk.{match[1]}.{PARTS[match[2]]}.weight.lora_{match[3].lower()}"] = numbers
    write_numbers(path, named, rank)


def write_numbers(path: Path, numbers: Mapping[str, torch.Tensor], rank: int) -> None:
    """Write an adapter's numbers under llama.cpp's names."""
    writer = GGUFWriter(str(path), _ARCHITECTURE)
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(2 * rank))
    for name, tensor in numbers.items():
        writer.add_tensor(name, tensor.float().numpy().astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read_adapter(path: Path, names: list[str]) -> dict[str, torch.Tensor]:
    """Read an adapter back into the `names` of a model's parameters. Raises InputError for a file that is none."""
    theirs = {part: name for name, part in PARTS.items()}
    found: dict[str, torch.Tensor] = {}
    for tensor, numbers in read_numbers(path).items():
        match = _THEIRS.fullmatch(tensor)
        if match and match[2] in theirs:
            ending = f"layers.{match[1]}.{theirs[match[2]]}.lora_{match[3].upper()}."
            found |= {name: torch.from_numpy(numbers) for name in names if ending in name}
    missing = [name for name in names if name not in found]
    if missing:
        raise InputError(str(path), f"holds no {missing[0]}; expected an adapter for the embedded model")
    return found


def read_numbers(path: Path) -> dict[str, Any]:
    """Read an adapter's numbers, float32 arrays under llama.cpp's names. Raises InputError for a file that is none."""
    try:
        return {t.name: np.array(t.data, dtype=np.float32) for t in GGUFReader(str(path)).tensors}
    except (OSError, ValueError) as e:
        raise InputError(str(path), f"not a GGUF adapter ({e}); expected one that `claimbase train` wrote") from e
