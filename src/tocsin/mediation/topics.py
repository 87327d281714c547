"""Topics and topic filters as the SOAP dialects write them."""

from collections.abc import Mapping
from functools import lru_cache

from tocsin.markup import xml
from tocsin.markup.xml import Element
from tocsin.mediation.entries import text_of
from tocsin.mediation.namespaces import TOPICS
from tocsin.model.filters import TopicIs
from tocsin.model.names import QName, Topic
from tocsin.model.refusal import Refusal
from tocsin.model.topic_expression import TopicDialect, parse_concrete_topic, parse_topic_expression

DIALECTS: dict[str, TopicDialect] = {
    f"{TOPICS}/Simple": "simple",
    f"{TOPICS}/Concrete": "concrete",
    f"{TOPICS}/Full": "full",
}


def topic_of(element: Element) -> Topic:
    """The topic a message stands under; whatever dialect it names, it must be a concrete path."""
    text = text_of(element)
    if ":" not in text:
        return _topic(text)
    namespaces = element.nsmap
    prefix = text.partition(":")[0]
    if text.count(":") == 1 and prefix in namespaces:
        return _topic(text, prefix, namespaces[prefix])
    return parse_concrete_topic(text, {prefix: uri for prefix, uri in namespaces.items() if prefix})


@lru_cache(maxsize=4096)
def _topic(text: str, prefix: str = "", namespace: str = "") -> Topic:
    """Messages of one producer repeat few topics, nearly always with one prefix."""
    return parse_concrete_topic(text, {prefix: namespace})


def filter_of(element: Element) -> TopicIs:
    """A TopicExpression; without a Dialect it is Concrete, as clients of ONVIF devices expect."""
    return topic_filter((element.text or "").strip(), element.get("Dialect") or f"{TOPICS}/Concrete", element.nsmap)


def topic_filter(text: str, dialect: str, namespaces: Mapping[str | None, str]) -> TopicIs:
    name = DIALECTS.get(dialect)
    if name is None:
        known = ", ".join(DIALECTS)
        raise Refusal("unknown-topic-dialect", f"the topic dialect {dialect!r} is not known; known are {known}")
    return parse_topic_expression(text, name, {prefix: uri for prefix, uri in namespaces.items() if prefix})


@lru_cache(maxsize=4096)
def topic_element(topic: Topic) -> bytes:
    """`wsnt:Topic` with the prefixes it uses; the prefix wsnt is the enclosing message's."""
    prefixes: dict[str, str] = {}
    path = "/".join(_step(step, prefixes) for step in topic.steps)
    declared = b"".join(b" xmlns:%b=%b" % (prefix.encode(), xml.attribute(uri)) for uri, prefix in prefixes.items())
    dialect = f"{TOPICS}/{'Concrete' if len(topic.steps) > 1 else 'Simple'}"
    return b'<wsnt:Topic%b Dialect="%b">%b</wsnt:Topic>' % (declared, dialect.encode(), xml.text(path))


def _step(step: QName, prefixes: dict[str, str]) -> str:
    if not step.namespace:
        return step.local
    return f"{prefixes.setdefault(step.namespace, f't{len(prefixes)}')}:{step.local}"
