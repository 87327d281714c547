"""Subscriptions and publisher registrations: who is to be told, of what, where, and in which form."""

from typing import Literal

from msgspec import Struct

from tocsin.model.filters import Filter, ForNotifier
from tocsin.model.identity import Instant, Node, SubscriptionId
from tocsin.model.names import Topic


class Position(Struct, frozen=True, array_like=True, order=True, gc=False):
    """A place in the log of one node; offsets count records from zero."""

    node: Node
    offset: int


class Endpoint(Struct, frozen=True):
    """Where to send; reference parameters are kept verbatim, `secret` is the name of a secret.

    With `consent` the address is asked before anything is sent there (CloudEvents web hooks 1.0 s4). `node` is the
    neighbour in the tree whose door it is: what goes there is proven, and waited for until it is taken.
    """

    address: str
    reference: bytes = b""
    secret: str | None = None
    consent: bool = False
    node: str = ""


class Form(Struct, frozen=True):
    """How a subscriber wants to be spoken to, remembered from the request it made.

    `wrapped` is Notify or raw, Wrap or Unwrap, structured or binary, as the dialect has it; `together` is how many
    notifications it takes in one message. `thin` is told that something is there, and fetches it. `graph` is the syntax
    of the event graph that it is sent, empty as published; `bindings` has it told what its variables stand for.
    """

    dialect: str
    soap: str | None = None
    addressing: str | None = None
    wrapped: bool = True
    expires_as: Literal["time", "duration"] = "time"
    max_latency_ms: int = 0
    together: int = 1
    thin: bool = False
    graph: str = ""
    bindings: bool = False


State = Literal["active", "paused", "suspended", "ended"]


class Subscription(Struct, frozen=True, cache_hash=True):
    """A conjunction of filters and a consumer; without a consumer it is a pull point. Where several nodes have it, the
    greater `version` is the later; with a `start` all of a ring have it, for what they had since then."""

    id: SubscriptionId
    owner: str | None
    consumer: Endpoint | None
    end_to: Endpoint | None
    form: Form
    filters: tuple[Filter, ...]
    since: Position
    expires: Instant | None
    state: State = "active"
    reason: str = ""
    version: int = 0
    start: Instant | None = None

    def wants_at(self, at: Position, when: Instant) -> bool:
        """Whether it stands for a notification accepted there and then, filters aside."""
        return (
            self.state == "active" and at.offset >= self.since.offset and (self.expires is None or self.expires > when)
        )


class Registration(Struct, frozen=True):
    """A publisher that registered with the broker (WS-BrokeredNotification 1.3 s4). With `demand` the broker subscribes
    at the publisher, and pauses that while nobody wants its topics."""

    id: str
    owner: str | None
    publisher: Endpoint | None
    topics: tuple[Topic, ...]
    demand: bool
    form: Form
    created: Instant
    expires: Instant | None


def notifier_of(subscription: Subscription) -> str | None:
    """The notifier whose service a subscription stands for."""
    return next((each.name for each in subscription.filters if isinstance(each, ForNotifier)), None)


def neighbour_of(subscription: Subscription) -> str | None:
    """The base URL of the neighbour in the tree that a subscription stands for."""
    consumer = subscription.consumer
    return None if consumer is None or not consumer.node else consumer.node
