"""Who has what it has on its own disk alone is waited for, however long it is silent."""

import pytest

from tocsin.model.identity import SECOND, Instant
from tocsin.routing.ring.roster import Member, Roster
from tocsin.routing.ring.roster_hearing import Hearing, Settings
from tocsin.routing.ring.roster_wishes import Wishes


@pytest.mark.parametrize(
    ("sites", "replicas", "is_put_out"),
    [(("", "", ""), 3, True), (("", "", ""), 1, False), (("a", "a", "a"), 3, False), (("a", "a", "b"), 2, True)],
)
def test_a_silent_member_is_put_out_only_if_others_keep_what_it_has(
    sites: tuple[str, ...], replicas: int, is_put_out: bool
) -> None:
    settings = Settings(replicas=replicas)
    members = tuple(Member(f"n{at}", at, f"n{at}:1", site=site) for at, site in enumerate(sites))
    roster, hearing, wishes = Roster(1, members), Hearing(members[0].life, settings), Wishes(settings)
    hearing.begin(roster, Instant(0), is_closed=False)
    now = Instant(60 * SECOND)
    hearing.hear(members[2].life, now)
    wishes.look(roster, hearing.watched(roster, members[0], now), hearing, now)
    assert (wishes.change(roster, hearing, now).out == (members[1].life,)) == is_put_out
    assert bool(wishes.change(roster, hearing, now)) == is_put_out
