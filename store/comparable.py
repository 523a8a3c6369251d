"""What may be compared with what: units brought to one, the names of metrics, and which way a metric is better.

Plain tables, and the SQL that the views make of them; a value stays beside the one that was written. What can't be
compared keeps its own unit: a difference in percentage points, a factor, an unknown unit, an amount of money.
"""

import re
from collections.abc import Iterable, Mapping

from store.naming import fold

_KILO = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}

UNITS: Mapping[str, tuple[str, float]] = {
    "%": ("fraction", 0.01),
    **{"ns": ("s", 1e-9), "us": ("s", 1e-6), "ms": ("s", 1e-3), "s": ("s", 1.0), "min": ("s", 60.0)},
    **{"h": ("s", 3_600.0), "days": ("s", 86_400.0), "weeks": ("s", 604_800.0)},
    "bytes": ("B", 1.0),
    **{f"{prefix}B": ("B", factor) for prefix, factor in _KILO.items() if prefix},
    **{f"{prefix}B/s": ("B/s", factor) for prefix, factor in _KILO.items() if prefix},
    **{f"{prefix}bps": ("bit/s", _KILO[prefix]) for prefix in "KMGT"},
    **{"Hz": ("Hz", 1.0), "kHz": ("Hz", 1e3), "MHz": ("Hz", 1e6), "GHz": ("Hz", 1e9)},
    **{f"{prefix}FLOPs": ("FLOPs", _KILO[prefix]) for prefix in ("", "M", "G", "T", "P")},
    **{"nm": ("m", 1e-9), "um": ("m", 1e-6), "mm": ("m", 1e-3), "cm": ("m", 1e-2), "m": ("m", 1.0), "km": ("m", 1e3)},
    **{"mg": ("kg", 1e-6), "g": ("kg", 1e-3), "kg": ("kg", 1.0)},
    **{"mW": ("W", 1e-3), "W": ("W", 1.0), "mJ": ("J", 1e-3), "J": ("J", 1.0), "kWh": ("J", 3.6e6)},
    **{"m/s": ("m/s", 1.0), "cm/s": ("m/s", 1e-2), "mm/s": ("m/s", 1e-3), "km/h": ("m/s", 1 / 3.6)},
}
"""Of each unit as the database writes it: the one that it is brought to (SI, bytes, a fraction), and the factor.

Months and years are of no one length, and a degree Celsius is no multiple of a kelvin: they stay.
"""

_DIGITS = 12
"""Decimal places of a share: 17.06% is 0.1706, as it is where a paper writes the fraction."""

_BINARY = re.compile(r"[KMGTP]B(?:/s)?")

METRICS: Mapping[str, tuple[str, ...]] = {
    "top-1 accuracy": ("acc@1", "accuracy@1", "top-1 acc", "top1", "acc top-1", "accuracy top-1",
                       "top-1 classification accuracy"),
    "top-5 accuracy": ("acc@5", "accuracy@5", "top-5 acc", "top5", "acc top-5", "accuracy top-5",
                       "top-5 classification accuracy"),
    "top-1 error": ("top-1 error rate", "error@1", "top-1 err"),
    "top-5 error": ("top-5 error rate", "error@5", "top-5 err"),
    "accuracy": ("acc", "accuracies", "acc."),
    "F1": ("f1-measure", "f-1", "f_1"),
    "macro F1": ("macro-averaged f1", "macro average f1", "f1 macro", "f1-macro"),
    "micro F1": ("micro-averaged f1", "micro average f1", "f1 micro", "f1-micro"),
    "AUROC": ("roc auc", "auc-roc", "roc-auc", "au-roc", "area under the roc curve",
              "area under the receiver operating characteristic curve"),
    "AUPRC": ("pr auc", "auc-pr", "aupr", "area under the precision-recall curve"),
    "mAP": ("mean average precision",),
    "IoU": ("intersection over union", "intersection-over-union", "jaccard index"),
    "mIoU": ("mean iou", "mean intersection over union", "mean intersection-over-union"),
    "perplexity": ("ppl", "perplexities"),
    "WER": ("word error rate",),
    "CER": ("character error rate",),
    "EM": ("exact match", "exact-match accuracy"),
    "MSE": ("mean squared error", "mean square error"),
    "RMSE": ("root mean squared error", "root mean square error"),
    "MAE": ("mean absolute error",),
    "MRR": ("mean reciprocal rank",),
    "FID": ("frechet inception distance", "fréchet inception distance"),
    "ASR": ("attack success rate",),
    "BPC": ("bits per character", "bits-per-character"),
    "speedup": ("speed-up", "speed up", "speedups", "acceleration"),
    "parameters": ("params", "number of parameters", "parameter count"),
    "inference time": ("inference latency",),
    "training time": ("time to train",),
}  # fmt: skip
"""Names of metrics that are one, by the usual one. What a metric is taken over ("test accuracy") makes it another."""

_SCORE = re.compile(r"(\w\w)\s+(?:scores?|metrics?)\s*$")
_METRIC_KEYS = {fold(name): fold(usual) for usual, names in METRICS.items() for name in (usual, *names)}

