"""CloudEvents 1.0.2 over HTTP: structured, binary and batched, read (HTTP protocol binding s3); and its tables."""

import base64
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import itemgetter
from typing import Literal
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from tocsin.mediation.ce.attributes import BATCHED as BATCHED
from tocsin.mediation.ce.attributes import FAMILY, LONGEST_NAME, NO_PRODUCER, NO_TYPE, REQUIRED, check, is_time
from tocsin.mediation.ce.attributes import NAME as NAME
from tocsin.mediation.ce.attributes import STRUCTURED as STRUCTURED
from tocsin.mediation.ce.writing import binary as binary
from tocsin.mediation.ce.writing import context_of as context_of
from tocsin.mediation.ce.writing import customise, kind_of
from tocsin.mediation.ce.writing import own_headers as own_headers
from tocsin.mediation.ce.writing import structured as structured
from tocsin.mediation.rules import Dialect, Entry, Names
from tocsin.mediation.soap.payloads import checked_media_type, type_name
from tocsin.model import names
from tocsin.model.identity import MessageId, Pairs
from tocsin.model.names import NO_TOPIC, QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal

_LONGEST_KEPT = 512  # of what is remembered

_INTEGERS = range(-(2**31), 2**31)
_PLACED = frozenset((*REQUIRED, "datacontenttype"))  # what the model has a place for; the rest is kept as it is
_KNOWN = frozenset(("", "application/json", "application/xml"))
_DATA = ("data", "data_base64")

_decode = msgspec.json.Decoder(dict[str, object]).decode
_decode_batch = msgspec.json.Decoder(list[msgspec.Raw]).decode


class _Data(msgspec.Struct, frozen=True):
    data: msgspec.Raw


_decode_data = msgspec.json.Decoder(_Data).decode
_EMPTY = re.compile(rb"\s*\[\s*\]\s*")

Mode = Literal["structured", "batched", "binary"]


def notifications(record: Accepted) -> tuple[Notification, ...]:
    content_type = ""
    for name, value in record.headers:
        if name == "content-type":
            content_type = value
    mode, charset = _mode(content_type) if len(content_type) < _LONGEST_KEPT else _told_mode(content_type)
    if mode == "binary":
        return (_notification(record, 0, *_binary(dict(record.headers), content_type, record.body)),)
    body = record.body if charset == "utf-8" else _transcoded(record.body, charset)
    if mode == "structured":
        event = _decoded(body)
        known = _MEMO.recall(record, event)
        if known is not None:
            return (known,)
        found = _notification(record, 0, *_structured(event, body))
        _MEMO.learn(event, found)
        return (found,)
    return tuple(_of_batch(record, index, raw) for index, raw in enumerate(_batch(body)))


def one_event(headers: Pairs, body: bytes) -> tuple[dict[str, str], Payload]:
    """The attributes of a single event and its data, for a door that reads its topic as a label."""
    known = dict(headers)
    mode, charset = _told_mode(known.get("content-type", ""))
    if mode == "batched":
        raise Refusal("unsupported-delivery", f"one event at a time is taken here: {STRUCTURED}, or binary mode")
    if mode == "binary":
        attributes, payload = _binary(known, known.get("content-type", ""), body)
    else:
        body = body if charset == "utf-8" else _transcoded(body, charset)
        attributes, payload = _structured(_decoded(body), body)
    check(attributes)
    return attributes, Payload(checked_media_type(payload.media_type), payload.data)


def is_empty_batch(content_type: str, body: bytes) -> bool:
    """A batch may be empty (HTTP binding s3.3.2): there is nothing to store, and nothing wrong."""
    return content_type.lower().startswith(BATCHED) and _EMPTY.fullmatch(body) is not None


def _told_mode(content_type: str) -> tuple[Mode, str]:
    """And the character set, which of JSON is UTF-8 unless said otherwise."""
    kind, *parameters = (each.strip() for each in content_type.split(";"))
    kind = kind.lower()
    if not kind.startswith(FAMILY):
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
    if type(value) is str and media_type and kind_of(media_type) != "json":
        return Payload(media_type, value.encode())
    return Payload(media_type or "application/json", _as_written(body))


def _as_written(body: bytes | msgspec.Raw) -> bytes:
    try:
        return bytes(_decode_data(body).data)
    except RecursionError:  # one step deeper than the whole was read
        raise Refusal("malformed", "the event is nested too deeply") from None


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


MOST_KNOWN = 8192
_SAME = ("specversion", "source", "type", "subject", "datacontenttype")
_OWN = ("id", "time", "data")
_Key = tuple[object, ...]
_own: Callable[[dict[str, object]], _Key] = itemgetter(*_OWN)  # several in one call
_all_same: Callable[[dict[str, object]], _Key] = itemgetter(*_SAME)


def _key(event: dict[str, object]) -> _Key:
    """What is the same from one event of a sender to the next, and how much else there is."""
    if len(event) == len(_SAME) + len(_OWN):
        return _all_same(event)
    return *map(event.get, _SAME), len(event)


class _Known(Struct, frozen=True):
    producer: str
    topic: Topic
    kind: QName | str | None
    media_type: str
    subject: Pairs


class EventMemo:
    """Events seen before: all but the id, the time and the data of a sender's events is the same from one to the next.

    The outcome is that of reading in full. Only an event that has nothing beyond what is compared here is remembered,
    and only when its data is a text that needs no second look at the JSON. It is emptied when it is full, for then its
    senders do not repeat themselves.
    """

    def __init__(self, dialect: str) -> None:
        self._dialect = dialect
        self._known: dict[_Key, _Known] = {}

    def recall(self, record: Accepted, event: dict[str, object]) -> Notification | None:
        try:
            name, time, data = _own(event)
            known = self._known[_key(event)]
        except (KeyError, TypeError):  # one is not there, or a list or an object where a text should be
            return None
        if type(name) is not str or type(data) is not str or type(time) is not str:
            return None
        if not _is_plain(name) or not is_time(time):
            return None
        return Notification(
            MessageId(name),
            record.at,
            0,
            record.when,
            self._dialect,
            record.cause,
            known.producer,
            known.topic,
            known.kind,
            (*known.subject, ("time", time)),
            Payload(known.media_type, data.encode()),
        )

    def learn(self, event: dict[str, object], read: Notification) -> None:
        same = tuple(event.get(name) for name in _SAME)
        present = [value for value in same if value is not None]
        # Beside those there are an id, a time and data, and nothing else.
        if len(event) != len(present) + 3 or not all(type(event.get(name)) is str for name in ("id", "time", "data")):
            return
        if event["data"] != _text(read.payload.data) or not all(len(str(each)) < _LONGEST_KEPT for each in present):
            return
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        subject = tuple(pair for pair in read.attributes if pair[0] == "subject")
        self._known[_key(event)] = _Known(read.producer, read.topic, read.type, read.payload.media_type, subject)


def _is_plain(name: str) -> bool:
    return 0 < len(name) <= LONGEST_NAME and name.isascii() and name.isprintable() and not name.isspace()


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


_MEMO = EventMemo(NAME)
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
