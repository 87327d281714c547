"""`/broker` and what lies below it: every SOAP dialect, and raw events."""

from tocsin.markup import xml
from tocsin.mediation import dialects, raw, soap, wse_2004_08, wsn_1_3
from tocsin.mediation.dialects import Heard, Reading
from tocsin.mediation.faults import fault, problem
from tocsin.mediation.memo import Recalled
from tocsin.mediation.namespaces import WSE, WSN
from tocsin.mediation.operations import (
    Answer,
    Context,
    Done,
    GetStatus,
    Publish,
    Renew,
    Renewed,
    Reply,
    Request,
    Status,
    Subscribe,
    Subscribed,
    Unsubscribe,
)
from tocsin.mediation.payloads import is_xml
from tocsin.mediation.soap import Envelope
from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.wire.asgi import Receive, Scope, Send, header, read_body, send_accepted, send_reply
from tocsin.wire.port import Broker

SUBSCRIPTIONS = "/broker/subscriptions/"


class SoapDoor:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, body = scope["path"], b""
        try:
            body = await read_body(scope, receive, self._broker.body_limit)
            if path == dialects.PUBLISH_DOOR or path.startswith(f"{dialects.PUBLISH_DOOR}/"):
                reply = await self._event(path, scope, body)
            else:
                reply = await self._message(path, scope, body)
        except Refusal as refusal:
            reply = self._refuse(_guess(path, scope, body), scope, refusal)
        if reply is None:
            await send_accepted(send)
        else:
            await send_reply(send, reply)

    async def _message(self, path: str, scope: Scope, body: bytes) -> Reply | None:
        reading = dialects.open_soap(path, body)
        if isinstance(reading, Recalled):
            await self._broker.publish(path, reading.dialect, (), body, reading)
            return None
        try:
            subscription = path[len(SUBSCRIPTIONS) :] if path.startswith(SUBSCRIPTIONS) else ""
            now = self._broker.now()
            heard = dialects.hear(reading, subscription, now)
            if isinstance(heard.request, Publish):
                await self._broker.publish(path, heard.context.dialect, (), body, reading)
                return None
            return dialects.answer(heard.context, await self._do(heard, now))
        except Refusal as refusal:
            return self._refuse(_context(reading, _guess(path, scope, body)), scope, refusal)

    async def _do(self, heard: Heard, now: Instant) -> Answer:
        """Answered with the time at which it was heard: who asks for an hour is told of an hour."""
        broker, request = self._broker, heard.request
        match request:
            case Subscribe():
                made = await broker.subscribe(request)
                address = wsn_1_3.manager_address(broker.base_url, made.id)
                return Subscribed(made, address, now)
            case Renew():
                return Renewed(await broker.renew(request), now)
            case GetStatus(id):
                return Status(broker.subscription(id), now)
            case Unsubscribe(id):
                await broker.unsubscribe(id)
                return Done()
        raise Refusal("unknown-operation", _shown(request))

    async def _event(self, path: str, scope: Scope, body: bytes) -> Reply | None:
        """A raw event in a SOAP body, a Notify, or anything else just as it is."""
        content_type = header(scope, b"content-type")
        if "soap" not in content_type and not is_xml(content_type):
            await self._broker.publish(path, raw.NAME, (("content-type", content_type),), body)
            return None
        reading = _envelope(path, content_type, body)
        if reading is None:
            await self._broker.publish(path, raw.NAME, (("content-type", content_type),), body)
            return None
        dialect = reading.dialect if isinstance(reading, Recalled) else _event_dialect(reading)
        try:
            await self._broker.publish(path, dialect, (), body, reading)
        except Refusal as refusal:
            context = _guess(path, scope, body) if isinstance(reading, Recalled) else reading.context(dialect)
            return self._refuse(context, scope, refusal)
        return None

    def _refuse(self, context: Context, scope: Scope, refusal: Refusal) -> Reply:
        content_type = header(scope, b"content-type")
        if "json" in content_type:
            return problem(refusal)
        return fault(context, refusal, self._broker.now())


def _context(envelope: Envelope, guess: Context) -> Context:
    try:
        return envelope.context(dialects.dialect_of(envelope))
    except Refusal:
        return envelope.context(guess.dialect)


def _event_dialect(envelope: Envelope) -> str:
    return wsn_1_3.NAME if wsn_1_3.OPERATIONS.get(envelope.operation) == "Notify" else wse_2004_08.NAME


_ENVELOPE = (b"Envelope", "Envelope".encode("utf-16-le")[:-1])  # and of either byte order


def _envelope(path: str, content_type: str, body: bytes) -> Reading | None:
    """None for XML that is not an envelope; SOAP 1.1 shares its media type with it."""
    if "soap" not in content_type and not any(each in body[:2048] for each in _ENVELOPE):
        return None
    try:
        return dialects.open_soap(path, body)
    except Refusal:
        if "soap" in content_type or _claims_to_be_soap(body):
            raise
        return None


def _claims_to_be_soap(body: bytes) -> bool:
    try:
        return str(xml.parse(body).tag).endswith("}Envelope")
    except xml.MarkupError:
        return True


def _guess(path: str, scope: Scope, body: bytes) -> Context:
    """Whom to answer when the message itself does not tell: what it mentions, else what the door is for."""
    events = path.startswith(dialects.PUBLISH_DOOR)
    said_wse, said_wsn = WSE.encode() in body, WSN.encode() in body
    dialect = wse_2004_08.NAME if said_wse or (events and not said_wsn) else wsn_1_3.NAME
    return Context(dialect, soap.guess_soap(header(scope, b"content-type")), None)


def _shown(request: Request) -> str:
    return f"{type(request).__name__} is not served here"
