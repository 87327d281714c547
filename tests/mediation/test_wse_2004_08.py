import pytest
from tests.mediation.requests import NOW, WSA, accepted, answer_to, envelope

from tocsin.markup import xml
from tocsin.mediation import dialects
from tocsin.mediation.dialects import SoapRequest, hear, normalise
from tocsin.mediation.operations import (
    Context,
    Done,
    GetStatus,
    Renew,
    Renewed,
    Status,
    Subscribe,
    Subscribed,
    Unsubscribe,
)
from tocsin.mediation.soap.namespaces import TOPICS, WSE
from tocsin.mediation.soap.soap import action_of, endpoint, open_envelope
from tocsin.model.identity import SECOND, Instant, Node, SubscriptionId
from tocsin.model.names import NO_TOPIC, QName
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Form, Position, Subscription
from tocsin.model.topics import parse_topic_expression

HOUR = Instant(NOW + 3600 * SECOND)
DELIVERY = "<wse:Delivery><wse:NotifyTo><wsa:Address>http://c/</wsa:Address></wse:NotifyTo></wse:Delivery>"
VERSIONS = pytest.mark.parametrize("wsa", ["2004/08", "2005/08"])


def read(content: str, headers: str = "", door: str = "/broker/publish") -> Notification:
    (found,) = normalise(accepted(envelope(content, headers), "wse-2004-08", door))
    return found


def heard(
    content: str, headers: str = "", soap: str = "1.2", wsa: str = "2004/08", subscription: str = ""
) -> SoapRequest:
    return hear(dialects.open_in_full(envelope(content, headers, soap, wsa)), subscription, NOW)


def subscribe(inner: str) -> Subscribe:
    request = heard(f"<wse:Subscribe>{DELIVERY}{inner}</wse:Subscribe>").request
    assert isinstance(request, Subscribe)
    return request


def test_a_raw_event() -> None:
    headers = (
        "<wsa:Action>urn:act</wsa:Action><wsa:MessageID>urn:m</wsa:MessageID>"
        "<wsa:From><wsa:Address>http://p/</wsa:Address></wsa:From><wsnt:Topic>t:a/b</wsnt:Topic>"
    )
    event = read("<t:x>1</t:x>", headers)
    assert (event.id, event.producer, str(event.topic)) == ("urn:m", "http://p/", "{urn:t}a/b")
    assert (event.type, event.attributes) == (QName("urn:t", "x"), (("action", "urn:act"),))
    assert (event.index, event.cause, event.dialect) == (0, "the-cause", "wse-2004-08")


@pytest.mark.parametrize(
    ("header", "door", "topic"),
    [
        ("<wsnt:Topic>a</wsnt:Topic>", "/broker/publish/x/y", "a"),
        ("", "/broker/publish/x/y/", "x/y"),
        ("", "/broker/publish/%7Burn:a%2Fb%7Dx/y", "{urn:a/b}x/y"),
        ("", "/broker/publish", str(NO_TOPIC)),
        ("", "/broker/publish/", str(NO_TOPIC)),
        ("", "/broker/publisher", str(NO_TOPIC)),
    ],
)
def test_the_topic_is_a_headers_else_the_addresss_else_the_reserved_one(header: str, door: str, topic: str) -> None:
    assert str(read("<x/>", header, door).topic) == topic


@pytest.mark.parametrize("tail", ["a//b", "1", "a b", "%01", "%7Ba%01%7Db", "*"])
def test_an_address_that_names_no_topic(tail: str) -> None:
    with pytest.raises(Refusal, match="which is not a topic such as a/b") as caught:
        read("<x/>", "", f"/broker/publish/{tail}")
    assert caught.value.reason == "bad-topic-expression"


@pytest.mark.parametrize("content", ["", "text", "<!-- c -->", "<a/><b/>"])
def test_a_body_holds_one_event(content: str) -> None:
    with pytest.raises(Refusal, match="the Body must hold one element"):
        read(content)


