"""Filters as the SOAP dialects write them. What is not understood is refused by name, never passed over."""

from collections.abc import Callable, Mapping
from itertools import accumulate

from tocsin.markup.xml import Element, qname, text_of
from tocsin.mediation import expressions
from tocsin.mediation.expressions import CESQL, CONTENT_TOPIC, GRAPHS, JSONPATH, PRODUCER, SPARQL, TYPE
from tocsin.mediation.soap import namespaces as ns
from tocsin.mediation.topics import DIALECTS, dialect_of, topic_filter
from tocsin.model.filters import Content, Filter, Language, Over
from tocsin.model.names import QName
from tocsin.model.refusal import Reason, Refusal

XPATH_10_OF_2011 = f"{ns.WSE_2011}/Dialects/XPath10"
# For those who ask for another (WSE 2004/08 s4: SupportedDialect).
EVENT_DIALECTS = (
    ns.XPATH_10,
    *DIALECTS,
    *ns.DPWS_ACTIONS[:1],
    ns.WSE_TOPIC_FILTER,
    CONTENT_TOPIC,
    TYPE,
    PRODUCER,
    JSONPATH,
    CESQL,
    *GRAPHS,
)
MOST = 256  # filters in one subscription
_TOPIC_EXPRESSION = f"{{{ns.WSN}}}TopicExpression"
_Languages = Mapping[str, tuple[Language, Over]]
_OF_CONTENT: _Languages = {
    ns.XPATH_10: ("xpath", "payload"),
    ns.ONVIF_ITEM_FILTER: ("items", "payload"),
    JSONPATH: ("jsonpath", "payload"),
    CESQL: ("cesql", "attributes"),
}
_OF_PRODUCERS: _Languages = {ns.XPATH_10: ("xpath", "producer"), SPARQL: ("sparql", "producer")}
# WS-Eventing asks of the whole message (2004/08 s3.1), and of nothing else by XPath.
_OF_EVENTS: _Languages = {
    ns.XPATH_10: ("xpath", "envelope"),
    XPATH_10_OF_2011: ("xpath", "envelope"),
    JSONPATH: ("jsonpath", "payload"),
    CESQL: ("cesql", "attributes"),
}


def wsn_filter(element: Element | None) -> tuple[Filter, ...]:
    """WSN 1.3 s4.2: any number of filter elements, within reason."""
    if element is None:
        return ()
    if beside := "".join((element.text or "", *(each.tail or "" for each in element))).strip():
        text = f"there is text beside the filters, {beside[:80]!r}; say it in an element such as MessageContent"
        raise Refusal("unsupported-filter", text, qname(str(element.tag)))
    children = [child for child in element if isinstance(child.tag, str)]
    _check_size(children)
    return tuple(map(_child, children))


def _check_size(children: list[Element]) -> None:
    if len(children) > MOST:
        raise Refusal("unsupported-filter", f"more than {MOST} filters", qname(str(children[MOST].tag)))
    for child, characters in zip(children, accumulate(len(text_of(each)) for each in children), strict=True):
        if characters > expressions.MOST_TOGETHER:
            raise Refusal("unsupported-filter", expressions.TOO_MUCH, qname(str(child.tag)))


def _text(element: Element, reason: Reason, about: QName | None = None) -> str:
    """Of an expression, which is text alone."""
    inside = next((each for each in element if isinstance(each.tag, str)), None)
    if inside is not None:
        name = qname(str(element.tag)).local
        raise Refusal(reason, f"{name} is an expression, in which the element {inside.tag} cannot be", about)
    return text_of(element)


def _child(child: Element) -> Filter:
    read = _ELEMENTS.get(str(child.tag))
    if read is not None:
        return read(child)
    known = "TopicExpression, MessageContent and ProducerProperties are"
    raise Refusal("unsupported-filter", f"the filter {child.tag} is not supported; {known}", qname(str(child.tag)))


