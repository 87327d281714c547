"""A recording of changes and publications in one order, and the data directories of nodes that were told it."""

from collections.abc import Iterator
from contextlib import closing
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from random import Random

from msgspec.structs import replace

from tocsin.lab.benches._pipeline_workload import BASE_URL, BEGUN, DECLARED, STEP, published, standing
from tocsin.model.delivery import Delivery
from tocsin.model.identity import Instant, Node
from tocsin.model.records import Accepted, Changed, Declared, Position, Record
from tocsin.model.subscription import Subscription
from tocsin.store.codec import encode
from tocsin.store.database import Engine, Store
from tocsin.store.log.appender import Appender
from tocsin.store.places import LOG, Places

NODE = Node("n")
_CHUNK = 2_000


def recording(messages: int, subscriptions: int, seed: int) -> Iterator[Record]:
    """Nine in ten subscriptions come first. Between the publications the others come, and some pause, go on or end."""
    asked, said, chance = standing(subscriptions, seed), published(0, seed), Random(seed)
    known: list[Subscription] = []
    for what in DECLARED:
        yield Declared(_NOWHERE, _NOW, what)
    for made in islice(asked, subscriptions * 9 // 10):
        known.append(made)
        yield Changed(_NOWHERE, _NOW, made)
    every = max(1, messages * 10 // (2 * subscriptions))
    for number, record in enumerate(islice(said, messages)):
        if number % every == 0:
            yield Changed(_NOWHERE, _NOW, _changed(known, next(asked, None), chance))
        yield record


def _changed(known: list[Subscription], made: Subscription | None, chance: Random) -> Subscription:
    if made is not None and chance.random() < 0.5:
        known.append(made)
        return made
    place = chance.randrange(len(known))
    state = chance.choice(("paused", "active", "ended"))
    changed = replace(known[place], state=state)
    if state == "ended":
        del known[place]
    else:
        known[place] = changed
    return changed


_NOWHERE, _NOW = Position(NODE, 0), Instant(BEGUN)


def placed(records: Iterator[Record], node: Node = NODE) -> Iterator[Record]:
    """As the log of that node has them. What was subscribed begins with its own record."""
    for offset, record in enumerate(records):
        at, when = Position(node, offset), Instant(BEGUN + offset * STEP)
        match record:
            case Changed(subscription=subscription):
                yield replace(record, at=at, when=when, subscription=replace(subscription, since=at))
            case Declared():
                yield replace(record, at=at, when=when)
            case Accepted():
                yield replace(record, at=at)


def lay(data: Path, records: Iterator[Record], engine: Engine, node: Node = NODE) -> None:
    data.mkdir(parents=True)
    places = Places(data)
    appender = Appender.open(places.log(LOG), segment_bytes=8 << 20)
    with closing(Store.open(places.database)) as store, closing(appender) as log:
        store.set_meta("base_url", BASE_URL)
        store.set_meta("node", node)
        store.claim_engine(engine)
        while page := list(islice(records, _CHUNK)):
            store.apply([each for each in page if not isinstance(each, Accepted)])
            log.commit([encode(each) for each in page], (), None)


def digest(delivery: Delivery) -> bytes:
    """Of who is told what, to the byte; whichever node accepted it."""
    words = (delivery.match.notification, delivery.match.subscription, delivery.index, delivery.to, delivery.headers)
    return blake2b(repr(words).encode() + delivery.body, digest_size=16).digest()
