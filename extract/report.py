"""Says in words, or in JSON, how runs ended: the summary of `run`, and `status`."""

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from extract.errors import CallError, FatalError, MistakeError
from store.results import RunSummary

if TYPE_CHECKING:  # `status` needs no client, whose import takes two seconds
    from extract.estimate import Estimate
    from extract.job import Request
    from extract.runner import Ended

WHY = 'claimbase sql --db {db} "SELECT source, locator, error_type, error FROM failures"'
_WAYS_OUT = {
    "connection": "is the server up? else mend --base-url",
    "auth": "mend OPENAI_API_KEY",
    "not_found": "mend --model or --base-url",
    "payment": "see to the account, and run the same command again",
    "schema": "try another --mode; `claimbase doctor` says which fits",
}


def way_out(error: Exception) -> str:
    """Say, after a semicolon, what a person can do about an endpoint's error; nothing where that can't be told."""
    words = _WAYS_OUT.get(error.kind) if isinstance(error, FatalError | CallError) else None
    return f"; {words}" if words else ""


def counted(n: int, noun: str) -> str:
    """Return a count with its noun: `1 call`, `1,200 calls`."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def dollars(cost_usd: float | None) -> str:
    """Return a cost as it is shown: `$0.0123`, `$0` for nothing, `cost unknown` for None."""
    return "cost unknown" if cost_usd is None else f"${cost_usd:.4f}" if cost_usd else "$0"


def summary(ended: "Ended", request: "Request") -> Iterator[str]:
    """Yield the lines that a person reads at the end of a run: one alone for one that stopped before any answer."""
    tally = ended.tally
    if ended.error is not None and ended.status == "stopped":
        yield f"claimbase: stopped: {ended.error}{way_out(ended.error)}"
        if not tally.asked:
            return
    if tally.recovered:
        yield f"{counted(tally.recovered, 'answer')} of a killed run taken in"
    yield f"{counted(tally.read, 'record')}: {_counts(ended)}"
    cached = f" ({tally.cached_tokens:,} cached)" if tally.cached_tokens else ""
    yield (
        f"{counted(tally.calls, 'call')}, {tally.prompt_tokens:,} tokens sent{cached}, {tally.completion_tokens:,} "
        f"received, {dollars(tally.cost_usd)}, {tally.seconds:.1f} s"
    )
    if tally.asked:
        yield f"saved in {request.db} as run {ended.run_id}"
    if ended.status != "finished":
        yield "the same command goes on where this run ended"
    if tally.failed or tally.failed_before:
        yield f"see why: {WHY.format(db=shlex.quote(str(request.db)))}"


def _counts(ended: "Ended") -> str:
    """Say what became of the records read."""
    tally = ended.tally
    counts = [f"{tally.done:,} done", f"{tally.failed:,} failed{_kinds(tally.errors)}"]
    if tally.finished_before:
        counts.append(f"{tally.finished_before:,} done before")
    if tally.failed_before:
        counts.append(f"{tally.failed_before:,} failed before and not asked again (--retry-failed does)")
    if tally.passed_over:
        counts.append(f"{tally.passed_over:,} never asked and passed over")
    if tally.repeated:
        counts.append(f"{tally.repeated:,} repeated")
    known = tally.asked + tally.finished_before + tally.failed_before + tally.passed_over + tally.repeated
    if tally.read > known:  # by --limit, a budget, an interruption
        counts.append(f"{tally.read - known:,} not reached")
    return ", ".join(counts)


def _kinds(errors: Mapping[str, int]) -> str:
    """Return kinds of errors with their counts, the most frequent first, in brackets."""
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in sorted(errors.items(), key=lambda e: -e[1]))
    return f" ({kinds})" if kinds else ""


def run_json(ended: "Ended", request: "Request") -> str:
    """Return the summary of a run as a JSON object on one line; its keys are a contract for scripts."""
    tally = ended.tally
    return json.dumps(
        {
            "run_id": ended.run_id if tally.asked else None,
            "status": ended.status,
            "error": None if ended.error is None else str(ended.error),
            "db": str(request.db),
            "read": tally.read,
            "repeated": tally.repeated,
            "done": tally.done,
            "failed": tally.failed,
            "errors": dict(tally.errors),
            "done_before": tally.finished_before,
            "failed_before": tally.failed_before,
            "passed_over": tally.passed_over,
            "recovered": tally.recovered,
            "calls": tally.calls,
            "prompt_tokens": tally.prompt_tokens,
            "cached_tokens": tally.cached_tokens,
            "completion_tokens": tally.completion_tokens,
            "cost_usd": tally.cost_usd,
            "seconds": round(tally.seconds, 3),
        },
        ensure_ascii=False,
    )


def status(runs: Sequence[RunSummary], run_id: str | None, *, as_json: bool) -> str:
    """Return the runs, or those whose id starts with `run_id`. Raises MistakeError if there is none such."""
    chosen = [r for r in runs if run_id is None or r.run.run_id.startswith(run_id)]
    if run_id and not chosen:
        known = ", ".join(r.run.run_id for r in runs[:5]) or "none"
        raise MistakeError(f"no run {run_id!r}; the latest are {known}")
    if as_json:
        return json.dumps([_run_row(r) for r in chosen], ensure_ascii=False)
    return "\n".join(_run_lines(chosen)) or "no runs yet"


def state_of(run: RunSummary) -> str:
    """Say how a run stands: `running`, as it ended, or `died` where its process is gone without an end."""
    return "died" if run.status == "running" and not run.alive else run.status


def _run_row(run: RunSummary) -> dict[str, Any]:
    return {
        "run_id": run.run.run_id,
        "status": state_of(run),
        "model": run.run.model,
        "endpoint": run.run.endpoint,
        "started_at": run.run.started_at.isoformat(),
        "finished_at": run.finished_at.isoformat() if run.finished_at else None,
        "done": run.done,
        "failed": run.failed,
        "errors": dict(run.errors),
        "calls": run.attempts,
        "prompt_tokens": run.prompt_tokens,
        "cached_tokens": run.cached_tokens,
        "completion_tokens": run.completion_tokens,
        "cost_usd": run.cost_usd,
    }


def _run_lines(runs: Sequence[RunSummary]) -> Iterator[str]:
    for run in runs:
        yield (
            f"{run.run.run_id}  {state_of(run):<11}  {run.run.model}: {run.done:,} done, {run.failed:,} failed"
            f"{_kinds(run.errors)}; {counted(run.attempts, 'call')}, {run.prompt_tokens:,} + "
            f"{run.completion_tokens:,} tokens, {dollars(run.cost_usd)}"
        )


def estimated(estimate: "Estimate", *, as_json: bool) -> str:
    """Say what a run would ask, use and cost."""
    if as_json:
        return json.dumps(estimate.row())
    cost = estimate.cost_usd
    about = "cost unknown (no price is listed; --prices FILE)" if cost is None else f"about {dollars(cost)}"
    return (
        f"{estimate.records:,} of {counted(estimate.read, 'record')} would be asked: about "
        f"{estimate.prompt_tokens:,} tokens to send, {estimate.completion_tokens:,} to receive, {about}"
    )
