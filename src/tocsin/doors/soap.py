"""`/broker` and what lies below it, and `/onvif`: every SOAP dialect, and raw events."""

from msgspec.structs import replace

from tocsin.broker.caller import NODE
from tocsin.broker.node import now
from tocsin.doors.gate import Gate
from tocsin.doors.operations import REGISTRATIONS, operate
from tocsin.doors.views import viewed
from tocsin.markup import xml
from tocsin.mediation import dialects, raw
from tocsin.mediation.dialects import Reading
from tocsin.mediation.faults import problem
from tocsin.mediation.operations import Context, DestroyRegistration, Publish, Pull, Reply, Request, Unsubscribe
from tocsin.mediation.soap import soap
from tocsin.mediation.soap.notices import Recalled
from tocsin.mediation.soap.payloads import is_xml
from tocsin.mediation.soap.soap import Envelope
from tocsin.mediation.soap.templates import PULL_POINTS, SUBSCRIPTIONS
from tocsin.mediation.topics import PUBLISH_DOOR
from tocsin.mediation.ws import onvif, reply_messages, wse_2004_08, wsn_1_3
from tocsin.model.paths import SOAP_REPLIES
from tocsin.model.refusal import Refusal
from tocsin.wire.asgi import Receive, Scope, Send, header, read_body, send_accepted, send_reply, while_connected

_RESOURCES = (SUBSCRIPTIONS, PULL_POINTS, REGISTRATIONS)
_EVENTS = f"{PUBLISH_DOOR}/"


class SoapDoor:
    def __init__(self, gate: Gate) -> None:
        self._gate, self._node, self._body_limit = gate, gate.node, gate.node.body_limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await read_body(scope, receive, self._body_limit)
        except Refusal as refusal:
            reply: Reply | None = self._refuse(_guess(scope, b""), scope, refusal)
        else:
            reply = await self.handle(scope, body, receive)
        if reply is None:
            await send_accepted(send)
        elif reply.status == 202 and not reply.body:
            await send_accepted(send, dict(reply.headers).get("Location", "").encode())
        else:
            await send_reply(send, reply)

    async def handle(self, scope: Scope, body: bytes, receive: Receive) -> Reply | None:
        """The answer, None to what needs none but that it was accepted. Of the scope: path and headers.

        Who waits for messages may go away, which `receive` tells; everything else is done though nobody hears of it.
        """
        path: str = scope["path"]
        try:
            if f"{path}/".startswith(_EVENTS):
                return await self._event(path, scope, body)
            reading = dialects.open_soap(path, body)
            if not isinstance(reading, Recalled):
                return await self._message(path, scope, body, reading, receive)
            node, dialect = self._node, reading.dialect
            caller = NODE if self._gate.is_open else self._gate.caller(scope)
            view = await node.publishing.publish(caller, path, dialect, (), body, reading)
            if view is None and dialect not in dialects.ANSWERED:
                return None
            return _answered(view, dialects.acknowledged(reading, dialect, node.base_url), node.base_url)
        except Refusal as refusal:
            return self._refuse(_guess(scope, body), scope, refusal)

    async def _reply(self, path: str, reading: Envelope, guess: Context) -> Reply:
        """Of a receiver: its token stands for it, so nobody is asked for a name."""
        context = reading.context(guess.dialect)
        name = path[len(SOAP_REPLIES) :].strip("/") if path.startswith(f"{SOAP_REPLIES}/") else ""
        token, value = reply_messages.token_and_value(reading, name)
        await self._node.replying.reply(NODE, token, value)
        return reply_messages.counted(context)

    async def _message(self, path: str, scope: Scope, body: bytes, reading: Envelope, receive: Receive) -> Reply | None:
        """One that is read in full: any operation, or a notification in an envelope that is not known."""
        node = self._node
        try:
            if reading.operation == reply_messages.OPERATION:
                return await self._reply(path, reading, _guess(scope, body))
            caller = NODE if self._gate.is_open else self._gate.caller_of_message(scope, reading)
            heard = dialects.hear(reading, _resource(path), when := now())
            if isinstance(heard.request, Publish):
                dialect = heard.context.dialect
                view = await node.publishing.publish(caller, path, dialect, (), body, reading)
                return _answered(view, dialects.acknowledged(reading, dialect, node.base_url), node.base_url)
            work = operate(node, caller, _about(path, heard.request), when)
            answer = await (while_connected(receive, work) if isinstance(heard.request, Pull) else work)
            return dialects.answer(heard.context, answer, node.base_url)
        except Refusal as refusal:
            return self._refuse(_context(reading, _guess(scope, body)), scope, refusal)

    async def _event(self, path: str, scope: Scope, body: bytes) -> Reply | None:
        """A raw event in a SOAP body, a notification in any dialect, or anything else just as it is."""
        content_type = header(scope, b"content-type")
        kind = content_type.partition(";")[0].strip().lower()
        reading = None
        if "soap" in content_type or is_xml(content_type):
            reading = _envelope(path, content_type, body)
        if reading is None:
            dialect = dialects.EVENT_MEDIA_TYPES.get(kind, raw.NAME)
            headers = (("content-type", content_type),)
            said = header(scope, b"tocsin-reply-type")
            asked = (said, header(scope, b"tocsin-reply-for")) if said else None
            caller = self._gate.caller(scope)
            view = await self._node.publishing.publish(caller, path, dialect, headers, body, reply=asked)
            return _answered(view, None, self._node.base_url)
        dialect = reading.dialect if isinstance(reading, Recalled) else dialects.event_dialect(reading)
        try:
            envelope = None if isinstance(reading, Recalled) else reading
            caller = self._gate.caller_of_message(scope, envelope)
            view = await self._node.publishing.publish(caller, path, dialect, (), body, reading)
        except Refusal as refusal:
            return self._refuse(reading.context(dialect), scope, refusal)
        return _answered(view, dialects.acknowledged(reading, dialect, self._node.base_url), self._node.base_url)

    def _refuse(self, context: Context, scope: Scope, refusal: Refusal) -> Reply:
        if "json" in header(scope, b"content-type"):
            return problem(refusal)
        if scope["path"].startswith(onvif.DOOR):
            context = replace(context, faults=onvif.NAME)
        return dialects.fault(context, refusal, now())


