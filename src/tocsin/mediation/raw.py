"""Anything else posted to `/broker/publish`: the body as it is, under the topic its address names."""

from tocsin.markup import xml
from tocsin.markup.xml import qname
from tocsin.mediation.rules import Dialect, Entry, Names
from tocsin.mediation.soap.payloads import checked_media_type, is_xml
from tocsin.mediation.topics import topic_of_door
from tocsin.model.identity import MessageId
from tocsin.model.names import NO_TOPIC, QName
from tocsin.model.notification import Notification, Payload
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal

NAME = "raw"


def notifications(record: Accepted) -> tuple[Notification, ...]:
    headers, tail = dict(record.headers), topic_of_door(record.door)
    payload = Payload(checked_media_type(headers.get("content-type") or "application/octet-stream"), record.body)
    name = MessageId(f"urn:uuid:{record.cause}")
    topic = tail or NO_TOPIC
    return (Notification(name, record.at, 0, record.when, NAME, record.cause, "", topic, _type(payload), (), payload),)


def _type(payload: Payload) -> QName | None:
    if not is_xml(payload.media_type):
        return None
    try:
        return qname(str(xml.parse(payload.data).tag))
    except xml.MarkupError as problem:
        raise Refusal("malformed", str(problem)) from None


_http = Names("", "")
DIALECT = Dialect(
    NAME,
    "anything else over HTTP",
    read=notifications,
    entries=(
        Entry("topic", _http("tail of the address")),
        Entry("media_type", _http("Content-Type")),
        Entry("payload", _http("body"), required=True),
    ),
)
