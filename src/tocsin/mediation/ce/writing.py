"""CloudEvents 1.0.2, written: structured, binary, and batches of one (HTTP protocol binding s3)."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal
from urllib.parse import quote

import msgspec

from tocsin.mediation import times
from tocsin.mediation.ce.attributes import BATCHED, FAMILY, NAME, NO_PRODUCER, NO_TYPE, STRUCTURED
from tocsin.mediation.soap.payloads import is_xml
from tocsin.model.content_topic import CONTENT_TOPIC
from tocsin.model.identity import Pairs
from tocsin.model.names import NO_TOPIC, QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.subscription import Form, Subscription

_PRINTABLE = "".join(map(chr, range(0x21, 0x7F))).replace('"', "").replace("%", "")
_encode = msgspec.json.Encoder().encode
_decode_any = msgspec.json.Decoder().decode
_decode_headers = msgspec.json.Decoder(Pairs).decode


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
    nested = notification.payload.media_type.lower().startswith(FAMILY)
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
    kind = kind_of(payload.media_type)
    if kind == "json" and is_valid_json(data):
        return b',"data":' + data
    try:
        return b',"data":' + _encode(data.decode()) if kind == "text" else b',"data_base64":' + _encode(data)
    except UnicodeDecodeError:
        return b',"data_base64":' + _encode(data)


@lru_cache(maxsize=256)
def kind_of(media_type: str) -> Literal["json", "text", "binary"]:
    if is_json(media_type):
        return "json"
    return "text" if is_xml(media_type) or media_type.startswith("text/") else "binary"


def is_valid_json(data: bytes) -> bool:
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
    if topic != NO_TOPIC:
        found["subject"] = str(topic)
    content_topic = dict(attributes).get(CONTENT_TOPIC)
    return found if content_topic is None else found | {CONTENT_TOPIC: content_topic}


@lru_cache(maxsize=1024)
def _lasting_members(
    producer: str, kind: QName | str | None, topic: Topic, attributes: Pairs, media_type: str
) -> bytes:
    found = _lasting_attributes(producer, kind, topic, attributes)
    return _members(found | {"datacontenttype": media_type} if media_type else found)


def is_json(media_type: str) -> bool:
    kind = media_type.split(";", 1)[0].strip().lower()
    return kind in ("application/json", "text/json") or kind.endswith("+json")


def combinable(headers: Pairs) -> bool:
    """Whether bodies that go out under these headers can be joined.

    A message for a consumer that takes several is written as a batch of one (CloudEvents JSON format 1.0 s4.2): an
    array without anything around it. Batches are joined without being read again.
    """
    kinds = (value.partition(";")[0].strip().lower() for name, value in headers if name.lower() == "content-type")
    return BATCHED in kinds


def combine(bodies: Iterable[bytes]) -> bytes:
    return b"[%b]" % b",".join(body[1:-1] for body in bodies)
