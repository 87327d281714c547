"""Refusals as the caller's dialect says them: one table a dialect."""

from collections.abc import Iterable

import msgspec

from tocsin.markup import xml
from tocsin.mediation import soap, times
from tocsin.mediation.addressing import namespace_of
from tocsin.mediation.namespaces import (
    WSE,
    WSE_PUSH,
    WSN,
    WSN_FAULT_ACTION,
    WSRF_FAULTS,
    WSRF_RESOURCE,
)
from tocsin.mediation.operations import Context, Reply
from tocsin.mediation.payloads import NOT_XML
from tocsin.mediation.topics import DIALECTS
from tocsin.model.identity import Instant, Pairs
from tocsin.model.names import QName
from tocsin.model.refusal import OUR_FAULT, Reason, Refusal

# WSN 1.3 s4 and WSE 2004/08 s4 name these; where a specification names none, the generic one of its kind is used.
WSN_FAULTS: dict[Reason, QName] = {
    "unknown-subscription": QName(WSRF_RESOURCE, "ResourceUnknownFault"),
    "unknown-topic-dialect": QName(WSN, "TopicExpressionDialectUnknownFault"),
    "bad-topic-expression": QName(WSN, "InvalidTopicExpressionFault"),
    "unsupported-filter": QName(WSN, "InvalidFilterFault"),
    "bad-filter": QName(WSN, "InvalidFilterFault"),
    "bad-expiry": QName(WSN, "UnacceptableInitialTerminationTimeFault"),
    "unsupported-delivery": QName(WSN, "UnsupportedPolicyRequestFault"),
    "bad-consumer": QName(WSN, "SubscribeCreationFailedFault"),
}
WSN_FAULTS_OF: dict[tuple[str, Reason], QName] = {
    ("Subscribe", "malformed"): QName(WSN, "SubscribeCreationFailedFault"),
    ("Subscribe", "cannot-store"): QName(WSN, "SubscribeCreationFailedFault"),
    ("Renew", "bad-expiry"): QName(WSN, "UnacceptableTerminationTimeFault"),
    ("Unsubscribe", "cannot-store"): QName(WSN, "UnableToDestroySubscriptionFault"),
}
WSE_FAULTS: dict[Reason, QName] = {
    "unknown-subscription": QName(WSE, "InvalidMessage"),
    "unknown-topic-dialect": QName(WSE, "FilteringRequestedUnavailable"),
    "bad-topic-expression": QName(WSE, "FilteringRequestedUnavailable"),
    "unsupported-filter": QName(WSE, "FilteringRequestedUnavailable"),
    "bad-filter": QName(WSE, "FilteringRequestedUnavailable"),
    "bad-expiry": QName(WSE, "InvalidExpirationTime"),
    "unsupported-delivery": QName(WSE, "DeliveryModeRequestedUnavailable"),
    "bad-consumer": QName(WSE, "InvalidMessage"),
    "malformed": QName(WSE, "InvalidMessage"),
    "unknown-operation": QName(WSE, "InvalidMessage"),
    "overloaded": QName(WSE, "EventSourceUnableToProcess"),
    "cannot-store": QName(WSE, "EventSourceUnableToProcess"),
}
STATUS: dict[Reason, int] = {
    "unknown-subscription": 404,
    "unknown-operation": 404,
    "too-large": 413,
    "too-slow": 408,
    "overloaded": 503,
    "cannot-store": 503,
}
_RETRY_AFTER: Pairs = (("Retry-After", "1"),)


def fault(context: Context, refusal: Refusal, now: Instant) -> Reply:
    """SOAP 1.1 faults are HTTP 500 (s6.2), 1.2 splits 400 and 500 (part 2 s7.5.2); pressure keeps 413 and 503."""
    ours = refusal.reason in OUR_FAULT
    name = _name(context, refusal.reason)
    write = _soap_11 if context.soap == "1.1" else _soap_12
    content = write(name, refusal, ours, _detail(name, refusal, now))
    status = STATUS.get(refusal.reason, 0)
    if status not in (408, 413, 503):
        status = 500 if ours or context.soap == "1.1" else 400
    answer = soap.reply(context, _action(context), content, status=status)
    return Reply(status, answer.headers + (_RETRY_AFTER if status == 503 else ()), answer.body)


def problem(refusal: Refusal) -> Reply:
    """RFC 9457, for callers that speak JSON."""
    status = STATUS.get(refusal.reason, 400)
    body = {
        "type": f"urn:tocsin:refusal:{refusal.reason}",
        "title": refusal.reason.replace("-", " "),
        "status": status,
        "detail": refusal.text,
    }
    headers: Pairs = (("Content-Type", "application/problem+json"),)
    return Reply(status, headers + (_RETRY_AFTER if status == 503 else ()), msgspec.json.encode(body))


