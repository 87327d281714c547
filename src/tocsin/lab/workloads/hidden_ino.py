"""A hidden INO and the history that it leaves: who published what, and who was told, with noise.

Whoever learns is shown the world without its edges, and what happened; the edges are what is to be found.
"""

from collections.abc import Iterator
from random import Random

from msgspec import Struct

from tocsin.semantics.interest.changes import PutCategory, PutEdge, PutService, PutTopic
from tocsin.semantics.interest.ino import Edge, Key, Service
from tocsin.semantics.interest.world import World

CATEGORIES, TOPICS = 50, 200
EDGES = 300
PUBLICATIONS = 10  # of each topic that a category has an edge on, about
BROADER = 0.1  # so many of them are about the topic above
SEVERAL = 0.1  # of the services have a second category


class Publication(Struct, frozen=True):
    """`told` are services; some should not have been, and others are missing."""

    id: str
    producer: str
    topic: str
    told: tuple[str, ...]


class HiddenIno(Struct, frozen=True):
    """`world` has no edges: `edges` are the hidden ones."""

    world: World
    edges: frozenset[Key]
    history: tuple[Publication, ...]


def hidden_ino(seed: int, noise: float, *, categories: int = CATEGORIES, topics: int = TOPICS) -> HiddenIno:
    """With `noise` 0.1 one telling in ten reached somebody by chance instead of whom it should have reached, and one
    publication in ten besides is of a random service on a random topic, told to random services."""
    random = Random(seed)
    world = World()
    _taxonomies(world, categories, topics, random)
    _services(world, random)
    bare = World.of(world.changes())
    wanted = max(1, EDGES * categories * topics // (CATEGORIES * TOPICS))
    edges = _edges(world, wanted, random)
    for key in edges:
        world.apply(PutEdge(Edge(*key)))
    return HiddenIno(bare, frozenset(edges), tuple(_history(world, edges, noise, random)))


def _taxonomies(world: World, categories: int, topics: int, random: Random) -> None:
    """Categories three deep, topics two deep."""
    tops, middles = max(1, categories // 10), max(1, categories // 4)
    for number in range(categories):
        above = None if number < tops else random.randrange(tops if number < tops + middles else tops + middles)
        world.apply(PutCategory(f"c{number:02}", None if above is None else f"c{above:02}"))
    for number in range(topics):
        parent = None if number < topics // 5 else f"t{random.randrange(topics // 5):03}"
        world.apply(PutTopic(f"t{number:03}", parent))


def _services(world: World, random: Random) -> None:
    """Each category has from three to six of its own."""
    names = list(world.categories)
    for category in names:
        for number in range(random.randint(3, 6)):
            others = [random.choice(names)] if random.random() < SEVERAL else []
            world.apply(PutService(Service(f"{category}-{number}", tuple(dict.fromkeys((category, *others))))))


def _edges(world: World, wanted: int, random: Random) -> list[Key]:
    """None of them says what another says already."""
    categories, topics, found = list(world.categories), list(world.topics), dict[Key, None]()
    while len(found) < wanted:
        key = random.choice(categories), random.choice(topics), random.choice(categories)
        if not any(_says(world, key, each) or _says(world, each, key) for each in found):
            found[key] = None
    return list(found)


def _says(world: World, one: Key, other: Key) -> bool:
    """Whether all that go along the other go along the one."""
    return (
        one[0] == other[0]
        and one[1] in set(world.topics.below(other[1]))
        and other[2] in set(world.categories.below(one[2]))
    )


def _history(world: World, edges: list[Key], noise: float, random: Random) -> Iterator[Publication]:
    services, number = list(world.services), 0
    for source, topic in sorted({key[:2] for key in edges}):
        members = [each.name for each in world.services.values() if source in each.categories]
        for _ in range(random.randint(PUBLICATIONS // 2, PUBLICATIONS * 3 // 2)):
            number += 1
            producer, parent = random.choice(members), world.topics.parent(topic)
            about = parent if parent is not None and random.random() < BROADER else topic
            right = world.neighbours(producer, about)
            told = {random.choice(services) if random.random() < noise else each for each in right}
            yield Publication(f"n{number}", producer, about, tuple(sorted(told - {producer})))
            if random.random() < noise:
                number += 1
                producer, about = random.choice(services), random.choice(list(world.topics))
                told = set(random.sample(services, max(1, len(right) // 2)))
                yield Publication(f"n{number}", producer, about, tuple(sorted(told - {producer})))
