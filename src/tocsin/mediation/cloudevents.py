"""CloudEvents 1.0 over HTTP, structured and binary (HTTP protocol binding 1.0 s3)."""

import base64
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal
from urllib.parse import quote, unquote

import msgspec

from tocsin.mediation import times
from tocsin.mediation.payloads import checked_media_type, is_xml, type_name
from tocsin.model import names
from tocsin.model.identity import MessageId, Pairs
from tocsin.model.names import NO_TOPIC, QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription

NAME = "cloudevents"
STRUCTURED = "application/cloudevents+json"
_FAMILY = "application/cloudevents"
NO_PRODUCER = "urn:tocsin:no-producer"  # CloudEvents demands a source
NO_TYPE = "tocsin.notification"  # and a type

LONGEST_NAME = 4096  # of what goes into caches and headers of other dialects

_ATTRIBUTE = re.compile(r"[a-z0-9]{1,64}")
_STRING = re.compile("[^\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]*")  # CloudEvents 1.0 s3.1
_REQUIRED = ("specversion", "id", "source", "type")
_PLACED = frozenset((*_REQUIRED, "datacontenttype"))  # what the model has a place for; the rest is kept as it is
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F))).replace('"', "").replace("%", "")

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_any = msgspec.json.Decoder().decode


# Normalise


def notifications(record: Accepted) -> tuple[Notification, ...]:
    headers = dict(record.headers)
    content_type = headers.get("content-type", "")
    kind = content_type.split(";", 1)[0].strip().lower()
    if kind == STRUCTURED:
        attributes, payload = _structured(record.body)
    elif kind.startswith(_FAMILY):
        raise Refusal("unsupported-delivery", f"{kind} is not supported; send {STRUCTURED} or binary mode")
    else:
        attributes, payload = _binary(headers, content_type, record.body)
    return (_notification(record, attributes, payload),)


def _structured(body: bytes) -> tuple[dict[str, str], Payload]:
    try:
        event = _decode(body)
        attributes = {
            name: text
            for name, raw in event.items()
            if name not in ("data", "data_base64") and (text := _text_of(name, _decode_any(raw))) is not None
        }
        return attributes, _payload(event, attributes.get("datacontenttype", ""))
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise Refusal("malformed", f"the event is not a JSON object: {problem}") from None


def _text_of(name: str, value: object) -> str | None:
    """In the canonical string form of its type (CloudEvents 1.0 s3.1); null is absent."""
    match value:
        case None | str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
    raise Refusal("malformed", f"the attribute {name!r} is neither a string, an integer nor a boolean")


def _payload(event: Mapping[str, msgspec.Raw], media_type: str) -> Payload:
    if "data_base64" in event:
        if "data" in event:
            raise Refusal("malformed", "there is data or data_base64, not both")
        try:
            return Payload(media_type, base64.b64decode(str(_decode_any(event["data_base64"])), validate=True))
        except ValueError:
            raise Refusal("malformed", "data_base64 cannot be decoded") from None
    if "data" not in event:
        return Payload(media_type, b"")
    raw = bytes(event["data"])
    if not media_type or is_json(media_type):
        return Payload(media_type or "application/json", raw)
    value = _decode_any(raw)
    return Payload(media_type, value.encode() if isinstance(value, str) else raw)


def _binary(headers: Mapping[str, str], content_type: str, body: bytes) -> tuple[dict[str, str], Payload]:
    """A value may stand in quotes, and is percent-encoded either way (HTTP binding s3.1.3.2)."""
    found = {name[3:]: value.strip() for name, value in headers.items() if name.startswith("ce-")}
    attributes = {name: unquote(_QUOTED.sub(r"\1", v[1:-1]) if _IN_QUOTES(v) else v) for name, v in found.items()}
    attributes.pop("datacontenttype", None)
    return attributes, Payload(content_type, body)


_IN_QUOTES = re.compile(r'"(?:[^"\\]|\\.)*"').fullmatch
_QUOTED = re.compile(r"\\(.)")


def _notification(record: Accepted, attributes: dict[str, str], payload: Payload) -> Notification:
    _check(attributes)
    source = attributes["source"]
    return Notification(
        MessageId(attributes["id"]),
        record.at,
        0,
        record.when,
        NAME,
        record.cause,
        "" if source == NO_PRODUCER else source,
        _topic(attributes),
        None if attributes["type"] == NO_TYPE else type_name(attributes["type"]),
        tuple(sorted(pair for pair in attributes.items() if pair[0] not in _PLACED)),
        Payload(checked_media_type(payload.media_type), payload.data),
    )


def _check(attributes: Mapping[str, str]) -> None:
    for name in _REQUIRED:
        if not attributes.get(name, "").strip():
            raise Refusal("malformed", f"the CloudEvents attribute {name!r} is missing or empty")
        if len(attributes[name]) > LONGEST_NAME:
            raise Refusal("malformed", f"the attribute {name!r} has more than {LONGEST_NAME} characters")
    if attributes["specversion"] != "1.0":
        raise Refusal("malformed", f"CloudEvents {attributes['specversion'][:80]!r} is not supported; 1.0 is")
    for name, value in attributes.items():
        if not _ATTRIBUTE.fullmatch(name):
            raise Refusal("malformed", f"{name[:80]!r} is no attribute name: lower-case letters and digits only")
        if not _STRING.fullmatch(value):
            raise Refusal("malformed", f"the attribute {name!r} holds control characters")


def _topic(attributes: Mapping[str, str]) -> Topic:
    """The extension `topic` decides, else a subject that can be read as one; any other subject is only a subject."""
    if "topic" in attributes:
        found = names.topic(attributes["topic"])
        if found is None:
            raise Refusal("malformed", f"the attribute topic, {attributes['topic'][:80]!r}, is not a path such as a/b")
        return found
    return names.topic(attributes.get("subject", "")) or NO_TOPIC


def is_json(media_type: str) -> bool:
    kind = media_type.split(";", 1)[0].strip().lower()
    return kind in ("application/json", "text/json") or kind.endswith("+json")


# Customise


def customise(notification: Notification, subscription: Subscription, base_url: str) -> tuple[Pairs, bytes]:
    """An event inside an event can only be sent structured: its media type is how structured mode is told."""
    del base_url
    nested = notification.payload.media_type.lower().startswith(_FAMILY)
    return structured(notification) if subscription.form.wrapped or nested else binary(notification)


_STRUCTURED_HEADERS: Pairs = (("Content-Type", f"{STRUCTURED}; charset=utf-8"),)


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
    except (msgspec.DecodeError, UnicodeDecodeError):
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
