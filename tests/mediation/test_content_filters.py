"""Every filter that a SOAP dialect can say, and the fault for each that is wrong."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.mediation.requests import NOW, envelope
from tests.mediation.test_wsn_1_3 import CONSUMER

from tocsin.markup import xml
from tocsin.mediation import dialects
from tocsin.mediation.ce import filters as ce_filters
from tocsin.mediation.dialects import fault, hear
from tocsin.mediation.expressions import BoxAsSaid
from tocsin.mediation.operations import Subscribe
from tocsin.mediation.soap.namespaces import (
    ONVIF_CONCRETE_SET,
    ONVIF_EVENTS,
    ONVIF_ITEM_FILTER,
    POLICY,
    SOAP_12,
    WSE,
    WSE_2011,
    WSN,
    WSN_1_0,
    WSN_1_2,
    XPATH_10,
)
from tocsin.mediation.ws.properties import subscription_properties
from tocsin.model.filters import (
    ActionIs,
    AllOf,
    AnyOf,
    AttributeIs,
    Content,
    Filter,
    Graph,
    InBox,
    Not,
    ProducerIs,
    TypeIs,
)
from tocsin.model.identity import Node, SubscriptionId
from tocsin.model.names import QName
from tocsin.model.refusal import Refusal
from tocsin.model.space import Interval, Like, OneOf
from tocsin.model.subscription import Form, Position, Subscription
from tocsin.model.topics import parse_topic_expression

OURS = "urn:tocsin:dialect:"
X = (("x", "urn:x"),)
SCHEMA = "http://www.onvif.org/ver10/schema"
COMBINED = "http://docs.oasis-open.org/wsn"
ITEM = 'boolean(//tt:SimpleItem[@Name="IsMotion" and @Value="true"])'


def element(name: str, text: str, dialect: str = "", prefix: str = "wsnt") -> str:
    said = f' Dialect="{dialect}"' if dialect else ""
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    return f'<{prefix}:{name}{said} xmlns:tt="{SCHEMA}">{escaped}</{prefix}:{name}>'


def heard(content: str, *more: str) -> tuple[Filter, ...]:
    declared = " ".join(('xmlns:x="urn:x"', *more))
    request = hear(dialects.open_in_full(envelope(content.replace(">", f" {declared}>", 1))), "", NOW).request
    assert isinstance(request, Subscribe)
    return request.filters


def wsn(*inside: str) -> tuple[Filter, ...]:
    return heard(f"<wsnt:Subscribe>{CONSUMER}<wsnt:Filter>{''.join(inside)}</wsnt:Filter></wsnt:Subscribe>")


def wse(text: str, dialect: str = "", namespace: str = WSE) -> tuple[Filter, ...]:
    said = f' Dialect="{dialect}"' if dialect else ""
    delivery = "<e:Delivery><e:NotifyTo><wsa:Address>http://c/</wsa:Address></e:NotifyTo></e:Delivery>"
    return heard(f"<e:Subscribe>{delivery}<e:Filter{said}>{text}</e:Filter></e:Subscribe>", f'xmlns:e="{namespace}"')


TOPICS = parse_topic_expression("x:a|x:b//.", "concrete-set", dict(X))
CONTENT: list[tuple[str, str, str, Filter]] = [
    ("MessageContent", "x:a/b = 1", XPATH_10, Content("xpath", "x:a/b = 1", "payload", X)),
    ("MessageContent", " a < 2 and b ", "", Content("xpath", "a < 2 and b")),
    (
        "MessageContent",
        "count(//x:a) = 'x:y z:z'",
        XPATH_10,
        Content("xpath", "count(//x:a) = 'x:y z:z'", "payload", X),
    ),
    ("MessageContent", ITEM, ONVIF_ITEM_FILTER, Content("items", ITEM, "payload", (("tt", SCHEMA),))),
    ("MessageContent", "$.a.b > 1", f"{OURS}jsonpath", Content("jsonpath", "$.a.b > 1")),
    ("MessageContent", "source LIKE 'a%'", f"{OURS}cesql", Content("cesql", "source LIKE 'a%'", "attributes")),
    (
        "MessageContent",
        "(_:H, ?1, (x:A, p, x:B))",
        f"{OURS}graph-pattern",
        Graph("pattern", "(_:H, ?1, (x:A, p, x:B))", X),
    ),
    ("MessageContent", "ASK { ?s <urn:p> 1 }", f"{OURS}sparql", Graph("sparql", "ASK { ?s <urn:p> 1 }")),
    ("MessageContent", "ASK { ?s x:p 1 }", f"{OURS}sparql-plain", Graph("sparql", "ASK { ?s x:p 1 }", X, plain=True)),
    ("ProducerProperties", "x:p = 'z'", XPATH_10, Content("xpath", "x:p = 'z'", "producer", X)),
    ("ProducerProperties", "ASK { ?s ?p 1 }", f"{OURS}sparql", Content("sparql", "ASK { ?s ?p 1 }", "producer")),
    ("ProducerProperties", "http://p/%20 category:a", f"{OURS}producer", ProducerIs(("http://p/%20",), ("a",))),
    ("ProducerProperties", "category:fire%20department", f"{OURS}producer", ProducerIs((), ("fire department",))),
    ("TopicExpression", "x:a|x:b//.", ONVIF_CONCRETE_SET, TOPICS),
    ("TopicExpression", "w:*,NJ/>25", f"{OURS}content-topic", BoxAsSaid("w", (), "w:*,NJ/>25")),
    ("TopicExpression", "x:A {urn:y}B com.e.c x:A", f"{OURS}type", TypeIs(("{urn:x}A", "{urn:y}B", "com.e.c"))),
]


@pytest.mark.parametrize(("name", "text", "dialect", "asked"), CONTENT)
def test_wsn_1_3_s4_2_filters(name: str, text: str, dialect: str, asked: Filter) -> None:
    assert wsn(element(name, text, dialect)) == (asked,)


def test_filters_are_a_conjunction() -> None:
    assert wsn(*(element(name, text, dialect) for name, text, dialect, _ in CONTENT)) == tuple(
        row[3] for row in CONTENT
    )


@pytest.mark.parametrize("namespace", [WSN_1_0, WSN_1_2])
def test_the_drafts_have_selector_and_precondition(namespace: str) -> None:
    inside = f"""<n:ConsumerReference><wsa:Address>http://c/</wsa:Address></n:ConsumerReference>
        <n:TopicExpression Dialect="{OURS}content-topic">w:*</n:TopicExpression>
        <n:Precondition>x:p</n:Precondition><n:Selector Dialect="{XPATH_10}">a = 1</n:Selector>"""
    assert heard(f"<n:Subscribe>{inside}</n:Subscribe>", f'xmlns:n="{namespace}"') == (
        BoxAsSaid("w", (), "w:*"),
        Content("xpath", "a = 1"),
        Content("xpath", "x:p", "producer", X),
    )


@pytest.mark.parametrize(
    ("text", "dialect", "asked"),
    [
        ("//x:a = 1", "", Content("xpath", "//x:a = 1", "envelope", X)),
        ("//a", XPATH_10, Content("xpath", "//a", "envelope")),
        ("$.a", f"{OURS}jsonpath", Content("jsonpath", "$.a")),
        ("type = 'a'", f"{OURS}cesql", Content("cesql", "type = 'a'", "attributes")),
        ("w:*/&lt;50", f"{OURS}content-topic", BoxAsSaid("w", (), "w:*/<50")),
        ("x:A", f"{OURS}type", TypeIs(("{urn:x}A",))),
        ("category:a", f"{OURS}producer", ProducerIs((), ("a",))),
    ],
)
@pytest.mark.parametrize("namespace", [WSE, WSE_2011])
def test_ws_eventing(text: str, dialect: str, asked: Filter, namespace: str) -> None:
    assert wse(text, dialect, namespace) == (asked,)


def test_ws_eventing_2011_has_a_name_of_its_own_for_xpath() -> None:
    assert wse("//a", f"{WSE_2011}/Dialects/XPath10", WSE_2011) == (Content("xpath", "//a", "envelope"),)


def test_ws_messengers_filter_is_a_conjunction_over_the_payload() -> None:
    inside = element("TopicExpression", "x:a") + element("MessageContent", "b = 1")
    assert wse(inside, COMBINED) == (
        parse_topic_expression("x:a", "concrete", {"x": "urn:x"}),
        Content("xpath", "b = 1"),
    )


def test_onvif_creates_a_pull_point_with_an_item_filter() -> None:
    inside = f"<e:Filter>{element('MessageContent', ITEM, ONVIF_ITEM_FILTER)}</e:Filter>"
    content = f"<e:CreatePullPointSubscription>{inside}</e:CreatePullPointSubscription>"
    assert heard(content, f'xmlns:e="{ONVIF_EVENTS}"') == (Content("items", ITEM, "payload", (("tt", SCHEMA),)),)


def subcode(content: str, *more: str) -> tuple[str, str]:
    opened = dialects.open_in_full(envelope(content.replace(">", f" {' '.join(more)}>", 1)))
    with pytest.raises(Refusal) as caught:
        hear(opened, "", NOW)
    found = xml.parse(fault(opened.context(dialects.dialect_of(opened)), caught.value, NOW).body)
    values = found.findall(f".//{{{SOAP_12}}}Value")
    return str(values[-1].text).rpartition(":")[2], caught.value.text


@pytest.mark.parametrize(
    ("name", "text", "dialect", "expected", "word"),
    [
        ("MessageContent", "a =", XPATH_10, "InvalidMessageContentExpressionFault", "position 3"),
        ("MessageContent", "", XPATH_10, "InvalidMessageContentExpressionFault", "position 0"),
        ("MessageContent", "b/y:a = 1", XPATH_10, "InvalidMessageContentExpressionFault", "position 2: the prefix 'y'"),
        ("MessageContent", "a" * 5000, XPATH_10, "InvalidMessageContentExpressionFault", "position 4096"),
        ("MessageContent", "boolean(//x)", ONVIF_ITEM_FILTER, "InvalidMessageContentExpressionFault", "position 10"),
        ("MessageContent", "$.a[", f"{OURS}jsonpath", "InvalidMessageContentExpressionFault", "position 4"),
        ("MessageContent", "a = ", f"{OURS}cesql", "InvalidMessageContentExpressionFault", "position 3"),
        ("MessageContent", "a", f"{OURS}sql", "InvalidMessageContentExpressionFault", "known are"),
        ("MessageContent", " ", f"{OURS}sparql", "InvalidMessageContentExpressionFault", "1 to 16,384 characters"),
        ("ProducerProperties", "a[", "", "InvalidProducerPropertiesExpressionFault", "position 2"),
        ("ProducerProperties", "ASK {", f"{OURS}sparql", "InvalidProducerPropertiesExpressionFault", "position 5"),
        ("ProducerProperties", " ", f"{OURS}producer", "InvalidProducerPropertiesExpressionFault", "no producer"),
        ("ProducerProperties", "category:", f"{OURS}producer", "InvalidProducerPropertiesExpressionFault", "no name"),
        ("ProducerProperties", "$.a", f"{OURS}jsonpath", "InvalidProducerPropertiesExpressionFault", "not known"),
        ("TopicExpression", "weather", f"{OURS}content-topic", "InvalidTopicExpressionFault", "NAME:side/side"),
        ("TopicExpression", "y:A", f"{OURS}type", "InvalidTopicExpressionFault", "the prefix 'y'"),
        ("TopicExpression", "{urn:y}", f"{OURS}type", "InvalidTopicExpressionFault", "not a name"),
        ("TopicExpression", "a", f"{OURS}graph", "TopicExpressionDialectUnknownFault", "graph"),
        ("Other", "a", "", "InvalidFilterFault", "MessageContent and ProducerProperties are"),
        ("ProducerProperties", "category:%ff", f"{OURS}producer", "InvalidProducerPropertiesExpressionFault", "UTF-8"),
    ],
)
def test_the_fault_that_wsn_has_for_it(name: str, text: str, dialect: str, expected: str, word: str) -> None:
    inside = f"<wsnt:Filter>{element(name, text, dialect)}</wsnt:Filter>"
    found, told = subcode(f"<wsnt:Subscribe>{CONSUMER}{inside}</wsnt:Subscribe>")
    assert found == expected and word in told


@pytest.mark.parametrize(
    ("name", "dialect", "expected"),
    [
        ("TopicExpression", "", "InvalidTopicExpressionFault"),
        ("TopicExpression", f"{OURS}content-topic", "InvalidTopicExpressionFault"),
        ("TopicExpression", f"{OURS}type", "InvalidTopicExpressionFault"),
        ("MessageContent", XPATH_10, "InvalidMessageContentExpressionFault"),
        ("MessageContent", f"{OURS}jsonpath", "InvalidMessageContentExpressionFault"),
        ("ProducerProperties", f"{OURS}producer", "InvalidProducerPropertiesExpressionFault"),
        ("ProducerProperties", "", "InvalidProducerPropertiesExpressionFault"),
    ],
)
def test_an_expression_is_text_alone(name: str, dialect: str, expected: str) -> None:
    said = f' Dialect="{dialect}"' if dialect else ""
    inside = f"<wsnt:{name}{said}>a<b/></wsnt:{name}>"
    found, told = subcode(f"<wsnt:Subscribe>{CONSUMER}<wsnt:Filter>{inside}</wsnt:Filter></wsnt:Subscribe>")
    assert found == expected and "the element b cannot be" in told


def test_comments_in_an_expression_are_passed_over() -> None:
    assert wsn("<wsnt:MessageContent>a <!-- b -->= 1</wsnt:MessageContent>") == (Content("xpath", "a = 1"),)
    topic = parse_topic_expression("ab", "concrete", {})
    assert wsn("<wsnt:TopicExpression>a<!-- c -->b</wsnt:TopicExpression>") == (topic,)


@pytest.mark.parametrize("stray", ["//a {}", "{} a", "{0} a {0}"])
def test_text_beside_filters_is_no_filter(stray: str) -> None:
    inside = f"<wsnt:Filter>{stray.format(element('MessageContent', 'a'))}</wsnt:Filter>"
    found, told = subcode(f"<wsnt:Subscribe>{CONSUMER}{inside}</wsnt:Subscribe>")
    assert found == "InvalidFilterFault" and "text beside the filters" in told


@pytest.mark.parametrize(
    ("inside", "words"),
    [
        ([element("MessageContent", "a=" + "1" * 4000)] * 5, "16,384 characters together"),
        ([element("ProducerProperties", "u" * 3000, f"{OURS}producer")] * 6, "16,384 characters together"),
        ([element("MessageContent", "a")] * 257, "more than 256 filters"),
    ],
)
def test_all_of_a_subscription_is_bounded_before_it_is_read(inside: list[str], words: str) -> None:
    found, told = subcode(f"<wsnt:Subscribe>{CONSUMER}<wsnt:Filter>{''.join(inside)}</wsnt:Filter></wsnt:Subscribe>")
    assert found == "InvalidFilterFault" and words in told


@pytest.mark.parametrize(
    ("text", "dialect", "expected", "of_2011"),
    [
        ("/*[", "", "FilteringRequestedUnavailable", "CannotProcessFilter"),
        ("$.", f"{OURS}jsonpath", "FilteringRequestedUnavailable", "CannotProcessFilter"),
        ("w", f"{OURS}content-topic", "FilteringRequestedUnavailable", "CannotProcessFilter"),
        ("//a<b/>", "", "FilteringRequestedUnavailable", "CannotProcessFilter"),
        ("x:A<b/>", f"{OURS}type", "FilteringRequestedUnavailable", "CannotProcessFilter"),
        ("", COMBINED, "FilteringRequestedUnavailable", "CannotProcessFilter"),
        ("<!-- a -->", COMBINED, "FilteringRequestedUnavailable", "CannotProcessFilter"),
        ("/*", f"{WSE_2011}/Dialects/XPath20", "FilteringRequestedUnavailable", "FilteringRequestedUnavailable"),
    ],
)
def test_the_fault_that_ws_eventing_has_for_it(text: str, dialect: str, expected: str, of_2011: str) -> None:
    for namespace, fault_name in ((WSE, expected), (WSE_2011, of_2011)):
        said = f' Dialect="{dialect}"' if dialect else ""
        to = "<e:Delivery><e:NotifyTo><wsa:Address>http://c/</wsa:Address></e:NotifyTo></e:Delivery>"
        content = f"<e:Subscribe>{to}<e:Filter{said}>{text}</e:Filter></e:Subscribe>"
        assert subcode(content, f'xmlns:e="{namespace}"')[0] == fault_name


def told(*filters: Filter) -> tuple[Filter, ...]:
    """What the property Filter says, read again."""
    subscription = Subscription(
        SubscriptionId("s"), None, None, None, Form("wsn-1.3"), filters, Position(Node("n"), 0), None
    )
    (found,) = subscription_properties(subscription, [QName(WSN, "Filter")], NOW)
    return wsn(*(xml.serialise(each).decode() for each in xml.parse(found)))


def test_the_property_says_what_was_said() -> None:
    asked: list[Filter] = [row[3] for row in CONTENT]
    assert told(*asked) == tuple(asked)
    assert told(AllOf(tuple(asked[:2])), asked[2]) == tuple(asked[:3])


@pytest.mark.parametrize(
    "asked",
    [
        AnyOf((TypeIs(("t",)), Not(Content("xpath", "x:a < 1", "payload", X)))),
        AttributeIs("subject", "prefix", "a & \x01\uffff\r"),
        Content("xpath", "//x:a", "envelope", X),
        ActionIs(("urn:a",)),
    ],
)
def test_what_wsn_has_no_element_for_is_told_as_json_has_it(asked: Filter) -> None:
    subscription = Subscription(
        SubscriptionId("s"), None, None, None, Form("wsn-1.3"), (asked,), Position(Node("n"), 0), None
    )
    (found,) = subscription_properties(subscription, [QName(WSN, "Filter")], NOW)
    (inside,) = xml.parse(found)
    assert inside.tag == f"{{{POLICY}}}Filter"
    assert ce_filters.read([json.loads(str(inside.text))]) in ((asked,), (AllOf((asked,)),))


def test_a_conjunction_is_told_with_what_else_it_asks() -> None:
    asked = AllOf((TypeIs(("t",)), AttributeIs("a", "exact", "1")))
    subscription = Subscription(
        SubscriptionId("s"), None, None, None, Form("wsn-1.3"), (asked,), Position(Node("n"), 0), None
    )
    (found,) = subscription_properties(subscription, [QName(WSN, "Filter")], NOW)
    assert [each.tag for each in xml.parse(found)] == [f"{{{WSN}}}TopicExpression", f"{{{POLICY}}}Filter"]


def test_a_box_is_told_as_it_could_have_been_said() -> None:
    sides = (OneOf(("a/b", "c")), Like("x*", ""), Interval(low=25.0, low_open=True), Interval(1.0, 2.5))
    assert told(InBox("w", sides)) == (BoxAsSaid("w", (), "w:a%2Fb|c/x%2A*/>25/1..2.5"),)


@settings(max_examples=examples(200))
@given(st.dictionaries(st.sampled_from(["wsnt", "_wsnt", "p", "q"]), st.sampled_from(["urn:a", "urn:b&'c"])))
def test_whatever_prefixes_an_expression_uses_it_is_read_again(namespaces: dict[str, str]) -> None:
    text = " or ".join(f"{each}:a" for each in namespaces) or "a"
    asked = Content("xpath", text, "payload", tuple(sorted(namespaces.items())))
    assert told(asked) == (asked,)
