"""Random worlds of implicit notification, and who must be told in them, worked out in the plainest way."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hypothesis import strategies as st

from tocsin.semantics.interest.changes import (
    Change,
    PutCategory,
    PutEdge,
    PutService,
    PutTopic,
    RemoveEdge,
    RemoveService,
)
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.semantics.interest.world import World

Forest = dict[str, str | None]
Triple = tuple[str, str, str]
NAMES = [f"N{number}" for number in range(1, 10)]  # of services, those that join later too
Graph = dict[str, set[str]]


@dataclass
class Sketch:
    """A world as plain sets: the oracle reads nothing else."""

    topics: Forest
    categories: Forest
    services: dict[str, tuple[str, ...]]
    edges: set[Triple]
    root: str
    topic: str

    def again(self) -> "Sketch":
        """Untouched by what happens to this one."""
        return Sketch({**self.topics}, {**self.categories}, {**self.services}, {*self.edges}, self.root, self.topic)

    def world(self) -> World:
        return World.of(self._changes())

    def apply(self, change: Change) -> None:
        """One that the world has taken."""
        match change:
            case PutTopic(name, parent):
                self.topics[name] = parent
            case PutCategory(name, parent):
                self.categories[name] = parent
            case PutService(service):
                self.services[service.name] = service.categories
            case RemoveService(name):
                del self.services[name]
            case PutEdge(edge):
                self.edges.add(edge.key)
            case RemoveEdge(source, topic, target):
                self.edges.remove((source, topic, target))
            case _:
                raise NotImplementedError(change)

    def graph(self, topic: str | None = None) -> Graph:
        return {name: self.neighbours(name, topic or self.topic) for name in self.services}

    def neighbours(self, name: str, topic: str) -> set[str]:
        """GetNeighbors as it stands in Table 1, lines 7 to 17, for a service of several categories."""
        found = set[str]()
        for source, label, target in self.edges:
            if source in self.services[name] and _is_under(self.topics, label, topic):
                for other, categories in self.services.items():
                    if any(_is_under(self.categories, category, target) for category in categories):
                        found.add(other)
        return found - {name}

    def must_know(self) -> set[str]:
        """Whoever a message reaches when nothing changes, by whatever protocol."""
        return reached(self.graph(), self.root)

    def _changes(self) -> Iterator[Change]:
        yield from (PutTopic(name, parent) for name, parent in self.topics.items())
        yield from (PutCategory(name, parent) for name, parent in self.categories.items())
        yield from (PutService(Service(name, categories)) for name, categories in self.services.items())
        yield from (PutEdge(Edge(*edge)) for edge in sorted(self.edges))


def reached(graph: Graph, root: str) -> set[str]:
    """All that can be come to, without the root."""
    found, waiting = {root}, [root]
    while waiting:
        fresh = graph.get(waiting.pop(), set()) - found
        found |= fresh
        waiting += fresh
    return found - {root}


def _is_under(forest: Mapping[str, str | None], name: str | None, above: str) -> bool:
    while name is not None and name != above:
        name = forest[name]
    return name is not None


def _forest(letter: str, choices: list[int]) -> Forest:
    """Parents come before their children."""
    parents: Forest = {f"{letter}1": None}
    for number, choice in enumerate(choices, 2):
        parents[f"{letter}{number}"] = f"{letter}{1 + choice % (number - 1)}" if choice > 5 else None
    return parents


def group(categories: Forest, at: int, number: int) -> tuple[str, ...]:
    """Mostly one of them, at times two or three."""
    names = tuple(categories)
    more, step = divmod(number, len(names))
    first = at + step
    chosen = [first, *([first + more] if more > 6 else []), *([first + 2 * more] if more > 10 else [])]
    return tuple(dict.fromkeys(names[each % len(names)] for each in chosen))


def triple(topics: Forest, categories: Forest, at: int, number: int) -> Triple:
    """The simplest numbers make a chain."""
    names = tuple(categories)
    label, number = divmod(number, len(names) ** 2)
    step, far = divmod(number, len(names))
    source = at + step
    return names[source % len(names)], tuple(topics)[label % len(topics)], names[(source + 1 + far) % len(names)]


def _sketch(drawn: tuple[list[int], list[int], list[int], list[int], int, int]) -> Sketch:
    topics, categories = _forest("t", drawn[0]), _forest("c", drawn[1])
    services = {
        name: group(categories, at, number) for at, (name, number) in enumerate(zip(NAMES, drawn[2], strict=False))
    }
    edges = {triple(topics, categories, at, number) for at, number in enumerate(drawn[3])}
    found = Sketch(topics, categories, services, edges, NAMES[0], f"t{1 + drawn[5] % len(topics)}")
    roots = [name for name, neighbours in found.graph().items() if neighbours] or list(services)
    found.root = roots[drawn[4] % len(roots)]
    return found


def sketches() -> st.SearchStrategy[Sketch]:
    """Loops, cycles, double ways and parts without connection come by themselves. Drawn as few numbers, for speed."""
    return st.tuples(
        st.lists(st.integers(0, 9), max_size=2),
        st.lists(st.integers(0, 9), min_size=4, max_size=6),
        st.lists(st.integers(0, 83), min_size=4, max_size=7),
        st.lists(st.integers(0, 146), min_size=5, max_size=12),
        st.integers(0, 5),
        st.integers(0, 2),
    ).map(_sketch)


def of(edges: str, services: Mapping[str, str] | None = None, root: str = "N1") -> Sketch:
    """Written as in the figures of the paper: `of("1>2 2>3")` has Ni in Ci and one topic, T."""
    links = {(f"C{a}", "T", f"C{b}") for a, _, b in (link.partition(">") for link in edges.split())}
    named = {name for source, _, target in links for name in (source, target)}
    given = services or {f"N{name[1:]}": name for name in named}
    members = {name: tuple(categories.split()) for name, categories in sorted(given.items())}
    categories = named | {each for group in members.values() for each in group}
    return Sketch({"T": None}, dict.fromkeys(sorted(categories)), members, links, root, "T")
