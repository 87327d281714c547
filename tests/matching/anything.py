"""Random filters of every kind, and notifications that some of them want."""

from hypothesis import strategies as st

from tocsin.matching.catalogue import Catalogue
from tocsin.matching.judge import Undecided
from tocsin.model.content_topic import CONTENT_TOPIC, parse_box
from tocsin.model.declarations import Hierarchy, Producer
from tocsin.model.filters import (
    ActionIs,
    AllOf,
    AnyOf,
    AttributeIs,
    Content,
    Filter,
    Language,
    Not,
    Over,
    ProducerIs,
    TypeIs,
)
from tocsin.model.identity import Instant, MessageId, Node, SubscriptionId
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.space import Dimension, InformationSpace
from tocsin.model.subscription import Endpoint, Form, Position, Subscription
from tocsin.model.topics import parse_topic_expression

SPACE = InformationSpace(
    "weather",
    (
        Dimension("place", "string"),
        Dimension("degrees", "number", -50, 60),
        Dimension("sky", "enumeration", values=("clear", "rain", "snow")),
    ),
)
DECLARED = (
    SPACE,
    Hierarchy("types", (("{urn:a}flood", ("{urn:a}alert",)), ("org.quake", ("{urn:a}alert", "org.event")))),
    Hierarchy("categories", (("hospital", ("health",)), ("clinic", ("hospital",)))),
    Producer("http://p/1", ("clinic",), b"<p><beds>12</beds></p>"),
    Producer("http://p/2", ("police",), b"<p><beds>0</beds></p>"),
)
SOAP = "http://www.w3.org/2003/05/soap-envelope"
NAMESPACES = (("a", "urn:a"), ("s", SOAP))


def known() -> Catalogue:
    return Catalogue(DECLARED)


class Contains:
    """Judges by looking for what stands in quotes; an expression that says so fails."""

    def begin(self) -> None:
        """Nobody waits."""

    def written(self, size: int) -> None:
        """Nor here."""

    def judge(self, asked: Content, document: bytes) -> bool:
        if "fail" in asked.text:
            raise Undecided("told to")
        return asked.text.split("'")[1].encode() in document


def xpath(text: str, over: Over = "payload") -> Content:
    return Content("xpath", text, over, NAMESPACES)


def content(language: Language, text: str) -> Content:
    return Content(language, text, "attributes" if language == "cesql" else "payload")


