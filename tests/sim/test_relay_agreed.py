"""Whatever happens in whatever order to a ring as nodes run it: nothing is left that somebody wants."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.effort import brief
from tests.sim.relay_agreed import LONG, Agreed, Leased
from tests.sim.relay_storm import SHORT, blow

from tocsin.sim.relay_nodes import Machines


@pytest.mark.parametrize("machines", [SHORT, LONG], ids=["short", "long"])
@pytest.mark.parametrize("seed", brief(range(60), *range(12)))
def test_nothing_is_hidden_and_all_is_done_in_the_end(seed: int, machines: Machines) -> None:
    storm = blow(seed, 300, replace(machines, relay=Leased), ring=Agreed)
    storm.calm()
    assert storm.ring.hidden == []
    assert not storm.ring.unacknowledged and not storm.ring.underway


class NotKnown(Agreed):
    """Who gets an arc does not wait until all know of it."""

    def is_known(self) -> bool:
        return True


class NotForgotten(Agreed):
    """Who is started again does not wait for who goes by what it promised."""

    def is_forgotten(self, *_: Any) -> bool:
        return True


@pytest.mark.parametrize(("ring", "seed"), [(NotKnown, 63), (NotForgotten, 376)])
def test_what_is_waited_for_is_needed(ring: type[Agreed], seed: int) -> None:
    assert blow(seed, 300, replace(LONG, relay=Leased), ring=ring).ring.hidden
    assert not blow(seed, 300, replace(LONG, relay=Leased), ring=Agreed).ring.hidden


def test_who_leaves_something_without_a_lease_hides_it() -> None:
    assert blow(55, 300, LONG, ring=Agreed).ring.hidden
    assert not blow(55, 300, replace(LONG, relay=Leased), ring=Agreed).ring.hidden
