"""Chooses the records that a run asks: by what the database holds for their text under the run's recipe.

It reads and looks up, and keeps where records were found again; it asks nothing. Records are read ahead a chunk at a
time, so that one lookup in the database serves many.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from extract.errors import TRANSIENT
from extract.tally import Tally
from store.db import Store
from store.results import Known
from store.rows import Record

CHUNK = 10_000
"""Records read ahead, and looked up at once."""
FOUND_AGAIN_AT = 20_000
"""So many further places of records are kept in one go."""

Ask = Literal["missing", "failed", "all"]
"""Which records to ask: `missing` ones (with those whose last failure may pass), `failed` ones only, `all` of them."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What a run asks for: by `recipe`, at most `limit` records. What is passed over is counted in `tally`.

    `found_again` gathers the places of texts that are not asked, or not again: a record may have several sources. They
    hold no text, and wait for `keep_places`.
    """

    store: Store
    recipe: str
    ask: Ask
    limit: int | None
    tally: Tally
    found_again: list[Record] = field(default_factory=list)

    def chunks(self, records: Iterable[Record]) -> Iterator[list[Record]]:
        """Yield the records to ask, each text once, in lists of at most CHUNK."""
        left = self.limit
        fresh = self._first_of_each_text(records)
        while chunk := list(itertools.islice(fresh, CHUNK)):
            wanted = self._wanted(chunk)[:left]
            yield wanted
            if left is not None:
                left -= len(wanted)
                if left <= 0:
                    return

    def keep_places(self, at: int) -> None:
        """Keep where records were found that are not asked (again), once there are as many as `at`."""
        if self.found_again and len(self.found_again) >= at and self.store.path.exists():
            self.store.add_sources(self.found_again[:])
            self.found_again.clear()

    def _first_of_each_text(self, records: Iterable[Record]) -> Iterator[Record]:
        seen: set[str] = set()
        for record in records:
            self.tally.read += 1
            if record.record_id in seen:
                self.tally.repeated += 1
                self.found_again.append(replace(record, text=""))
                continue
            seen.add(record.record_id)
            yield record

    def _wanted(self, chunk: list[Record]) -> list[Record]:
        """Return the records of a chunk that are to be asked, in the words that the database has for them.

        Two texts that differ in white space alone are one record; the first one's text is what offsets count in.
        """
        known: Mapping[str, Known] = {}
        if self.store.path.exists():
            known = self.store.known(self.recipe, [record.record_id for record in chunk])
        wanted = []
        for record in chunk:
            before = known.get(record.record_id)
            if before is None and self.ask != "failed":
                wanted.append(record)
            elif self._asks_again(before):
                wanted.append(replace(record, text=before.text) if before else record)
            elif before is not None:
                self.found_again.append(replace(record, text=""))
        return wanted

    def _asks_again(self, before: Known | None) -> bool:
        """Is a record that ended so under this recipe asked now? Counts those that are not."""
        status = before.status if before else None
        if self.ask == "all":
            return True
        if status == "done":
            self.tally.finished_before += 1
        elif status == "failed":
            if self.ask == "failed" or (before and before.error_type in TRANSIENT):
                return True
            self.tally.failed_before += 1
        elif self.ask == "missing":
            return True
        else:
            self.tally.passed_over += 1
        return False
