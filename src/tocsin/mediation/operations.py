"""The normalised information sets: what a request asks for, and what is answered (WS-Messenger s4.1)."""

from typing import Literal

from msgspec import Struct

from tocsin.model.filters import Filter, TopicIs
from tocsin.model.identity import Instant, Pairs
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification
from tocsin.model.subscription import Endpoint, Form, Registration, Subscription
from tocsin.model.topics import TopicSet


class Context(Struct, frozen=True):
    """Whom we answer: the reply follows the requester's SOAP, WS-Addressing and specification."""

    dialect: str
    soap: str
    addressing: str | None
    message_id: str = ""
    operation: str = ""
    faults: str = ""  # the dialect whose faults are told at this address, when it is not the one that is spoken


class Publish(Struct, frozen=True):
    """One or more notifications; the message itself goes into the log and is normalised from there."""


class Subscribe(Struct, frozen=True):
    """Without a consumer what matches is kept until it is pulled. `start` is an offset of the log, or a time."""

    consumer: Endpoint | None
    end_to: Endpoint | None
    form: Form
    filters: tuple[Filter, ...]
    expires: Instant | None
    start: "Start | None" = None


class Start(Struct, frozen=True):
    """From where in the log a subscription begins, when it is not from now on."""

    offset: int | None = None
    when: Instant | None = None


class Renew(Struct, frozen=True):
    id: str
    expires: Instant | None
    form: Form


class GetStatus(Struct, frozen=True):
    id: str


class Unsubscribe(Struct, frozen=True):
    id: str


class Pause(Struct, frozen=True):
    id: str


class Resume(Struct, frozen=True):
    id: str


class GetCurrentMessage(Struct, frozen=True):
    topic: TopicIs


class CreatePullPoint(Struct, frozen=True):
    """A mailbox that other subscriptions name as their consumer."""

    form: Form


class Pull(Struct, frozen=True):
    """Waits up to that many seconds for the first message; `most` is None when the caller names no limit."""

    id: str
    most: int | None
    seconds: float = 0.0


class RegisterPublisher(Struct, frozen=True):
    publisher: Endpoint | None
    topics: tuple[Topic, ...]
    demand: bool
    expires: Instant | None
    form: Form


class DestroyRegistration(Struct, frozen=True):
    id: str


class GetProperties(Struct, frozen=True):
    """WS-ResourceProperties of a subscription, a registration, or with neither of the broker itself."""

    id: str
    names: tuple[QName, ...]


class Describe(Struct, frozen=True):
    """What a caller asks about the service itself; the words are those of the operation."""

    what: str
    asked: Pairs = ()


class Synchronise(Struct, frozen=True):
    """ONVIF: how the properties stand that a subscription is about, told again (Core s9.1)."""

    id: str


Request = (
    Publish
    | Subscribe
    | Renew
    | GetStatus
    | Unsubscribe
    | Pause
    | Resume
    | GetCurrentMessage
    | CreatePullPoint
    | Pull
    | RegisterPublisher
    | DestroyRegistration
    | GetProperties
    | Describe
    | Synchronise
)


class Subscribed(Struct, frozen=True):
    """Of a subscription or a pull point; `address` is where it is managed."""

    subscription: Subscription
    address: str
    now: Instant


class Renewed(Struct, frozen=True):
    subscription: Subscription
    now: Instant


class Status(Struct, frozen=True):
    subscription: Subscription
    now: Instant


class Done(Struct, frozen=True):
    """It was done, and there is nothing to tell of it."""


class CurrentMessage(Struct, frozen=True):
    notification: Notification


class Pulled(Struct, frozen=True):
    """In the order of acceptance, each with the subscription it came by."""

    subscription: Subscription
    held: tuple["Held", ...]
    now: Instant


class Held(Struct, frozen=True):
    """A notification in a pull point; `number` grows, and is what a reader that lost an answer goes back to."""

    number: int
    subscription: str
    notification: Notification


class Registered(Struct, frozen=True):
    registration: Registration
    address: str
    consumer: str


class Properties(Struct, frozen=True):
    """The elements of the properties that were asked for, in their order: bytes of XML that stand alone."""

    elements: tuple[bytes, ...]


class Described(Struct, frozen=True):
    """What the operation's writer needs: what was asked, addresses, topics, the time."""

    what: str
    asked: Pairs
    base_url: str
    topics: TopicSet
    fixed_topics: bool
    now: Instant


Answer = Subscribed | Renewed | Status | Done | CurrentMessage | Pulled | Registered | Properties | Described

EndStatus = Literal["DeliveryFailure", "SourceShuttingDown", "SourceCancelling"]


class Ended(Struct, frozen=True):
    """What a subscriber is told when its subscription ends and it did not ask for that."""

    subscription: Subscription
    address: str
    status: EndStatus
    reason: str
    now: Instant


class Reply(Struct, frozen=True):
    """An HTTP response, complete."""

    status: int
    headers: Pairs
    body: bytes
