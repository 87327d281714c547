"""GetNeighbors (paper 000, Table 1) in other ways, and a world to ask them about."""

import sqlite3
from collections.abc import Callable, Iterator
from random import Random

from tocsin.semantics.interest.changes import PutCategory, PutEdge, PutService, PutTopic
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.semantics.interest.taxonomy import Taxonomy
from tocsin.semantics.interest.world import World

Ask = Callable[[str, str], object]
TREE = (8, 6, 4)  # categories at the top, under each of them, under each of those
TOPICS = (5, 4, 3)


def world(services: int, edges: int, seed: int) -> World:
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


def literally(world: World) -> Ask:
    """Table 1 as it stands, lines 6 to 16, over Python's sets: each edge, then each notifier."""
    edges = [(edge.source, edge.topic, edge.target) for edge in world.edges.values()]
    services = {name: set(each.categories) for name, each in world.services.items()}
    topics, categories = _below(world.topics), _below(world.categories)

    def ask(notifier: str, topic: str) -> set[str]:
        found: set[str] = set()
        for category in services[notifier]:
            for source, label, target in edges:
                if source == category and label in topics[topic]:
                    below = categories[target]
                    found |= {name for name, own in services.items() if not own.isdisjoint(below)}
        return found - {notifier}

    return ask


def in_sql(world: World) -> Ask:
    """As the paper's prototype kept it, in tables: with an index for each way in, and which name is below which worked
    out before."""
    database = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
    database.executescript(_SCHEMA)
    database.executemany("INSERT INTO topics VALUES (?, ?)", _pairs(world.topics))
    database.executemany("INSERT INTO categories VALUES (?, ?)", _pairs(world.categories))
    database.executemany("INSERT INTO edges VALUES (?, ?, ?)", world.edges)
    rows = ((category, each.name) for each in world.services.values() for category in each.categories)
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