@pytest.mark.parametrize(
    ("content", "action"),
    [
        ("<t:x/>", "urn:t/x"),
        ('<x xmlns="http://e/ns#"/>', "http://e/ns#x"),
        ('<x xmlns="http://e/ns/"/>', "http://e/ns/x"),
        ("<x/>", "urn:x"),
    ],
)
def test_an_action_that_only_repeats_the_type_is_not_kept(content: str, action: str) -> None:
    assert read(content, f"<wsa:Action>{action}</wsa:Action>") == read(content)
    assert action_of(read(content)) == action


@pytest.mark.parametrize("soap", ["1.1", "1.2"])
@VERSIONS
def test_wse_s3_1_subscribe_remembers_how_it_was_asked(soap: str, wsa: str) -> None:
    for headers in ("", "<wsa:MessageID>urn:1</wsa:MessageID>"):
        asked = heard(f"<wse:Subscribe>{DELIVERY}</wse:Subscribe>", headers, soap, wsa)
        form = Form("wse-2004-08", soap, wsa, False, "duration")
        assert asked.request == Subscribe(Endpoint("http://c/"), None, form, (), None)


def test_subscribe_with_end_to_expires_and_filter() -> None:
    asked = subscribe(
        "<wse:EndTo><wsa:Address>http://end/</wsa:Address></wse:EndTo><wse:Expires>PT1H</wse:Expires>"
        f'<wse:Filter Dialect="{TOPICS}/Full">t:a//.</wse:Filter>'
    )
    assert asked.end_to == Endpoint("http://end/")
    assert (asked.expires, asked.form.expires_as) == (HOUR, "duration")
    assert asked.filters == (parse_topic_expression("t:a//.", "full", {"t": "urn:t"}),)


def test_ws_messengers_own_filter_dialect() -> None:
    inner = f'<wsnt:TopicExpression Dialect="{TOPICS}/Simple">t:a</wsnt:TopicExpression>'
    asked = subscribe(f'<wse:Filter Dialect="http://docs.oasis-open.org/wsn"><!-- c -->{inner}</wse:Filter>')
    assert asked.filters == (parse_topic_expression("t:a", "simple", {"t": "urn:t"}),)


def test_a_time_is_answered_as_a_time() -> None:
    asked = subscribe("<wse:Expires>2023-11-14T23:13:20Z</wse:Expires>")
    assert (asked.expires, asked.form.expires_as) == (HOUR, "time")


WSN_FILTER = "http://docs.oasis-open.org/wsn"


@pytest.mark.parametrize(
    ("inner", "reason"),
    [
        ("", "malformed"),
        ("<wse:Delivery/>", "malformed"),
        (DELIVERY.replace("<wse:Delivery", "<wse:Delivery Mode='urn:pull'"), "unsupported-delivery"),
        (f"{DELIVERY}<wse:Filter>//a[</wse:Filter>", "bad-filter"),
        (f"{DELIVERY}<wse:Filter/>", "bad-filter"),
        (f"{DELIVERY}<wse:Filter Dialect='urn:x'>a</wse:Filter>", "unsupported-filter"),
        (f"{DELIVERY}<wse:Filter Dialect='{WSN_FILTER}'><t:x/></wse:Filter>", "unsupported-filter"),
        (f"{DELIVERY}<wse:Filter Dialect='{TOPICS}/Simple'>a/b</wse:Filter>", "bad-topic-expression"),
        (f"{DELIVERY}<wse:Expires>-PT1H</wse:Expires>", "bad-expiry"),
    ],
)
def test_a_subscribe_that_is_refused(inner: str, reason: str) -> None:
    with pytest.raises(Refusal) as caught:
        heard(f"<wse:Subscribe>{inner}</wse:Subscribe>")
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("<wse:Renew><wse:Expires>never</wse:Expires></wse:Renew>", "bad-expiry"),
        ("<wse:Nonsense/>", "unknown-operation"),
    ],
)
def test_what_else_is_refused(content: str, reason: str) -> None:
    with pytest.raises(Refusal) as caught:
        heard(content)
    assert caught.value.reason == reason


def test_explicit_push_mode_is_the_default_one() -> None:
    mode = f'<wse:Delivery Mode="{WSE}/DeliveryModes/Push">'
    content = f"<wse:Subscribe>{DELIVERY.replace('<wse:Delivery>', mode)}</wse:Subscribe>"
    assert isinstance(heard(content).request, Subscribe)


