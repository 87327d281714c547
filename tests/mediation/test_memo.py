"""Reading with a memory must be the same as reading without one, for whatever strangers send."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples
from tests.markup.fragments import elements

from tocsin.mediation import dialects
from tocsin.mediation.dialects import normalise, open_soap
from tocsin.mediation.soap import notices
from tocsin.mediation.soap.namespaces import SOAP_12, TOCSIN, WSA_2005, WSN
from tocsin.mediation.soap.notices import EnvelopeMemo, Recalled
from tocsin.model.identity import Instant, Node
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Position

Outcome = tuple[Notification, ...] | str


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    before = notices._MEMO
    yield
    notices._MEMO = before


def forget() -> None:
    notices._MEMO = EnvelopeMemo(dialects.OPERATIONS)


def outcome(record: Accepted) -> Outcome:
    try:
        return normalise(record)
    except Refusal as refusal:
        return f"{refusal.reason}: {refusal.text}"


def accepted(body: bytes, dialect: str = "wsn-1.3", door: str = "/broker") -> Accepted:
    return Accepted(Position(Node("n"), 1), Instant(1), door, dialect, (), None, "cause", body)


PLAIN_IDS = [b"urn:uuid:1", b"urn:uuid:2", b"urn:a:b", b"x" * 512]
ODD_IDS = [b"", b" x ", b"a b", b"a&amp;b", b"a&#10;b", b"a&#1;b", b"a>b", b"]]&gt;", b"]]>", b"\xff", "urn:ü".encode()]
WORSE_IDS = [b"\x01", b"\x7f", "\x85x".encode(), b"x" * 600, b"x" * 5000, b"<!-- c -->x", b"x<b/>y", b"z<b/>y"]
NESTED_IDS = [b"x</wsa:MessageID><wsa:MessageID>y", b"x</wsa:MessageID><wsa:Action>z</wsa:Action>"]
IDS = st.sampled_from(PLAIN_IDS) | st.sampled_from([*ODD_IDS, *WORSE_IDS, *NESTED_IDS])
HEADS = st.sampled_from(
    [
        b"",
        b"<wsa:To>http://broker/</wsa:To>",
        b"<!-- MessageID> -->",
        b'<o:x xmlns:o="urn:o" xmlns:wsa="urn:other"><wsa:MessageID>fake</wsa:MessageID></o:x>',
        b"<p:MessageID>in another namespace</p:MessageID>",
        b"<p:x><wsa:MessageID>nested</wsa:MessageID></p:x>",
        b'<wsa:MessageID k="v">the first</wsa:MessageID>',
        b"<p:x>&lt;wsa:MessageID></p:x>",
    ]
)
TAILS_OF_HEADER = st.sampled_from(
    [
        b"",
        b"<wsa:Action>urn:act</wsa:Action>",
        b"<wsa:Action>urn:own/a</wsa:Action>",
        b"<wsa:MessageID>again</wsa:MessageID>",
        b"<wsa:From><wsa:Address>http://p/</wsa:Address></wsa:From>",
        b"<wsnt:Topic>t</wsnt:Topic>",
        b"<wsnt:Topic>t:u</wsnt:Topic>",
        b"<p:x><s:Body>no</s:Body></p:x>",
        b"<![CDATA[]]>",
    ]
)
OPEN_WSN = st.sampled_from(
    [
        b"<wsnt:Message>",
        b"<wsnt:Topic>t</wsnt:Topic><wsnt:Message>",
        b"<wsnt:Topic>p:t</wsnt:Topic><wsnt:Message >",
        b'<wsnt:Message k="v">',
        b"<wsnt:ProducerReference><wsa:Address>http://q/</wsa:Address></wsnt:ProducerReference><wsnt:Message>",
        b"<wsnt:ProducerReference><wsa:ReferenceParameters><n:Message><a/></n:Message></wsa:ReferenceParameters>"
        b"</wsnt:ProducerReference><wsnt:Message>",
        b"<wsnt:ProducerReference><wsa:ReferenceParameters><wsnt:Message><a/></wsnt:Message></wsa:ReferenceParameters>"
        b"</wsnt:ProducerReference><wsnt:Message>",
    ]
)
CLOSE_WSN = st.sampled_from(
    [b"</wsnt:Message>", b"</wsnt:Message >", b"</wsnt:Message><wsnt:Message><b/></wsnt:Message>"]
)
SPECIAL = st.sampled_from(
    [
        b"<a/> 1 >",
        b"text<a/>",
        b"<a/><b/>",
        b"",
        b"  ",
        b"\xff",
        b"<a>\x01</a>",
        b"<p:a/>",
        b"<nope:a/>",
        b"<a>" * 251 + b"</a>" * 251,
        b"<a>" * 253 + b"</a>" * 253,
        b"<a><wsnt:Message>inner</wsnt:Message></a>",
        b"<wsnt:Message><x/></wsnt:Message>",
        b"<s:Body><x/></s:Body>",
        b"<wsnt:Notify/>",
        b"<wsnt:Notify><wsnt:NotificationMessage><wsnt:Message><x/></wsnt:Message></wsnt:NotificationMessage></wsnt:Notify>",
        b"<wsnt:Subscribe/>",
        b'<t:Data xmlns:t="%b" MediaType="text/plain" Type="k">x</t:Data>' % TOCSIN.encode(),
        b"</wsnt:Message><wsnt:Message>",
        b"<a/></wsnt:Message><wsnt:Message><b/>",
        b"<a xmlns='urn:own'/>",
        b"<own:a xmlns:own='urn:own'/>",
        b"<!-- c --><a/>",
        b"<a/><!-- c -->",
        b"<a/><?pi?>",
        b"<a>&undefined;</a>",
        b"<!DOCTYPE a><a/>",
    ]
)
PAYLOADS = SPECIAL | elements().map(str.encode) | st.sampled_from([b"<a/>", b"<b>2</b>", b" <a>\r\n</a> "])


DECLARED = {"wsa": WSA_2005, "wsnt": WSN, "n": WSN, "p": "urn:p", "w": "urn:w", "q": "urn:q", "ns": "urn:ns"}


def envelope(head: bytes, name: bytes, after: bytes, content: bytes) -> bytes:
    declared = "".join(f' xmlns:{prefix}="{uri}"' for prefix, uri in DECLARED.items()).encode()
    return (
        b'<s:Envelope xmlns:s="%b"%b><s:Header>%b<wsa:MessageID>%b</wsa:MessageID>%b</s:Header>'
        b"<s:Body>%b</s:Body></s:Envelope>"
    ) % (SOAP_12.encode(), declared, head, name, after, content)


@st.composite
def notifies(draw: st.DrawFn) -> tuple[bytes, bytes, bytes, bytes]:
    start = b"<wsnt:Notify><wsnt:NotificationMessage>" + draw(OPEN_WSN)
    end = draw(CLOSE_WSN) + b"</wsnt:NotificationMessage></wsnt:Notify>"
    return draw(HEADS), draw(TAILS_OF_HEADER), start, end


EVENTS = st.tuples(HEADS, TAILS_OF_HEADER, st.just(b""), st.just(b""))
DOORS = st.sampled_from(["/broker", "/broker/publish", "/broker/publish/a/b"])


@st.composite
def conversations(draw: st.DrawFn) -> list[Accepted]:
    """Senders that begin with something ordinary, and go on with whatever they like in the same surroundings."""
    messages: list[Accepted] = []
    dialects_of = st.sampled_from(["wsn-1.3", "wse-2004-08"])
    for _ in range(draw(st.integers(1, 2))):
        head, after, start, end = draw(notifies() | EVENTS)
        door, dialect = draw(DOORS), "wsn-1.3" if start else "wse-2004-08"
        first = draw(st.sampled_from([b"urn:uuid:0", b"urn:uuid:0", b"a<b/>y"]))
        messages += [accepted(envelope(head, first, after, start + b"<first/>" + end), dialect, door)] * 2
        for _ in range(draw(st.integers(1, 4))):
            body = envelope(head, draw(IDS), after, start + draw(PAYLOADS) + end)
            body = draw(
                st.sampled_from([body] * 8 + [body.decode("latin-1").encode("utf-16"), b"\n" + body, body[:-3]])
            )
            dialect = draw(st.sampled_from([dialect] * 4) | dialects_of)
            messages.append(accepted(body, dialect, draw(st.sampled_from([door] * 4) | DOORS)))
    return messages


@given(conversations())
@settings(max_examples=examples(400), deadline=None)
def test_a_warm_memo_reads_what_a_cold_one_reads(messages: list[Accepted]) -> None:
    forget()
    warm = [outcome(message) for message in messages * 2]
    cold = []
    for message in messages * 2:
        forget()
        cold.append(outcome(message))
    assert warm == cold


def introduce(record: Accepted) -> None:
    """A sender is remembered from its second message on."""
    forget()
    normalise(record)
    normalise(record)


def notify(payload: bytes, name: bytes = b"urn:1", head: bytes = b"") -> bytes:
    message = b"<wsnt:NotificationMessage><wsnt:Message>%b</wsnt:Message></wsnt:NotificationMessage>" % payload
    return envelope(head, name, b"", b"<wsnt:Notify>%b</wsnt:Notify>" % message)


def test_the_second_message_of_a_sender_is_recalled() -> None:
    introduce(accepted(notify(b"<a/>")))
    reading = open_soap("/broker", notify(b"<p:b>2</p:b>", b"urn:2"))
    assert isinstance(reading, Recalled)
    assert reading.dialect == "wsn-1.3"
    (read,) = normalise(accepted(notify(b"<p:b>2</p:b>", b"urn:2")), reading)
    assert (read.id, str(read.type), read.payload.data) == ("urn:2", "{urn:p}b", b'<p:b xmlns:p="urn:p">2</p:b>')


@pytest.mark.parametrize(
    "name", [b"\xff", "é".encode(), b"\x01", b"a&#10;b", b" a ", b"", b"x" * 513], ids=lambda name: repr(name)[:12]
)
def test_an_id_that_is_not_plain_is_read_in_full(name: bytes) -> None:
    introduce(accepted(notify(b"<a/>")))
    assert notices._MEMO.recall("/broker", notify(b"<a/>", name)) is None


@pytest.mark.parametrize(
    "payload",
    [
        b"<a>" * 253 + b"</a>" * 253,
        b"<a><wsnt:Message>inner</wsnt:Message></a>",
        b"<a/> 1 >",
        b"<a/><!-- c -->",
        b'<t:Data xmlns:t="%b" MediaType="text/plain">x</t:Data>' % TOCSIN.encode(),
        b"<a>\xff</a>",
    ],
    ids=lambda payload: repr(payload)[:30],
)
def test_a_payload_that_is_not_plain_is_read_in_full(payload: bytes) -> None:
    introduce(accepted(notify(b"<a/>")))
    assert notices._MEMO.recall("/broker", notify(payload)) is None


def test_a_notify_is_never_recalled_as_a_raw_event() -> None:
    """At /broker/publish both may stand behind the same head; which it is decides about the dialect."""
    door = "/broker/publish"
    introduce(accepted(envelope(b"", b"urn:1", b"", b"<a/>"), "wse-2004-08", door))
    assert isinstance(open_soap(door, envelope(b"", b"urn:2", b"", b"<b/>")), Recalled)
    assert not isinstance(open_soap(door, notify(b"<a/>", b"urn:3")), Recalled)


def test_the_action_of_a_recalled_event_is_measured_by_its_own_type() -> None:
    action = b"<wsa:Action>urn:own/a</wsa:Action>"
    bodies = [envelope(b"", b"urn:1", action, b"<%b xmlns='urn:own'/>" % local) for local in (b"a", b"b", b"a")]
    introduce(accepted(bodies[0], "wse-2004-08"))
    read = [normalise(accepted(body, "wse-2004-08"))[0].attributes for body in bodies]
    assert read == [(), (("action", "urn:own/a"),), ()]


def test_the_memo_is_bounded_in_number_and_size(monkeypatch: pytest.MonkeyPatch) -> None:
    forget()
    monkeypatch.setattr(notices, "MOST_KNOWN", 5)
    for at in range(20):
        for _ in range(2):
            normalise(accepted(notify(b"<a/>", head=b"<wsa:To>http://broker/%d</wsa:To>" % at)))
        assert sum(len(head.known) for head in notices._MEMO._heads.values()) <= 5
        assert len(notices._MEMO._heads) <= 6
        assert len(notices._MEMO._once) <= 5
    introduce(accepted(notify(b"<a/>", head=b"<wsa:To>%b</wsa:To>" % (b"x" * 4000))))
    assert not notices._MEMO._heads


def test_senders_that_speak_once_leave_nothing_behind() -> None:
    forget()
    for at in range(20):
        normalise(accepted(notify(b"<a/>", head=b"<wsa:To>http://broker/%d</wsa:To>" % at)))
    assert not notices._MEMO._heads
