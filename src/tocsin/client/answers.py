"""Reading what a broker answers."""

import msgspec

from tocsin.markup import xml
from tocsin.mediation import addressing
from tocsin.mediation.entries import text_of
from tocsin.mediation.namespaces import WSE, WSN
from tocsin.wire.answer import Answer

_MANAGERS = (f"{{{WSN}}}SubscriptionReference", f"{{{WSE}}}SubscriptionManager")
_EXPIRIES = (f"{{{WSN}}}TerminationTime", f"{{{WSE}}}Expires")


class ClientError(Exception):
    """The broker refused, or could not be reached; the text says why."""


def manager_address(body: bytes) -> str:
    found = next(_parsed(body).iter(*_MANAGERS), None)
    if found is None:
        raise ClientError("the answer names no subscription manager")
    return addressing.address_of(found)


def granted_expiry(body: bytes) -> str:
    return text_of(next(_parsed(body).iter(*_EXPIRIES), None))


def problem_of(answer: Answer) -> str:
    """One sentence: the fault's own words where there is a fault."""
    if answer.status == 0:
        return f"the broker could not be reached: {answer.error}"
    return f"{_words(answer.body) or 'no reason was given'} (HTTP {answer.status})"


def _words(body: bytes) -> str:
    try:
        if body.startswith(b"{"):
            return str(msgspec.json.decode(body, type=dict[str, object]).get("detail", ""))
        root = xml.parse(body)
    except (xml.MarkupError, msgspec.DecodeError):
        return body[:200].decode(errors="replace")
    return text_of(next((each for each in root.iter("{*}Text", "faultstring")), None))


def _parsed(body: bytes) -> xml.Element:
    try:
        return xml.parse(body)
    except xml.MarkupError as problem:
        raise ClientError(f"the answer cannot be read: {problem}") from None
