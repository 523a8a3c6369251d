"""Averages adapters that were trained apart: what one has learned amiss, another has often not (Wortsman et al. 2022).

The change that an adapter makes to a layer is the product of two matrices; a weighted sum of such changes is an adapter
again, of the ranks' sum, exact but for rounding. Held to a rank, it is the nearest one of that rank (Eckart and Young
1936): of adapters of one training next to nothing is lost. It may be used as a program:

    python -m extract.training.averaging OUT.gguf ONE.gguf=0.3 OTHER.gguf=0.7 --rank 32
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch

from extract.training.adapter import read_numbers, write_numbers


def average(parts: Sequence[tuple[Path, float]], to: Path, rank: int | None = None) -> int:
    """Write the weighted sum of adapters, of this rank at most; returns its rank.

    Raises InputError for a file that is none.
    """
    read = [(read_numbers(path), weight) for path, weight in parts]
    names = list(read[0][0])
    made: dict[str, torch.Tensor] = {}
    for name in names:
        if name.endswith("lora_a"):
            made[name] = torch.from_numpy(np.concatenate([numbers[name] for numbers, _ in read], axis=0))
        else:
            made[name] = torch.from_numpy(np.concatenate([numbers[name] * w for numbers, w in read], axis=1))
    summed = next(made[name].shape[0] for name in names if name.endswith("lora_a"))
    if rank is not None and rank < summed:
        made, summed = _nearest(made, rank), rank
    write_numbers(to, made, summed)
    return summed


def _nearest(numbers: Mapping[str, torch.Tensor], rank: int) -> dict[str, torch.Tensor]:
    """Return the adapter of this rank whose changes are nearest to these, by the largest singular values."""
    made: dict[str, torch.Tensor] = {}
    for name in numbers:
        if name.endswith("lora_a"):
            other = f"{name.removesuffix('a')}b"
            left, left_rest = torch.linalg.qr(numbers[other])
            right, right_rest = torch.linalg.qr(numbers[name].T)
            u, sizes, v = torch.linalg.svd(left_rest @ right_rest.T)
            share = sizes[:rank].sqrt()
            made[name] = share[:, None] * (v[:rank] @ right.T)
            made[other] = (left @ u[:, :rank]) * share
    return {name: made[name] for name in numbers}


def main() -> None:
    """Average by the command line: the file to make, then FILE=WEIGHT for each part."""
    parser = argparse.ArgumentParser(description="Average adapters.")
    parser.add_argument("to", type=Path)
    parser.add_argument("parts", nargs="+", metavar="FILE=WEIGHT")
    parser.add_argument("--rank", type=int, help="of the sum at most; unless given, the ranks' sum")
    given = parser.parse_args()
    pairs = [part.rpartition("=") for part in given.parts]
    rank = average([(Path(path), float(weight)) for path, _, weight in pairs], given.to, given.rank)
    print(f"{given.to}: rank {rank}")


if __name__ == "__main__":
    main()
