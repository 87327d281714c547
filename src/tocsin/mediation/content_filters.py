"""Filters as the SOAP dialects write them. What is not understood is refused by name, never passed over."""

from tocsin.markup import xpath
from tocsin.markup.xml import Element
from tocsin.markup.xpath import XPathError
from tocsin.mediation.entries import text_of
from tocsin.mediation.namespaces import (
    DPWS_ACTIONS,
    ONVIF_ITEM_FILTER,
    WSE_TOPIC_FILTER,
    WSN,
    WSN_1_0,
    WSN_1_2,
    XPATH_10,
)
from tocsin.mediation.topics import DIALECTS, dialect_of, filter_of, topic_filter
from tocsin.model.filters import ActionIs, Filter
from tocsin.model.names import qname
from tocsin.model.refusal import Reason, Refusal

_TOPIC_EXPRESSION = f"{{{WSN}}}TopicExpression"
_EXPRESSIONS: dict[str, Reason] = {
    f"{{{WSN}}}MessageContent": "bad-filter",
    f"{{{WSN}}}ProducerProperties": "bad-producer-filter",
    f"{{{WSN_1_2}}}Selector": "bad-filter",
    f"{{{WSN_1_2}}}Precondition": "bad-producer-filter",
    f"{{{WSN_1_0}}}Selector": "bad-filter",
    f"{{{WSN_1_0}}}Precondition": "bad-producer-filter",
}
# For those who ask for another (WSE 2004/08 s4: SupportedDialect).
EVENT_DIALECTS = (*DIALECTS, *DPWS_ACTIONS[:1], WSE_TOPIC_FILTER)


def wsn_filter(element: Element | None) -> tuple[Filter, ...]:
    """WSN 1.3 s4.2: any number of filter elements."""
    return tuple(_child(child) for child in element if isinstance(child.tag, str)) if element is not None else ()


def _child(child: Element) -> Filter:
    if child.tag == _TOPIC_EXPRESSION:
        return filter_of(child)
    _check_expression(child)
    dialect = dialect_of(child)
    shown = f"{child.tag} in the dialect {dialect}" if dialect else child.tag
    raise Refusal(
        "unsupported-filter", f"the filter {shown} is not supported; TopicExpression is", qname(str(child.tag))
    )


def _check_expression(element: Element) -> None:
    """That a good one is not supported is one thing, that another is not good is a fault of its own (WSN 1.3 s4.2)."""
    reason, dialect = _EXPRESSIONS.get(str(element.tag)), dialect_of(element) or XPATH_10
    if reason is None or dialect == ONVIF_ITEM_FILTER:
        return
    name = qname(str(element.tag))
    if dialect != XPATH_10:
        raise Refusal(reason, f"the dialect {dialect!r} of {name.local} is not known; known is {XPATH_10}", name)
    try:
        xpath.check(text_of(element), element.nsmap)
    except XPathError as problem:
        raise Refusal(reason, f"{name.local}: {problem}", name) from None


def event_filter(element: Element | None) -> tuple[Filter, ...]:
    """WS-Eventing: a WS-Topics dialect, the actions of DPWS, or WS-Messenger's own with wsnt:TopicExpression inside."""
    if element is None:
        return ()
    dialect = dialect_of(element) or XPATH_10
    if dialect in DPWS_ACTIONS:
        return (_actions(element),)
    if dialect in DIALECTS:
        return (topic_filter(text_of(element), dialect, element.nsmap),)
    if dialect != WSE_TOPIC_FILTER:
        raise Refusal("unsupported-filter", f"the filter dialect {dialect!r} is not supported")
    return wsn_filter(element)


def _actions(element: Element) -> ActionIs:
    actions = tuple(text_of(element).split())
    if not actions:
        raise Refusal("bad-filter", "the filter names no action")
    return ActionIs(actions)


def flat_filters(topic: Element | None, selector: Element | None, precondition: Element | None) -> tuple[Filter, ...]:
    """The drafts of WS-Notification have no Filter around them."""
    for each in (selector, precondition):
        if each is not None:
            _check_expression(each)
            raise Refusal(
                "unsupported-filter", f"{each.tag} is not supported; TopicExpression is", qname(str(each.tag))
            )
    return () if topic is None else (filter_of(topic),)
