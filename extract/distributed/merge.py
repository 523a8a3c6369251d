"""Takes the parts of a folder into a database: now and then while a run goes on, at its end, or by `claimbase merge`.

How a part becomes rows is the store's (`store.merging`); where parts lie is `parts`'.
"""

from pathlib import Path

from extract.addresses import shown
from extract.distributed.keeping import recover
from extract.distributed.marking import live
from extract.distributed.parts import Folder, LocalFolder, folder_at, run_of
from extract.errors import SettingsError
from store.db import Store
from store.errors import StoreWriteFailed
from store.merging import Merged, ended_runs, merge

_AT_ONCE = 50
"""Parts that are fetched together from an object store: some 400 MB of temporary files."""


class Merging:
    """The merging of one folder into one database. Parts that were taken in are not looked at again by it."""

    def __init__(self, folder: Folder, store: Store, *, mine: str | None = None, keep: bool = True) -> None:
        """Where `mine` is the id of a run, parts of others are left alone that are at work, or need no look any more.

        `keep`: leave the parts where they are; else remove each once it is in the database.
        """
        self.folder, self.store, self.mine, self.keep = folder, store, mine, keep
        self._merged: set[str] = set()
        self._ended: set[str] | None = None

    def merge(self) -> Merged:
        """Take in the whole parts that there are. Raises NotAPart, StoreError."""
        merged = Merged()
        try:
            not_ours = self._not_ours()
            new = (name for name in self.folder.names() if name not in self._merged)
            names = [name for name in new if run_of(name) not in not_ours]
            for start in range(0, len(names), _AT_ONCE):
                some = names[start : start + _AT_ONCE]
                with self.folder.local(some) as paths:
                    merged += merge(self.store, paths)
                self._merged.update(some)
                for name in some if not self.keep else ():
                    self.folder.remove(name)
        except OSError as e:
            raise StoreWriteFailed(self.store.path, f"its parts: {e.strerror or e}") from e
        return merged

    def _not_ours(self) -> set[str]:
        """Return the runs whose parts a run leaves alone: others at work; behind an address, those that have ended too.

        Their parts are in the database, and what an object store holds of them would all be fetched at each start.
        """
        if self.mine is None:
            return set()
        if self.folder.path is None and self._ended is None:
            self._ended = ended_runs(self.store)
        return (live(self.folder) | (self._ended or set())) - {self.mine}


def merge_folder(address: str, db: Path) -> Merged:
    """Take the parts at a path or an address into a database, what dead workers left with them.

    Raises SettingsError where there are none, and what `Merging.merge` does.
    """
    folder = folder_at(address)
    if isinstance(folder, LocalFolder) and not folder.path.is_dir():
        raise SettingsError(f"no folder of parts at {address!r}; name the one that `run --engine ray` wrote")
    recover(folder)
    merging = Merging(folder, Store(db))
    merged = merging.merge()
    if not merged.parts:
        raise SettingsError(f"{shown(address)!r} holds no parts; name the folder that `run --engine ray` wrote")
    return merged
