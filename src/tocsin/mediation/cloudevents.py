"""CloudEvents 1.0 over HTTP, structured and binary (HTTP protocol binding 1.0 s3)."""

import base64
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal
from urllib.parse import quote, unquote

import msgspec

from tocsin.mediation import times
from tocsin.mediation.payloads import is_xml, type_name
from tocsin.model import names
from tocsin.model.identity import MessageId, Pairs
from tocsin.model.names import NO_TOPIC, QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription

NAME = "cloudevents"
STRUCTURED = "application/cloudevents+json"
NO_PRODUCER = "urn:tocsin:no-producer"  # CloudEvents demands a source
NO_TYPE = "tocsin.notification"  # and a type

_ATTRIBUTE = re.compile(r"[a-z0-9]{1,64}")
_REQUIRED = ("specversion", "id", "source", "type")
# What the model has a place for; any other attribute is kept as it is.
_PLACED = frozenset((*_REQUIRED, "datacontenttype", "topic", "data", "data_base64"))
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
    elif kind.startswith("application/cloudevents"):
        raise Refusal("unsupported-delivery", f"{kind} is not supported; send {STRUCTURED} or binary mode")
    else:
        attributes, payload = _binary(headers, content_type, record.body)
    return (_notification(record, attributes, payload),)


def _structured(body: bytes) -> tuple[dict[str, str], Payload]:
    try:
        event = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise Refusal("malformed", f"the event is not a JSON object: {problem}") from None
    attributes = {
        name: text
        for name, raw in event.items()
        if name not in ("data", "data_base64") and (text := _attribute(name, raw)) is not None
    }
    return attributes, _payload(event, attributes.get("datacontenttype", ""))


def _attribute(name: str, raw: msgspec.Raw) -> str | None:
    """In the canonical string form of its type (CloudEvents 1.0 s3.1); null is absent."""
    value = _decode_any(raw)
    if not _ATTRIBUTE.fullmatch(name):
        raise Refusal("malformed", f"{name!r} is no attribute name: lower-case letters and digits only")
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
    attributes = {name[3:]: unquote(value) for name, value in headers.items() if name.startswith("ce-")}
    for name in attributes:
        if not _ATTRIBUTE.fullmatch(name):
            raise Refusal("malformed", f"ce-{name} is no attribute name: lower-case letters and digits only")
    attributes.pop("datacontenttype", None)
    return attributes, Payload(content_type, body)


def _notification(record: Accepted, attributes: dict[str, str], payload: Payload) -> Notification:
    for name in _REQUIRED:
        if not attributes.get(name):
            raise Refusal("malformed", f"the CloudEvents attribute {name!r} is missing or empty")
    if attributes["specversion"] != "1.0":
        raise Refusal("malformed", f"CloudEvents {attributes['specversion']!r} is not supported; 1.0 is")
    topic, subject_is_topic = _topic(attributes)
    kept = tuple(
        sorted(
            (name, value)
            for name, value in attributes.items()
            if name not in _PLACED and not (subject_is_topic and name == "subject")
        )
    )
    source = attributes["source"]
    return Notification(
        MessageId(attributes["id"]),
        record.at,
        0,
        record.when,
        NAME,
        record.cause,
        "" if source == NO_PRODUCER else source,
        topic,
        None if attributes["type"] == NO_TYPE else type_name(attributes["type"]),
        kept,
        payload,
    )


def _topic(attributes: Mapping[str, str]) -> tuple[Topic, bool]:
    """The extension `topic` decides, else a subject that can be read as one; any other subject stays a subject."""
    if "topic" in attributes:
        found = names.topic(attributes["topic"])
        if found is None:
            raise Refusal("malformed", f"the attribute topic, {attributes['topic']!r}, is not a path such as a/b")
        return found, False
    found = names.topic(attributes.get("subject", ""))
    return (NO_TOPIC, False) if found is None else (found, True)


def is_json(media_type: str) -> bool:
    kind = media_type.split(";", 1)[0].strip().lower()
    return kind in ("application/json", "text/json") or kind.endswith("+json")


# Customise


def customise(notification: Notification, subscription: Subscription, base_url: str) -> tuple[Pairs, bytes]:
    del base_url
    return structured(notification) if subscription.form.wrapped else binary(notification)


_STRUCTURED_HEADERS: Pairs = (("Content-Type", f"{STRUCTURED}; charset=utf-8"),)


def structured(notification: Notification) -> tuple[Pairs, bytes]:
    payload = notification.payload
    found: list[tuple[str, object]] = [("specversion", "1.0"), *attributes_of(notification)]
    if payload.media_type:
        found.append(("datacontenttype", payload.media_type))
    if payload.data:
        found.append(_data(payload))
    return _STRUCTURED_HEADERS, _encode(dict(found))


def _data(payload: Payload) -> tuple[str, object]:
    kind = _kind(payload.media_type)
    if kind == "json" and _is_valid_json(payload.data):
        return "data", msgspec.Raw(payload.data)
    if kind == "text":
        try:
            return "data", payload.data.decode()
        except UnicodeDecodeError:
            pass
    return "data_base64", payload.data  # msgspec writes bytes in base64


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
    headers += [(f"ce-{name}", quote(value, safe=_PRINTABLE)) for name, value in attributes_of(notification)]
    if notification.payload.media_type:
        headers.append(("Content-Type", notification.payload.media_type))
    return tuple(headers), notification.payload.data


def attributes_of(notification: Notification) -> list[tuple[str, str]]:
    """In the order people read them; a topic is the subject unless the event has another."""
    kept = notification.attributes
    kind, subject, rest = _text(notification.type) or NO_TYPE, "subject", [("time", times.timestamp(notification.when))]
    if notification.dialect == NAME:
        rest = list(kept)
        subject = "topic" if notification.attribute("subject") is not None else subject
    elif kept:
        kind = notification.attribute("action") or kind  # WS-Eventing's action is its type
    found = [("id", notification.id), ("source", notification.producer or NO_PRODUCER), ("type", kind)]
    if notification.topic != NO_TOPIC:
        found.append((subject, _text(notification.topic)))
    return found + rest


@lru_cache(maxsize=4096)
def _text(name: QName | Topic | str | None) -> str:
    return "" if name is None else str(name)
