"""Implicit notification: GetNeighbors against other ways to answer it, and what real notifiers cost."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle
from random import Random

from msgspec import Struct

from tocsin.lab.bench import Result, benchmark, compared, race
from tocsin.lab.benches import _notifying
from tocsin.semantics.interest.changes import PutCategory, PutEdge, PutService, PutTopic
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.semantics.interest.taxonomy import Taxonomy
from tocsin.semantics.interest.world import World

Ask = Callable[[str, str], object]
TREE = (8, 6, 4)  # categories at the top, under each of them, under each of those
TOPICS = (5, 4, 3)


def random_world(services: int, edges: int, seed: int) -> World:
    """Taxonomies three deep; services in one to three categories of any depth; edges between any, on any topic."""
    made, random = World(), Random(seed)
    for name, parent in _tree("t", TOPICS):
        made.apply(PutTopic(name, parent))
    for name, parent in _tree("c", TREE):
        made.apply(PutCategory(name, parent))
    categories, topics = list(made.categories), list(made.topics)
    for number in range(services):
        chosen = tuple(random.sample(categories, random.choice((1, 1, 2, 3))))
        made.apply(PutService(Service(f"service-{number:05}", chosen)))
    while len(made.edges) < edges:
        source, target = random.sample(categories, 2)
        made.apply(PutEdge(Edge(source, random.choice(topics), target)))
    return made


def literally(random_world: World) -> Ask:
    """Table 1 as it stands, lines 6 to 16, over Python's sets: each edge, then each notifier."""
    edges = [(edge.source, edge.topic, edge.target) for edge in random_world.edges.values()]
    services = {name: set(each.categories) for name, each in random_world.services.items()}
    topics, categories = _below(random_world.topics), _below(random_world.categories)

    def ask(notifier: str, topic: str) -> set[str]:
        found: set[str] = set()
        for category in services[notifier]:
            for source, label, target in edges:
                if source == category and label in topics[topic]:
                    below = categories[target]
                    found |= {name for name, own in services.items() if not own.isdisjoint(below)}
        return found - {notifier}

    return ask


def in_sql(random_world: World) -> Ask:
    """As the paper's prototype kept it, in tables: with an index for each way in, and which name is below which worked
    out before."""
    database = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    database.executescript(_SCHEMA)
    database.executemany("INSERT INTO topics VALUES (?, ?)", _pairs(random_world.topics))
    database.executemany("INSERT INTO categories VALUES (?, ?)", _pairs(random_world.categories))
    database.executemany("INSERT INTO edges VALUES (?, ?, ?)", random_world.edges)
    rows = ((category, each.name) for each in random_world.services.values() for category in each.categories)
    database.executemany("INSERT INTO members VALUES (?, ?)", rows)
    database.execute("ANALYZE")

    def ask(notifier: str, topic: str) -> list[tuple[str]]:
        return database.execute(_QUERY, (notifier, topic, notifier)).fetchall()

    return ask


_SCHEMA = """
CREATE TABLE topics (name TEXT, below TEXT, PRIMARY KEY (name, below)) WITHOUT ROWID;
CREATE TABLE categories (name TEXT, below TEXT, PRIMARY KEY (name, below)) WITHOUT ROWID;
CREATE TABLE edges (source TEXT, topic TEXT, target TEXT, PRIMARY KEY (source, topic, target)) WITHOUT ROWID;
CREATE TABLE members (category TEXT, service TEXT, PRIMARY KEY (category, service)) WITHOUT ROWID;
CREATE INDEX by_service ON members (service, category);
"""
_QUERY = """
WITH targets AS (
    SELECT DISTINCT edges.target FROM members
    JOIN edges ON edges.source = members.category
    JOIN topics ON topics.below = edges.topic
    WHERE members.service = ? AND topics.name = ?)
SELECT DISTINCT members.service FROM targets
JOIN categories ON categories.name = targets.target
JOIN members ON members.category = categories.below
WHERE members.service <> ? ORDER BY members.service
"""


def _tree(prefix: str, widths: tuple[int, ...]) -> Iterator[tuple[str, str | None]]:
    above: list[str | None] = [None]
    for width in widths:
        layer = [(f"{parent or prefix}.{number}", parent) for parent in above for number in range(width)]
        yield from layer
        above = [name for name, _ in layer]


def _below(taxonomy: Taxonomy) -> dict[str, frozenset[str]]:
    return {name: frozenset(taxonomy.below(name)) for name in taxonomy}


def _pairs(taxonomy: Taxonomy) -> Iterator[tuple[str, str]]:
    return ((name, below) for name in taxonomy for below in taxonomy.below(name))


FLOOR, LITERALLY, SQL = "a dict look-up + the answer's tuple", "Table 1 literally, in sets", "SQLite, indexed"


class Sizes(Struct, frozen=True):
    services: int = 10_000
    edges: int = 1_000
    questions: int = 40
    rounds: int = 12


@benchmark("implicit", "GetNeighbors among 10,000 services; notifications per CPU-second through real notifiers")
def measure(seed: int) -> Iterable[Result]:
    yield from get_neighbours(seed, Sizes())
    yield from _notifying.results(_notifying.Sizes())


def get_neighbours(seed: int, sizes: Sizes) -> Iterator[Result]:
    world, changing = (random_world(sizes.services, sizes.edges, seed) for _ in range(2))
    questions = _questions(world, sizes.questions, seed)
    known = {each: list(world.neighbours(*each)) for each in questions}
    asks: dict[str, Ask] = {
        "warm": world.neighbours,
        "cold": lambda service, topic: _after_a_change(changing, service, topic),
        FLOOR: lambda service, topic: tuple(known[service, topic]),
        LITERALLY: literally(world),
        SQL: in_sql(world),
    }
    for ask in asks.values():
        _check(ask, known)
    works = {name: _each(ask, questions) for name, ask in asks.items()}
    timings = race(works, rounds=sizes.rounds, calls=len(questions))
    details = {"services": sizes.services, "edges": sizes.edges, "told": sum(map(len, known.values())) // len(known)}
    for state, rival in (("warm", FLOOR), ("warm", LITERALLY), ("warm", SQL), ("cold", LITERALLY), ("cold", SQL)):
        target = None if rival == FLOOR else 1.0
        yield compared(f"GetNeighbors, {state}", timings, state, rival, sizes=details, target=target)


def _questions(world: World, count: int, seed: int) -> list[tuple[str, str]]:
    """Those that somebody is told of."""
    random, services, topics = Random(seed), list(world.services), list(world.topics)
    found: list[tuple[str, str]] = []
    while len(found) < count:
        asked = random.choice(services), random.choice(topics)
        if world.neighbours(*asked):
            found.append(asked)
    return found


def _after_a_change(world: World, service: str, topic: str) -> tuple[str, ...]:
    """When the world has changed, nothing that was worked out before is left."""
    world.interests.forget()
    return world.neighbours(service, topic)


def _check(ask: Ask, known: dict[tuple[str, str], list[str]]) -> None:
    """Who gives another answer is no rival."""
    for question, answer in known.items():
        found: object = ask(*question)
        assert isinstance(found, Iterable)
        assert sorted(each[0] if isinstance(each, tuple) else each for each in found) == answer


def _each(ask: Ask, questions: Sequence[tuple[str, str]]) -> Callable[[], object]:
    asked = cycle(questions)
    return lambda: ask(*next(asked))