def _answered(view: str | None, answer: Reply | None, base_url: str) -> Reply | None:
    return answer if view is None else viewed(view, base_url, answer)


def _resource(path: str) -> str:
    """The id of a subscription, a pull point or a registration that an address names."""
    return next((path[len(start) :].strip("/") for start in _RESOURCES if path.startswith(start)), "")


def _about(path: str, request: Request) -> Request:
    """WS-ResourceLifetime destroys registrations by the word that ends subscriptions."""
    if isinstance(request, Unsubscribe) and path.startswith(REGISTRATIONS):
        return DestroyRegistration(request.id)
    return request


def _context(envelope: Envelope, guess: Context) -> Context:
    try:
        return envelope.context(dialects.dialect_of(envelope))
    except Refusal:
        return envelope.context(dialects.dialect_of_namespace(envelope) or guess.dialect)


_ENVELOPE = (b"Envelope", "Envelope".encode("utf-16-le")[:-1])  # and of either byte order


def _envelope(path: str, content_type: str, body: bytes) -> Reading | None:
    """None for XML that is not an envelope; SOAP 1.1 shares its media type with it."""
    if "soap" not in content_type and not _mentions_envelope(body):
        return None
    try:
        return dialects.open_soap(path, body)
    except Refusal:
        if "soap" in content_type or _claims_to_be_soap(body):
            raise
        return None


def is_envelope(body: bytes) -> bool:
    """Of XML whose media type does not tell; what cannot be read may have been meant as one."""
    return _mentions_envelope(body) and _claims_to_be_soap(body)


def _mentions_envelope(body: bytes) -> bool:
    return any(each in body[:2048] for each in _ENVELOPE)


def _claims_to_be_soap(body: bytes) -> bool:
    try:
        return str(xml.parse(body).tag).endswith("}Envelope")
    except xml.MarkupError:
        return True


def _guess(scope: Scope, body: bytes) -> Context:
    """Whom to answer when the message itself does not tell: what it mentions, else what the door is for."""
    meant = wse_2004_08.NAME if scope["path"].startswith(PUBLISH_DOOR) else wsn_1_3.NAME
    dialect = dialects.mentioned_in(body) or meant
    return Context(dialect, soap.guess_soap(header(scope, b"content-type")), None)
