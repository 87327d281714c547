"""A notification as plain JSON, for web hooks whose makers know no specification: every entry under its own name."""

import base64
from collections.abc import Mapping

import msgspec

from tocsin.mediation.changes import (
    Change,
    action_as_type,
    collapsed_id,
    collapsed_producer,
    element_as_type,
    lone_element,
    name_as_text,
    no_attributes,
    subject_and_time,
    type_as_action,
)
from tocsin.mediation.cloudevents import is_json
from tocsin.mediation.entries import is_uri
from tocsin.mediation.payloads import checked_media_type, is_xml, type_name
from tocsin.mediation.rules import Dialect, Entry, Names
from tocsin.mediation.times import timestamp
from tocsin.mediation.topics import topic_of_door
from tocsin.model import names
from tocsin.model.identity import MessageId, Pairs
from tocsin.model.names import NO_TOPIC, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription

NAME = "webhook"
MEDIA_TYPE = "application/vnd.tocsin.notification+json"
_HEADERS: Pairs = (("Content-Type", MEDIA_TYPE),)

_member = Names("", "")
ENTRIES = (
    Entry("message_id", _member("id")),
    Entry("topic", _member("topic")),
    Entry("producer", _member("producer")),
    Entry("type", _member("type")),
    Entry("when", _member("time")),
    Entry("attributes", _member("attributes")),
    Entry("media_type", _member("media_type"), default="application/json"),
    Entry("payload", _member("payload"), required=True),
)


class _Message(msgspec.Struct, forbid_unknown_fields=True):
    """The table as a type: what is absent is None."""

    payload: msgspec.Raw = msgspec.Raw(b"")
    payload_base64: str | None = None
    id: str | None = None
    topic: str | None = None
    producer: str = ""
    type: str | None = None
    time: str | None = None
    attributes: dict[str, str] = {}
    media_type: str = "application/json"


_decode = msgspec.json.Decoder(_Message).decode
_text = msgspec.json.Decoder(str).decode
_check = msgspec.json.Decoder().decode


# Normalise


def notifications(record: Accepted) -> tuple[Notification, ...]:
    try:
        said = _decode(record.body)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise Refusal("malformed", f"this is not a notification in JSON: {problem}") from None
    for name, value in (("id", said.id), ("producer", said.producer), ("type", said.type), *said.attributes.items()):
        if value and not is_uri(value):
            raise Refusal("malformed", f"{name[:80]!r} is too long, or holds control characters")
    return (
        Notification(
            MessageId(said.id or f"urn:uuid:{record.cause}"),
            record.at,
            0,
            record.when,
            NAME,
            record.cause,
            said.producer,
            _topic(said.topic, record.door),
            None if said.type is None else type_name(said.type),
            tuple(sorted(said.attributes.items())),
            Payload(checked_media_type(said.media_type), _payload(said)),
        ),
    )


def _topic(text: str | None, door: str) -> Topic:
    if text is None:
        return topic_of_door(door) or NO_TOPIC
    found = names.topic(text)
    if found is None:
        raise Refusal("bad-topic-expression", f"{text[:80]!r} is not a topic such as a/b or {{urn:x}}a/b")
    return found


def _payload(said: _Message) -> bytes:
    """JSON stands there as it is, a text as a text, and what is neither in base64."""
    raw = bytes(said.payload)
    if (said.payload_base64 is None) == (not raw):
        raise Refusal("malformed", "there must be a payload or a payload_base64, and not both")
    try:
        if said.payload_base64 is not None:
            return base64.b64decode(said.payload_base64, validate=True)
        return raw if is_json(said.media_type) else _text(raw).encode()
    except (ValueError, msgspec.DecodeError):
        raise Refusal("malformed", "the payload is not what its media_type says: JSON, a text, or base64") from None


# Customise


def customise(notification: Notification, subscription: Subscription, base_url: str) -> tuple[Pairs, bytes]:
    del subscription, base_url
    found = {
        "id": notification.id,
        "topic": None if notification.topic == NO_TOPIC else str(notification.topic),
        "producer": notification.producer or None,
        "type": None if notification.type is None else str(notification.type),
        "time": timestamp(notification.when),
        "attributes": dict(notification.attributes) or None,
        "media_type": notification.payload.media_type,
    }
    members = msgspec.json.encode({name: value for name, value in found.items() if value is not None})
    return _HEADERS, b"%b,%b}" % (members[:-1], _member_of(notification.payload))


def _member_of(payload: Payload) -> bytes:
    data = payload.data
    if is_json(payload.media_type):
        if _is_json_text(data):
            return b'"payload":' + data
    elif is_xml(payload.media_type) or payload.media_type.startswith("text/"):
        try:
            return b'"payload":' + msgspec.json.encode(data.decode())
        except UnicodeDecodeError:
            pass
    return b'"payload_base64":' + msgspec.json.encode(data)


def _is_json_text(data: bytes) -> bool:
    try:
        _check(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


_INTO_SOAP: Mapping[str, Change] = {
    "id": collapsed_id,
    "producer": collapsed_producer,
    "type": element_as_type,
    "payload": lone_element,
}
DIALECT = Dialect(
    NAME,
    "plain JSON for web hooks",
    read=notifications,
    write=customise,
    media_types=(MEDIA_TYPE,),
    entries=ENTRIES,
    room=NAME,
    losses={
        ("wrapped", NAME): {"type": name_as_text},
        ("event", NAME): {"type": name_as_text},
        ("raw", NAME): {"type": name_as_text},
        ("cloudevents", NAME): {},
        (NAME, NAME): {},
        (NAME, "wrapped"): {**_INTO_SOAP, "attributes": no_attributes},
        (NAME, "event"): {**_INTO_SOAP, "attributes": type_as_action},
        (NAME, "cloudevents"): {"type": action_as_type, "attributes": subject_and_time},
    },
)
