import pytest
from tests.mediation.requests import NOW, WSA, accepted, answer_to, envelope

from tocsin.markup import xml
from tocsin.mediation import dialects
from tocsin.mediation.dialects import SoapRequest, hear, normalise
from tocsin.mediation.operations import (
    Context,
    Done,
    Publish,
    Renew,
    Renewed,
    Subscribe,
    Subscribed,
    Unsubscribe,
)
from tocsin.mediation.soap.namespaces import SOAP_12, TOPICS, WSA_2005, WSN, XPATH_10
from tocsin.mediation.soap.soap import open_envelope
from tocsin.model.identity import SECOND, Instant, Node, SubscriptionId
from tocsin.model.names import NO_TOPIC, QName, Topic
from tocsin.model.notification import Notification
from tocsin.model.refusal import Reason, Refusal
from tocsin.model.subscription import Endpoint, Form, Position, Subscription
from tocsin.model.topics import parse_topic_expression

HOUR = Instant(NOW + 3600 * SECOND)
CONSUMER = "<wsnt:ConsumerReference><wsa:Address>http://c/</wsa:Address></wsnt:ConsumerReference>"


def message(payload: str, before: str = "") -> str:
    return f"<wsnt:NotificationMessage>{before}<wsnt:Message>{payload}</wsnt:Message></wsnt:NotificationMessage>"


def read(content: str, headers: str = "") -> tuple[Notification, ...]:
    return normalise(accepted(envelope(f"<wsnt:Notify>{content}</wsnt:Notify>", headers), "wsn-1.3"))


def heard(
    content: str, headers: str = "", soap: str = "1.2", wsa: str = "2005/08", subscription: str = ""
) -> SoapRequest:
    return hear(dialects.open_in_full(envelope(content, headers, soap, wsa)), subscription, NOW)


def subscribe(inner: str) -> Subscribe:
    request = heard(f"<wsnt:Subscribe>{CONSUMER}{inner}</wsnt:Subscribe>").request
    assert isinstance(request, Subscribe)
    return request


def refused(content: str) -> tuple[Reason, str, QName | None]:
    with pytest.raises(Refusal) as caught:
        heard(content)
    return caught.value.reason, caught.value.text, caught.value.about


def test_wsn_1_3_s4_2_notify_with_several_messages() -> None:
    topic = f'<wsnt:Topic Dialect="{TOPICS}/Concrete">t:a/b</wsnt:Topic>'
    producer = "<wsnt:ProducerReference><wsa:Address>http://p/</wsa:Address></wsnt:ProducerReference>"
    sender = "<wsa:From><wsa:Address>http://from/</wsa:Address></wsa:From>"
    first, second = read(
        message("<t:x>1</t:x>", topic + producer) + message("<y/>"), f"<wsa:MessageID>urn:m</wsa:MessageID>{sender}"
    )
    assert (first.id, first.index, second.id, second.index) == ("urn:m/0", 0, "urn:m/1", 1)
    assert first.topic == Topic((QName("urn:t", "a"), QName("", "b")))
    assert (first.producer, second.producer) == ("http://p/", "http://from/")
    assert (first.type, second.type) == (QName("urn:t", "x"), QName("", "y"))
    assert second.topic == NO_TOPIC
    assert xml.parse(first.payload.data).text == "1"
    assert (first.cause, first.when, first.dialect) == ("the-cause", NOW, "wsn-1.3")


def test_a_notify_without_a_message_id_is_named_by_its_cause() -> None:
    assert [each.id for each in read(message("<y/>"))] == ["urn:uuid:the-cause"]
    assert [each.id for each in read(message("<y/>") * 2)] == ["urn:uuid:the-cause/0", "urn:uuid:the-cause/1"]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "holds no NotificationMessage"),
        ("<wsnt:NotificationMessage/>", "NotificationMessage 1 has no Message"),
        (message("<a/>") + message("text"), "the Message of NotificationMessage 2 must hold one element"),
        (message("<a/><b/>"), "must hold one element"),
    ],
)
def test_a_notify_that_lacks_something(content: str, why: str) -> None:
    with pytest.raises(Refusal, match=why):
        read(content)


@pytest.mark.parametrize("topic", ["t:*", "t:a//b", "a|b", "nope:a", "", "a b"])
def test_the_topic_of_a_message_is_concrete(topic: str) -> None:
    with pytest.raises(Refusal, match="topic expression") as caught:
        read(message("<y/>", f'<wsnt:Topic Dialect="{TOPICS}/Full">{topic}</wsnt:Topic>'))
    assert caught.value.reason == "bad-topic-expression"


def test_a_topic_may_use_several_prefixes_and_one_declared_on_itself() -> None:
    (read_one,) = read(message("<y/>", '<wsnt:Topic xmlns:u="urn:u">t:a/u:b/c</wsnt:Topic>'))
    assert str(read_one.topic) == "{urn:t}a/{urn:u}b/c"