def _name(context: Context, reason: Reason) -> QName | None:
    if context.dialect.startswith("wse"):
        return WSE_FAULTS.get(reason)
    if (context.operation, reason) in WSN_FAULTS_OF:
        return WSN_FAULTS_OF[context.operation, reason]
    return WSN_FAULTS.get(reason)


def _action(context: Context) -> str:
    if context.dialect.startswith("wsn"):
        return WSN_FAULT_ACTION
    return f"{namespace_of(context.addressing)}/fault"


def _soap_11(name: QName | None, refusal: Refusal, ours: bool, detail: bytes) -> bytes:
    """A subcode has no place in SOAP 1.1: WSE s4 puts it into faultcode itself."""
    code, declared = _code(refusal, "s:Server" if ours else "s:Client"), b""
    if name is not None and name.namespace == WSE:
        code, declared = b"f:" + name.local.encode(), b' xmlns:f="%b"' % WSE.encode()
    return b"<s:Fault><faultcode%b>%b</faultcode><faultstring>%b</faultstring>%b</s:Fault>" % (
        declared,
        code,
        _text(refusal),
        b"<detail>%b</detail>" % detail if detail else b"",
    )


def _soap_12(name: QName | None, refusal: Refusal, ours: bool, detail: bytes) -> bytes:
    subcode = b"" if name is None else b"<s:Subcode>%b</s:Subcode>" % _named("s:Value", name)
    return (
        b"<s:Fault><s:Code><s:Value>%b</s:Value>%b</s:Code>"
        b'<s:Reason><s:Text xml:lang="en">%b</s:Text></s:Reason>%b</s:Fault>'
    ) % (
        _code(refusal, "s:Receiver" if ours else "s:Sender"),
        subcode,
        _text(refusal),
        b"<s:Detail>%b</s:Detail>" % detail if detail else b"",
    )


def _named(element: str, name: QName) -> bytes:
    """An element that holds a qualified name, with the prefix of that name declared on it."""
    tag, local = element.encode(), name.local.encode()
    if not name.namespace:
        return b"<%b>%b</%b>" % (tag, local, tag)
    return b"<%b xmlns:n=%b>n:%b</%b>" % (tag, xml.attribute(name.namespace), local, tag)


def _code(refusal: Refusal, otherwise: str) -> bytes:
    return b"s:MustUnderstand" if refusal.reason == "must-understand" else otherwise.encode()


def _text(refusal: Refusal) -> bytes:
    return xml.text(NOT_XML.sub("\ufffd", refusal.text))


def _detail(name: QName | None, refusal: Refusal, now: Instant) -> bytes:
    if name is None:
        return b""
    if name.namespace in (WSN, WSRF_RESOURCE):
        return _base_fault(name, refusal, now)
    if name.local == "DeliveryModeRequestedUnavailable":
        return _supported("SupportedDeliveryMode", (WSE_PUSH,))
    return _supported("SupportedDialect", DIALECTS) if name.local == "FilteringRequestedUnavailable" else b""


def _supported(element: str, values: Iterable[str]) -> bytes:
    name = element.encode()
    return b"".join(
        b'<wse:%b xmlns:wse="%b">%b</wse:%b>' % (name, WSE.encode(), xml.text(each), name) for each in values
    )


def _base_fault(name: QName, refusal: Refusal, now: Instant) -> bytes:
    """WS-BaseFaults: a timestamp is required, and its own elements stand before those of the fault."""
    time, local = times.timestamp(now).encode(), name.local.encode()
    own = b""
    if name.local in ("UnacceptableInitialTerminationTimeFault", "UnacceptableTerminationTimeFault"):
        own = b"<f:MinimumTime>%b</f:MinimumTime>" % time
    elif name.local in _NAMES_AT_FAULT and refusal.about is not None:
        own = _named(_NAMES_AT_FAULT[name.local], refusal.about)
    return (
        b'<f:%b xmlns:f="%b" xmlns:bf="%b"><bf:Timestamp>%b</bf:Timestamp>'
        b'<bf:Description xml:lang="en">%b</bf:Description>%b</f:%b>'
    ) % (local, name.namespace.encode(), WSRF_FAULTS.encode(), time, _text(refusal), own, local)


_NAMES_AT_FAULT = {"InvalidFilterFault": "f:UnknownFilter", "UnsupportedPolicyRequestFault": "f:UnsupportedPolicy"}
