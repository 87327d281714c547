"""How often statements of events have a property and a class: the rarest is looked for first."""

from tocsin.matching.graphs import layout as at
from tocsin.matching.graphs.loading import Loaded, Loader

SAMPLED = 64  # of so many events one is counted
MOST = 100_000  # pairs
GUESS = 0.5


class Rates:
    """Kept while a node runs: what came later is filed by what was seen before."""

    def __init__(self) -> None:
        self._seen = 0
        self._events = 0
        self._counts: dict[tuple[int, int], int] = {}

    def see(self, loaded: Loaded, loader: Loader) -> None:
        self._events += 1
        if self._events % SAMPLED != 1 or len(self._counts) > MOST:
            return
        self._seen += 1
        sets_at, sets = loader.classes.arrays()
        ways_at, ways = loader.ways.arrays()
        sources, along, targets = loaded.arcs.tolist()
        del sources
        classes = loaded.vertexes[at.CLASSES]
        for way, target in zip(along, targets, strict=True):
            known = int(classes[target])
            for prop in ways[ways_at[way] : ways_at[way + 1]].tolist():
                for each in (at.ANY, *sets[sets_at[known] : sets_at[known + 1]].tolist()):
                    self._counts[prop, each] = self._counts.get((prop, each), 0) + 1

    def rate(self, prop: int, predicate: int) -> float:
        if not self._seen:
            return GUESS
        return (self._counts.get((prop, predicate), 0) + GUESS) / (self._seen + 1)