def test_one_prefix_stands_for_what_is_declared_where_it_stands() -> None:
    (outer,) = read(message("<y/>", "<wsnt:Topic>t:a</wsnt:Topic>"))
    (inner,) = read(message("<y/>", '<wsnt:Topic xmlns:t="urn:other">t:a</wsnt:Topic>'))
    assert (str(outer.topic), str(inner.topic)) == ("{urn:t}a", "{urn:other}a")


def test_notify_is_heard_as_a_publication() -> None:
    assert heard(f"<wsnt:Notify>{message('<y/>')}</wsnt:Notify>").request == Publish()


@pytest.mark.parametrize("soap", ["1.1", "1.2"])
@pytest.mark.parametrize("wsa", ["2004/08", "2005/08"])
def test_wsn_1_3_s4_1_subscribe_remembers_how_it_was_asked(soap: str, wsa: str) -> None:
    content = f"<wsnt:Subscribe>{CONSUMER}</wsnt:Subscribe>"
    with_headers = heard(content, "<wsa:MessageID>urn:1</wsa:MessageID>", soap, wsa)
    without = heard(content, "", soap, wsa)
    form = Form("wsn-1.3", soap, wsa, True, "time")
    assert with_headers.request == without.request == Subscribe(Endpoint("http://c/"), None, form, (), None)
    assert with_headers.context == Context("wsn-1.3", soap, wsa, "urn:1", f"{{{WSN}}}Subscribe")
    assert without.context.addressing is None


def test_subscribe_with_topic_filters() -> None:
    asked = subscribe(
        f'<wsnt:Filter><!-- c --><wsnt:TopicExpression Dialect="{TOPICS}/Full"> t:a//. | b </wsnt:TopicExpression>'
        f"<wsnt:TopicExpression>t:a/b</wsnt:TopicExpression></wsnt:Filter>"
    )
    names = {"t": "urn:t"}
    assert asked.filters == (
        parse_topic_expression("t:a//.|b", "full", names),
        parse_topic_expression("t:a/b", "concrete", names),
    )


@pytest.mark.parametrize(
    ("text", "expires", "kind"),
    [
        ("PT1H", HOUR, "duration"),
        ("2023-11-14T23:13:20Z", HOUR, "time"),
        ("2023-11-15T00:13:20+01:00", HOUR, "time"),
        (" PT1H ", HOUR, "duration"),
        ("", None, "time"),
    ],
)
def test_initial_termination_time(text: str, expires: Instant | None, kind: str) -> None:
    asked = subscribe(f"<wsnt:InitialTerminationTime>{text}</wsnt:InitialTerminationTime>")
    assert (asked.expires, asked.form.expires_as) == (expires, kind)


def test_a_consumers_reference_parameters_are_kept() -> None:
    reference = "<wsa:Address>http://c/</wsa:Address><wsa:ReferenceParameters><t:id>7</t:id></wsa:ReferenceParameters>"
    content = f"<wsnt:Subscribe><wsnt:ConsumerReference>{reference}</wsnt:ConsumerReference></wsnt:Subscribe>"
    asked = heard(content).request
    assert isinstance(asked, Subscribe)
    assert asked.consumer is not None
    assert xml.parse(asked.consumer.reference).tag == "{urn:t}id"


@pytest.mark.parametrize(
    ("inner", "reason", "about"),
    [
        (
            '<wsnt:Filter><wsnt:TopicExpression Dialect="urn:x">a</wsnt:TopicExpression></wsnt:Filter>',
            "unknown-topic-dialect",
            None,
        ),
        ("<wsnt:Filter><wsnt:TopicExpression>a//b</wsnt:TopicExpression></wsnt:Filter>", "bad-topic-expression", None),
        (
            f'<wsnt:Filter><wsnt:MessageContent Dialect="{XPATH_10}">a =</wsnt:MessageContent></wsnt:Filter>',
            "bad-filter",
            QName(WSN, "MessageContent"),
        ),
        (
            "<wsnt:SubscriptionPolicy><wsnt:UseRaw/><t:other/></wsnt:SubscriptionPolicy>",
            "unknown-policy",
            QName("urn:t", "other"),
        ),
        ("<wsnt:InitialTerminationTime>PT0S</wsnt:InitialTerminationTime>", "bad-expiry", None),
        ("<wsnt:InitialTerminationTime>soon</wsnt:InitialTerminationTime>", "bad-expiry", None),
    ],
)
def test_a_subscribe_that_is_refused(inner: str, reason: str, about: QName | None) -> None:
    found = refused(f"<wsnt:Subscribe>{CONSUMER}{inner}</wsnt:Subscribe>")
    assert (found[0], found[2]) == (reason, about)


def test_the_topic_dialects_that_are_known_are_all_listed() -> None:
    expression = '<wsnt:TopicExpression Dialect="urn:x">a</wsnt:TopicExpression>'
    text = refused(f"<wsnt:Subscribe>{CONSUMER}<wsnt:Filter>{expression}</wsnt:Filter></wsnt:Subscribe>")[1]
    assert all(each in text for each in ("TopicExpression/Full", "dialect:content-topic", "dialect:type"))


