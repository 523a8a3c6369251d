"""Why a claim is rejected: a short fixed list for each kind of claim, so that reasons can be counted."""

from collections.abc import Mapping, Sequence

OF_NUMBERS = ("wrong number", "wrong unit", "wrong metric", "wrong dataset", "wrong baseline", "not a result")
OF_OTHERS = ("wrong", "not in the abstract's words", "not what it is called here")
OF: Mapping[str, Sequence[str]] = {
    "headline_numbers": OF_NUMBERS,
    "datasets": ("wrong name", "not a dataset", "not used here"),
    "baselines": ("wrong name", "not a method or model", "not compared with"),
    "method": ("wrong name", "a description", "not proposed here"),
    "task": ("wrong task", "too broad", "too narrow"),
    "contribution": ("wrong kind",),
}
"""By path, of the shipped schema."""


def reasons_for(schema_name: str, path: str) -> Sequence[str]:
    """The reasons for which a claim may be rejected."""
    return OF.get(path, OF_OTHERS) if schema_name == "paper" else OF_OTHERS
