"""Whichever condition of a wait holds first ends it, and it says which."""

import pytest

from tocsin.model.histogram import Histogram
from tocsin.model.identity import SECOND, Instant
from tocsin.routing.reply.messages import View
from tocsin.routing.reply.waiting import Until, Wait


def view(replied: int, receivers: int = 10, *, unreached: int = 0, exact: bool = True, ended: str = "") -> View:
    return View("v", "text", "t", Instant(0), receivers, replied, unreached, 0, exact, ended, Histogram())


@pytest.mark.parametrize(
    "until, seen, met",
    [
        (Until(), view(10), "all"),
        (Until(), view(9, unreached=1), "all"),
        (Until(), view(10, exact=False), None),
        (Until(), view(0, 0), "all"),
        (Until(all=False), view(10), None),
        (Until(fraction=0.5), view(5), "fraction"),
        (Until(fraction=0.5), view(4), None),
        (Until(fraction=0.5), view(4, unreached=2), "fraction"),
        (Until(fraction=0.5), view(5, exact=False), None),
        (Until(count=3), view(3, exact=False), "count"),
        (Until(count=3, fraction=0.1), view(3), "count"),
        (Until(count=3), view(2), None),
        (Until(), view(1, ended="expired"), "ended"),
        (Until(seconds=0.0), view(1), "deadline"),
    ],
)
def test_what_holds(until: Until, seen: View, met: str | None) -> None:
    assert Wait(until, Instant(0)).met(seen, Instant(0)) == met


def test_a_deadline_is_counted_from_the_beginning() -> None:
    wait = Wait(Until(seconds=2.0), Instant(5 * SECOND))
    assert wait.met(view(1), Instant(7 * SECOND - 1)) is None
    assert wait.next_look(Instant(6 * SECOND)) == 1.0
    assert wait.met(view(1), Instant(7 * SECOND)) == "deadline"


def test_it_is_quiet_when_replies_become_rare_but_not_before_the_first() -> None:
    wait = Wait(Until(quiet=2.0), Instant(0))
    seen = [(0, 0), (1, 0), (2, 0), (3, 9), (4, 12), (5, 13)]
    met = [wait.met(view(replied, 100), Instant(second * SECOND)) for second, replied in seen]
    assert met == [None, None, None, None, None, "quiet"]
