"""`/notifiers/{name}`: Publish and Notify of a notifier, in SOAP, as a CloudEvent, or as the data alone."""

import hashlib
import hmac
import uuid
from typing import NamedTuple
from urllib.parse import parse_qsl

import msgspec
from msgspec.structs import replace

from tocsin.broker.caller import NODE, Caller
from tocsin.documents.notifiers import PublishedDocument
from tocsin.doors.gate import Gate
from tocsin.doors.soap import is_envelope
from tocsin.doors.wsdl import asks_for_wsdl, notifier_description
from tocsin.flow.addressing import NOTIFIERS, door_of
from tocsin.mediation import faults
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.ce.attributes import FAMILY
from tocsin.mediation.operations import Context, Reply
from tocsin.mediation.soap import soap
from tocsin.mediation.soap.payloads import checked_media_type, is_xml
from tocsin.mediation.soap.soap import Envelope
from tocsin.mediation.ws import notifier_messages
from tocsin.mediation.ws.notifier_messages import NotifierRequest, NotifyRequest, PublishRequest
from tocsin.model.identity import MessageId, Pairs
from tocsin.model.notification import Payload
from tocsin.model.refusal import Refusal
from tocsin.model.replies import REPLY_FOR, REPLY_TO, REPLY_TYPE, REPLY_VIEW
from tocsin.routing.implicit.messages import Copy, Message
from tocsin.routing.implicit.notifier import MOST_NAMES
from tocsin.routing.implicit.protocols import DEFAULT, PROTOCOLS, protocol
from tocsin.routing.implicit.services import Published, Running
from tocsin.wire.asgi import Receive, Scope, Send, header, only, read_body, send_reply

PATH = NOTIFIERS
OWN = "din"  # the protocol of a Notify without headers: each notifier passes it on once
_ASKED = ("topic", "protocol", "limit")
_FORM = ("specversion", "datacontenttype")
# These are names of the notification that services are told; what the event had under them is told beside it.
_REPLY = (REPLY_TYPE, REPLY_FOR, REPLY_TO, REPLY_VIEW)
_TAKEN = frozenset(("id", "source", "type", "subject", "topic", "time", "label", "root", "sender", "hop", "protocol"))


class _Call(NamedTuple):
    """A request as far as it is known whom to answer, and how."""

    name: str
    scope: Scope
    body: bytes


