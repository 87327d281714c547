"""Implicit notification: GetNeighbors against other ways to answer it, and what a notification costs real notifiers."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle
from random import Random

from msgspec import Struct

from tocsin.lab.bench import Result, against_floor, benchmark, race, side_by_side
from tocsin.lab.benches import _neighbours, _notifying
from tocsin.lab.benches._neighbours import Ask
from tocsin.semantics.interest.world import World

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
    world, changing = (_neighbours.world(sizes.services, sizes.edges, seed) for _ in range(2))
    questions = _questions(world, sizes.questions, seed)
    known = {each: list(world.neighbours(*each)) for each in questions}
    asks: dict[str, Ask] = {
        "warm": world.neighbours,
        "cold": lambda service, topic: _after_a_change(changing, service, topic),
        FLOOR: lambda service, topic: tuple(known[service, topic]),
        LITERALLY: _neighbours.literally(world),
        SQL: _neighbours.in_sql(world),
    }
    for ask in asks.values():
        _check(ask, known)
    works = {name: _each(ask, questions) for name, ask in asks.items()}
    timings = race(works, rounds=sizes.rounds, calls=len(questions))
    details = {"services": sizes.services, "edges": sizes.edges, "told": sum(map(len, known.values())) // len(known)}
    for state, rival in (("warm", FLOOR), ("warm", LITERALLY), ("warm", SQL), ("cold", LITERALLY), ("cold", SQL)):
        ours, theirs = side_by_side(timings[state], timings[rival])
        case, timing = f"GetNeighbors, {state}", timings[state]
        if rival == FLOOR:
            yield against_floor(case, ours, "µs", rival, theirs, sizes=details, timing=timing)
        else:
            yield against_floor(case, ours, "µs", rival, theirs, sizes=details, timing=timing, target=1.0)


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