def test_wse_s3_2_to_3_4_the_other_operations() -> None:
    form = Form("wse-2004-08", "1.2", "2004/08", False, "duration")
    assert heard("<wse:Renew/>", subscription="s").request == Renew("s", None, form)
    renew = heard("<wse:Renew><wse:Expires>PT1H</wse:Expires></wse:Renew>", subscription="s").request
    assert renew == Renew("s", HOUR, form)
    assert heard("<wse:GetStatus/>", subscription="s").request == GetStatus("s")
    assert heard("<wse:Unsubscribe/>", "<wse:Identifier> s-2 </wse:Identifier>").request == Unsubscribe("s-2")


def subscription(
    expires: int = HOUR, kind: str = "duration", reference: bytes = b"", wsa: str = "2004/08"
) -> Subscription:
    form = Form("wse-2004-08", "1.2", wsa, False, "time" if kind == "time" else "duration")
    consumer = Endpoint("http://c/?a&b", reference)
    at = Position(Node("n"), 1)
    return Subscription(SubscriptionId("s<1"), None, consumer, None, form, (), at, Instant(expires))


def context(wsa: str | None) -> Context:
    return Context("wse-2004-08", "1.2", wsa, "urn:q")


@VERSIONS
def test_wse_identifier_is_handed_out_with_ws_addressing_2004_08_only(wsa: str) -> None:
    """sdc11073 (2005/08) rejects its own echo of it, WS-Management (2004/08) needs it."""
    answer = answer_to(context(wsa), Subscribed(subscription(), "http://b/broker/subscriptions/s", NOW))
    opened = open_envelope(answer.body)
    assert (opened.addressing, opened.header("action")) == (wsa, f"{WSE}/SubscribeResponse")
    assert opened.content is not None
    manager = opened.content.find(f"{{{WSE}}}SubscriptionManager")
    assert manager is not None
    found = endpoint(manager, "SubscriptionManager")
    assert found.address == "http://b/broker/subscriptions/s"
    identifiers = [part.text for part in xml.parse(b"<h>%b</h>" % found.reference)]
    assert identifiers == (["s<1"] if wsa == "2004/08" else [])


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (subscription(), "PT1H0S"),
        (subscription(NOW + 90_000 * SECOND), "PT25H0S"),
        (subscription(NOW - SECOND), "PT0S"),
        (subscription(kind="time"), "2023-11-14T23:13:20Z"),
    ],
)
def test_expires_is_of_the_kind_that_was_asked_for(given: Subscription, shown: str) -> None:
    for answer in (Subscribed(given, "http://b/", NOW), Renewed(given, NOW), Status(given, NOW)):
        content = open_envelope(answer_to(context("2005/08"), answer).body).content
        assert content is not None
        assert content.findtext(f"{{{WSE}}}Expires") == shown


def test_unsubscribe_response_has_an_empty_body_and_its_action() -> None:
    opened = open_envelope(answer_to(context("2005/08"), Done()).body)
    assert (opened.operation, opened.header("action")) == ("", f"{WSE}/UnsubscribeResponse")


@VERSIONS
def test_a_delivery_is_a_raw_event_with_topic_and_producer_as_headers(wsa: str) -> None:
    event = read("<t:x/>", "<wsa:From><wsa:Address>http://p/</wsa:Address></wsa:From><wsnt:Topic>t:a</wsnt:Topic>")
    recipient = subscription(reference=b'<q:id xmlns:q="urn:q">7</q:id>', wsa=wsa)
    headers, body = dialects.customise(event, recipient, "http://b")
    opened = open_envelope(body)
    assert (opened.addressing, opened.operation) == (wsa, "{urn:t}x")
    assert (opened.header("action"), opened.header("to")) == ("urn:t/x", "http://c/?a&b")
    assert (b"IsReferenceParameter" in body) == (wsa == "2005/08")
    assert WSA[wsa].encode() in body
    assert 'action="urn:t/x"' in dict(headers)["Content-Type"]
    again = normalise(accepted(body, "wse-2004-08"))[0]
    assert (again.topic, again.producer) == (event.topic, event.producer)