class NotifierDoor:
    def __init__(self, gate: Gate) -> None:
        self._gate, self._implicit = gate, gate.node.implicit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        method, name = scope["method"], scope["path"][len(PATH) :]
        if method == "POST":
            reply = await self._post(name, scope, receive)
        elif method in ("GET", "HEAD"):
            reply = self._get(name, scope)
        else:
            reply = only("GET", "POST")
        await send_reply(send, reply)

    def _get(self, name: str, scope: Scope) -> Reply:
        """The WSDL is for every tool, as that of the broker is."""
        address = f"{self._gate.node.base_url}{door_of(name)}"
        try:
            if asks_for_wsdl(scope.get("query_string", b"")):
                return self._wsdl(name, address)
            return _json(_described(self._implicit.notifier(self._gate.caller(scope), name), address))
        except Refusal as refusal:
            return faults.problem(refusal)

    def _wsdl(self, name: str, address: str) -> Reply:
        """Nobody was asked for a name here, so that nobody hears of other notifiers."""
        try:
            self._implicit.notifier(NODE, name)
        except Refusal as refusal:
            text = f"there is no notifier {name[:80]!r} at this node; GET /api/notifiers tells which there are"
            raise Refusal(refusal.reason, text) from None
        return notifier_description(name, address)

    async def _post(self, name: str, scope: Scope, receive: Receive) -> Reply:
        body = b""
        try:
            body = await read_body(scope, receive, self._gate.node.body_limit)
            if _is_soap(scope, body):
                return await self._soap(_Call(name, scope, body))
            return await self._plain(_Call(name, scope, body))
        except Refusal as refusal:
            return self._guessed(scope, refusal) if _is_soap(scope, body) else faults.problem(refusal)

    async def handle(self, scope: Scope, body: bytes) -> Reply:
        """The answer to an envelope that did not come over HTTP. Of the scope: path and headers."""
        try:
            return await self._soap(_Call(scope["path"][len(PATH) :], scope, body))
        except Refusal as refusal:
            return self._guessed(scope, refusal)

    def _guessed(self, scope: Scope, refusal: Refusal) -> Reply:
        guess = Context(notifier_messages.NAME, soap.guess_soap(header(scope, b"content-type")), None)
        return self._fault(guess, refusal)

    async def _soap(self, call: _Call) -> Reply:
        envelope = notifier_messages.open_notifier_message(call.body)
        context = envelope.context(notifier_messages.NAME)
        try:
            asked = notifier_messages.asked_in(envelope)
            caller = self._admitted(call, envelope, asked)
            if (missing := self._missing(caller, call.name)) is not None:
                return _not_there(self._fault(context, missing))
            if isinstance(asked, NotifyRequest):
                await self._implicit.notify(
                    caller, asked.copy or self._own(call.name, asked, envelope.header("message_id"))
                )
                return notifier_messages.notified_reply(context)
            published = await self._publish(caller, call.name, asked, envelope.header("message_id"))
            return notifier_messages.published_reply(context, published)
        except Refusal as refusal:
            return self._fault(context, refusal)

    def _admitted(self, call: _Call, envelope: Envelope, asked: NotifierRequest) -> Caller:
        """A proof shows that a node of this world sent it; who has none is asked for its name."""
        if isinstance(asked, NotifyRequest) and asked.copy is not None:
            self._check(call.name, asked.copy, asked.proof)
            return NODE
        return self._gate.caller_of_message(call.scope, envelope)

    def _own(self, name: str, asked: NotifyRequest, said: str) -> Copy:
        """Of a stranger, who sends no headers: it has no sender, and begins here."""
        node = self._gate.node
        made = _id_for(name, said, asked.topic, asked.data) or MessageId(uuid.uuid4().urn)
        own = Message(made, OWN, name, asked.topic, asked.data, node.now(), node.base_url)
        return Copy(uuid.uuid4().hex, own, "", name, 1)

    async def _plain(self, call: _Call) -> Reply:
        """A CloudEvent, or anything else as it is with its topic in the address."""
        caller = self._gate.caller(call.scope)
        self._implicit.notifier(caller, call.name)
        asked = _in_query(call.scope)
        kind = header(call.scope, b"content-type")
        if kind.lower().startswith(FAMILY) or header(call.scope, b"ce-specversion"):
            published = _of_event(call, asked)
        else:
            published = _published(_needed(asked), Payload(checked_media_type(kind), call.body), asked)
        made = await self._implicit.publish_through(caller, call.name, published)
        view = None if published.reply is None else self._implicit.view_of(made)
        return _json(PublishedDocument.of(made, self._gate.node.base_url, view), 202)

    async def _publish(self, caller: Caller, name: str, asked: PublishRequest, said: str) -> MessageId:
        chosen, made = _protocol(asked.protocol), _id_for(name, said, asked.topic, asked.data)
        published = Published(asked.topic, asked.data, chosen, made, asked.limit)
        return await self._implicit.publish_through(caller, name, published)

    def _missing(self, caller: Caller, name: str) -> Refusal | None:
        try:
            self._implicit.notifier(caller, name)
        except Refusal as refusal:
            return refusal
        return None

    def _check(self, name: str, copy: Copy, proof: str) -> None:
        """Bounds before the proof, for which all of it is read; who made it, before what it says is looked at."""
        if len(copy.notified) > MOST_NAMES:
            raise Refusal(
                "too-large", f"Notified names {len(copy.notified)} notifiers; send the latest {MOST_NAMES} of them"
            )
        if not hmac.compare_digest(self._implicit.proof(NODE, copy).encode(), proof.encode()):
            raise Refusal(
                "not-proven",
                f"nothing proves that the message came from {copy.message.root!r}; send Notify without these headers"
                " to begin a message, or let the notifier of a node of this world send it",
            )
        self._check_root(copy.message.root)
        protocol(copy.message.protocol)
        if copy.to != name:
            raise Refusal("malformed", f"the copy is for {copy.to!r}, and was sent to the notifier {name!r}")

    def _check_root(self, root: str) -> None:
        """As far as this node can know: where another keeps the world, the proof has to do."""
        try:
            known = root in self._implicit.world(NODE).services
        except Refusal:
            return
        if not known:
            raise Refusal("not-proven", f"the root {root!r} is not registered in this world; register it first")

    def _fault(self, context: Context, refusal: Refusal) -> Reply:
        return faults.fault(notifier_messages.DIALECT, "", context, refusal, self._gate.node.now())


