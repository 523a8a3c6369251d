"""The order in which a queue's abstracts come before a reviewer, and which one is next.

A queue is `weakest` (the usual), `deferred`, or `sample-SEED`. Ranking all abstracts takes a moment on a large
database, so the weakest are ranked once for some hundred abstracts that get reviewed.
"""

import duckdb

from extract.web.site import Site
from store import review_queues
from store.reviewed import Subject

WEAKEST, DEFERRED, SAMPLE = "weakest", "deferred", "sample-"

_RANKED = 500
"""Abstracts of a ranking; a new one is made for each half of it that was reviewed."""


def title_of(queue: str) -> str:
    """What a queue is called to a person."""
    if queue.startswith(SAMPLE):
        return f"Sample {queue.removeprefix(SAMPLE)}"
    return "Put off" if queue == DEFERRED else "Weakest first"


def ids(site: Site, con: duckdb.DuckDBPyConnection, subject: Subject, queue: str, reviewer: str) -> list[str]:
    """The abstracts of a queue in order, also those done since it was ranked."""
    if queue.startswith(SAMPLE):
        return review_queues.sampled(con, subject, queue.removeprefix(SAMPLE))
    if queue == DEFERRED:
        return review_queues.deferred(con, subject, reviewer)
    key = (WEAKEST, subject.schema_hash, review_queues.times_done(con, subject.name) // (_RANKED // 2))
    return site.reads.remembered(key, lambda: review_queues.weakest(con, subject, _RANKED), 3_600.0)


def following(
    site: Site, con: duckdb.DuckDBPyConnection, subject: Subject, queue: str, reviewer: str, after: str | None
) -> str | None:
    """The next abstract to review in a queue; None if there is none left.

    Of a sample every reviewer reviews all; of the others an abstract is done when one reviewer is done with it.
    """
    known = ids(site, con, subject, queue, reviewer)
    gone = review_queues.finished(con, subject, reviewer if queue.startswith(SAMPLE) else None)
    found = review_queues.next_of(known, set() if queue == DEFERRED else gone, after)
    if found is None and queue not in (DEFERRED,) and not queue.startswith(SAMPLE):
        left = review_queues.weakest(con, subject, 2)  # the ranking was made before a run added abstracts
        found = next((record_id for record_id in left if record_id != after), None)
    return found
