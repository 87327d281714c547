"""Refusals as the caller's dialect says them: its table names the fault, this writes it."""

import msgspec

from tocsin.markup import xml
from tocsin.mediation import times
from tocsin.mediation.operations import Context, Reply
from tocsin.mediation.rules import Dialect, Faults, Name, Names
from tocsin.mediation.soap import soap
from tocsin.mediation.soap.namespaces import WSSE
from tocsin.mediation.soap.payloads import NOT_XML
from tocsin.mediation.soap.soap import namespace_of
from tocsin.model.identity import Instant, Pairs
from tocsin.model.names import QName
from tocsin.model.refusal import OUR_FAULT, Reason, Refusal

STATUS: dict[Reason, int] = {
    "unknown-subscription": 404,
    "unknown-operation": 404,
    "unknown-secret": 404,
    "unknown-consent": 404,
    "in-use": 409,
    "over": 409,
    "unknown-name": 404,
    "bad-world": 409,
    "not-proven": 403,
    "not-here": 421,
    "changed-since": 412,
    "no-current-message": 404,
    "not-authenticated": 401,
    "not-allowed": 403,
    "too-large": 413,
    "too-slow": 408,
    "overloaded": 503,
    "cannot-store": 503,
}
# Statuses that tell more than "it is the sender's fault" in SOAP as well.
_KEPT = (401, 403, 408, 413, 503)
_RETRY_AFTER: Pairs = (("Retry-After", "1"),)
_CHALLENGE: Pairs = (("WWW-Authenticate", 'Basic realm="tocsin", charset="UTF-8"'), ("WWW-Authenticate", "Bearer"))
_EXTRA: dict[int, Pairs] = {503: _RETRY_AFTER, 401: _CHALLENGE}
# WS-Security 1.0 s12; every SOAP dialect leaves this to it.
_SECURITY = Names("wsse", WSSE)
_ACCESS: dict[Reason, Name] = {
    "not-authenticated": _SECURITY.one("FailedAuthentication"),
    "not-allowed": _SECURITY.one("FailedCheck"),
}
LONGEST_TEXT = 4096
_NO_FAULTS = Faults({})
_WITH_MINIMUM = ("UnacceptableInitialTerminationTimeFault", "UnacceptableTerminationTimeFault")


def fault(dialect: Dialect, operation: str, context: Context, refusal: Refusal, now: Instant) -> Reply:
    """SOAP 1.1 faults are HTTP 500 (s6.2), 1.2 splits 400 and 500 (part 2 s7.5.2); pressure keeps 413 and 503."""
    ours = refusal.reason in OUR_FAULT
    table = dialect.faults or _NO_FAULTS
    name = table.of.get((operation, refusal.reason)) or table.named.get(refusal.reason) or _ACCESS.get(refusal.reason)
    write = _soap_11 if context.soap == "1.1" else _soap_12
    content = write(table, name, refusal, ours, _detail(table, name, refusal, now))
    status = STATUS.get(refusal.reason, 0)
    if status not in _KEPT:
        senders = context.soap == "1.2" and not ours and refusal.reason != "must-understand"
        status = 400 if senders else 500
    action = table.action or f"{namespace_of(context.addressing)}/fault"
    answer = soap.reply(context, action, content, status=status)
    return Reply(status, answer.headers + _EXTRA.get(status, ()), answer.body)


def problem(refusal: Refusal) -> Reply:
    """RFC 9457, for callers that speak JSON."""
    status = STATUS.get(refusal.reason, 400)
    body = {
        "type": f"urn:tocsin:refusal:{refusal.reason}",
        "title": refusal.reason.replace("-", " "),
        "status": status,
        "detail": _short(refusal),
    }
    headers: Pairs = (("Content-Type", "application/problem+json"),)
    return Reply(status, headers + _EXTRA.get(status, ()), msgspec.json.encode(body))


def _soap_11(table: Faults, name: Name | None, refusal: Refusal, ours: bool, detail: bytes) -> bytes:
    """A subcode has no place in SOAP 1.1: WSE s4 and WS-Security s12 put it into faultcode itself."""
    code, declared = _code(refusal, "s:Server" if ours else "s:Client"), b""
    if name is not None and (table.base_fault is None or name.namespace == WSSE):
        code, declared = b"f:" + name.local.encode(), b' xmlns:f="%b"' % name.namespace.encode()
    return b"<s:Fault><faultcode%b>%b</faultcode><faultstring>%b</faultstring>%b</s:Fault>" % (
        declared,
        code,
        _text(refusal),
        b"<detail>%b</detail>" % detail if detail else b"",
    )


def _soap_12(table: Faults, name: Name | None, refusal: Refusal, ours: bool, detail: bytes) -> bytes:
    del table
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


def _named(element: str, name: Name | QName) -> bytes:
    """An element that holds a qualified name, with the prefix of that name declared on it."""
    tag, local = element.encode(), name.local.encode()
    if not name.namespace:
        return b"<%b>%b</%b>" % (tag, local, tag)
    return b"<%b xmlns:n=%b>n:%b</%b>" % (tag, xml.attribute(name.namespace), local, tag)


def _code(refusal: Refusal, otherwise: str) -> bytes:
    return b"s:MustUnderstand" if refusal.reason == "must-understand" else otherwise.encode()


def _text(refusal: Refusal) -> bytes:
    return xml.text(NOT_XML.sub("\ufffd", _short(refusal)))


def _short(refusal: Refusal) -> str:
    """What is wrong is told in the caller's own words, and these may be long."""
    return refusal.text if len(refusal.text) <= LONGEST_TEXT else f"{refusal.text[:LONGEST_TEXT]} ..."


def _detail(table: Faults, name: Name | None, refusal: Refusal, now: Instant) -> bytes:
    if name is None or name.namespace == WSSE:
        return b""
    if table.base_fault is not None:
        is_fault = name.local.endswith("Fault")  # others are codes alone
        return _base_fault(table, table.base_fault, name, refusal, now) if is_fault else b""
    element, values = table.supported.get(name.local, (name, ()))
    tag = element.local.encode()
    return b"".join(
        b'<f:%b xmlns:f="%b">%b</f:%b>' % (tag, element.namespace.encode(), xml.text(each), tag) for each in values
    )


def _base_fault(table: Faults, base: Name, name: Name, refusal: Refusal, now: Instant) -> bytes:
    """WS-BaseFaults: a timestamp is required, and its own elements stand before those of the fault."""
    time, local, own = times.timestamp(now).encode(), name.local.encode(), b""
    if table.minimum_time is not None and name.local in _WITH_MINIMUM:
        own = b"<f:%b>%b</f:%b>" % (table.minimum_time.local.encode(), time, table.minimum_time.local.encode())
    elif name.local in table.names_at_fault and refusal.about is not None:
        own = _named(f"f:{table.names_at_fault[name.local].local}", refusal.about)
    return (
        b'<f:%b xmlns:f="%b" xmlns:bf="%b"><bf:Timestamp>%b</bf:Timestamp>'
        b'<bf:Description xml:lang="en">%b</bf:Description>%b</f:%b>'
    ) % (local, name.namespace.encode(), base.namespace.encode(), time, _text(refusal), own, local)
