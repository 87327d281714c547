"""CloudEvents 1.0.2 over HTTP: structured, binary and batched (HTTP protocol binding s3)."""

import base64
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal
from urllib.parse import quote, unquote

import msgspec

from tocsin.mediation import times
from tocsin.mediation.ce_attributes import REQUIRED, check
from tocsin.mediation.ce_memo import EventMemo
from tocsin.mediation.payloads import checked_media_type, is_xml, type_name
from tocsin.mediation.rules import Dialect, Entry, Names
from tocsin.model import names
from tocsin.model.identity import MessageId, Pairs
from tocsin.model.names import NO_TOPIC, QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Form, Subscription

NAME = "cloudevents"
STRUCTURED = "application/cloudevents+json"
BATCHED = "application/cloudevents-batch+json"
_FAMILY = "application/cloudevents"
NO_PRODUCER = "urn:tocsin:no-producer"  # CloudEvents demands a source
NO_TYPE = "tocsin.notification"  # and a type

_LONGEST_KEPT = 512  # of what is remembered

_INTEGERS = range(-(2**31), 2**31)
_PLACED = frozenset((*REQUIRED, "datacontenttype"))  # what the model has a place for; the rest is kept as it is
_KNOWN = frozenset(("", "application/json", "application/xml"))
_DATA = ("data", "data_base64")
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F))).replace('"', "").replace("%", "")

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, object]).decode
_decode_batch = msgspec.json.Decoder(list[msgspec.Raw]).decode
_decode_any = msgspec.json.Decoder().decode
_decode_headers = msgspec.json.Decoder(Pairs).decode


class _Data(msgspec.Struct, frozen=True):
    data: msgspec.Raw


_decode_data = msgspec.json.Decoder(_Data).decode
_EMPTY = re.compile(rb"\s*\[\s*\]\s*")

Mode = Literal["structured", "batched", "binary"]


# Normalise


def notifications(record: Accepted) -> tuple[Notification, ...]:
    headers = dict(record.headers)
    content_type = headers.get("content-type", "")
    mode, charset = _mode(content_type) if len(content_type) < _LONGEST_KEPT else _told_mode(content_type)
    if mode == "binary":
        return (_notification(record, 0, *_binary(headers, content_type, record.body)),)
    body = record.body if charset == "utf-8" else _transcoded(record.body, charset)
    if mode == "structured":
        return (_of_one(record, body),)
    return tuple(_of_batch(record, index, raw) for index, raw in enumerate(_batch(body)))


def _of_one(record: Accepted, body: bytes) -> Notification:
    """Senders repeat themselves: what was read in full once is known again by what does not change."""
    event = _decoded(body)
    found = _MEMO.recall(record, event)
    if found is None:
        found = _notification(record, 0, *_structured(event, body))
        _MEMO.learn(event, found)
    return found


def is_empty_batch(content_type: str, body: bytes) -> bool:
    """A batch may be empty (HTTP binding s3.3.2): there is nothing to store, and nothing wrong."""
    return content_type.lower().startswith(BATCHED) and _EMPTY.fullmatch(body) is not None


def _told_mode(content_type: str) -> tuple[Mode, str]:
    """And the character set, which of JSON is UTF-8 unless said otherwise."""
    kind, *parameters = (each.strip() for each in content_type.split(";"))
    kind = kind.lower()
    if not kind.startswith(_FAMILY):
        return "binary", ""
    if kind not in (STRUCTURED, BATCHED):
        known = f"{STRUCTURED}, {BATCHED} or binary mode"
        raise Refusal("unsupported-delivery", f"the event format {kind[:80]} is not supported; send {known}")
    named = (each.partition("=")[2].strip(' "') for each in parameters if each.lower().startswith("charset="))
    return "structured" if kind == STRUCTURED else "batched", next(named, "utf-8").lower()


_mode = lru_cache(maxsize=256)(_told_mode)


_CHARSET = re.compile(r"utf-?(8|16|32)(-?[lb]e)?|(us-)?ascii|iso-8859-\d{1,2}|windows-125\d", re.ASCII)


