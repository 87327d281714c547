"""Who may change what of the world.

Everybody who is known proposes edges and votes, in the own name; the owner of a category maintains the edges that leave
it. All else is for who manages everything.
"""

from collections.abc import Sequence

from msgspec.structs import replace

from tocsin.broker.caller import Caller
from tocsin.semantics.interest.changes import CastVote, Change, PutEdge, RemoveEdge
from tocsin.semantics.interest.ino import Edge
from tocsin.semantics.interest.world import World


def allowed(caller: Caller, world: World, changes: Sequence[Change]) -> list[Change]:
    """In the caller's name; as a proposal where it is one. Raises where more was asked than that."""
    name = caller.name
    if name is None:
        return list(changes)
    if not caller.manages_everything():
        changes = [_allowed(caller, name, world, change) for change in changes]
    return [_signed(name, world, each) for each in changes]


def _allowed(caller: Caller, name: str, world: World, change: Change) -> Change:
    match change:
        case CastVote():
            return change
        case PutEdge(edge) if world.owners.get(edge.source) == name:
            before = world.edges.get(edge.key, Edge(*edge.key, proposed_by=name))
            return PutEdge(replace(edge, proposed_by=before.proposed_by, votes=before.votes))
        case PutEdge(edge) if edge.key not in world.edges:
            return PutEdge(Edge(*edge.key, proposed_by=name, when=edge.when, note=edge.note))
        case RemoveEdge(source, topic, target) if world.owners.get(source) == name or _proposed(
            name, world.edges.get((source, topic, target))
        ):
            return change
        case PutEdge() | RemoveEdge():
            raise caller.may_not("change an edge that leaves the category of another; vote on it instead")
    raise caller.may_not("change the world; propose an edge, or vote on one")


def _signed(name: str, world: World, change: Change) -> Change:
    match change:
        case CastVote(vote=vote):
            return replace(change, vote=replace(vote, by=name))
        case PutEdge(edge) if edge.proposed_by and edge.key not in world.edges:
            return PutEdge(replace(edge, proposed_by=name))
    return change


def _proposed(name: str, edge: Edge | None) -> bool:
    """What one proposed can be taken back until somebody else has said something to it."""
    return edge is not None and edge.proposed_by == name and not edge.votes