def _described(running: Running, address: str) -> dict[str, object]:
    return {
        "name": running.service.name,
        "categories": running.service.categories,
        "address": address,
        "wsdl": f"{address}?wsdl",
        "operations": ["Publish", "Notify"],
        "protocols": list(PROTOCOLS),
    }


def _not_there(fault: Reply) -> Reply:
    """In HTTP too: who would send again and again gives up."""
    return Reply(404, fault.headers, fault.body)


def _id_for(name: str, said: str, topic: str, data: Payload) -> MessageId | None:
    """Of what its sender gave an id: sent again it is the same message. Other content is another message, so that
    nobody can use up the ids of another."""
    if not said:
        return None
    content = hashlib.sha256(data.data).hexdigest()
    return MessageId(uuid.uuid5(uuid.NAMESPACE_URL, "\n".join((name, said, topic, content))).urn)


def _published(topic: str, data: Payload, asked: dict[str, str], attributes: Pairs = ()) -> Published:
    limit = asked.get("limit")
    if limit is not None and (not limit.isascii() or not limit.isdecimal() or not 0 < int(limit[:10]) < 10**9):
        raise Refusal("malformed", f"limit={limit[:80]!r} is not a whole number of 1 or more")
    chosen = _protocol(asked.get("protocol"))
    return Published(topic, data, chosen, limit=None if limit is None else int(limit), attributes=attributes)


def _protocol(name: str | None) -> str:
    return protocol(name).name if name else DEFAULT


def _of_event(call: _Call, asked: dict[str, str]) -> Published:
    """Its topic is the extension `topic`, else its subject: both as they are written, for labels are free text."""
    said, data = cloudevents.one_event(_headers(call.scope), call.body)
    topic = asked.get("topic") or said.get("topic") or said.get("subject")
    if not topic:
        raise Refusal("malformed", "of which topic is the event? name it in `subject`, or in the extension `topic`")
    reply = (said[REPLY_TYPE], said.get(REPLY_FOR, "")) if REPLY_TYPE in said else None
    own = {name: value for name, value in said.items() if name not in _FORM and name not in _REPLY}
    told = {f"event{name}" if name in _TAKEN else name: value for name, value in own.items()}
    made = _id_for(call.name, f"{said.get('source')} {said.get('id')}", topic, data)
    return replace(_published(topic, data, asked, tuple(told.items())), id=made, reply=reply)


def _headers(scope: Scope) -> Pairs:
    return tuple((str(name, "latin-1"), str(value, "latin-1")) for name, value in scope["headers"])


def _in_query(scope: Scope) -> dict[str, str]:
    try:
        found = dict(parse_qsl(scope.get("query_string", b"").decode(), keep_blank_values=True, errors="strict"))
    except UnicodeDecodeError:
        raise Refusal("malformed", "the query is not in UTF-8") from None
    for name in found:
        if name not in _ASKED:
            raise Refusal("malformed", f"{name[:80]!r} is not asked for here; {', '.join(_ASKED)} are")
    return found


def _needed(asked: dict[str, str]) -> str:
    if not (topic := asked.get("topic", "").strip()):
        raise Refusal("malformed", "of which topic? add ?topic=NAME to the address")
    return topic


def _is_soap(scope: Scope, body: bytes) -> bool:
    """SOAP 1.1 shares its media type with any other XML."""
    kind = header(scope, b"content-type").lower()
    if "application/soap+xml" in kind or header(scope, b"soapaction"):
        return True
    return is_xml(kind) and is_envelope(body)


def _json(value: object, status: int = 200) -> Reply:
    return Reply(status, (("Content-Type", "application/json"),), msgspec.json.encode(value))
