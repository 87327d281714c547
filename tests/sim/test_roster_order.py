"""Whatever order messages come in, how often, and whoever crashes between: nothing is chosen twice, and nobody acts who
was put out."""

from collections.abc import Iterable
from random import Random
from typing import Any

import pytest
from tests.effort import examples

from tocsin.model.identity import SECOND, Instant
from tocsin.routing.machine import Ask, Effect, Woken
from tocsin.routing.ring.roster_hearing import Settings
from tocsin.routing.ring.roster_messages import Beat, Beaten, Depart
from tocsin.sim.roster import SCHEME, RosterNetwork

CLOSE = Settings(lease=5, silence=5.5)


class Pool(RosterNetwork):
    """Messages lie in a pool until one is taken out of it, and some longer. Beats are carried at once where the line is
    not cut, for without leases nobody would propose anything."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, CLOSE)
        self.pool: list[tuple[str, str, Any]] = []  # to whom, from whom, what
        self.slow: list[tuple[str, Beaten]] = []

    def _do(self, name: str, effect: Effect) -> None:
        match effect:
            case Ask(of, Beat() as beat):
                self._carry(name, of.removeprefix(SCHEME), beat)
            case Ask(of, question):
                self.pool.append((of.removeprefix(SCHEME), name, question))
            case _:
                super()._do(name, effect)

    def _carry(self, name: str, to: str, beat: Beat) -> None:
        """Now and then the answer stays on its way."""
        for answer in () if frozenset((name, to)) in self.cut else self.take(to, beat):
            if self.random.random() < 0.2:
                self.pool.append((name, "", answer))
            else:
                self.take(name, answer)

    def deliver(self, at: int, *, again: bool) -> None:
        to, by, message = self.pool[at] if again else self.pool.pop(at)
        if frozenset((to, by)) not in self.cut:
            self.pool += [(by, "", answer) for answer in self.take(to, message) if by]

    def pass_time(self, seconds: float) -> None:
        self.clock.now = Instant(self.clock.now + round(seconds * SECOND))
        names = sorted(self.up)
        self.random.shuffle(names)
        for name in names:
            self.take(name, Woken())


def play(seed: int, turns: int = 250) -> Pool:
    network, random = Pool(seed), Random(seed)
    inside, outside = ["a", "b", "c", "d", "e"][: random.randint(2, 5)], ["x", "y", "z"]
    network.give(inside)
    network.pass_time(0.1)
    for name in outside:
        network.enter(name, random.choice(inside))
    for _ in range(turns):
        turn(network, random, [*inside, *outside])
    return network


def turn(network: Pool, random: Random, names: Iterable[str]) -> None:
    name, other = random.choice(list(names)), random.choice(list(names))
    match random.choices(["deliver", "repeat", "lose", "time", "crash", "cut", "heal", "depart"], WEIGHTS)[0]:
        case "deliver" | "repeat" | "lose" as how if network.pool:
            at = random.randrange(len(network.pool)) if random.random() < 0.5 else -1
            if how == "lose":
                network.pool.pop(at)
            else:
                network.deliver(at, again=how == "repeat")
        case "time":
            network.pass_time(random.choice([0.06, 0.3, 1, 1, 2]))
        case "crash":
            network.crash(name)
        case "cut":
            network.cut.add(frozenset((name, other)))
        case "heal":
            network.cut.clear()
        case "depart":
            network.take(name, Depart())


WEIGHTS = [60, 6, 6, 15, 3, 6, 2, 1]


@pytest.mark.parametrize("seed", range(examples(40)))
def test_nothing_is_chosen_twice_in_any_order(seed: int) -> None:
    assert not play(seed).wrongs
