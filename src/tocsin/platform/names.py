"""Names of workers: a node has its place on the circle by its name, and workers are to have equal parts of it."""

import re
import secrets
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from tocsin.routing.ring.identifiers import SIZE, distance, identifier_of

TRIES = 4096  # names of which one is taken: so near is it to where it should lie


def former(data: Path) -> list[int]:
    """The numbers of those that have a directory in that one; the first has it all."""
    folder = data / "workers"
    names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
    return sorted(int(each) for each in names if re.fullmatch(r"[1-9][0-9]{0,3}", each))


def fresh_names(known: Sequence[str], many: int) -> list[str]:
    """For as many more: beside one alone all at the same distance, beside several each in the middle of the largest
    gap."""
    places = sorted(map(identifier_of, known))
    if len(places) == 1:
        return [_near(places[0] + at * SIZE // (many + 1)) for at in range(1, many + 1)]
    names = list[str]()
    for _ in range(many):
        start, end = max(pairwise((*places, places[0])), key=lambda gap: distance(*gap))
        names.append(_near(start + distance(start, end) // 2))
        places = sorted((*places, identifier_of(names[-1])))
    return names


def _near(place: int) -> str:
    tries = (f"node-{secrets.token_hex(4)}" for _ in range(TRIES))
    return min(tries, key=lambda name: _apart(identifier_of(name), place % SIZE))


def _apart(one: int, other: int) -> int:
    return min(distance(one, other), distance(other, one))
