"""A notification as plain JSON, for web hooks whose makers know no specification: every entry under its own name."""

import base64
from collections.abc import Mapping

import msgspec

from tocsin.mediation.ce.members import Members, read_members, write_members
from tocsin.mediation.ce.writing import is_json, is_valid_json
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
from tocsin.mediation.rules import Dialect, Entry, Names
from tocsin.mediation.soap.entries import is_uri
from tocsin.mediation.soap.payloads import checked_media_type, is_xml, type_name
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
    Entry("when", _member("accepted")),  # ours to say: what a publisher says of it is ignored
    Entry("attributes", _member("attributes")),
    Entry("media_type", _member("media_type"), default="application/json"),
    Entry("payload", _member("payload")),
    Entry("encoded", _member("payload_base64")),
)


def notifications(record: Accepted) -> tuple[Notification, ...]:
    said = read_members(record.body, ENTRIES)
    kind, media_type = _uri(said, "type"), checked_media_type(said.text("media_type") or "")
    return (
        Notification(
            MessageId(_uri(said, "message_id") or f"urn:uuid:{record.cause}"),
            record.at,
            0,
            record.when,
            NAME,
            record.cause,
            _uri(said, "producer") or "",
            _topic(said.text("topic"), record.door),
            None if kind is None else type_name(kind),
            _attributes(said),
            Payload(media_type, _payload(said, media_type)),
        ),
    )


def _uri(said: Members, name: str) -> str | None:
    text = said.text(name)
    if text is not None and not is_uri(text):
        raise Refusal("malformed", f"{name} is too long, or holds control characters")
    return text


def _attributes(said: Members) -> Pairs:
    found = said.texts("attributes")
    for name, value in found.items():
        if not is_uri(value):
            raise Refusal("malformed", f"the attribute {name[:80]!r} is too long, or holds control characters")
    return tuple(sorted(found.items()))


def _topic(text: str | None, door: str) -> Topic:
    if text is None:
        return topic_of_door(door) or NO_TOPIC
    found = names.topic(text)
    if found is None:
        raise Refusal("bad-topic-expression", f"{text[:80]!r} is not a topic such as a/b or {{urn:x}}a/b")
    return found


def _payload(said: Members, media_type: str) -> bytes:
    """JSON stands there as it is, a text as a text, and what is neither in base64."""
    raw, encoded = said.raw("payload"), said.text("encoded")
    if (raw is None) == (encoded is None):
        raise Refusal("malformed", "there must be a payload or a payload_base64, and not both")
    if encoded is None:
        return raw or b"" if is_json(media_type) else (said.text("payload") or "").encode()
    try:
        return base64.b64decode(encoded, validate=True)
    except ValueError:
        raise Refusal("malformed", "payload_base64 cannot be decoded") from None


def customise(notification: Notification, subscription: Subscription, base_url: str) -> tuple[Pairs, bytes]:
    del subscription, base_url
    values = {
        "message_id": notification.id,
        "topic": None if notification.topic == NO_TOPIC else str(notification.topic),
        "producer": notification.producer or None,
        "type": None if notification.type is None else str(notification.type),
        "when": timestamp(notification.when),
        "attributes": dict(notification.attributes) or None,
        "media_type": notification.payload.media_type,
        **_written(notification.payload),
    }
    return _HEADERS, write_members(values, ENTRIES)


def _written(payload: Payload) -> Mapping[str, object]:
    data = payload.data
    if is_json(payload.media_type) and is_valid_json(data):
        return {"payload": data}
    if is_xml(payload.media_type) or payload.media_type.startswith("text/"):
        try:
            return {"payload": data.decode()}
        except UnicodeDecodeError:
            pass
    return {"encoded": msgspec.json.encode(data)}


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
