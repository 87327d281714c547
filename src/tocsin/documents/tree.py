"""The JSON documents of a node in its tree."""

from msgspec import Struct

TREE = "/api/tree"


class TreeNeighbourDocument(Struct, frozen=True):
    """`asks` is how many filters it asks for, null for everything; `since` when it joined, null if it has not; `heard`
    when a child said something last; `waiting` and `delivered` count notifications that go to it; `trouble` is why it
    is not as it should be."""

    node: str
    asks: int | None
    since: str | None
    heard: str | None
    waiting: int
    delivered: int
    trouble: str


class TreeDocument(Struct, frozen=True):
    """`asks` is how many filters this node asks its parent for, null for everything; `too_much` that they are too many
    to be told, so that it asks for everything; `told` that the parent knows all of them; `above` are the nodes from the
    parent up to the root; `most` is how many children this node takes; `leaving` are former parents that were not
    reached yet."""

    node: str
    parent: TreeNeighbourDocument | None
    asks: int | None
    too_much: bool
    told: bool
    above: list[str]
    children: list[TreeNeighbourDocument]
    most: int
    leaving: list[str]
