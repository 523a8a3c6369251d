"""Fits what turns token probabilities into a confidence: a logistic function a kind of claim (Platt 1999)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from extract.certainty import ANY, Calibration, Certainty

_FEWEST = 20
"""Claims of a kind, and right and wrong ones among them, below which no fit means anything."""
_SMOOTHING = 1e-2
"""Of the weights (ridge): a fit to claims that are all told apart must not run off to certainty."""
_STEPS = 50


@dataclass(frozen=True, slots=True)
class Judged:
    """A claim of a kind (as in `certainty.Calibration`): how likely its tokens were, and whether it was right."""

    kind: str
    certainty: Certainty
    right: bool


def calibrate(judged: Iterable[Judged]) -> Calibration:
    """Fit each kind of which there are enough claims, right ones and wrong ones; all together stand for the others."""
    every = list(judged)
    kinds: dict[str, list[Judged]] = {ANY: every}
    for one in every:
        kinds.setdefault(one.kind, []).append(one)
    return {kind: _fit(claims) for kind, claims in kinds.items() if _enough(claims)}


def _enough(claims: Sequence[Judged]) -> bool:
    right = sum(claim.right for claim in claims)
    return len(claims) >= _FEWEST and 0 < right < len(claims)


def _fit(claims: Sequence[Judged]) -> tuple[float, float, float]:
    """Fit with both features, or with one where both would count against each other: likelier is never less sure."""
    fits = [_newton(claims, uses) for uses in ((1, 1), (1, 0), (0, 1))]
    sound = [weights for _, weights in fits if weights[1] >= 0 and weights[2] >= 0]
    if not sound:
        return (_newton(claims, (0, 0))[1][0], 0.0, 0.0)
    return max((fit for fit in fits if fit[1] in sound), key=lambda fit: fit[0])[1]


def _newton(claims: Sequence[Judged], uses: tuple[int, int]) -> tuple[float, tuple[float, float, float]]:
    """Fit by Newton's method, towards Platt's targets: a right claim counts as a little less than certain.

    Returns the likelihood's logarithm and the weights.
    """
    features = np.array([[1.0, uses[0] * c.certainty.total, uses[1] * c.certainty.least] for c in claims])
    right = sum(claim.right for claim in claims)
    high, low = (right + 1) / (right + 2), 1 / (len(claims) - right + 2)
    targets = np.array([high if claim.right else low for claim in claims])
    ridge = np.diag([0.0, _SMOOTHING, _SMOOTHING])
    weights = np.zeros(3)
    for _ in range(_STEPS):
        shares = 1 / (1 + np.exp(-np.clip(features @ weights, -50, 50)))
        slope = features.T @ (targets - shares) - ridge @ weights
        bend = features.T @ (features * (shares * (1 - shares))[:, None]) + ridge + 1e-9 * np.eye(3)
        weights = weights + np.linalg.solve(bend, slope)
    shares = 1 / (1 + np.exp(-np.clip(features @ weights, -50, 50)))
    likelihood = float(np.sum(targets * np.log(shares) + (1 - targets) * np.log(1 - shares)))
    bias, total, least = (round(float(w), 4) for w in weights)
    return likelihood, (bias, total, least)
