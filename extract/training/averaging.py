"""Averages adapters that were trained apart: what one has learned amiss, another has often not (Wortsman et al. 2022).

The change that an adapter makes to a layer is the product of two matrices; a weighted sum of such changes is an adapter
again, of the ranks' sum, exact but for rounding. It may be used as a program:

    python -m extract.training.averaging OUT.gguf ONE.gguf=0.5 OTHER.gguf=0.5
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from extract.training.adapter import read_numbers, write_numbers


def average(parts: Sequence[tuple[Path, float]], to: Path) -> int:
    """Write the weighted sum of adapters; returns its rank. Raises InputError for a file that is none."""
    read = [(read_numbers(path), weight) for path, weight in parts]
    names = list(read[0][0])
    made: dict[str, torch.Tensor] = {}
    for name in names:
        if name.endswith("lora_a"):
            made[name] = torch.from_numpy(np.concatenate([numbers[name] for numbers, _ in read], axis=0))
        else:
            made[name] = torch.from_numpy(np.concatenate([numbers[name] * w for numbers, w in read], axis=1))
    rank = next(made[name].shape[0] for name in names if name.endswith("lora_a"))
    write_numbers(to, made, rank)
    return rank


def main(arguments: Sequence[str]) -> None:
    """Average by the command line: the file to make, then FILE=WEIGHT for each part."""
    pairs = [argument.rpartition("=") for argument in arguments[1:]]
    rank = average([(Path(path), float(weight)) for path, _, weight in pairs], Path(arguments[0]))
    print(f"{arguments[0]}: rank {rank}")


if __name__ == "__main__":
    main(sys.argv[1:])
