"""What shows a neighbour that a delivery comes from a node of its tree."""

from tocsin.model.delivery import Delivery
from tocsin.model.identity import Instant, Pairs
from tocsin.wire.peer_messages import PROOF, request_proof


def prove(key: bytes, delivery: Delivery, now: Instant) -> Pairs:
    """The headers of one attempt: a proof is of its time."""
    target = delivery.to.address[len(delivery.to.node) :]
    return (*delivery.headers, (PROOF, request_proof(key, "POST", target, now, delivery.body)))
