"""`/api/ring`: the nodes that act as one broker with this one."""

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.broker.ring.overview import Seat
from tocsin.broker.ring.ring import Ring
from tocsin.documents.ring import RING, MemberDocument, RingDocument
from tocsin.doors.api.router import Resource
from tocsin.model.refusal import Refusal

ring = Resource(RING)


@ring.get(says="The nodes of the ring, which part each has, and how much lies on it")
async def get_ring(node: Node, caller: Caller) -> RingDocument:
    found = await _ring(node).overview.view(caller)
    members = [_document(each, found.mean) for each in found.seats]
    return RingDocument(found.node, found.standing, found.number, members)


@ring.post("/leave", says="Take this node out of its ring for good; it ends when the others go on for it", status=202)
async def leave_ring(node: Node, caller: Caller) -> None:
    _ring(node).depart(caller)


@ring.delete("/{name}", says="Put out a node that does not come back, though the most of the ring is gone with it")
async def remove_node(node: Node, caller: Caller, name: str) -> None:
    await _ring(node).remove(caller, (name,))


def _ring(node: Node) -> Ring:
    if node.ring is None:
        raise Refusal("not-here", "this node is in no ring; `tocsin serve` starts one that others can join")
    return node.ring


def _document(seat: Seat, mean: float) -> MemberDocument:
    member, load = seat.member, seat.load
    known = MemberDocument(member.name, f"{member.id:016x}", seat.share, member.address, None, member.site)
    if load is None:
        return MemberDocument(*_first(known), trouble=seat.trouble)
    return MemberDocument(
        known.node,
        known.id,
        known.share,
        known.address,
        load.url or None,
        known.site,
        load.subscriptions,
        load.accepted,
        load.relayed,
        load.left,
        load.delivered,
        [*load.keepers],
        load.ready,
        load=seat.weight / mean if mean else None,
    )


def _first(known: MemberDocument) -> tuple[str, str, float, str, None, str]:
    return known.node, known.id, known.share, known.address, None, known.site
