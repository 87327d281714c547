"""Whatever matches a subscription has a key within its span, in its plane."""

from collections.abc import Iterable

import msgspec
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.matching.anything import FILTERS, NOTIFICATIONS, Contains, known
from tests.matching.spaces import DIMENSIONS, boxes, points, sides, spaces

from tocsin.matching.catalogue import Catalogue
from tocsin.matching.engine import matches_filters
from tocsin.matching.judge import Undecided
from tocsin.model.content_topic import CONTENT_TOPIC, parse_box, parse_point, write_box, write_point
from tocsin.model.filters import (
    ANY,
    DESCEND,
    NOTHING,
    TOPICS,
    ActionIs,
    AllOf,
    AnyOf,
    AttributeIs,
    Filter,
    ForNotifier,
    InBox,
    Not,
    TopicIs,
)
from tocsin.model.identity import Instant, MessageId, Node, Pairs, SubscriptionId
from tocsin.model.names import NO_TOPIC, QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.refusal import Refusal
from tocsin.model.space import WHOLE, Dimension, InformationSpace, Interval, Like, OneOf, Point, Side
from tocsin.model.subscription import Endpoint, Form, Position, Subscription
from tocsin.model.topics import parse_topic_expression
from tocsin.routing.implicit.messages import key_of
from tocsin.routing.ring.curves import curve_through
from tocsin.routing.ring.identifiers import identifier_of
from tocsin.routing.ring.keys import Place, Spaces, place_of, places_of
from tocsin.routing.ring.meeting import meeting_key
from tocsin.routing.ring.spans import EVERYWHERE, Arcs, Box, Keys, Several, clusters
from tocsin.routing.ring.topic_keys import key_of_topic

WEATHER = InformationSpace(
    "weather", (Dimension("place", "string"), Dimension("pressure", "number", 0, 100), Dimension("degrees", "number"))
)
TIDES = InformationSpace("tides", (Dimension("height", "number", 0, 9),))
DECLARED = {"weather": WEATHER, "tides": TIDES}
PREFIXES = {"a": "urn:a"}
STEPS = st.builds(QName, st.sampled_from(["", "urn:a"]), st.sampled_from("bc"))
WILD: st.SearchStrategy[QName | str] = st.sampled_from([ANY, DESCEND, DESCEND, QName("", "*"), QName("urn:a", "*")])
STEPS_ASKED: st.SearchStrategy[QName | str] = st.one_of(STEPS, STEPS, WILD)
PATHS = st.lists(STEPS_ASKED, max_size=5).map(tuple)
TOPIC_IS = st.lists(PATHS, max_size=3).map(lambda paths: TopicIs(tuple(paths)))


def notification(steps: Iterable[QName] = NO_TOPIC.steps, attributes: Pairs = ()) -> Notification:
    at, payload = Position(Node("n"), 2), Payload("text/plain", b"")
    topic = Topic(tuple(steps))
    return Notification(MessageId("m"), at, 0, Instant(1), "raw", "", "urn:p", topic, None, attributes, payload)


def may_match(filters: tuple[Filter, ...], told: Notification, catalogue: Catalogue) -> bool:
    """Who cannot be judged is told so, where it is kept."""
    form, since = Form("wsn-1.3", "1.2", "2005/08"), Position(Node("n"), 0)
    asked = Subscription(SubscriptionId("s"), None, Endpoint("http://c"), None, form, filters, since, None)
    try:
        return matches_filters(asked, told, catalogue, Contains())
    except Undecided:
        return True


def meet(filters: tuple[Filter, ...], told: Notification, declared: Spaces) -> bool:
    place = place_of(filters, declared)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(place), type=Place) == place
    assert place.span.next_key(0) is not None
    spans = {each.plane: each.span for each in places_of(told, declared)}
    return place.plane in spans and meeting_key(place.span, spans[place.plane]) is not None


@given(st.lists(FILTERS, max_size=3).map(tuple), NOTIFICATIONS)
@settings(max_examples=examples(500))
def test_filters_of_every_kind_meet_what_matches(filters: tuple[Filter, ...], told: Notification) -> None:
    catalogue = known()
    if may_match(filters, told, catalogue):
        event(place_of(filters, catalogue.spaces).plane)
        assert meet(filters, told, catalogue.spaces)


SPACES = st.lists(st.sampled_from(DIMENSIONS), min_size=1, max_size=7, unique=True).map(
    lambda dimensions: InformationSpace("s", tuple(dimensions))
)


@st.composite
def around(draw: st.DrawFn, space: InformationSpace, point: Point) -> InBox:
    """A box with the point in it, as narrow as comes by chance."""
    found: list[Side] = []
    for dimension, coordinate in zip(space.dimensions, point, strict=True):
        some = draw(st.lists(sides(dimension), max_size=2))
        found.append(next((each for each in some if coordinate in each), WHOLE))
    return InBox(space.name, tuple(found))