def test_a_subscribe_without_a_consumer() -> None:
    assert refused("<wsnt:Subscribe/>")[:2] == ("malformed", "Subscribe lacks ConsumerReference")
    empty = "<wsnt:Subscribe><wsnt:ConsumerReference/></wsnt:Subscribe>"
    assert refused(empty)[:2] == ("bad-consumer", "ConsumerReference lacks a WS-Addressing Address")


def test_wsn_1_3_s6_1_renew() -> None:
    asked = heard(
        "<wsnt:Renew><wsnt:TerminationTime>PT1H</wsnt:TerminationTime></wsnt:Renew>", subscription="s-1"
    ).request
    assert asked == Renew("s-1", HOUR, Form("wsn-1.3", "1.2", "2005/08", True, "duration"))
    assert refused("<wsnt:Renew/>")[:2] == ("malformed", "Renew lacks TerminationTime")


def test_wsn_1_3_s6_2_unsubscribe_by_address_or_by_an_echoed_identifier() -> None:
    assert heard("<wsnt:Unsubscribe/>", subscription="s-1").request == Unsubscribe("s-1")
    assert heard("<wsnt:Unsubscribe/>", "<wse:Identifier>s-2</wse:Identifier>").request == Unsubscribe("s-2")


def test_an_unknown_operation_says_where_events_go() -> None:
    for content in ("<t:event/>", "<wsnt:Nonsense/>", ""):
        reason, text, _ = refused(content)
        assert (reason, "/broker/publish" in text) == ("unknown-operation", True)


def subscription(expires: Instant | None = HOUR, wsa: str = "2005/08", reference: bytes = b"") -> Subscription:
    return Subscription(
        SubscriptionId("s-1"),
        None,
        Endpoint("http://c/?a&b", reference),
        None,
        Form("wsn-1.3", "1.2", wsa, True, "duration"),
        (),
        Position(Node("n"), 1),
        expires,
    )


CONTEXT = Context("wsn-1.3", "1.2", "2005/08", "urn:q")


def names_in(body: bytes) -> list[str]:
    content = open_envelope(body).content
    assert content is not None
    return [str(child.tag).rpartition("}")[2] for child in content]


def test_subscribe_response_has_reference_then_current_then_termination_time() -> None:
    answer = answer_to(CONTEXT, Subscribed(subscription(), "http://b/broker/subscriptions/s-1", NOW))
    opened = open_envelope(answer.body)
    assert answer.status == 200
    assert opened.operation == f"{{{WSN}}}SubscribeResponse"
    assert opened.header("relates_to") == "urn:q"
    assert names_in(answer.body) == ["SubscriptionReference", "CurrentTime", "TerminationTime"]
    assert b"2023-11-14T22:13:20Z" in answer.body
    assert b"2023-11-14T23:13:20Z" in answer.body


def test_renew_response_has_termination_time_first() -> None:
    assert names_in(answer_to(CONTEXT, Renewed(subscription(), NOW)).body) == ["TerminationTime", "CurrentTime"]


def test_no_end_is_a_nil_termination_time() -> None:
    content = open_envelope(answer_to(CONTEXT, Renewed(subscription(None), NOW)).body).content
    assert content is not None
    assert content[0].get("{http://www.w3.org/2001/XMLSchema-instance}nil") == "true"


def test_unsubscribe_response() -> None:
    answer = answer_to(CONTEXT, Done())
    assert open_envelope(answer.body).operation == f"{{{WSN}}}UnsubscribeResponse"
    assert names_in(answer.body) == []


def test_the_reference_in_an_answer_follows_the_subscriber_that_sent_no_headers() -> None:
    bare = Context("wsn-1.3", "1.1", None)
    answer = answer_to(bare, Subscribed(subscription(wsa="2004/08"), "http://b/", NOW))
    assert WSA["2004/08"].encode() in answer.body
    assert WSA_2005.encode() not in answer.body


def test_a_delivery_tells_topic_producer_and_subscription_and_echoes_parameters() -> None:
    topic = "<wsnt:Topic>t:a/b</wsnt:Topic>"
    producer = "<wsnt:ProducerReference><wsa:Address>http://p/?x&amp;y</wsa:Address></wsnt:ProducerReference>"
    (told,) = read(message("<t:x/>", topic + producer), "<wsa:MessageID>urn:&lt;m&gt;</wsa:MessageID>")
    headers, body = dialects.customise(told, subscription(reference=b'<q:id xmlns:q="urn:q">7</q:id>'), "http://b")
    opened = open_envelope(body)
    assert dict(headers)["Content-Type"].startswith("application/soap+xml")
    assert (opened.header("message_id"), opened.header("to")) == ("urn:<m>", "http://c/?a&b")
    header = opened.body.getprevious()
    assert header is not None
    (echoed,) = [block for block in header if block.tag == "{urn:q}id"]
    assert echoed.get(f"{{{WSA_2005}}}IsReferenceParameter") == "true"
    assert opened.content is not None
    names = [str(child.tag).rpartition("}")[2] for child in opened.content[0]]
    assert names == ["SubscriptionReference", "Topic", "ProducerReference", "Message"]
    assert b"http://b/broker/subscriptions/s-1" in body
    assert SOAP_12.encode() in body
