"""The dialects there are. A new one is a module with tables, and one line here."""

from collections.abc import Mapping
from importlib import import_module

from tocsin.mediation.rules import Dialect, Message, Name
from tocsin.mediation.soap import soap
from tocsin.mediation.soap.namespaces import POLICY

REPLIES = "urn:tocsin:reply"  # the namespace of what is said about replies
IDS = Name("t", POLICY, "Ids")  # of the notifications of one message


def _dialect(module: str) -> Dialect:
    found = import_module(f"tocsin.mediation.{module}").DIALECT
    assert isinstance(found, Dialect)
    return found


DIALECTS: tuple[Dialect, ...] = tuple(
    _dialect(module)
    for module in (
        "ws.wsn_1_3",
        "ws.onvif",
        "ws.wse_2004_08",
        "ws.wsn_1_2",
        "ws.wsn_1_0",
        "ws.wse_2011",
        "ws.wse_2004_01",
        "ce.cloudevents",
        "raw",
        "ce.webhook",
    )
)
# The last is between nodes: nobody subscribes or publishes in it.
BY_NAME: Mapping[str, Dialect] = {each.name: each for each in (*DIALECTS, _dialect("between_nodes"))}
# Those a consumer can be spoken to in.
NAMES = tuple(each.name for each in DIALECTS if each.is_soap or each.write)

Operation = tuple[Dialect, Message]
OPERATIONS: Mapping[str, Operation] = {
    message.element.clark: (dialect, message)
    for dialect in DIALECTS
    for message in dialect.requests
    if message.element is not None
}
# What the tables read from headers, besides WS-Addressing; the name of an id is the same for all dialects.
HEADERS: soap.Headers = {
    **soap.HEADERS,
    f"{{{REPLIES}}}ReplyType": ("reply_type", None),
    f"{{{REPLIES}}}Token": ("reply_token", None),
    IDS.clark: ("ids", None),
    **{
        entry.path[-1].clark: (entry.name, None)
        for dialect in DIALECTS
        for message in (dialect.wrapped, dialect.raw)
        for entry in (message.entries if message else ())
        if entry.header and entry.path[-1].prefix != "wsa"
    },
    **{dialect.identifier.clark: ("identifier", None) for dialect in DIALECTS if dialect.identifier},
}