@st.composite
def above(draw: st.DrawFn, steps: list[QName]) -> TopicIs:
    """An expression that the topic matches, and others."""
    path: list[QName | str] = []
    for each in steps:
        instead: list[QName | str] = [each, each, ANY, DESCEND, QName(each.namespace, "*")]
        path.append(draw(st.sampled_from(instead)))
    return TopicIs((*draw(st.lists(PATHS, max_size=1)), tuple(path)))


@st.composite
def placed(draw: st.DrawFn) -> tuple[tuple[Filter, ...], Notification, InformationSpace]:
    space, steps = draw(spaces()), draw(st.lists(STEPS, max_size=4))
    text = write_point(draw(points(space)), space)
    wide = write_box(draw(around(space, parse_point(text, space))), space)
    holds: st.SearchStrategy[Filter] = above(steps) | around(space, parse_point(text, space))
    leaf = st.one_of(holds, holds, TOPIC_IS, boxes(space))
    some = st.lists(leaf, min_size=1, max_size=3).map(tuple)
    inner = st.one_of(holds, leaf, some.map(AllOf), some.map(AnyOf), leaf.map(Not))
    filters = draw(st.lists(inner, max_size=3).map(tuple))
    said = draw(st.sampled_from([text, text, wide, f" {text} ", f"s:||{wide}||other:1||{text}", "other:1", ""]))
    return filters, notification(steps, ((CONTENT_TOPIC, said),) if said else ()), space


@given(placed())
@settings(max_examples=examples(200))
def test_topics_and_boxes_meet_what_matches(case: tuple[tuple[Filter, ...], Notification, InformationSpace]) -> None:
    filters, told, space = case
    catalogue = Catalogue((space,))
    if may_match(filters, told, catalogue):
        event(place_of(filters, catalogue.spaces).plane)
        assert meet(filters, told, catalogue.spaces)


@given(SPACES, st.data())
@settings(max_examples=examples(150))
def test_a_point_meets_the_boxes_around_it(space: InformationSpace, data: st.DataObject) -> None:
    text = write_point(data.draw(points(space)), space)
    box, told = data.draw(around(space, parse_point(text, space))), notification(attributes=((CONTENT_TOPIC, text),))
    catalogue = Catalogue((space,))
    assert may_match((box,), told, catalogue)
    assert meet((box,), told, catalogue.spaces)
    assert meet((AnyOf((box, data.draw(boxes(space)))),), told, catalogue.spaces)


@given(spaces(), spaces(), st.data())
def test_a_box_of_a_space_that_was_declared_otherwise(
    before: InformationSpace, now: InformationSpace, data: st.DataObject
) -> None:
    filters = (data.draw(boxes(before)),)
    told = notification(attributes=((CONTENT_TOPIC, write_point(data.draw(points(now)), now)),))
    catalogue = Catalogue((now,))
    assert meet(filters, told, catalogue.spaces) or not may_match(filters, told, catalogue)


@given(TOPIC_IS, st.lists(STEPS, max_size=4))
@settings(max_examples=examples(400))
def test_a_topic_expression_has_the_keys_of_its_topics(asked: TopicIs, steps: list[QName]) -> None:
    told = notification(steps)
    assert meet((asked,), told, {}) or not may_match((asked,), told, Catalogue())


def expression(text: str) -> TopicIs:
    return parse_topic_expression(text, "full", PREFIXES)


def topic(*names: str) -> Topic:
    return Topic(tuple(QName("", each) for each in names))


def test_the_first_wildcard_says_how_wide_a_span_is() -> None:
    def span(text: str) -> object:
        return place_of((expression(text),), {}).span

    root, below = key_of_topic(topic("r")), key_of_topic(topic("r", "b"))
    assert root & 0xFFFF_FFFF == below & 0xFFFF == 0
    assert below >> 32 == root >> 32
    assert span("r/b") == Keys((below,))
    assert span("r//.") == span("r/*") == span("r//b") == span("r/*/b") == Arcs(((root, root | 0xFFFF_FFFF),))
    assert span("r/b//.") == span("r/b/*/d") == span("r/b/c//.") == Arcs(((below, below | 0xFFFF),))
    assert span("r/b/c") == Keys((key_of_topic(topic("r", "b", "c")),))
    assert span("r|r/b") == Keys((root, below))
    assert span("r|r//.|r/b") == span("r//.")
    for anything in ("*", "*/b", "//b", "a:*//.", "a://b", "r|*"):
        assert span(anything) == EVERYWHERE


def test_names_are_of_their_namespace() -> None:
    keys = {key_of_topic(Topic((QName(namespace, "r"),))) for namespace in ("", "urn:a", "urn:b")}
    assert len(keys) == 3


def test_how_a_service_is_told_stands_where_its_notifier_is() -> None:
    assert place_of((ForNotifier("n"),), DECLARED) == Place(TOPICS, Keys((key_of("n"),)))


@pytest.mark.parametrize(
    "filters",
    [
        (),
        (Not(expression("r")),),
        (ActionIs(("urn:a",)), AttributeIs("type", "exact", "x")),
        (AnyOf((expression("r"), ActionIs(("urn:a",)))),),
        (AnyOf((expression("r"), InBox("weather", (WHOLE,) * 3))),),
        (AnyOf((InBox("tides", (WHOLE,)), InBox("weather", (WHOLE,) * 3))),),
        (Not(InBox("weather", (WHOLE,) * 3)),),
    ],
)
def test_what_names_no_topic_and_no_box_is_everywhere(filters: tuple[Filter, ...]) -> None:
    assert place_of(filters, DECLARED) == Place(TOPICS, EVERYWHERE)


