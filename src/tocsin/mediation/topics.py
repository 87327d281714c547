"""Topics and topic filters as the SOAP dialects write them."""

import re
from collections.abc import Mapping
from functools import lru_cache
from operator import attrgetter
from urllib.parse import unquote

from tocsin.markup import xml
from tocsin.markup.xml import Element, text_in
from tocsin.mediation import expressions
from tocsin.mediation.soap.namespaces import ONVIF_CONCRETE_SET, TOPICS, TOPICS_1_0, TOPICS_1_2
from tocsin.model import names
from tocsin.model.content_topic import CONTENT_TOPIC
from tocsin.model.filters import TopicIs
from tocsin.model.names import NCNAME, NO_TOPIC, QName, Topic
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.model.topics import TopicDialect, parse_concrete_topic, parse_topic_expression

PUBLISH_DOOR = "/broker/publish"
DIALECTS: dict[str, TopicDialect] = {
    f"{TOPICS}/Simple": "simple",
    f"{TOPICS}/Concrete": "concrete",
    f"{TOPICS}/Full": "full",
    ONVIF_CONCRETE_SET: "concrete-set",
}
# What the drafts called them; taken from anybody, offered to nobody.
_OLDER: dict[str, TopicDialect] = {
    f"{TOPICS_1_2}/Simple": "simple",
    f"{TOPICS_1_2}/Concrete": "concrete",
    f"{TOPICS_1_2}/Full": "full",
    f"{TOPICS_1_0}/simple": "simple",
    f"{TOPICS_1_0}/concrete": "concrete",
    f"{TOPICS_1_0}/full": "full",
}
SPACES = "urn:tocsin:spaces"  # where topics are that are named after information spaces
# A content topic is written as an attribute of the Topic, so that who knows nothing of it reads a plain one.
_CONTENT = f"{{{SPACES}}}content"
_SAYABLE = re.compile("[^\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]{1,4096}")
IN_1_3 = (f"{TOPICS}/Simple", f"{TOPICS}/Concrete", f"{TOPICS}/Full")
IN_1_2 = (f"{TOPICS_1_2}/Simple", f"{TOPICS_1_2}/Concrete", f"{TOPICS_1_2}/Full")
IN_1_0 = (f"{TOPICS_1_0}/simple", f"{TOPICS_1_0}/concrete", f"{TOPICS_1_0}/full")


def topic_of(element: Element) -> Topic:
    """The topic a message stands under; whatever other dialect it names, it must be a concrete path."""
    text = text_in(element).strip()
    if dialect_of(element) == expressions.CONTENT_TOPIC:
        return space_topic(text)
    if ":" not in text:
        return _topic(text)
    namespaces = element.nsmap
    prefix = text.partition(":")[0]
    if text.count(":") == 1 and prefix in namespaces:
        return _topic(text, prefix, namespaces[prefix])
    return parse_concrete_topic(text, {prefix: uri for prefix, uri in namespaces.items() if prefix})


def content_topic_of(element: Element) -> str:
    """Empty where there is none."""
    said = element.get(_CONTENT)
    if dialect_of(element) == expressions.CONTENT_TOPIC:
        said = text_in(element).strip()
    if not said:
        return ""
    if not _SAYABLE.fullmatch(said):
        raise Refusal("bad-topic-expression", "the content topic is too long, or holds control characters")
    return str(said)


def space_topic(text: str) -> Topic:
    """Under which a message with that content topic stands, where it names no other."""
    name, colon, _ = text.partition(":")
    if not colon or not NCNAME.fullmatch(name):
        raise Refusal(
            "bad-topic-expression", f"{text[:80]!r} is not a content topic such as weather:Piscataway,NJ/29/48.9"
        )
    return Topic((QName(SPACES, name),))


def sayable_content_topic(notification: Notification) -> str:
    """The content topic that can be written with the topic; empty where there is none, or no topic to write it with."""
    said = notification.attribute(CONTENT_TOPIC)
    return said if said is not None and notification.topic != NO_TOPIC and _SAYABLE.fullmatch(said) else ""


@lru_cache(maxsize=4096)
def _topic(text: str, prefix: str = "", namespace: str = "") -> Topic:
    """Messages of one producer repeat few topics, nearly always with one prefix."""
    return parse_concrete_topic(text, {prefix: namespace})


def filter_of(element: Element) -> TopicIs:
    """A TopicExpression; without a Dialect it is Concrete, as clients of ONVIF devices expect."""
    return topic_filter((element.text or "").strip(), dialect_of(element) or f"{TOPICS}/Concrete", element.nsmap)


def dialect_of(element: Element) -> str:
    """WS-Messenger's own clients write the attribute in the namespace of its element."""
    return str(element.get("Dialect") or element.get(f"{str(element.tag).rpartition('}')[0]}}}Dialect") or "")


def topic_filter(text: str, dialect: str, namespaces: Mapping[str | None, str], more: tuple[str, ...] = ()) -> TopicIs:
    """`more` are the other dialects that are known where it stood."""
    name = DIALECTS.get(dialect) or _OLDER.get(dialect)
    if name is None:
        known = ", ".join((*DIALECTS, *more))
        raise Refusal("unknown-topic-dialect", f"the topic dialect {dialect!r} is not known; known are {known}")
    return parse_topic_expression(text, name, {prefix: uri for prefix, uri in namespaces.items() if prefix})


@lru_cache(maxsize=4096)
def topic_element(
    topic: Topic,
    tag: bytes = b"wsnt:Topic",
    declared: bytes = b"",
    dialects: tuple[str, str, str] = IN_1_3,
    attribute: str = "Dialect",
    content: str = "",
) -> bytes:
    """A topic with the prefixes it uses; `declared` is the declaration of the tag's own, where it needs one."""
    prefixes: dict[str, str] = {}
    for step in filter(attrgetter("namespace"), topic.steps):
        prefixes.setdefault(step.namespace, f"t{len(prefixes)}:")
    path = "/".join([f"{prefixes.get(step.namespace, '')}{step.local}" for step in topic.steps])
    declared += b"".join(
        b" xmlns:%b=%b" % (prefix[:-1].encode(), xml.attribute(uri)) for uri, prefix in prefixes.items()
    )
    if content:
        declared += b' xmlns:c="%b" c:content=%b' % (SPACES.encode(), xml.attribute(content))
    dialect = dialects[len(topic.steps) > 1]
    return b'<%b%b %b="%b">%b</%b>' % (tag, declared, attribute.encode(), dialect.encode(), xml.text(path), tag)


def topic_of_door(door: str) -> Topic | None:
    """`/broker/publish/a/b` names the topic a/b."""
    tail = door[len(PUBLISH_DOOR) :].strip("/") if door.startswith(f"{PUBLISH_DOOR}/") else ""
    if not tail:
        return None
    found = names.topic(unquote(tail))
    if found is None:
        raise Refusal("bad-topic-expression", f"the address ends in {tail!r}, which is not a topic such as a/b")
    return found
