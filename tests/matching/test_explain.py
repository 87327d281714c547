"""Why: the explanation says what the oracle says, and names the part that decided."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from tocsin.matching.catalogue import Catalogue
from tocsin.matching.engine import matches
from tocsin.matching.explain.explanation import MOST_PARTS, Part
from tocsin.matching.explain.filters import Explanation, explain
from tocsin.matching.explain.wording import filter_text
from tocsin.matching.judge import Undecided
from tocsin.matching.resolution import as_said
from tocsin.model.declarations import Hierarchy, Producer
from tocsin.model.filters import (
    ActionIs,
    AllOf,
    AnyOf,
    AttributeIs,
    Content,
    Filter,
    ForNotifier,
    InBox,
    Not,
    ProducerIs,
    TypeIs,
)
from tocsin.model.identity import Instant, MessageId, Node, SubscriptionId
from tocsin.model.names import QName, topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.space import WHOLE, Dimension, InformationSpace, Interval, Like, OneOf
from tocsin.model.subscription import Endpoint, Form, Position, Subscription
from tocsin.model.topics import parse_topic_expression

WEATHER = InformationSpace(
    "weather", (Dimension("place", "string"), Dimension("temperature", "number"), Dimension("seen", "time"))
)
KNOWN = Catalogue(
    (
        WEATHER,
        Hierarchy("types", (("{urn:t}Flood", ("{urn:t}Alert",)),)),
        Hierarchy("categories", (("Seismology", ("Science",)),)),
        Producer("http://p/", ("Seismology",), b"<p><price>3</price></p>"),
        Producer("http://plain/"),
    )
)
ALERT = b'<Alert><severity>Minor</severity><area n="1">A</area><area n="2">B</area><level>12</level></Alert>'
DATA = b'{"level": 12, "name": "a", "areas": ["x"], "none": null}'


class Half:
    """Decides by the length, and not at all where there is a question."""

    def begin(self) -> None:
        """Nobody waits."""

    def written(self, size: int) -> None:
        """Nor here."""

    def judge(self, asked: Content, document: bytes) -> bool:
        if "?" in asked.text:
            raise Undecided("it takes too long")
        return len(asked.text) % 2 == 0


def subscribed(*filters: Filter, since: int = 0, **more: Any) -> Subscription:
    at, more = Position(Node("n"), since), {"expires": None, **more}
    return Subscription(SubscriptionId("s"), None, Endpoint("http://c/"), None, Form("wsn-1.3"), filters, at, **more)


def said(
    on: str = "a",
    data: bytes = ALERT,
    media_type: str = "application/xml",
    *,
    kind: QName | str | None = None,
    producer: str = "",
    addressee: str = "",
    **attributes: str,
) -> Notification:
    at, about, pairs = Position(Node("n"), 5), topic(on), tuple(attributes.items())
    assert about is not None
    payload, name = Payload(media_type, data), MessageId("m")
    return Notification(
        name, at, 0, Instant(100), "cloudevents", "c", producer, about, kind, pairs, payload, None, addressee
    )


def why(asked: Filter, notification: Notification) -> tuple[bool | None, str]:
    (part,) = explain(subscribed(asked), notification, KNOWN, Half()).parts
    return {"yes": True, "undecided": None}.get(part.verdict, False), part.why


def test_a_subscription_without_filters_asks_for_everything() -> None:
    assert explain(subscribed(), said(), KNOWN) == Explanation(True, "it asks for everything", ())


@pytest.mark.parametrize(
    ("expression", "on", "words"),
    [
        ("a/b", "a/c", "expected b, the topic has c"),
        ("a/b", "x/b", "expected a, the topic has x"),
        ("a/b/c", "a/b", "the topic ends before c"),
        ("a", "a/b/c", "the topic goes on with b/c"),
        ("a/*", "a", "the topic ends before *"),
        ("a//c", "a/b/d", "expected c somewhere, the topic has b, d"),
        ("a//c/d", "a/c/e/c/f", "expected d, the topic has f"),
        ("//z", "a", "expected z somewhere, the topic has a"),
        ("x/y|a/b|z", "a/c", "none of 3 alternatives is a/c; the nearest is a/b: expected b, the topic has c"),
        ("t:*/b", "a/b", "expected {urn:t}*, the topic has a"),
    ],
)
def test_the_step_of_a_topic_that_fails(expression: str, on: str, words: str) -> None:
    assert why(parse_topic_expression(expression, "full", {"t": "urn:t"}), said(on)) == (False, words)


@pytest.mark.parametrize(("expression", "on"), [("a/b", "a/b"), ("a//.", "a"), ("//b", "a/b"), ("x|a", "a")])
def test_a_topic_that_matches_is_named(expression: str, on: str) -> None:
    assert why(parse_topic_expression(expression, "full", {}), said(on)) == (True, f"the topic is {on}")


FLOOD = QName("urn:t", "Flood")


@pytest.mark.parametrize(
    ("asked", "notification", "wanted", "words"),
    [
        (TypeIs(("{urn:t}Alert",)), said(kind=FLOOD), True, "its type is {urn:t}Flood, a subtype of {urn:t}Alert"),
        (TypeIs(("x",)), said(kind="y"), False, "its type is y, declared as a subtype of nothing"),
        (TypeIs(("x",)), said(), False, "it has no type"),
        (ProducerIs(("http://q/",)), said(producer="http://x/"), False, "http://x/, of which nothing is declared"),
        (ProducerIs(("http://q/",)), said(), False, "it names no producer"),
        (ProducerIs((), ("Science",)), said(producer="http://p/"), True, "of the categories Science, Seismology"),
        (ProducerIs((), ("x",)), said(producer="http://plain/"), False, "which is declared without categories"),
        (ActionIs(("urn:x",)), said(kind=FLOOD), False, "its action is urn:t/Flood"),
        (AttributeIs("ext", "exact", "a"), said(ext="b"), False, "ext is 'b'"),
        (AttributeIs("ext", "prefix", "a"), said(ext="ab"), True, "ext is 'ab'"),
        (AttributeIs("ext", "exact", "a"), said(), False, "it has no attribute ext"),
        (ForNotifier("CARE"), said(), False, "it is for everybody, not for one service"),
        (ForNotifier("CARE"), said(addressee="USGS"), False, "it is for the service of USGS"),
    ],
)
def test_what_stands_there_is_told(asked: Filter, notification: Notification, wanted: bool, words: str) -> None:
    found, told = why(asked, notification)
    assert (found, words in told) == (wanted, True), told


HOT = InBox("weather", (Like("", ",NJ"), Interval(25.0, low_open=True), WHOLE))


@pytest.mark.parametrize(
    ("asked", "content_topic", "words"),
    [
        (HOT, "weather:Newark,NJ/12/2030-01-31T12:00:00Z", "temperature >25: temperature is 12, not >25"),
        (HOT, "weather:Boston,MA/12/2030-01-31T12:00:00Z", "place *,NJ: place is Boston,MA, not *,NJ"),
        (HOT, "traffic:A5/1", "its content topic is in the space traffic"),
        (HOT, "weather:A5", "its content topic weather:A5 is no point of weather"),
        (HOT, "", "it has no content topic"),
        (InBox("none", ()), "weather:A5", "no space none is declared"),
        (HOT, "weather:*,NJ/10..20/*", "temperature >25: temperature is 10..20, not >25"),
        (HOT, "traffic:A5/1 || tides:3", "its content topic is in the space traffic and tides"),
        (
            HOT,
            "weather:*,NJ/10..20/* || weather:B*a/30/*",
            "none of its 2 content topics in weather is; of the first, temperature >25: temperature is 10..20, not >25",
        ),
        (
            InBox("weather", (WHOLE, WHOLE, Interval(high=0.0))),
            "weather:A/1/1970-01-02T00:00:00Z",
            "seen <=1970-01-01T00:00:00Z: seen is 1970-01-02T00:00:00Z, not <=1970-01-01T00:00:00Z",
        ),
    ],
)
def test_the_side_of_a_box_that_fails(asked: InBox, content_topic: str, words: str) -> None:
    notification = said(contenttopic=content_topic) if content_topic else said()
    assert why(asked, notification) == (False, words)


@pytest.mark.parametrize("content_topic", ["weather:New*/20..30/*", "weather:Boston,MA/9/* || weather:*/30/*"])
def test_a_span_that_meets_a_box_is_told(content_topic: str) -> None:
    assert why(HOT, said(contenttopic=content_topic)) == (True, "all of these hold")


def xpath(text: str, **more: Any) -> Content:
    return Content("xpath", text, **more)


@pytest.mark.parametrize(
    ("asked", "wanted", "words"),
    [
        (xpath("/Alert/severity = 'Severe'"), False, "/Alert/severity is 'Minor', not 'Severe'"),
        (xpath("/Alert/severity = 'Minor'"), True, "/Alert/severity is 'Minor'"),
        (xpath("/Alert/area = 'C'"), False, "/Alert/area is 'A', 'B', never 'C'"),
        (xpath("/Alert/area/@n = '3'"), False, "/Alert/area/@n is '1', '2', never '3'"),
        (xpath("/Alert/level > 25"), False, "/Alert/level is '12', which is not > 25"),
        (xpath("/Alert/severity > 25"), False, "/Alert/severity is 'Minor', which cannot be compared with 25"),
        (xpath("/Alert/level != '12'"), False, "/Alert/level is '12', and nothing else"),
        (xpath("/Alert/event = 'flood'"), False, "nothing stands at /Alert/event"),
        (xpath("/c:Alert/c:event = 'x'", namespaces=(("c", "urn:c"),)), False, "nothing stands at /c:Alert/c:event"),
        (
            xpath("/Alert/severity = 'Minor' and /Alert/level > 25"),
            False,
            "/Alert/level > 25: /Alert/level is '12', which is not > 25",
        ),
        (xpath("/Alert/severity = 'Severe' or /Alert/x = '1'"), False, "none of these holds"),
        (xpath("not(/Alert/severity = 'Minor')"), False, "it is so: /Alert/severity is 'Minor'"),
        (xpath("count(//area) + 1 > 2"), False, "it does not hold of the payload"),
        (xpath("count(//area) > string-length('?')"), None, "it could not be evaluated: it takes too long"),
        (xpath("/p/price < 2", over="producer"), False, "it names no producer"),
        (Content("jsonpath", "$.level"), False, "the payload is application/xml, and this is asked of JSON"),
    ],
)
def test_the_comparison_that_decides(asked: Content, wanted: bool | None, words: str) -> None:
    assert why(asked, said()) == (wanted, words)


@pytest.mark.parametrize(
    ("expression", "wanted", "words"),
    [
        ("$.level > 20", False, "$.level is 12, which is not > 20"),
        ("$.name == 'b'", False, "$.name is 'a', not 'b'"),
        ("$.areas == 1", False, "$.areas is an object or an array, not 1"),
        ("$.name > 3", False, "$.name is 'a', which cannot be compared with 3"),
        ("$.none == null", True, "$.none is null"),
        ("$.gone", False, "nothing stands at $.gone"),
    ],
)
def test_json_is_looked_at_in_its_own_way(expression: str, wanted: bool, words: str) -> None:
    notification = said(data=DATA, media_type="application/json")
    assert why(Content("jsonpath", expression), notification) == (wanted, words)


@pytest.mark.parametrize(
    ("expression", "wanted", "words"),
    [
        ("ext = 'a'", False, "ext is 'ab', not 'a'"),
        ("num > 3", False, "num is '2', which is not > 3"),
        ("EXISTS gone", False, "it has no attribute gone"),
        ("ext LIKE 'b%'", False, "ext is 'ab'"),
        ("ext LIKE 'a%' AND LENGTH(ext) > 3", False, "LENGTH(ext) > 3: ext is 'ab'"),
        ("gone LIKE 'a%'", False, "it fails: there is no attribute 'gone'"),
    ],
)
def test_attributes_are_told_where_they_are_computed_with(expression: str, wanted: bool, words: str) -> None:
    assert why(Content("cesql", expression, "attributes"), said(ext="ab", num="2")) == (wanted, words)


def test_a_payload_of_another_kind_does_not_apply_and_its_negation_holds() -> None:
    asked = xpath("/Alert/severity = 'Minor'")
    plain = said(data=b"{}", media_type="application/json")
    (part,) = explain(subscribed(asked), plain, KNOWN).parts
    assert part.verdict == "does not apply" and "application/json" in part.why
    assert explain(subscribed(Not(asked)), plain, KNOWN).wanted
    broken = said(data=b"<Alert", media_type="text/xml")
    assert why(asked, broken) == (False, "the payload is text/xml, but cannot be read as XML")


@pytest.mark.parametrize(
    ("subscription", "notification", "because"),
    [
        (subscribed(state="paused"), said(), "an active subscription: the subscription was paused then"),
        (
            subscribed(state="suspended", reason="its filter fails"),
            said(),
            "an active subscription: the subscription was suspended then: its filter fails",
        ),
        (subscribed(since=6), said(), "from record 6 on: it began after this, which is record 5"),
        (
            subscribed(expires=Instant(100)),
            said(),
            "until 1970-01-01T00:00:00.0000001Z: the subscription had expired,"
            " and this was accepted at 1970-01-01T00:00:00.0000001Z",
        ),
        (subscribed(), said(addressee="CARE"), "what is for everybody: it is for the service of CARE alone"),
    ],
)
def test_the_frame_decides_before_any_filter(
    subscription: Subscription, notification: Notification, because: str
) -> None:
    found = explain(subscription, notification, KNOWN)
    assert (found.wanted, found.because) == (False, because)
    assert found.parts[0].decides


def test_only_the_part_that_decides_is_marked() -> None:
    no, yes = AttributeIs("ext", "exact", "b"), AttributeIs("ext", "exact", "a")
    unclear = xpath("count(//area) > string-length('?')")
    found = explain(subscribed(yes, unclear, AllOf((yes, no)), no), said(ext="a"), KNOWN, Half())
    assert found.wanted is False
    assert [each.decides for each in found.parts] == [False, False, True, False]
    assert [each.decides for each in found.parts[2].parts] == [False, True]
    assert found.because == f"{filter_text(AllOf((yes, no)))}: ext exact 'b': ext is 'a'"
    failed = explain(subscribed(yes, unclear), said(ext="a"), KNOWN, Half())
    assert failed.wanted is None and failed.because.endswith("it could not be evaluated: it takes too long")
    both = explain(subscribed(yes, AnyOf((no, yes))), said(ext="a"), KNOWN)
    assert both.wanted and both.because == "all of its 2 filters hold"
    assert [each.decides for each in both.parts[1].parts] == [False, True]


TOPICS = st.lists(st.sampled_from("ab"), min_size=1, max_size=3).map("/".join)
EXPRESSIONS = st.sampled_from(["a", "a/b", "a//.", "*", "//b", "a|b", "b/*", "a/b//a"])
CONTENT = st.builds(
    Content,
    st.just("xpath"),
    st.sampled_from(
        [
            "/Alert/severity = 'Minor'",
            "/Alert/level > 25",
            "/Alert/level != 12 or /Alert/area/@n = 2",
            "not(/Alert/none) and //area = 'B'",
            "/p/price < 5",
            "count(//area) = 2",
            "count(//area) > string-length('?')",
        ]
    ),
    st.sampled_from(["payload", "envelope", "producer"]),
) | st.builds(
    Content,
    st.sampled_from(["jsonpath"]),
    st.sampled_from(
        ["$.level", "$.level > 20 || $.none == null", "$.name == 'a' && !$.gone", "$[?@.level > 20]", "$.x[0:2]"]
    ),
)
CESQL = st.builds(
    Content,
    st.just("cesql"),
    st.sampled_from(["ext = 'a'", "ext = '1' OR EXISTS subject", "NOT (ext != 'b')", "ext LIKE 'a%' AND num > 3"]),
    st.just("attributes"),
)
BOXES = st.builds(
    lambda *sides: InBox("weather", sides),
    st.sampled_from([WHOLE, Like("A"), OneOf(("A", "B"))]),
    st.sampled_from([WHOLE, Interval(25.0, low_open=True), Interval(0.0, 30.0), Interval(5.0, 5.0)]),
    st.sampled_from([WHOLE, Interval(high=1e9, high_open=True)]),
) | st.just(InBox("none", ()))
PLAIN = st.one_of(
    EXPRESSIONS.map(lambda text: parse_topic_expression(text, "full", {})),
    st.lists(st.sampled_from(["{urn:t}Alert", "{urn:t}Flood", "y"]), min_size=1).map(
        lambda names: TypeIs(tuple(names))
    ),
    st.sampled_from([ProducerIs(("http://p/",)), ProducerIs((), ("Science",)), ProducerIs(("x",), ("x",))]),
    st.builds(AttributeIs, st.just("ext"), st.sampled_from(["exact", "prefix", "suffix"]), st.sampled_from(["a", "b"])),
    st.sampled_from([ActionIs(("urn:t/Flood",)), ActionIs(("y",)), ForNotifier("CARE")]),
)
LEAVES: "st.SearchStrategy[Filter]" = st.one_of(PLAIN, CONTENT, CESQL, BOXES)
FILTERS: "st.SearchStrategy[Filter]" = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(Not, inner)
        | st.lists(inner, max_size=3).map(lambda filters: AllOf(tuple(filters)))
        | st.lists(inner, max_size=3).map(lambda filters: AnyOf(tuple(filters)))
    ),
    max_leaves=6,
)
SUBSCRIPTIONS = st.builds(
    lambda filters, since, expires, state: subscribed(*filters, since=since, expires=expires, state=state),
    st.lists(FILTERS, max_size=3),
    st.sampled_from([0, 0, 0, 5, 6]),
    st.sampled_from([None, None, Instant(100), Instant(101)]),
    st.sampled_from(["active", "active", "active", "paused", "suspended"]),
)
NOTIFICATIONS = st.builds(
    lambda on, payload, kind, producer, addressee, attributes: said(
        on, *payload, kind=kind, producer=producer, addressee=addressee, **attributes
    ),
    TOPICS,
    st.sampled_from(
        [(ALERT, "application/xml"), (DATA, "application/json"), (b"<x", "text/xml"), (b"x", "text/plain")]
    ),
    st.sampled_from([None, FLOOD, "y"]),
    st.sampled_from(["", "http://p/", "http://plain/", "http://x/"]),
    st.sampled_from(["", "", "", "CARE"]),
    st.fixed_dictionaries(
        {},
        optional={
            "ext": st.sampled_from(["a", "b", "ab", "1"]),
            "num": st.sampled_from(["2", "4", "x"]),
            "contenttopic": st.sampled_from(
                ["weather:A/5/2001-01-01T00:00:00Z", "weather:B/26/2030-01-01T00:00:00Z", "weather:A", "other:1"]
            ),
        },
    ),
)


def leaves(parts: tuple[Part, ...]) -> list[Part]:
    return [leaf for part in parts for leaf in (leaves(part.parts) if part.parts else [part])]


@given(SUBSCRIPTIONS, NOTIFICATIONS)
@settings(max_examples=examples(500), deadline=None)
def test_the_explanation_says_what_the_oracle_says(subscription: Subscription, notification: Notification) -> None:
    wanted: bool | None
    try:
        wanted = matches(subscription, notification, KNOWN, Half(), "http://b")
    except Undecided:
        wanted = None
    found = explain(subscription, notification, KNOWN, Half(), "http://b")
    assert found.wanted is wanted
    assert sum(each.decides for each in found.parts) == (0 if wanted else 1)
    assert found.because and all(each.what and each.why for each in leaves(found.parts))


@given(SUBSCRIPTIONS, NOTIFICATIONS, st.integers(1, 4))
@settings(max_examples=examples(300), deadline=None)
def test_little_room_changes_no_verdict_and_no_reason(
    subscription: Subscription, notification: Notification, room: int
) -> None:
    whole = explain(subscription, notification, KNOWN, Half(), "http://b")
    found = explain(subscription, notification, KNOWN, Half(), "http://b", room)
    assert (found.wanted, found.because) == (whole.wanted, whole.because)
    assert told(found.parts) <= room + 1  # the one that decides has a place
    assert len(found.parts) + found.more == len(whole.parts)
    assert sum(each.decides for each in found.parts) == sum(each.decides for each in whole.parts)


def told(parts: tuple[Part, ...]) -> int:
    return sum(1 + told(each.parts) for each in parts)


def test_times_are_told_as_such_where_their_space_is_known() -> None:
    box = InBox("weather", (WHOLE, WHOLE, Interval(high=1e9, high_open=True)))
    shown = "content topic weather:*/*/<2001-09-09T01:46:40Z"
    assert filter_text(box) == "content topic weather:*/*/<1000000000"
    assert filter_text(AnyOf((Not(box), AllOf((box,)))), KNOWN.spaces) == f"any (not {shown}, all ({shown}))"
    assert filter_text(as_said(subscribed(box), KNOWN).filters[0]) == shown
    assert filter_text(InBox("weather", (WHOLE,)), KNOWN.spaces) == "content topic weather:*"  # as it once was
    (part,) = explain(subscribed(Not(box)), said(), KNOWN).parts
    assert part.what == f"not {shown}"


def test_of_many_comparisons_some_are_told() -> None:
    level = " or ".join(f"level = {number}" for number in (*range(100, 300), 12))
    found = explain(subscribed(*(Content("xpath", f"{level} or x{n}") for n in range(250))), said(), KNOWN)
    assert (found.wanted, found.because) == (True, "all of its 250 filters hold")
    assert (len(found.parts), found.more, told(found.parts)) == (MOST_PARTS, 50, MOST_PARTS)
    assert (found.parts[0].why, found.parts[0].more) == ("level = 12: level is '12'", 202)
    (only,) = explain(subscribed(Content("xpath", level)), said(), KNOWN).parts
    assert (len(only.parts), only.more) == (MOST_PARTS, 1) and only.parts[-1].why == "level is '12'"
    assert [each.decides for each in only.parts[-2:]] == [False, True]
