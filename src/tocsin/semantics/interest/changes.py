"""Changes of the world, as values; their sequence is its history."""

from msgspec import Struct

from tocsin.model.identity import Instant
from tocsin.semantics.interest.ino import Edge, Service, Vote


class PutTopic(Struct, frozen=True, tag=True):
    name: str
    parent: str | None = None


class RemoveTopic(Struct, frozen=True, tag=True):
    name: str


class PutCategory(Struct, frozen=True, tag=True):
    """`owner` maintains the edges that leave the category."""

    name: str
    parent: str | None = None
    owner: str | None = None


class RemoveCategory(Struct, frozen=True, tag=True):
    name: str


class PutService(Struct, frozen=True, tag=True):
    service: Service


class RemoveService(Struct, frozen=True, tag=True):
    name: str


class PutEdge(Struct, frozen=True, tag=True):
    edge: Edge


class RemoveEdge(Struct, frozen=True, tag=True):
    source: str
    topic: str
    target: str


class CastVote(Struct, frozen=True, tag=True):
    source: str
    topic: str
    target: str
    vote: Vote


class PutRules(Struct, frozen=True, tag=True):
    """The rules of the world: two readings of inheritance that the paper does not have, and the quorum of votes."""

    inherit_topics: bool = False
    inherit_categories: bool = False
    quorum: int = 3


Change = (
    PutTopic
    | RemoveTopic
    | PutCategory
    | RemoveCategory
    | PutService
    | RemoveService
    | PutEdge
    | RemoveEdge
    | CastVote
    | PutRules
)


class Changing(Struct, frozen=True):
    """A change as it is kept, with who made it and when. Versions count from 1."""

    version: int
    when: Instant
    by: str
    change: Change
