"""Says whether all claims that should be reviewed are: a gate for a pipeline, or before a table is published."""

from dataclasses import dataclass
from pathlib import Path

from store import review_queues, reviewing, session

_NAMED = 5


@dataclass(frozen=True, slots=True)
class Reviewed:
    """Abstracts asked about; the ids of those that nobody is done with; claims on which reviewers differ."""

    abstracts: int
    open: tuple[str, ...]
    disputed: int

    @property
    def passes(self) -> bool:
        """Is each abstract reviewed, and no difference open?"""
        return not self.open and not self.disputed

    def lines(self) -> list[str]:
        """What a person reads."""
        done = self.abstracts - len(self.open)
        differences = "difference" if self.disputed == 1 else "differences"
        said = [f"{done:,} of {self.abstracts:,} abstracts reviewed, {self.disputed:,} {differences} open"]
        said += [f"not reviewed: {record_id}" for record_id in self.open[:_NAMED]]
        return said + ([f"and {len(self.open) - _NAMED:,} more"] if len(self.open) > _NAMED else [])


def reviewed(db: Path, schema_name: str, sample: str | None = None) -> Reviewed:
    """How far the review of a schema's claims is, or that of one sample. Raises StoreError."""
    with session.reading(db) as con:
        subject = reviewing.subject_of(con, schema_name)
        done = review_queues.finished(con, subject)
        if sample is None:
            rows = con.execute(f"SELECT record_id FROM {subject.table} ORDER BY record_id").fetchall()  # noqa: S608
            wanted = [str(record_id) for (record_id,) in rows]
        else:
            wanted = review_queues.sampled(con, subject, sample)
        among = set(wanted)
        disputed = sum(dispute.record_id in among for dispute in review_queues.disputes(con, subject))
    return Reviewed(len(wanted), tuple(record_id for record_id in wanted if record_id not in done), disputed)
