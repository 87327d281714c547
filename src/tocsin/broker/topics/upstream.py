"""What the broker says to a publisher it subscribes at, and what it makes of the answers (WS-BaseNotification 1.3)."""

from collections.abc import Sequence

from tocsin.markup import xml
from tocsin.markup.xml import Element, MarkupError
from tocsin.mediation import times
from tocsin.mediation.soap import addressing, soap
from tocsin.mediation.soap.entries import text_of
from tocsin.mediation.soap.namespaces import WSN, WSN_MANAGER, WSN_PRODUCER
from tocsin.mediation.ws.properties import topic_expression_element, topics_expression
from tocsin.model.identity import Instant, Pairs, after
from tocsin.model.names import Topic
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Registration
from tocsin.routing.demand import Failed, Failure, Message, Operation, Send, Subscribed, Succeeded
from tocsin.wire.answer import Answer

LEASE = 3_600.0
_PAUSABLE = "http://docs.oasis-open.org/wsn/bw-2/PausableSubscriptionManager"
_ACTIONS: dict[Operation, str] = {
    "subscribe": f"{WSN_PRODUCER}/SubscribeRequest",
    "renew": f"{WSN_MANAGER}/RenewRequest",
    "unsubscribe": f"{WSN_MANAGER}/UnsubscribeRequest",
    "pause": f"{_PAUSABLE}/PauseSubscriptionRequest",
    "resume": f"{_PAUSABLE}/ResumeSubscriptionRequest",
}
_ELEMENTS = {"unsubscribe": "Unsubscribe", "pause": "PauseSubscription", "resume": "ResumeSubscription"}
Said = tuple[str, Pairs, bytes]


def said(send: Send, registration: Registration, consumer: str, message_id: str) -> Said:
    """Address, headers and body of a request; the reference parameters of who is asked go back as headers."""
    to = send.manager or registration.publisher
    assert to is not None
    version = registration.form.soap or "1.2"
    action = _ACTIONS[send.operation]
    headers = (("Action", action), ("MessageID", message_id), ("To", to.address))
    parts = (
        soap.opening(version, "2005/08"),
        *(addressing.block(*each) for each in headers),
        addressing.echoed(to.reference, "2005/08"),
        soap.BETWEEN,
        _content(send.operation, registration.topics, consumer),
        soap.CLOSING,
    )
    return to.address, soap.http_headers(version, action), b"".join(parts)


def _content(operation: Operation, topics: Sequence[Topic], consumer: str) -> bytes:
    lease = times.lasting(round(LEASE * 1e9)).encode()
    if operation == "subscribe":
        wanted = topic_expression_element(topics_expression(topics)) if topics else b""
        return _element(
            "Subscribe",
            addressing.reference("wsnt:ConsumerReference", consumer)
            + (b"<wsnt:Filter>%b</wsnt:Filter>" % wanted if wanted else b"")
            + b"<wsnt:InitialTerminationTime>%b</wsnt:InitialTerminationTime>" % lease,
        )
    if operation == "renew":
        return _element("Renew", b"<wsnt:TerminationTime>%b</wsnt:TerminationTime>" % lease)
    return _element(_ELEMENTS[operation])


def _element(name: str, inner: bytes = b"") -> bytes:
    return b'<wsnt:%b xmlns:wsnt="%b">%b</wsnt:%b>' % (name.encode(), WSN.encode(), inner, name.encode())


def heard(operation: Operation, answer: Answer, now: Instant) -> Message:
    if not 200 <= answer.status < 300:
        return Failed(operation, _failure(answer))
    if operation in ("pause", "resume", "unsubscribe"):
        return Succeeded(operation)
    try:
        root = xml.parse(answer.body)
        ends = _ends(root, now)
        return Succeeded(operation, ends) if operation == "renew" else Subscribed(_manager(root), ends)
    except (MarkupError, Refusal):
        return Failed(operation, "refused")


def _failure(answer: Answer) -> Failure:
    """A fault is an answer; anything else may heal."""
    if answer.status in (404, 410) or b"ResourceUnknownFault" in answer.body:
        return "unknown"
    return "refused" if b"Fault" in answer.body else "unreachable"


def _manager(root: Element) -> Endpoint:
    reference = next(root.iter(f"{{{WSN}}}SubscriptionReference"), None)
    if reference is None:
        raise Refusal("malformed", "the answer names no subscription")
    return addressing.endpoint(reference, "SubscriptionReference")


def _ends(root: Element, now: Instant) -> Instant:
    """By our clock, whatever the publisher's says: what counts is the time between its two."""
    until, current = (text_of(next(root.iter(f"{{{WSN}}}{name}"), None)) for name in ("TerminationTime", "CurrentTime"))
    if not until:
        return after(now, LEASE)
    ends = Instant(now + times.duration(until)) if times.is_duration(until) else times.instant(until)
    if current and not times.is_duration(until):
        ends = Instant(now + ends - times.instant(current))
    return min(ends, times.LAST)