def _transcoded(body: bytes, charset: str) -> bytes:
    """Of the codecs that Python has some take time for the square of the length, so it is not asked for others."""
    if _CHARSET.fullmatch(charset) is None:
        raise Refusal("malformed", f"the charset {charset[:80]!r} is not known; send UTF-8")
    try:
        return body.decode(charset).encode()
    except (LookupError, ValueError):
        raise Refusal("malformed", f"the body is not in the charset {charset} that its Content-Type names") from None


def _batch(body: bytes) -> list[msgspec.Raw]:
    try:
        return _decode_batch(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise Refusal("malformed", f"the batch is not a JSON array of events: {problem}") from None


def _of_batch(record: Accepted, index: int, raw: msgspec.Raw) -> Notification:
    try:
        return _notification(record, index, *_structured(_decoded(raw), raw))
    except Refusal as refusal:
        text = f"event {index} of the batch (they count from 0), so nothing of it is accepted: {refusal.text}"
        raise Refusal(refusal.reason, text, refusal.about) from None


def _decoded(body: bytes | msgspec.Raw) -> dict[str, object]:
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise Refusal("malformed", f"the event is not a JSON object: {problem}") from None
    except RecursionError:
        raise Refusal("malformed", "the event is nested too deeply") from None


def _structured(event: dict[str, object], body: bytes | msgspec.Raw) -> tuple[dict[str, str], Payload]:
    attributes = {
        name: text
        for name, value in event.items()
        if name not in _DATA and (text := value if type(value) is str else _text_of(name, value)) is not None
    }
    return attributes, _payload(body, event, attributes.get("datacontenttype", ""))


def _text_of(name: str, value: object) -> str | None:
    """In the canonical string form of its type (CloudEvents 1.0 s3.1); null is absent."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, int):
        raise Refusal("malformed", f"the attribute {name[:80]!r} is neither a string, an integer nor a boolean")
    if value not in _INTEGERS:
        raise Refusal("malformed", f"the attribute {name[:80]!r} is no integer of 32 bits; write it as a string")
    return str(value)


def _payload(body: bytes | msgspec.Raw, event: Mapping[str, object], media_type: str) -> Payload:
    """JSON is kept as it was written, to the last space."""
    if (encoded := event.get("data_base64")) is not None:
        if "data" in event:
            raise Refusal("malformed", "there is data or data_base64, not both")
        return Payload(media_type, _from_base64(encoded))
    if "data" not in event:
        return Payload(media_type, b"")
    value = event["data"]
    if type(value) is str and media_type and _kind(media_type) != "json":
        return Payload(media_type, value.encode())
    return Payload(media_type or "application/json", bytes(_decode_data(body).data))


def _from_base64(encoded: object) -> bytes:
    try:
        if isinstance(encoded, str):
            return base64.b64decode(encoded, validate=True)
    except ValueError:
        pass
    raise Refusal("malformed", "data_base64 cannot be decoded") from None


def _binary(headers: Mapping[str, str], content_type: str, body: bytes) -> tuple[dict[str, str], Payload]:
    found = {name[3:]: value.strip() for name, value in headers.items() if name.startswith("ce-")}
    attributes = {name: _header(name, value) for name, value in found.items()}
    attributes.pop("datacontenttype", None)
    return attributes, Payload(content_type, body)


def _header(name: str, value: str) -> str:
    """A value may stand in quotes, and is percent-encoded UTF-8 either way (HTTP binding s3.1.3.2)."""
    if "%" not in value and '"' not in value:
        return value
    try:
        return unquote(_QUOTED.sub(r"\1", value[1:-1]) if _IN_QUOTES(value) else value, errors="strict")
    except UnicodeDecodeError:
        raise Refusal("malformed", f"the header ce-{name[:80]} holds percent-encoded bytes that are no UTF-8") from None


_IN_QUOTES = re.compile(r'"(?:[^"\\]|\\.)*"').fullmatch
_QUOTED = re.compile(r"\\(.)")


def _notification(record: Accepted, index: int, attributes: dict[str, str], payload: Payload) -> Notification:
    check(attributes)
    source, kind = attributes["source"], attributes["type"]
    return Notification(
        MessageId(attributes["id"]),
        record.at,
        index,
        record.when,
        NAME,
        record.cause,
        "" if source == NO_PRODUCER else source,
        _topic(attributes),
        None if kind == NO_TYPE else _type(kind),
        _kept(attributes),
        payload if payload.media_type in _KNOWN else Payload(checked_media_type(payload.media_type), payload.data),
    )


def _kept(attributes: dict[str, str]) -> Pairs:
    for name in _PLACED:
        attributes.pop(name, None)
    return tuple(sorted(attributes.items()))


def _topic(attributes: Mapping[str, str]) -> Topic:
    """The extension `topic` decides, else a subject that can be read as one; any other subject is only a subject."""
    if "topic" in attributes:
        found = names.topic(attributes["topic"])
        if found is None:
            raise Refusal("malformed", f"the attribute topic, {attributes['topic'][:80]!r}, is not a path such as a/b")
        return found
    subject = attributes.get("subject", "")
    return (_known_topic(subject) if len(subject) < _LONGEST_KEPT else names.topic(subject)) or NO_TOPIC


def _type(text: str) -> QName | str:
    return _known_type(text) if len(text) < _LONGEST_KEPT else type_name(text)


_known_topic = lru_cache(maxsize=4096)(names.topic)
_known_type = lru_cache(maxsize=4096)(type_name)


_MEMO = EventMemo(NAME)


def is_json(media_type: str) -> bool:
    kind = media_type.split(";", 1)[0].strip().lower()
    return kind in ("application/json", "text/json") or kind.endswith("+json")


# Customise


def customise(notification: Notification, subscription: Subscription, base_url: str) -> tuple[Pairs, bytes]:
    del base_url
    headers, body = _message(notification, subscription.form)
    consumer = subscription.consumer
    if consumer is not None and consumer.reference:
        return _with_own(headers, consumer.reference), body
    return headers, body


def _message(notification: Notification, form: Form) -> tuple[Pairs, bytes]:
    """An event inside an event can only be sent structured: its media type is how structured mode is told.

    Who takes several in one message is sent a batch, here of one; others are put to it on the way out.
    """
    if form.together > 1:
        return _BATCHED_HEADERS, b"[%b]" % structured(notification)[1]
    nested = notification.payload.media_type.lower().startswith(_FAMILY)
    return structured(notification) if form.wrapped or nested else binary(notification)


def _with_own(headers: Pairs, reference: bytes) -> Pairs:
    always = headers is _STRUCTURED_HEADERS or headers is _BATCHED_HEADERS
    return _always_with_own(headers, reference) if always else headers + own_headers(reference)


@lru_cache(maxsize=1024)
def _always_with_own(headers: Pairs, reference: bytes) -> Pairs:
    return headers + own_headers(reference)


def own_headers(reference: bytes) -> Pairs:
    """What a consumer wants to be sent with every event: to CloudEvents, what reference parameters are to SOAP.

    Those of SOAP are XML, and nothing to a consumer of CloudEvents.
    """
    return _decode_headers(reference) if reference[:1] == b"[" else ()


_STRUCTURED_HEADERS: Pairs = (("Content-Type", f"{STRUCTURED}; charset=utf-8"),)
_BATCHED_HEADERS: Pairs = (("Content-Type", f"{BATCHED}; charset=utf-8"),)


def structured(notification: Notification) -> tuple[Pairs, bytes]:
    """Written member by member: all but id, time and data is the same for most events of a producer."""
    payload = notification.payload
    if notification.dialect == NAME:
        media_type = {"datacontenttype": payload.media_type} if payload.media_type else {}
        members = _members(attributes_of(notification) | media_type)
    else:
        members = b'"id":%b,%b,"time":"%b"' % (
            _encode(notification.id),
            _lasting_members(*_lasting(notification), payload.media_type),
            times.timestamp(notification.when).encode(),
        )
    return _STRUCTURED_HEADERS, b'{"specversion":"1.0",%b%b}' % (members, _data(payload))


def _members(attributes: Mapping[str, str]) -> bytes:
    return _encode(attributes)[1:-1]


def _data(payload: Payload) -> bytes:
    """The member for the data, if there is any; msgspec writes bytes in base64."""
    data = payload.data
    if not data:
        return b""
    kind = _kind(payload.media_type)
    if kind == "json" and _is_valid_json(data):
        return b',"data":' + data
    try:
        return b',"data":' + _encode(data.decode()) if kind == "text" else b',"data_base64":' + _encode(data)
    except UnicodeDecodeError:
        return b',"data_base64":' + _encode(data)


@lru_cache(maxsize=256)
def _kind(media_type: str) -> Literal["json", "text", "binary"]:
    if is_json(media_type):
        return "json"
    return "text" if is_xml(media_type) or media_type.startswith("text/") else "binary"


def _is_valid_json(data: bytes) -> bool:
    try:
        _decode_any(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def binary(notification: Notification) -> tuple[Pairs, bytes]:
    headers = [("ce-specversion", "1.0")]
    headers += [(f"ce-{name}", quote(value, safe=_PRINTABLE)) for name, value in attributes_of(notification).items()]
    if notification.payload.media_type:
        headers.append(("Content-Type", notification.payload.media_type))
    return tuple(headers), notification.payload.data


def context_of(notification: Notification) -> dict[str, str]:
    """Every context attribute a subscriber would be told, the media type of the data among them."""
    found = {"specversion": "1.0"} | attributes_of(notification)
    media_type = notification.payload.media_type
    return found | {"datacontenttype": media_type} if media_type else found


def attributes_of(notification: Notification) -> dict[str, str]:
    """In the order people read them. An event that was none before gets its topic as subject, and a time."""
    found: dict[str, str] = {"id": notification.id}
    if notification.dialect != NAME:
        return found | _lasting_attributes(*_lasting(notification)) | {"time": times.timestamp(notification.when)}
    found["source"] = notification.producer or NO_PRODUCER
    found["type"] = NO_TYPE if notification.type is None else str(notification.type)
    return found | dict(notification.attributes)


_Lasting = tuple[str, QName | str | None, Topic, Pairs]


def _lasting(notification: Notification) -> _Lasting:
    return notification.producer, notification.type, notification.topic, notification.attributes


def _lasting_attributes(producer: str, kind: QName | str | None, topic: Topic, attributes: Pairs) -> dict[str, str]:
    """Of an event from another dialect. WS-Eventing's action says more than the name of the payload's element."""
    name = dict(attributes).get("action") or (NO_TYPE if kind is None else str(kind))
    found = {"source": producer or NO_PRODUCER, "type": name}
    return found if topic == NO_TOPIC else found | {"subject": str(topic)}


@lru_cache(maxsize=1024)
def _lasting_members(
    producer: str, kind: QName | str | None, topic: Topic, attributes: Pairs, media_type: str
) -> bytes:
    found = _lasting_attributes(producer, kind, topic, attributes)
    return _members(found | {"datacontenttype": media_type} if media_type else found)


_attribute = Names("", "")
ENTRIES = (
    Entry("message_id", _attribute("id"), required=True),
    Entry("producer", _attribute("source"), required=True, default=NO_PRODUCER),
    Entry("type", _attribute("type"), required=True, default=NO_TYPE),
    Entry("topic", _attribute("subject")),
    Entry("when", _attribute("time")),
    Entry("media_type", _attribute("datacontenttype")),
    Entry("attributes", _attribute("extensions")),
    Entry("payload", _attribute("data")),
)
DIALECT = Dialect(
    NAME,
    "CloudEvents 1.0",
    read=notifications,
    write=customise,
    media_types=(STRUCTURED,),
    entries=ENTRIES,
    door="/events",
)
