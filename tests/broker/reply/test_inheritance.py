"""What a node remembered of a view goes on at another as it was, whatever had happened to it."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from tocsin.broker.reply.inheritance import NOWHERE, inherited
from tocsin.model.identity import SECOND, Instant
from tocsin.model.replies import AT_HOME, ReplyRequest
from tocsin.routing.machine import Effect, Forget, Remember
from tocsin.routing.reply.harvester import HEAD, Harvester, Head
from tocsin.routing.reply.messages import (
    OWN,
    Abandoned,
    Forwarded,
    Inherited,
    NotReached,
    Opened,
    Reached,
    Replied,
    Terminate,
    harvester_of,
)
from tocsin.routing.reply.register import Registered

VIEW = "00000000000000aa-0123456789abcdef0123456789abcdef"
OPENED = Opened(
    ReplyRequest(VIEW, "text", Instant(60 * SECOND), "secret"),
    "desk",
    "beds",
    "id",
    (OWN, "part"),
    (Forwarded(3, at=7, index=1),),
)
RECEIVERS = st.sampled_from("abcd")
MESSAGES = st.lists(
    st.builds(Replied, RECEIVERS, st.sampled_from(("yes", "no")))
    | st.builds(NotReached, RECEIVERS)
    | st.builds(Reached, RECEIVERS)
    | st.builds(Forwarded, st.integers(0, 3), source=st.sampled_from((OWN, "part")), at=st.integers(0, 9))
    | st.just(Terminate()),
    max_size=12,
)


def remembered(rows: dict[str, Any], effects: list[Effect]) -> None:
    for each in effects:
        match each:
            case Remember(key, row):
                rows[key] = row
            case Forget(None):
                rows.clear()
            case Forget(str(key)):
                rows.pop(key, None)


@given(MESSAGES, MESSAGES)
@settings(max_examples=examples(200))
def test_a_view_goes_on_as_if_it_had_stayed(before: list[Any], later: list[Any]) -> None:
    there, rows = Harvester(harvester_of(VIEW, "old"), {}), dict[str, Any]()
    for message in (OPENED, *before):
        remembered(rows, there.step(message, Instant(SECOND)))
    ((view, moved),) = inherited([(harvester_of(VIEW, "old"), rows)])
    here, kept = Harvester(harvester_of(view, "new"), {}), dict[str, Any]()
    remembered(kept, here.step(Inherited(tuple(moved.items())), Instant(2 * SECOND)))
    assert here.view() == there.view()
    assert {each.at for each in here.sources()} == {NOWHERE}, "places of another log"
    for message in later:
        assert _answers(here, message, kept) == _answers(there, message, {})
    assert here.view() == there.view() == Harvester(harvester_of(view, "new"), kept).view()
    assert here.step(Inherited(tuple(moved.items())), Instant(3 * SECOND)) == [], "what is known is not less"


def _answers(harvester: Harvester, message: Any, rows: dict[str, Any]) -> list[Any]:
    effects = harvester.step(message, Instant(3 * SECOND))
    remembered(rows, effects)
    return [each for each in effects if not isinstance(each, Remember)]


def test_what_is_only_registered_goes_on_too_and_what_was_opened_since_counts() -> None:
    other = Opened(ReplyRequest("b", "int", Instant(9)), forwarded=(Forwarded(1, at=3),))
    replied = {HEAD: Head(OPENED), "r a": "yes"}
    found = dict(inherited([("register@old", {"x": Registered((OPENED, other))}), (f"{VIEW}@old", replied)]))
    assert found[VIEW].keys() == {HEAD, "r a"}
    assert found["b"][HEAD].opened.forwarded == (Forwarded(1, at=NOWHERE),)
    assert dict(inherited([("relay@old", {})])) == {}


def test_who_is_put_out_forgets_it() -> None:
    harvester = Harvester(harvester_of(VIEW, "old"), {})
    harvester.step(OPENED, Instant(0))
    assert harvester.step(Abandoned(), Instant(1)) == [Forget(None)]


def test_a_part_has_the_secret_and_the_way_home() -> None:
    part = OPENED.request.for_part()
    assert part.is_part and part.path == AT_HOME and part.secret == "secret" and not OPENED.request.is_part
