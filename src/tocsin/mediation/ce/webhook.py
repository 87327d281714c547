"""A notification as plain JSON, for web hooks whose makers know no specification: every entry under its own name."""

import base64
from collections.abc import Mapping

import msgspec

from tocsin.mediation import changes
from tocsin.mediation.ce.writing import is_json, is_valid_json
from tocsin.mediation.rules import Dialect, Entry, Names
from tocsin.mediation.soap.payloads import checked_media_type, is_xml, type_name
from tocsin.mediation.soap.soap import is_uri
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
_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_text = msgspec.json.Decoder(str).decode
_texts = msgspec.json.Decoder(dict[str, str]).decode
_encode = msgspec.json.Encoder().encode


class Members:
    """The entries that were found, each still as it was written: an entry's path is the name of one member."""

    def __init__(self, found: Mapping[str, bytes]) -> None:
        self._found = found

    def raw(self, name: str) -> bytes | None:
        return self._found.get(name)

    def text(self, name: str) -> str | None:
        value = self._found.get(name)
        try:
            return None if value is None else _text(value)
        except msgspec.DecodeError:
            raise Refusal("malformed", f"{name} is not a text") from None

    def texts(self, name: str) -> dict[str, str]:
        try:
            return _texts(self._found.get(name, b"{}"))
        except msgspec.DecodeError:
            raise Refusal("malformed", f"{name} is not an object whose members are texts") from None


def _read(body: bytes) -> Members:
    """Present is transformed, absent and defaulted is added, absent and required is refused (WS-Messenger table 3)."""
    try:
        said = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as problem:
        raise Refusal("malformed", f"this is not a JSON object: {problem}") from None
    places = {entry.path[0].local: entry.name for entry in ENTRIES}
    for member in said:
        if member not in places:
            raise Refusal("malformed", f"{member[:80]!r} is not a member; there are {', '.join(places)}")
    found = {places[member]: bytes(raw) for member, raw in said.items()}
    for entry in ENTRIES:
        if entry.name not in found:
            if entry.required:
                raise Refusal("malformed", f"the member {entry} is missing")
            if entry.default is not None:
                found[entry.name] = _encode(entry.default)
    return Members(found)


def notifications(record: Accepted) -> tuple[Notification, ...]:
    said = _read(record.body)
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
    """None is left out; bytes are JSON already."""
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
    members = (
        b'"%b":%b' % (str(entry).encode(), value if isinstance(value, bytes) else _encode(value))
        for entry in ENTRIES
        if (value := values.get(entry.name)) is not None
    )
    return _HEADERS, b"{%b}" % b",".join(members)


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


DIALECT = Dialect(
    NAME,
    "plain JSON for web hooks",
    read=notifications,
    write=customise,
    media_types=(MEDIA_TYPE,),
    entries=ENTRIES,
    room=NAME,
    losses={
        ("wrapped", NAME): {"type": changes.name_as_text},
        ("event", NAME): {"type": changes.name_as_text},
        ("raw", NAME): {"type": changes.name_as_text},
        ("cloudevents", NAME): {},
        (NAME, NAME): {},
        (NAME, "wrapped"): {**changes.INTO_SOAP, "attributes": changes.no_attributes},
        (NAME, "event"): {**changes.INTO_SOAP, "attributes": changes.type_as_action},
        (NAME, "cloudevents"): {"type": changes.action_as_type, "attributes": changes.subject_and_time},
    },
)
