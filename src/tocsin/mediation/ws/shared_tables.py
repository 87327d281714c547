"""Rows that several dialects have in common, but for a namespace."""

from tocsin.mediation.rules import Entry, Message, Names, Path
from tocsin.mediation.soap.namespaces import POLICY

_own = Names("t", POLICY)


def own_policies(under: Path = ()) -> tuple[Entry, ...]:
    """What we offer beyond the specifications, as extension elements that each of them has room for."""
    return (
        Entry("start", under + _own("From")),
        Entry("secret", under + _own("Secret")),
        Entry("graph", under + _own("DeliverAs")),
        Entry("bindings", under + _own("Bindings")),
    )


def event_headers(wsa: Names, topics: Names) -> tuple[Entry, ...]:
    """Topic and producer, for which a raw message has no place in its body, travel as headers."""
    return (
        Entry("action", wsa("Action"), required=True, header=True),
        Entry("message_id", wsa("MessageID"), header=True),
        Entry("producer", wsa("From"), header=True),
        Entry("topic", topics("Topic"), header=True),
        Entry("consumer", wsa("To"), header=True),
    )


def raw_event(wsa: Names, topics: Names) -> Message:
    """The payload alone in the body: WS-Eventing's notification, and WS-Notification's when Notify is not wanted."""
    return Message("Notify", None, "", (*event_headers(wsa, topics), Entry("payload", (), required=True)))