def _topic(element: Element) -> Filter:
    """Beside the dialects of WS-Topics, content topics and types: both say what a message is about."""
    text = _text(element, "bad-topic-expression")
    match dialect_of(element):
        case expressions.CONTENT_TOPIC:
            return expressions.box(text)
        case expressions.TYPE:
            return expressions.types(text, element.nsmap, "bad-topic-expression")
    dialect = dialect_of(element) or f"{ns.TOPICS}/Concrete"
    return topic_filter(text, dialect, element.nsmap, (CONTENT_TOPIC, TYPE))


def _content(element: Element) -> Filter:
    if (dialect := dialect_of(element)) in GRAPHS:
        name = qname(str(element.tag))
        return expressions.graph(dialect, _text(element, "bad-filter", name), element.nsmap, name)
    return _expression(element, _OF_CONTENT, "bad-filter", GRAPHS)


def _producers(element: Element) -> Filter:
    if dialect_of(element) == PRODUCER:
        return expressions.producers(_text(element, "bad-producer-filter"))
    return _expression(element, _OF_PRODUCERS, "bad-producer-filter", (PRODUCER,))


def _expression(element: Element, languages: _Languages, reason: Reason, more: tuple[str, ...] = ()) -> Content:
    """XPath 1.0 without a Dialect, as the drafts have it (WSN 1.2 s4.1)."""
    name, dialect = qname(str(element.tag)), dialect_of(element) or ns.XPATH_10
    if dialect not in languages:
        known = ", ".join((*languages, *more))
        raise Refusal(reason, f"the dialect {dialect!r} of {name.local} is not known; known are {known}", name)
    return _read(element, languages, dialect, reason, name)


def _read(
    element: Element, languages: _Languages, dialect: str, reason: Reason = "bad-filter", about: QName | None = None
) -> Content:
    language, over = languages[dialect]
    return expressions.content(language, _text(element, reason, about), over, element.nsmap, reason, about)


_ELEMENTS: Mapping[str, Callable[[Element], Filter]] = {
    _TOPIC_EXPRESSION: _topic,
    f"{{{ns.WSN}}}MessageContent": _content,
    f"{{{ns.WSN}}}ProducerProperties": _producers,
}


def event_filter(element: Element | None) -> tuple[Filter, ...]:
    """WS-Eventing has one, in one dialect; WS-Messenger's own is a conjunction, of what WS-Notification has."""
    if element is None:
        return ()
    dialect = dialect_of(element) or ns.XPATH_10
    if dialect == ns.WSE_TOPIC_FILTER:
        return wsn_filter(element) or _empty()
    return (_event(element, dialect),)


def _empty() -> tuple[Filter, ...]:
    """It would be a subscription to everything; who wants that leaves the filter out."""
    text = f"a filter in the dialect {ns.WSE_TOPIC_FILTER} holds TopicExpression, MessageContent or ProducerProperties"
    raise Refusal("bad-filter", f"{text}; this one is empty")


def _event(element: Element, dialect: str) -> Filter:
    text = _text(element, "bad-filter")
    if dialect in ns.DPWS_ACTIONS:
        return expressions.actions(text)
    if dialect in DIALECTS:
        return topic_filter(text, dialect, element.nsmap)
    if dialect in _OF_EVENTS:
        return _read(element, _OF_EVENTS, dialect)
    if dialect in GRAPHS:
        return expressions.graph(dialect, text, element.nsmap)
    match dialect:
        case expressions.CONTENT_TOPIC:
            return expressions.box(text)
        case expressions.TYPE:
            return expressions.types(text, element.nsmap)
        case expressions.PRODUCER:
            return expressions.producers(text)
    known = ", ".join(EVENT_DIALECTS)
    raise Refusal("unsupported-filter", f"the filter dialect {dialect!r} is not supported; {known} are")


def flat_filters(topic: Element | None, selector: Element | None, precondition: Element | None) -> tuple[Filter, ...]:
    """The drafts of WS-Notification have no Filter around them."""
    found = ((topic, _topic), (selector, _content), (precondition, _producers))
    return tuple(read(element) for element, read in found if element is not None)
