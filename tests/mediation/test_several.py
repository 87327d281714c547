"""Several notifications in one Notify (WSN 1.3 s3.2): joined as bytes, read as what each was alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from msgspec.structs import replace

from tocsin.mediation import dialects
from tocsin.mediation.dialects import BY_NAME, customise, takes_several
from tocsin.mediation.soap.several import combine, cut
from tocsin.model.identity import Instant, MessageId, Node, Pairs, SubscriptionId
from tocsin.model.names import QName, topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.records import Accepted
from tocsin.model.subscription import Endpoint, Form, Position, Subscription

HERE = Position(Node("n"), 0)
NOTIFYING = ["wsn-1.3", "onvif", "wsn-1.2", "wsn-1.0"]
FORMS = [(name, version) for name in NOTIFYING for version in ("1.1", "1.2")]
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=8)


def subscription(name: str, version: str = "1.2", reference: bytes = b"", *, wrapped: bool = True) -> Subscription:
    form = Form(name, version, BY_NAME[name].addressing, wrapped, together=10)
    consumer = Endpoint("http://c/x", reference)
    return Subscription(SubscriptionId("s"), None, consumer, None, form, (), HERE, None)


def notification(name: str, text: str, about: str = "a/b", attributes: Pairs = ()) -> Notification:
    payload = Payload("application/xml", b"<e>%b</e>" % text.encode())
    subject = topic(about)
    assert subject is not None
    kind = QName("", "e")
    return Notification(
        MessageId(name), HERE, 0, Instant(1), "wsn-1.3", "", "http://p", subject, kind, attributes, payload
    )


def written(told: list[Notification], to: Subscription) -> list[tuple[Pairs, bytes]]:
    return [customise(each, to, "http://b") for each in told]


def read(dialect: str, body: bytes) -> tuple[Notification, ...]:
    return dialects.normalise(Accepted(HERE, Instant(1), "/broker", dialect, (), None, "cause", body))


def same(found: tuple[Notification, ...], alone: list[Notification]) -> bool:
    """But for their places, and for names that are declared and not used."""
    return [plain(each) for each in found] == [replace(plain(each), index=index) for index, each in enumerate(alone)]


def plain(told: Notification) -> Notification:
    data = etree.tostring(etree.fromstring(told.payload.data), method="c14n", exclusive=True)
    return replace(told, payload=Payload(told.payload.media_type, data))


def joined(told: list[Notification], to: Subscription) -> bytes:
    parts = [cut(*each) for each in written(told, to)]
    return combine([each for each in parts if each is not None])


@pytest.mark.parametrize("dialect,version", FORMS)
def test_they_are_read_as_each_was_alone(dialect: str, version: str) -> None:
    told = [notification(f"urn:m:{number}", str(number), f"t{number}") for number in range(4)]
    to = subscription(dialect, version, b"<r:key xmlns:r='urn:r'>7</r:key>")
    body = joined(told, to)
    name = "wsn-1.3" if dialect == "onvif" else dialect
    alone = [read(name, each)[0] for _, each in written(told, to)]
    assert same(read(name, body), alone)
    assert [each.id for each in alone] == [each.id for each in told]
    assert body.count(b"7</") == 1 and len(body) < sum(len(each) for _, each in written(told, to))


@given(st.lists(st.tuples(NAMES, NAMES), min_size=2, max_size=5, unique_by=lambda each: each[0]))
def test_ids_and_payloads_of_any_letters(told: list[tuple[str, str]]) -> None:
    escaped = {"&": "&amp;", "<": "&lt;"}
    texts = ["".join(escaped.get(each, each) for each in text) for _, text in told]
    made = [notification(name, text) for (name, _), text in zip(told, texts, strict=True)]
    to = subscription("wsn-1.3")
    alone = [read("wsn-1.3", each)[0] for _, each in written(made, to)]
    found = read("wsn-1.3", joined(made, to))
    assert same(found, alone)
    assert [each.id for each in found] == [each.id for each in made]


def test_a_group_is_another_message_than_its_first_and_than_another_group() -> None:
    made = [notification(f"urn:m:{number}", "x") for number in range(3)]
    to = subscription("wsn-1.3")
    bodies = [joined(group, to) for group in (made, made[:2], made)]
    names = [body.partition(b"MessageID>")[2].partition(b"<")[0] for body in bodies]
    assert names[0] == names[2] and len({*names, made[0].id.encode()}) == 3


def test_what_says_something_else_in_its_headers_does_not_fit() -> None:
    plain, other = subscription("wsn-1.3"), subscription("wsn-1.3", reference=b"<k>1</k>")
    first, second = (cut(*customise(notification("m", "x"), each, "http://b")) for each in (plain, other))
    asking = cut(*customise(notification("m", "x"), plain, "http://b", None, (b"<reply/>",)))
    assert first is not None and second is not None and asking is not None
    assert first.fits(first) and not first.fits(second) and not first.fits(asking)


@pytest.mark.parametrize("dialect", ["wse-2011", "wse-2004-08", "wse-2004-01"])
def test_an_event_of_ws_eventing_goes_alone(dialect: str) -> None:
    assert cut(*customise(notification("m", "x"), subscription(dialect), "http://b")) is None
    assert not takes_several(dialect, wrapped=True)


def test_raw_goes_alone_whatever_its_action() -> None:
    raw = subscription("wsn-1.3", wrapped=False)
    action = "http://docs.oasis-open.org/wsn/bw-2/NotificationConsumer/Notify"
    told = notification("m", "x", attributes=(("action", action),))
    assert cut(*customise(told, raw, "http://b")) is None
    assert not takes_several("wsn-1.3", wrapped=False)


def test_what_takes_several() -> None:
    assert [name for name in (*BY_NAME, "node") if takes_several(name, wrapped=True)] == [
        "wsn-1.3", "onvif", "wsn-1.2", "wsn-1.0", "cloudevents", "node", "node",
    ]  # fmt: skip


@pytest.mark.parametrize("said", [b"<t:Id>a</t:Id>", b"<t:Id>a</t:Id><t:Id>a</t:Id>", b"<t:Id>a</t:Id><t:Id/>", b""])
def test_ids_that_are_not_one_for_each_are_passed_over(said: bytes) -> None:
    made = [notification(f"urn:m:{number}", "x") for number in range(2)]
    body = joined(made, subscription("wsn-1.3")).replace(b"<t:Id>urn:m:0</t:Id><t:Id>urn:m:1</t:Id>", said)
    first, second = read("wsn-1.3", body)
    assert first.id.startswith("urn:tocsin:group:") and first.id.endswith("/0") and second.id.endswith("/1")
