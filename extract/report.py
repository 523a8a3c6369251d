"""Says in words, or in JSON, how runs ended: the summary of `run`, and `status`."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from extract.errors import MistakeError
from extract.estimate import Estimate
from extract.job import Request
from extract.runner import Ended
from store.results import RunSummary

WHY = 'claimbase sql --db {db} "SELECT title, error_type, error FROM failures"'


def summary(ended: Ended, request: Request) -> Iterator[str]:
    """Yield the lines that a person reads at the end of a run."""
    tally = ended.tally
    if ended.error is not None and ended.status == "stopped":
        yield f"claimbase: stopped: {ended.error}"
    kinds = ", ".join(f"{n:,} {kind}" for kind, n in tally.errors.most_common())
    counts = [f"{tally.done:,} done", f"{tally.failed:,} failed ({kinds})" if kinds else "0 failed"]
    if tally.finished_before:
        counts.append(f"{tally.finished_before:,} done before")
    if tally.failed_before:
        counts.append(f"{tally.failed_before:,} failed before and not asked again (--retry-failed does)")
    if tally.passed_over:
        counts.append(f"{tally.passed_over:,} never asked and passed over")
    if tally.repeated:
        counts.append(f"{tally.repeated:,} repeated")
    yield f"{tally.read:,} records: {', '.join(counts)}"
    cost = "cost unknown" if tally.cost_usd is None else f"${tally.cost_usd:.4f}"
    cached = f" ({tally.cached_tokens:,} cached)" if tally.cached_tokens else ""
    yield (
        f"{tally.calls:,} calls, {tally.prompt_tokens:,} tokens sent{cached}, {tally.completion_tokens:,} received, "
        f"{cost}, {tally.seconds:.1f} s"
    )
    if tally.asked:
        yield f"saved in {request.db} as run {ended.run_id}"
    if ended.status != "finished":
        yield "the same command goes on where this run ended"
    if tally.failed:
        yield f"see why: {WHY.format(db=request.db)}"


def run_json(ended: Ended, request: Request) -> str:
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
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in sorted(run.errors.items(), key=lambda e: -e[1]))
        cost = "cost unknown" if run.cost_usd is None else f"${run.cost_usd:.4f}"
        yield (
            f"{run.run.run_id}  {state_of(run):<11}  {run.run.model}: {run.done:,} done, {run.failed:,} failed"
            f"{f' ({kinds})' if kinds else ''}; {run.attempts:,} calls, {run.prompt_tokens:,} + "
            f"{run.completion_tokens:,} tokens, {cost}"
        )


def estimated(estimate: Estimate, *, as_json: bool) -> str:
    """Say what a run would ask, use and cost."""
    if as_json:
        return json.dumps(estimate.row())
    cost = (
        "cost unknown (no price listed; --prices FILE)"
        if estimate.cost_usd is None
        else f"about ${estimate.cost_usd:.4f}"
    )
    return (
        f"{estimate.records:,} of {estimate.read:,} records would be asked: about {estimate.prompt_tokens:,} tokens to "
        f"send, {estimate.completion_tokens:,} to receive, {cost}"
    )
