"""`/api/tree`: the neighbours of this node in its tree."""

from tocsin.broker.caller import Caller
from tocsin.broker.node import Node
from tocsin.broker.tree.tree import Neighbour
from tocsin.documents.tree import TREE, TreeDocument, TreeNeighbourDocument
from tocsin.doors.api.router import Resource
from tocsin.mediation.times import timestamp
from tocsin.model.identity import Instant

tree = Resource(TREE)


@tree.get(says="The parent and the children of this node, what they ask for, and what goes to them")
def get_tree(node: Node, caller: Caller) -> TreeDocument:
    found = node.tree.view(caller)
    parent = None if found.parent is None else _document(found.parent)
    return TreeDocument(
        found.node,
        parent,
        found.asks,
        found.too_much,
        found.told,
        [*found.above],
        [_document(each) for each in found.children],
        found.most,
        [*found.leaving],
    )


@tree.delete("/{address:path}", says="Take out a child that does not come back, or a former parent")
async def remove_neighbour(node: Node, caller: Caller, address: str) -> None:
    await node.tree.remove(caller, address)


def _document(each: Neighbour) -> TreeNeighbourDocument:
    times = (_time(each.since), _time(each.heard))
    return TreeNeighbourDocument(each.node, each.asks, *times, each.waiting, each.delivered, each.trouble)


def _time(when: Instant | None) -> str | None:
    return None if when is None else timestamp(when)
