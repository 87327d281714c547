"""The JSON documents of a ring."""

from msgspec import Struct

RING = "/api/ring"


class MemberDocument(Struct, frozen=True):
    """`id` is its place on the circle and `share` the part of it that it has, up to there; `url` where its doors are,
    null where it has none. What follows is null for one that did not answer: subscriptions that stand there, what it
    accepted, passed on, left because nobody wanted it, and delivered since it began, who keeps copies of its log, and
    whether it has all of its part. `load` is what it had to do in the last while, over the mean of all; null as well
    where nobody had anything. `trouble` is why it did not."""

    node: str
    id: str
    share: float
    address: str
    url: str | None
    site: str
    subscriptions: int | None = None
    accepted: int | None = None
    relayed: int | None = None
    left: int | None = None
    delivered: int | None = None
    keepers: list[str] | None = None
    ready: bool | None = None
    trouble: str = ""
    load: float | None = None


class RingDocument(Struct, frozen=True):
    """As this node sees it. `standing` is member, alone (it does not reach the most of its ring), out or waiting;
    `roster` counts the changes of the members."""

    node: str
    standing: str
    roster: int
    members: list[MemberDocument]
