"""Refusals as the caller's dialect says them: one table a dialect."""

import msgspec

from tocsin.markup import xml
from tocsin.mediation import soap, times
from tocsin.mediation.namespaces import (
    TOPICS,
    WSA_NAMESPACES,
    WSE,
    WSE_PUSH,
    WSN,
    WSN_FAULT_ACTION,
    WSRF_FAULTS,
    WSRF_RESOURCE,
)
from tocsin.mediation.operations import Context, Reply
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
    "malformed": QName(WSN, "SubscribeCreationFailedFault"),
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
    "overloaded": 503,
    "cannot-store": 503,
}
_RETRY_AFTER: Pairs = (("Retry-After", "1"),)


def fault(context: Context, refusal: Refusal, now: Instant) -> Reply:
    """SOAP 1.1 faults are HTTP 500 (s6.2), 1.2 splits 400 and 500 (part 2 s7.5.2); pressure keeps 413 and 503."""
    ours = refusal.reason in OUR_FAULT
    name = _name(context.dialect, refusal.reason)
    content = _soap_11(name, refusal, ours) if context.soap == "1.1" else _soap_12(name, refusal, ours)
    detail = _detail(context, name, refusal, now)
    status = STATUS.get(refusal.reason, 0)
    if status not in (413, 503):
        status = 500 if ours or context.soap == "1.1" else 400
    answer = soap.reply(context, _action(context), content % detail, status=status)
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


def _name(dialect: str, reason: Reason) -> QName | None:
    return (WSE_FAULTS if dialect.startswith("wse") else WSN_FAULTS).get(reason)


def _action(context: Context) -> str:
    if context.dialect.startswith("wsn"):
        return WSN_FAULT_ACTION
    return f"{WSA_NAMESPACES[context.addressing or '2005/08']}/fault"


def _soap_11(name: QName | None, refusal: Refusal, ours: bool) -> bytes:
    """A subcode has no place in SOAP 1.1: WSE s4 puts it into faultcode itself."""
    code, declared = _code(refusal, "s:Server" if ours else "s:Client"), b""
    if name is not None and name.namespace == WSE:
        code, declared = b"f:" + name.local.encode(), b' xmlns:f="%b"' % WSE.encode()
    return b"<s:Fault><faultcode%b>%b</faultcode><faultstring>%b</faultstring>%%b</s:Fault>" % (
        declared,
        code,
        _escaped(refusal.text),
    )


def _soap_12(name: QName | None, refusal: Refusal, ours: bool) -> bytes:
    subcode = b""
    if name is not None:
        subcode = b'<s:Subcode><s:Value xmlns:f="%b">f:%b</s:Value></s:Subcode>' % (
            name.namespace.encode(),
            name.local.encode(),
        )
    return (
        b"<s:Fault><s:Code><s:Value>%b</s:Value>%b</s:Code>"
        b'<s:Reason><s:Text xml:lang="en">%b</s:Text></s:Reason>%%b</s:Fault>'
    ) % (_code(refusal, "s:Receiver" if ours else "s:Sender"), subcode, _escaped(refusal.text))


def _code(refusal: Refusal, otherwise: str) -> bytes:
    return b"s:MustUnderstand" if refusal.reason == "must-understand" else otherwise.encode()


def _escaped(value: str) -> bytes:
    return xml.text(value).replace(b"%", b"%%")


def _detail(context: Context, name: QName | None, refusal: Refusal, now: Instant) -> bytes:
    inner = b""
    if name is not None and name.namespace in (WSN, WSRF_RESOURCE):
        inner = _base_fault(name, refusal, now)
    elif name is not None and name.local == "DeliveryModeRequestedUnavailable":
        inner = b'<f:SupportedDeliveryMode xmlns:f="%b">%b</f:SupportedDeliveryMode>' % (
            WSE.encode(),
            WSE_PUSH.encode(),
        )
    elif name is not None and name.local == "FilteringRequestedUnavailable":
        element = b'<f:SupportedDialect xmlns:f="%b">%b/%b</f:SupportedDialect>'
        inner = b"".join(element % (WSE.encode(), TOPICS.encode(), each) for each in (b"Simple", b"Concrete", b"Full"))
    if not inner:
        return b""
    return b"<detail>%b</detail>" % inner if context.soap == "1.1" else b"<s:Detail>%b</s:Detail>" % inner


def _base_fault(name: QName, refusal: Refusal, now: Instant) -> bytes:
    """WS-BaseFaults: a timestamp is required, and the schema of an expiry fault wants the least time accepted."""
    time = times.timestamp(now).encode()
    least = b""
    if name.local == "UnacceptableInitialTerminationTimeFault":
        least = b"<f:MinimumTime>%b</f:MinimumTime>" % time
    return (
        b'<f:%b xmlns:f="%b" xmlns:bf="%b"><bf:Timestamp>%b</bf:Timestamp>'
        b'<bf:Description xml:lang="en">%b</bf:Description>%b</f:%b>'
    ) % (
        name.local.encode(),
        name.namespace.encode(),
        WSRF_FAULTS.encode(),
        time,
        xml.text(refusal.text),
        least,
        name.local.encode(),
    )
