"""Addresses of the ring, wherever in it that is: what feeds a pull point at home elsewhere is sent to one."""

import msgspec
from msgspec.structs import replace

from tocsin.mediation import between_nodes
from tocsin.model.subscription import Endpoint, Form, Subscription

RING = "ring:"
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[Endpoint | None, Form]).decode


def sent_to(subscription: Subscription, path: str, together: int) -> Subscription:
    """As it is at a node that does not have what it feeds."""
    consumer = Endpoint(f"{RING}{path}", _encode((subscription.consumer, subscription.form)))
    return replace(subscription, consumer=consumer, form=Form(between_nodes.NAME, together=together))


def original(subscription: Subscription) -> Subscription:
    """As its subscriber asked for it, wherever its pull point is."""
    consumer = subscription.consumer
    if consumer is None or not consumer.address.startswith(RING):
        return subscription
    asked, form = _decode(consumer.reference)
    return replace(subscription, consumer=asked, form=form)
