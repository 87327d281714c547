"""What the broker says to a publisher it subscribes at, and what it makes of the answers (WS-BaseNotification 1.3)."""

from collections.abc import Mapping

from tocsin.client import requests
from tocsin.client.values import lease
from tocsin.markup.xml import MarkupError
from tocsin.mediation import times
from tocsin.mediation.rules import Message as Table
from tocsin.mediation.soap import soap
from tocsin.mediation.soap.entries import Markup, Value, Values, read_entries
from tocsin.mediation.soap.soap import open_envelope
from tocsin.mediation.ws import wsn_1_3
from tocsin.mediation.ws.properties import topic_expression_element, topics_expression
from tocsin.model.identity import SECOND, Instant, Pairs, after
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint
from tocsin.routing.demand import Failed, Failure, Message, Operation, Request, Subscribed, Succeeded
from tocsin.wire.answer import Answer

LEASE = 3_600.0
_TABLES: Mapping[Operation, Table] = {
    "subscribe": wsn_1_3.SUBSCRIBE,
    "renew": wsn_1_3.RENEW,
    "unsubscribe": wsn_1_3.UNSUBSCRIBE,
    "pause": wsn_1_3.PAUSE,
    "resume": wsn_1_3.RESUME,
}


def request(asked: Request, consumer: str) -> tuple[Pairs, bytes]:
    """Headers and body; the reference parameters of who is asked go back as headers."""
    topics, values = asked.registration.topics, dict[str, Value]()
    if asked.operation in ("subscribe", "renew"):
        values["expires"] = times.lasting(round(LEASE * SECOND))
    if asked.operation == "subscribe":
        values["consumer"] = Endpoint(consumer)
        values["filter"] = Markup(topic_expression_element(topics_expression(topics))) if topics else None
    version = asked.registration.form.soap or "1.2"
    return requests.request(wsn_1_3.DIALECT, _TABLES[asked.operation], asked.to, values, version)


def answer(operation: Operation, said: Answer, now: Instant) -> Message:
    if not 200 <= said.status < 300:
        return Failed(operation, _failure(said))
    if operation in ("pause", "resume", "unsubscribe"):
        return Succeeded(operation)
    try:
        values = _entries(_TABLES[operation], said.body)
        ends = _ends(values, now)
        return Succeeded(operation, ends) if operation == "renew" else Subscribed(_manager(values), ends)
    except (MarkupError, Refusal):
        return Failed(operation, "refused")


def _failure(said: Answer) -> Failure:
    """A fault is an answer; anything else may heal."""
    if said.status in (404, 410) or b"ResourceUnknownFault" in said.body:
        return "unknown"
    return "refused" if b"Fault" in said.body else "unreachable"


def _entries(table: Table, body: bytes) -> Values:
    content = open_envelope(body).content
    if content is None or table.answer is None:
        raise Refusal("malformed", "the answer is empty")
    return read_entries(content, table.answer.entries)


def _manager(values: Values) -> Endpoint:
    reference = values.element("subscription")
    assert reference is not None, "the table says that it is there"
    return soap.endpoint(reference, "SubscriptionReference")


def _ends(values: Values, now: Instant) -> Instant:
    """By our clock, whatever the publisher's says: what counts is the time between its two."""
    seconds = lease("", values.text("expires") or "", now, values.text("now") or "").seconds
    return after(now, LEASE) if seconds is None else min(after(now, seconds), times.LAST)
