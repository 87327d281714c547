from urllib.parse import urlsplit

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tocsin.delivery.grouping import together
from tocsin.mediation.between_nodes import NAME, address_of, customise, framed
from tocsin.mediation.dialects import NAMES, normalise, outgoing
from tocsin.model.delivery import Delivery, Match
from tocsin.model.identity import Instant, MessageId, Node, SubscriptionId
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, Payload, Way, came_by
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.model.replies import ReplyRequest
from tocsin.model.subscription import Endpoint, Form, Position, Subscription, neighbour_of

THERE, HERE = "http://there:1/tocsin", "http://here:2"
ADDRESS = address_of(HERE, THERE)
CHILD = Subscription(
    SubscriptionId("c"), None, Endpoint(ADDRESS, node=HERE), None, Form(NAME), (), Position(Node("n"), 0), None
)
FURTHER = Way("http://further", Node("far"), 3, ("http://far", "http://middle", "http://further"))
TEXT = st.text(max_size=9)
TOLD = st.builds(
    Notification,
    id=TEXT.map(MessageId),
    at=st.just(Position(Node("n"), 7)),
    index=st.integers(0, 3),
    when=st.integers(0, 9).map(Instant),
    dialect=st.sampled_from(["wsn-1.3", "cloudevents", "raw"]),
    cause=TEXT,
    producer=TEXT,
    topic=st.lists(st.builds(QName, TEXT, TEXT), min_size=1, max_size=3).map(lambda steps: Topic(tuple(steps))),
    type=st.none() | TEXT | st.builds(QName, TEXT, TEXT),
    attributes=st.lists(st.tuples(TEXT, TEXT), max_size=2).map(tuple),
    payload=st.builds(Payload, TEXT, st.binary(max_size=20)),
    reply=st.none() | st.builds(ReplyRequest, TEXT, TEXT, st.integers(0, 9).map(Instant)),
    way=st.none() | st.just(FURTHER),
)


def record(body: bytes) -> Accepted:
    parts = urlsplit(ADDRESS)
    return Accepted(
        Position(Node("m"), 40), Instant(99), f"{parts.path}?{parts.query}", NAME, (), None, "another cause", body
    )


def delivery(told: Notification) -> Delivery:
    headers, body = customise(told, CHILD, THERE)
    return Delivery(Match(told.id, CHILD.id), told.at, told.index, Endpoint(ADDRESS, node=HERE), headers, body)


@given(st.lists(TOLD, min_size=1, max_size=4))
def test_everything_of_a_notification_travels(told: list[Notification]) -> None:
    body = together(tuple(map(delivery, told))).body
    for index, (sent, found) in enumerate(zip(told, normalise(record(body)), strict=True)):
        way = Way(THERE, Node("n"), 1, (THERE,))
        if sent.way is not None:
            way = Way(THERE, Node("far"), 4, (*FURTHER.path, THERE))
        reply = None if sent.reply is None else sent.reply.for_neighbour()
        at = Position(Node("m"), 40)
        assert found == replace(sent, reply=reply, at=at, index=index, when=Instant(99), way=way)
        assert came_by(found) == THERE


def test_what_an_older_node_passes_on_names_no_path_and_is_read() -> None:
    topic, payload = Topic((QName("", "a"),)), Payload("text/plain", b"x")
    told = Notification(
        MessageId("m"), Position(Node("n"), 7), 0, Instant(1), "raw", "c", "p", topic, None, (), payload, way=FURTHER
    )
    fields = msgspec.msgpack.decode(msgspec.msgpack.encode(told))
    older = msgspec.msgpack.encode(fields | {"way": fields["way"][:3]})
    (found,) = normalise(record(framed((older,))))
    assert found.way == Way(THERE, Node("far"), 4, (THERE,))


def test_a_subscription_says_for_which_neighbour_it_stands() -> None:
    assert neighbour_of(CHILD) == HERE
    assert neighbour_of(replace(CHILD, consumer=Endpoint(ADDRESS))) is None
    assert neighbour_of(replace(CHILD, consumer=None)) is None


@pytest.mark.parametrize("body", [b"\0\0\0\1", b"\0\0", b"\0\0\0\1x", framed((b"\x80",))])
def test_what_no_node_says_is_refused(body: bytes) -> None:
    with pytest.raises(Refusal, match="not what a node passes on"):
        normalise(record(body))


def test_nobody_subscribes_in_it() -> None:
    assert NAME not in NAMES
    with pytest.raises(Refusal, match="not a dialect"):
        outgoing(NAME)
