"""Subscriptions compiled by the driver: no worker has to take them apart again, workers map what lies on disk."""

from contextlib import closing
from pathlib import Path

from tocsin.flow.flow import Flow
from tocsin.matching.index.compiled import Compiled, compiled
from tocsin.matching.judging import Judge
from tocsin.store import snapshots
from tocsin.store.database import Store
from tocsin.store.errors import StoreError
from tocsin.store.places import Places

LEAST = 1_000  # changes of subscriptions; fewer are taken as quickly from the database
PART = 10  # a new one is made when so many parts of what the last one held have changed


def keep_up(data: Path, offset: int, least: int = LEAST) -> Path | None:
    """Makes a snapshot as of an offset if the last one is too old; the same bytes if it is made again."""
    places = Places(data)
    with closing(Store.open(places.database, read_only=True)) as store:
        last = snapshots.newest(places.compiled, offset)
        since = store.count_changes(since=0 if last is None else last[0], before=offset)
        if since < max(least, 0 if last is None else store.count_changes(since=0, before=last[0]) // PART):
            return None
        snapshot = compiled(store.state_as_of(offset), store.known_as_of(offset))
        return snapshots.save(places.compiled, snapshot, offset)


def flow_over(folder: Path, offset: int, store: Store, base_url: str, judge: Judge) -> tuple[Flow, int] | None:
    """A flow over the newest snapshot at or below an offset, and as of where; None when there is none to use."""
    found = snapshots.newest(folder, offset)
    if found is None:
        return None
    made, path = found
    known = store.known_as_of(made)
    try:
        base = Compiled(snapshots.load(path), known)
    except (StoreError, ValueError):  # of other rules than today's, or taken away meanwhile
        return None
    return Flow(base_url, known, judge, base), made
