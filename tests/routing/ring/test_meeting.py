"""Of the nodes at which a subscription and a notification both stand, exactly one tells."""

from hypothesis import assume, event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.effort import examples
from tests.matching.spaces import boxes, spaces
from tests.matching.test_areas import areas
from tests.routing.ring.test_keys import notification
from tests.routing.ring.test_spans import SPANS

from tocsin.matching.catalogue import Catalogue
from tocsin.matching.engine import Engine, matches
from tocsin.model.content_topic import CONTENT_TOPIC
from tocsin.model.filters import AnyOf, Filter
from tocsin.model.identity import Node, SubscriptionId
from tocsin.model.notification import Notification, Way
from tocsin.model.space import Dimension, InformationSpace
from tocsin.model.subscription import Endpoint, Form, Position, Subscription
from tocsin.routing.ring.identifiers import LAST, SIZE
from tocsin.routing.ring.keys import place_of, places_of
from tocsin.routing.ring.meeting import CIRCLE, meeting_key, shared_out, tells
from tocsin.routing.ring.ranges import Ranges, merged
from tocsin.routing.ring.roster import Member, Roster
from tocsin.routing.ring.spans import Span, clusters

IDS = st.lists(st.integers(0, LAST) | st.sampled_from([0, 1, LAST]), min_size=1, max_size=8, unique=True)
ROSTERS = IDS.map(lambda ids: Roster(1, tuple(Member(f"n{each}", each, "") for each in sorted(ids))))


@given(SPANS, SPANS)
@settings(max_examples=examples(200))
def test_two_spans_meet_at_a_key_of_both(one: tuple[Span, Ranges], other: tuple[Span, Ranges]) -> None:
    key = meeting_key(one[0], other[0])
    common = [(max(a, c), min(b, d)) for a, b in one[1] for c, d in other[1] if max(a, c) <= min(b, d)]
    assert (key is not None) == bool(common)
    assert key is None or (key in one[0] and key in other[0])


@given(ROSTERS, SPANS, st.lists(st.tuples(st.integers(0, LAST), st.integers(0, LAST)), max_size=2))
@settings(max_examples=examples(200))
def test_each_key_of_a_span_goes_to_its_owner_alone(
    roster: Roster, case: tuple[Span, Ranges], ends: list[tuple[int, int]]
) -> None:
    span, runs = case
    arcs = merged((min(each), max(each)) for each in ends) if ends else CIRCLE
    shares = shared_out(roster, span, arcs)
    everything = [each for ranges in shares.values() for each in ranges]
    assert sum(last - first + 1 for first, last in merged(everything)) == sum(b - a + 1 for a, b in everything)
    for name, ranges in shares.items():
        for first, last in ranges:
            assert span.meets(first, last) and any(a <= first and last <= b for a, b in arcs)
            assert roster.owner(first).name == roster.owner(last).name == name
    for key in {end for run in runs[:20] for end in run}:
        wanted = any(first <= key <= last for first, last in arcs)
        having = [name for name, ranges in shares.items() if any(first <= key <= last for first, last in ranges)]
        assert having == ([roster.owner(key).name] if wanted else [])


def wanting(name: str, *filters: Filter) -> Subscription:
    form, since = Form("wsn-1.3"), Position(Node("n"), 0)
    return Subscription(SubscriptionId(name), None, Endpoint("http://c/"), None, form, filters, since, None)


def came_to(told: Notification, plane: str, arcs: Ranges) -> Notification:
    return replace(told, way=Way("n", Node("n"), 1, (), plane, (), arcs))


@st.composite
def asked(draw: st.DrawFn, space: InformationSpace) -> tuple[Filter, ...]:
    some = draw(st.lists(boxes(space), min_size=1, max_size=3))
    return (AnyOf(tuple(some)),) if draw(st.booleans()) else tuple(some)


@given(st.data(), ROSTERS, ROSTERS)
@settings(max_examples=examples(200))
def test_each_subscription_that_matches_is_told_by_exactly_one(
    data: st.DataObject, roster: Roster, later: Roster
) -> None:
    """Also when some nodes took it by one roster and the others, for what was left, by the next."""
    space = data.draw(spaces())
    catalogue, filters = Catalogue((space,)), data.draw(asked(space))
    text = " || ".join(data.draw(st.lists(areas(space), min_size=1, max_size=3)))
    told, subscription = notification(attributes=((CONTENT_TOPIC, text),)), wanting("s", *filters)
    assume(matches(subscription, told, catalogue))
    (place,) = [each for each in places_of(told, catalogue.spaces) if each.plane == space.name]
    span, telling = place_of(filters, catalogue.spaces).span, list[str]()
    first = shared_out(roster, place.span)
    failed = data.draw(st.sets(st.sampled_from(sorted(first))))
    for name, arcs in first.items():
        shares = shared_out(later, place.span, arcs) if name in failed else {name: arcs}
        for owner, share in shares.items():
            engine = Engine(catalogue, tells=tells)
            member = (later if name in failed else roster).get(owner)
            assert member is not None
            if span.meets_arc(*(later if name in failed else roster).range_of(member)):  # it stands there
                engine.apply(subscription)
            told_here = came_to(told, space.name, share)
            found = engine.match(told_here).wanted
            assert bool(found) == (len(engine) > 0 and matches(subscription, told_here, catalogue, tells=tells))
            telling += [owner for _ in found]
    event(f"{min(len(first), 4)} nodes")
    assert len(telling) == 1


def test_a_box_of_millions_of_clusters_reaches_all_who_have_some_of_it() -> None:
    dimensions = tuple(Dimension(f"d{n}", "number", 0.0, 1.0) for n in range(4))
    space = InformationSpace("wide", dimensions)
    told = notification(attributes=((CONTENT_TOPIC, "wide:0.3..0.300001/*/*/*"),))
    (_, place) = places_of(told, {"wide": space})
    assert clusters(place.span, 10_000).more
    roster = Roster(1, tuple(Member(f"n{n}", n * (SIZE // 64) + 7, "") for n in range(64)))
    shares = shared_out(roster, place.span)
    having = {each.name for each in roster.members if place.span.meets_arc(*roster.range_of(each))}
    assert shares.keys() == having and len(having) > 8


def test_what_came_for_no_arcs_is_told_to_all() -> None:
    told, subscription = notification(), wanting("s")
    assert tells(subscription, told, Catalogue())
    assert tells(subscription, came_to(told, "none", ((0, 1),)), Catalogue())
