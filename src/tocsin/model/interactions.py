"""Requests between services, and the record of their interactions (paper 000 s2.1)."""

from collections.abc import Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

from tocsin.model.identity import Instant
from tocsin.model.notification import Notification, Payload

RequestState = Literal["open", "answered", "ended"]
Also = Literal["", "interests", "channel"]
Act = Literal["asked", "answered", "told", "ended"]


NO_DATA = Payload("", b"")  # where it is not read with the rest


class Preference(Struct, frozen=True, forbid_unknown_fields=True):
    """How much a quality counts, which way, and between which bounds it must be."""

    weight: Annotated[float, Meta(ge=0, le=1e9)] = 1.0
    better: Literal["higher", "lower"] = "higher"
    at_least: float | None = None
    at_most: float | None = None


class Profile(Struct, frozen=True, forbid_unknown_fields=True):
    """What a consumer wants of a producer that it leaves to the broker; every policy named must be promised."""

    qualities: Annotated[Mapping[str, Preference], Meta(max_length=64)] = {}
    policies: Annotated[tuple[str, ...], Meta(max_length=64)] = ()


class Scored(Struct, frozen=True):
    """A producer that fits: of each quality 1 is the best that is offered and 0 the worst, or that it is not told."""

    service: str
    score: float
    parts: Mapping[str, float] = {}


class Choice(Struct, frozen=True):
    """Why that producer: those that fit, the best hundred of them, and how many each condition excluded."""

    scored: tuple[Scored, ...]
    excluded: Mapping[str, int] = {}


class Request(Struct, frozen=True):
    """`topic` is a label of the world; `subscription` is what stands for a consumer that asked to be pushed to.

    With `also` the answer goes to others too: to those the graph of interests names, or on the topic `channel`.
    """

    id: str
    pattern: str
    topic: str
    asker: str
    producer: str
    data: Payload
    when: Instant
    state: RequestState = "open"
    answers: int = 0
    also: Also = ""
    channel: str = ""
    chosen_because: Choice | None = None
    subscription: str = ""


class Interaction(Struct, frozen=True):
    """Who did what, and who was told by it; `request`, and `of`, whom it was asked of, are empty where nobody asked."""

    when: Instant
    pattern: str
    act: Act
    by: str
    told: tuple[str, ...]
    topic: str
    request: str = ""
    message: str = ""
    of: str = ""


class Ask(Struct, frozen=True):
    """A consumer begins: `producer` is named, or left to the broker by category and profile."""

    pattern: str
    topic: str
    asker: str
    data: Payload
    producer: str = ""
    category: str = ""
    profile: Profile = Profile()
    also: Also = ""
    channel: str = ""


class Tell(Struct, frozen=True):
    """A producer begins; `protocol` is how push-1:n-implicit travels."""

    pattern: str
    topic: str
    producer: str
    data: Payload
    protocol: str = ""


class Receivers(Struct, frozen=True):
    """Who was told what by that; with push-1:n-implicit the dissemination of `message` knows."""

    message: str
    told: tuple[str, ...]
    closed: tuple[str, ...] = ()


class Fetched(Struct, frozen=True):
    """A notification as the log has it; `private` to one that it was addressed to."""

    notification: Notification
    private: bool
