"""Messages and rows that several dialects have in common, but for a namespace."""

from tocsin.mediation.rules import Entry, Message, Name, Names, Path
from tocsin.mediation.soap.namespaces import POLICY
from tocsin.model.identity import Pairs
from tocsin.model.names import NO_TOPIC

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


def notify(wsa: Names, base: Names, action: str, *more: Entry, answer: Message | None = None) -> Message:
    """The Notify of WS-Notification."""
    entries = (
        Entry("action", wsa("Action"), required=True, header=True),
        Entry("message_id", wsa("MessageID"), header=True),
        Entry("consumer", wsa("To"), header=True),
        *more,
        Entry("topic", base("Topic"), required=True, default=str(NO_TOPIC)),
        Entry("producer", base("ProducerReference")),
        Entry("payload", base("Message"), required=True),
    )
    return Message("Notify", base.one("Notify"), action, entries, answer, base.one("NotificationMessage"))


def exchange(
    operation: str,
    name: Name,
    actions: str,
    *entries: Entry,
    answer: tuple[Entry, ...] = (),
    request: str = "",
    facts: Pairs = (),
) -> Message:
    """A request whose answer is named after it, as is the action of either; `request` ends that of the first."""
    answered = Name(name.prefix, name.namespace, f"{name.local}Response")
    said = Message(operation, answered, f"{actions}/{answered.local}", answer)
    return Message(operation, name, f"{actions}/{name.local}{request}", entries, said, facts=facts)


def eventing(names: Names, modes: str, operation: str, *entries: Entry, answer: tuple[Entry, ...] = ()) -> Message:
    """A request of WS-Eventing."""
    facts = (("modes", modes),)
    return exchange(operation, names.one(operation), names.namespace, *entries, answer=answer, facts=facts)


def flat_subscribe(base: Names) -> tuple[Entry, ...]:
    """The Subscribe of the drafts of WS-Notification, which knew no Filter."""
    return (
        Entry("consumer", base("ConsumerReference"), required=True),
        Entry("topic_expression", base("TopicExpression")),
        Entry("use_notify", base("UseNotify"), default="true"),
        Entry("precondition", base("Precondition")),
        Entry("selector", base("Selector")),
        Entry("policy", base("SubscriptionPolicy")),
        *own_policies(base("SubscriptionPolicy")),
        Entry("expires", base("InitialTerminationTime")),
    )


def register_publisher(brokered: Names) -> tuple[Entry, ...]:
    return (
        Entry("publisher", brokered("PublisherReference")),
        Entry("topic", brokered("Topic")),
        Entry("demand", brokered("Demand"), default="false"),
        Entry("expires", brokered("InitialTerminationTime")),
    )


def new_termination_time(lifetime: Names) -> tuple[Entry, ...]:
    """What WS-ResourceLifetime answers to SetTerminationTime."""
    return (
        Entry("expires", lifetime("NewTerminationTime"), nil=True),
        Entry("now", lifetime("CurrentTime"), required=True),
    )


def termination(lifetime: Names) -> Message:
    entries = Entry("now", lifetime("TerminationTime"), required=True), Entry("reason", lifetime("TerminationReason"))
    return Message("End", lifetime.one("TerminationNotification"), "", entries, facts=(("as", "notification"),))