_SHARES = (
    "accuracy|acc|precision|recall|f1|f-score|auroc|auc|auprc|map|miou|iou|dice|exact match|em|ndcg|mrr|success rate|"
    "win rate|pass rate|hit rate|pass@[0-9]+|recall@[0-9]+|hits?@[0-9]+|specificity|sensitivity"
)
"""Metrics that are shares of one, whether they are written in percent or not."""

_LOWER = frozenset(
    "error errors loss losses perplexity ppl wer cer fid kid lpips mse rmse mae mape nll bpc latency latencies "
    "delay time times runtime memory footprint cost costs overhead flops flop macs parameters params size energy "
    "power consumption regret distance divergence variance bias hallucination hallucinations toxicity failure "
    "failures complexity queries samples iterations steps tokens bitrate drift forgetting collision collisions "
    "deviation false".split()
)
_HIGHER = frozenset(
    "accuracy acc precision recall f1 auroc auc auprc map miou iou dice em ndcg mrr success win pass hit "
    "specificity sensitivity bleu rouge meteor chrf comet cider spice bertscore score scores reward rewards "
    "return returns psnr ssim correlation spearman pearson speed speedup speedups throughput fps coverage "
    "similarity agreement kappa performance quality efficiency robustness diversity likelihood improvement".split()
)
"""Words of a metric's name that tell which way it is better."""


def metric_key(key: str, name: str) -> str:
    """The canonical key of a metric, of the key that its name has; "F1 score" is "F1", "Acc@1" "top-1 accuracy"."""
    short = fold(_SCORE.sub(r"\1", name))
    return _METRIC_KEYS.get(key) or _METRIC_KEYS.get(short) or (short if _SCORE.search(name) else key)


def si_unit_sql(unit: str, share: str) -> str:
    """SQL: the unit that a value is brought to. `share` is SQL that tells whether a bare score is a share of one."""
    cases = " ".join(f"WHEN '{written}' THEN '{to}'" for written, (to, _) in UNITS.items() if written != to)
    return f"CASE WHEN {share} THEN 'fraction' ELSE CASE {unit} {cases} ELSE {unit} END END"


def si_value_sql(value: str, unit: str, share: str, quote: str | None) -> str:
    """SQL: a value in that unit. The `quote` tells 5 GiB from 5 GB; a bare 64.4 of accuracy is a percentage."""
    cases = []
    for written, (_, factor) in UNITS.items():
        if quote is not None and _BINARY.fullmatch(written):
            power = 1024.0 ** ("KMGTP".index(written[0]) + 1)
            cases.append(f"WHEN {unit} = '{written}' AND contains({quote}, '{written[0]}iB') THEN {value} * {power!r}")
        if factor != 1.0 and written != "%":
            by = f"* {factor!r}" if factor >= 1 else f"/ {round(1 / factor, 9)!r}"
            cases.append(f"WHEN {unit} = '{written}' THEN {value} {by}")
    exact = f"round({value} / 100.0, {_DIGITS})"
    return (
        f"""CASE WHEN {unit} = '%' OR ({share} AND abs({value}) > 1) THEN {exact} {" ".join(cases)} ELSE {value} END"""
    )


def share_sql(value: str, unit: str, metric: str | None, role: str | None) -> str:
    """SQL: is it a score without a unit, of a metric that is a share of one, and so either in percent or a fraction?"""
    if metric is None:
        return "false"
    bare = f"{unit} = '' AND abs({value}) <= 100" + (f" AND {role} = 'score'" if role else "")
    return f"CASE WHEN {bare} THEN regexp_matches(lower({metric}), '(^|[^a-z0-9])({_SHARES})$') ELSE false END"


def better_sql(metric: str, direction: str | None) -> str:
    """SQL: `higher` or `lower`, whichever is better of a metric; else as the claim's own gain moves; else NULL.

    The last word of its name decides, then any: "error detection accuracy" is better higher, an "error rate" lower.
    """
    words = f"regexp_split_to_array(lower({metric}), '[^a-z0-9]+')"
    last = f"regexp_extract(lower({metric}), '([a-z0-9]+)[^a-z0-9]*$', 1)"
    known = [("lower", _LOWER), ("higher", _HIGHER)]
    # Not IN, nor list_contains: DuckDB makes a join of so many words, which every question to the view then pays for
    # (sorting a million numbers: 107 ms in place of 30).
    cases = [f"WHEN list_has_any([{_listed(those)}], [{last}]) THEN '{way}'" for way, those in known]
    cases += [f"WHEN list_has_any({words}, [{_listed(those)}]) THEN '{way}'" for way, those in known]
    if direction is not None:
        cases += [f"WHEN {direction} = 'decrease' THEN 'lower'", f"WHEN {direction} = 'increase' THEN 'higher'"]
    return f"CASE {' '.join(cases)} END"


def metric_keys_sql() -> str:
    """SQL: a map from the keys of metrics' names to their canonical ones."""
    pairs = ", ".join(f"'{of}': '{usual}'" for of, usual in _METRIC_KEYS.items())
    return f"MAP {{{pairs}}}"


def _listed(words: Iterable[str]) -> str:
    return ", ".join(f"'{word}'" for word in sorted(words))