def test_of_several_topic_filters_the_narrowest_counts() -> None:
    wide, narrow = expression("r//."), expression("r/b|r/c")
    place = place_of((wide, AllOf((expression("*"), narrow))), {})
    assert place == place_of((narrow,), {})
    assert place_of((AnyOf((expression("r/b"), expression("r/c"))),), {}) == place


def test_a_box_is_placed_in_the_plane_of_its_space() -> None:
    box = parse_box("weather:P*/25..30/<50", WEATHER)
    place = place_of((expression("r"), AllOf((box,)), InBox("tides", (WHOLE,))), DECLARED)
    assert place == Place("weather", curve_through(WEATHER).span(box.sides))
    assert isinstance(place.span, Box)
    other = parse_box("weather:*/*/>90", WEATHER)
    several = place_of((AnyOf((box, AllOf((other, expression("r"))))),), DECLARED)
    assert several == Place("weather", Several((place.span, curve_through(WEATHER).span(other.sides))))


def test_the_whole_of_a_space_is_every_key_and_a_point_is_one_cell() -> None:
    whole, point = (
        place_of((InBox("tides", (WHOLE,)),), DECLARED),
        place_of((InBox("tides", (Interval(3, 3),)),), DECLARED),
    )
    assert clusters(whole.span, 3).runs == ((0, (1 << 64) - 1),)
    ((first, last),) = clusters(point.span, 3).runs
    told = places_of(notification(attributes=((CONTENT_TOPIC, "tides:3"),)), DECLARED)[1]
    assert first == last and told == Place("tides", Keys((first,)))


def test_a_box_of_no_declared_space_is_refused_by_name() -> None:
    with pytest.raises(Refusal, match="there is no information space 'wether'; did you mean 'weather'") as refused:
        place_of((InBox("wether", (WHOLE,)),), DECLARED)
    assert refused.value.reason == "unknown-topic"


@pytest.mark.parametrize(
    ("asked", "plane"),
    [
        (NOTHING, TOPICS),
        (TopicIs(()), TOPICS),
        (InBox("tides", (WHOLE, WHOLE)), "tides"),
        (InBox("tides", (OneOf(("3",)),)), "tides"),
        (InBox("tides", (Interval(5, 3),)), "tides"),
        (InBox("weather", (OneOf(()), WHOLE, WHOLE)), "weather"),
    ],
)
def test_what_can_match_nothing_has_a_home(asked: Filter, plane: str) -> None:
    assert place_of((asked,), DECLARED) == Place(plane, Keys((identifier_of(plane),)))


def test_a_notification_has_a_key_for_its_topic_and_one_for_its_point() -> None:
    def places(text: str) -> tuple[Place, ...]:
        return places_of(notification(topic("r").steps, ((CONTENT_TOPIC, text),)), DECLARED)

    first, second = places("weather:Piscataway,NJ/29/48.9")
    point = curve_through(WEATHER).key(("Piscataway,NJ", 29.0, 48.9))
    assert first == Place(TOPICS, Keys((key_of_topic(topic("r")),)))
    assert second == Place("weather", Keys((point,)))
    for no_point in ("weather:Piscataway,NJ/29", "weather:P/129/48.9", "winter:1", "", ":"):
        assert places(no_point) == (first,)
    assert places_of(notification(topic("r").steps), DECLARED) == (first,)
    wide, tides = curve_through(WEATHER).span(parse_box("weather:P*/25..30/*", WEATHER).sides), curve_through(TIDES)
    assert places("weather:P*/25..30/>-1e300 || winter:1")[1].plane == "weather"
    assert meeting_key(places("weather:P*/25..30/>0 || winter:1")[1].span, wide) is not None
    several = places("weather:Piscataway,NJ/29/48.9 || tides:3 || weather:Piscataway,NJ/29/48.9 || tides:4")
    assert several == (first, second, Place("tides", Keys(tuple(sorted((tides.key((3.0,)), tides.key((4.0,))))))))


def test_dimensions_beyond_the_eighth_do_not_matter_for_the_place() -> None:
    space = InformationSpace("wide", tuple(Dimension(f"d{n}", "number", 0, 1) for n in range(10)))
    curve, half = curve_through(space), (0.5,) * 8
    assert curve.key((*half, 0.0, 0.0)) == curve.key((*half, 1.0, 0.3))
    asked = curve.span((*(Interval(0.5, 0.6),) * 8, Interval(0.1, 0.1), Like("x")))
    assert curve.key((*half, 0.0, 0.0)) in asked


def test_spaces_begin_at_different_places() -> None:
    keys = {curve_through(InformationSpace(name, TIDES.dimensions)).key((0.0,)) for name in "abc"}
    assert keys == {identifier_of(name) for name in "abc"}
