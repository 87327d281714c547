"""What a subscription asks for, as each door is told it."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from tocsin.client.errors import ClientError
from tocsin.client.values import Terms
from tocsin.markup import xml
from tocsin.mediation.expressions import (
    CESQL,
    CONTENT_TOPIC,
    DIALECT,
    GRAPH_PATTERN,
    GRAPHS,
    JSONPATH,
    PLAIN_SPARQL,
    PRODUCER,
    SPARQL,
    TYPE,
)
from tocsin.mediation.rules import Dialect, Message
from tocsin.mediation.soap.entries import Expression, Markup, Value
from tocsin.mediation.soap.namespaces import ONVIF_ITEM_FILTER, WSE_TOPIC_FILTER, WSN, XPATH_10
from tocsin.mediation.topics import DIALECTS as TOPIC_DIALECTS
from tocsin.mediation.ws.properties import query_element
from tocsin.model.filters import Language, Over

GRAMMARS = ("simple", "concrete", "full")
Place = Literal["TopicExpression", "MessageContent", "ProducerProperties", ""]


class _Written(Struct, frozen=True):
    language: Language
    over: Over
    dialect: str  # of SOAP
    place: Place  # in WS-Notification


LANGUAGES: Mapping[str, _Written] = {
    "xpath": _Written("xpath", "payload", XPATH_10, "MessageContent"),
    "xpath-envelope": _Written("xpath", "envelope", XPATH_10, ""),
    "xpath-producer": _Written("xpath", "producer", XPATH_10, "ProducerProperties"),
    "items": _Written("items", "payload", ONVIF_ITEM_FILTER, "MessageContent"),
    "jsonpath": _Written("jsonpath", "payload", JSONPATH, "MessageContent"),
    "cesql": _Written("cesql", "attributes", CESQL, "MessageContent"),
    "sparql": _Written("sparql", "producer", SPARQL, "ProducerProperties"),
}
# What WS-Eventing can be asked for by itself; there, XPath 1.0 is over the envelope.
_ALONE = ("TopicExpression", "", PRODUCER, JSONPATH, CESQL)


def documents(terms: Terms) -> list[dict[str, Any]]:
    """As the JSON API has them, all but the topic."""
    found: list[dict[str, Any]] = []
    if terms.box:
        found.append({CONTENT_TOPIC: terms.box})
    if terms.types:
        found.append({TYPE: _with_prefixes(" ".join(terms.types), terms)})
    if terms.producers:
        found.append({PRODUCER: " ".join(terms.producers)})
    if terms.content:
        found.append(_content_document(terms))
    if terms.pattern:
        found.append({GRAPH_PATTERN: _with_prefixes(terms.pattern, terms)})
    if terms.sparql:
        over = {"over": "event", "plain": terms.plain}
        found.append({SPARQL: _with_prefixes(terms.sparql, terms) | over})
    return found


def _content_document(terms: Terms) -> dict[str, Any]:
    written = language(terms)
    if written.language == "cesql":
        return {"sql": terms.content}
    if written.language not in ("xpath", "items"):
        return {f"{DIALECT}{written.language}": terms.content}
    over = {"over": written.over} if written.over != "payload" else {}
    return {f"{DIALECT}{written.language}": _with_prefixes(terms.content, terms) | over}


def _with_prefixes(expression: str, terms: Terms) -> dict[str, Any]:
    return {"expression": expression, "namespaces": dict(terms.namespaces)}


def language(terms: Terms) -> _Written:
    if terms.content_language not in LANGUAGES:
        known = ", ".join(LANGUAGES)
        raise ClientError(f"the content language {terms.content_language!r} is not known; choose one of {known}")
    return LANGUAGES[terms.content_language]


def values(dialect: Dialect, message: Message, terms: Terms) -> dict[str, Value]:
    """At the places that the message has for filters."""
    asked = _expressions(dialect, terms)
    entries = {each.name for each in message.entries}
    if not asked:
        return {}
    if "filter" in entries:
        return {"filter": Markup(b"".join(_element(dialect, place, each) for place, each in asked))}
    if "event_filter" in entries:
        return {"event_filter": _event_filter(dialect, asked)}
    return _flat(dialect, asked)


_Placed = list[tuple[Place, Expression]]


def _expressions(dialect: Dialect, terms: Terms) -> _Placed:
    found: _Placed = []
    if terms.topic:
        uri = grammar(dialect, terms.topic_dialect)
        found.append(("TopicExpression", Expression(terms.topic, uri, terms.namespaces, dialect.topic_attribute)))
    if terms.box:
        found.append(("TopicExpression", Expression(terms.box, CONTENT_TOPIC)))
    if terms.types:
        found.append(("TopicExpression", Expression(" ".join(terms.types), TYPE, terms.namespaces)))
    if terms.producers:
        found.append(("ProducerProperties", Expression(" ".join(terms.producers), PRODUCER)))
    if terms.content:
        written = language(terms)
        found.append((written.place, Expression(terms.content, written.dialect, terms.namespaces)))
    if terms.pattern:
        found.append(("MessageContent", Expression(terms.pattern, GRAPH_PATTERN, terms.namespaces)))
    if terms.sparql:
        dialect_ = PLAIN_SPARQL if terms.plain else SPARQL
        found.append(("MessageContent", Expression(terms.sparql, dialect_, terms.namespaces)))
    return found


def _element(dialect: Dialect, place: Place, asked: Expression) -> bytes:
    if not place:
        raise ClientError(f"{dialect.title} has no place for an XPath over the envelope here; ask for the payload")
    return query_element("wsnt", WSN, place, asked.dialect, asked.text, asked.namespaces)


def _event_filter(dialect: Dialect, asked: _Placed) -> Value:
    """One in its own dialect, several in that of WS-Messenger, which is of several."""
    place, one = asked[0]
    is_graph = place == "MessageContent" and one.dialect in GRAPHS
    if len(asked) == 1 and (is_graph or place in _ALONE or one.dialect in _ALONE):
        return one
    inside = b"".join(_element(dialect, where, each) for where, each in asked)
    return Markup(inside, b" Dialect=" + xml.attribute(WSE_TOPIC_FILTER))


_FLAT: Mapping[Place, str] = {
    "TopicExpression": "topic_expression",
    "MessageContent": "selector",
    "ProducerProperties": "precondition",
}


def _flat(dialect: Dialect, asked: _Placed) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for place, each in asked:
        name = _FLAT.get(place)
        if name is None or name in found:
            lacks = "an XPath over the envelope" if name is None else f"more than one {place}"
            raise ClientError(f"{dialect.title} has no place for {lacks} in what asks for a subscription")
        found[name] = each
    return found


def grammar(dialect: Dialect, name: str) -> str:
    """The URI by which that dialect calls one of the languages of topic expressions."""
    if name in GRAMMARS:
        return dialect.topic_dialects[GRAMMARS.index(name)]
    known = {name: uri for uri, name in TOPIC_DIALECTS.items()}
    if name not in known:
        raise ClientError(f"the topic dialect {name!r} is not known; choose one of {', '.join(known)}")
    return known[name]