TOPICS = ["a", "a/b", "a//.", "*", "//b", "a|b", "b/*"]
XPATHS = [
    "/a:alert/level > 3",
    "/a:alert/level >= 3 and /a:alert/level <= 4",
    "/a:alert/@kind = 'flood'",
    "//level = 3 or //level = '4'",
    "//level != 3",
    "level < 3",
    "@kind != 'flood'",
    "a:alert",
    "/a:alert",
    "not(/a:alert/level)",
    "//item[@name='x']/@value = 'y'",
    "/a:alert/level = '3' and (//item or //level > 4)",
    "true()",
    "//level or true()",
    "//level > 1" + "0" * 400,
    "//level >= -1" + "0" * 400 + " and /a:alert/@kind = 'flood'",
    "//level != 1" + "0" * 400,
    "contains(., 'flood')",
    "starts-with('fail', 'f')",
]
ENVELOPES = [
    "/s:Envelope/s:Body/a:alert/level > 3",
    "/s:Envelope/s:Body/a:alert/@kind = 'flood' or //level = 3",
    "//level = 3",
]
JSONS = [
    "$[0] == 1",
    "$[-1] > 0 && !$[1]",
    "$.deep.list[1] == true",
    "$.deep.list[-2] <= 3",
    "$.deep",
    "$.deep.list == null",
    "$.level > 3",
    "$.kind == 'flood'",
    "$.kind != 'flood'",
    "!$.level",
    "$.level <= 3 && $.kind == 'flood'",
]
SQLS = [
    "flag != TRUE",
    "NOT (flag = TRUE)",
    "flag = FALSE OR priority != 3",
    "TRUE < flag",
    "4 >= priority",
    "priority = 3 OR EXISTS flag",
    "type = 'org.quake'",
    "EXISTS subject",
    "priority > 3",
    "source LIKE 'http%' AND NOT priority = 4",
]
BOXES = ["weather:*/>3/*", "weather:*,NJ/*/rain|snow", "weather:Pisc*/0..10/*", "weather:X/*/clear", "weather:*/<=3/*"]
LEAVES: st.SearchStrategy[Filter] = st.one_of(
    st.sampled_from(TOPICS).map(lambda text: parse_topic_expression(text, "full", {})),
    st.sampled_from(XPATHS).map(xpath),
    st.sampled_from(ENVELOPES).map(lambda text: xpath(text, "envelope")),
    st.sampled_from(["/p/beds > 3", "//beds = 0"]).map(lambda text: xpath(text, "producer")),
    st.sampled_from(JSONS).map(lambda text: content("jsonpath", text)),
    st.sampled_from(SQLS).map(lambda text: content("cesql", text)),
    st.sampled_from(BOXES).map(lambda text: parse_box(text, SPACE)),
    st.sampled_from([("{urn:a}alert",), ("org.event",), ("{urn:a}flood", "org.quake")]).map(TypeIs),
    st.sampled_from([ProducerIs(("http://p/1",)), ProducerIs((), ("health",)), ProducerIs(("x",), ("police",))]),
    st.sampled_from([AttributeIs("type", "exact", "org.quake"), AttributeIs("source", "prefix", "http")]),
    st.just(ActionIs(("urn:a",))),
)
FILTERS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda some: AllOf(tuple(some))),
        st.lists(inner, max_size=3).map(lambda some: AnyOf(tuple(some))),
        inner.map(Not),
    ),
    max_leaves=6,
)
FORMS = st.sampled_from([Form("wse-2004-08", "1.2", "2004/08", wrapped=False), Form("wsn-1.3", "1.2", "2005/08")])
SUBSCRIPTIONS = st.builds(
    Subscription,
    id=st.sampled_from("pqrstuvw").map(SubscriptionId),
    owner=st.none(),
    consumer=st.just(Endpoint("http://c/")),
    end_to=st.none(),
    form=FORMS,
    filters=st.lists(FILTERS, min_size=1, max_size=3).map(tuple),
    since=st.integers(0, 3).map(lambda offset: Position(Node("n"), offset)),
    expires=st.none() | st.integers(90, 110).map(Instant),
    state=st.sampled_from(["active", "active", "active", "paused", "ended"]),
)
LEVELS = st.lists(st.sampled_from(["3", "4", " 5 ", "2.0", "NaN", "", "9" * 400, "-" + "9" * 400]), max_size=2)
XML = st.builds(
    lambda levels, kind, item: (
        f'<a:alert xmlns:a="urn:a"{kind}>{"".join(f"<level>{each}</level>" for each in levels)}{item}</a:alert>'
    ),
    LEVELS,
    st.sampled_from(["", ' kind="flood"', ' kind="fire"']),
    st.sampled_from(["", '<item name="x" value="y"/>', '<list><item name="x"/><level>3</level></list>']),
)
JSON = st.sampled_from(
    [
        '{"deep": {"list": [3, true]}}',
        '{"deep": {"list": [], "level": 4}, "level": 1' + "0" * 400 + "}",
        '{"deep": null, "level": true}',
        '{"level": 3, "kind": "flood"}',
        '{"level": 4.5}',
        '{"kind": null}',
        '{"level": "4"}',
        "[1]",
    ]
)
PAYLOADS = XML.map(lambda text: Payload("application/xml", text.encode())) | JSON.map(
    lambda text: Payload("application/json", text.encode())
)
CONTENT_TOPICS = [
    "",
    "weather:Piscataway,NJ/3/rain",
    "weather:X/12/clear",
    "other:1",
    "weather:*,NY/<0/*",
    "weather:P*/10..30/rain",
    "weather:*/*/clear",
    "weather:X/3/rain || weather:Piscataway,NJ/5..9/snow || other:1",
]
NOTIFICATIONS = st.builds(
    lambda topic, payload, kind, producer, point, priority, flag, dialect: Notification(
        MessageId("m"),
        Position(Node("n"), 2),
        0,
        Instant(100),
        dialect,
        "",
        producer,
        Topic(tuple(QName("", each) for each in topic)),
        kind,
        tuple(pair for pair in ((CONTENT_TOPIC, point), ("priority", priority), ("flag", flag)) if pair[1]),
        payload,
    ),
    st.lists(st.sampled_from("ab"), min_size=1, max_size=3),
    PAYLOADS,
    st.sampled_from([None, QName("urn:a", "flood"), "org.quake", "other"]),
    st.sampled_from(["http://p/1", "http://p/2", "urn:x"]),
    st.sampled_from(CONTENT_TOPICS),
    st.sampled_from(["", "3", "4", "5", "x"]),
    st.sampled_from(["", "true", "TRUE", "false", "3", "x"]),
    st.sampled_from(["raw", "cloudevents"]),
)
