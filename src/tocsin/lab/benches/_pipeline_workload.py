"""A data directory as a node leaves it: many mixed subscriptions, and a log of publications in every dialect.

Subscriptions are those of the engine's benchmark (topics, XPath, types, producers, boxes, attributes), told in all
dialects by turns; a few ask for graph patterns. One publication in twenty is RDF, for them; the others are alerts.
"""

from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import count, islice
from pathlib import Path
from random import Random
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from tocsin.lab.benches.mediation import FORMS
from tocsin.lab.workloads.files import notification, subscription
from tocsin.lab.workloads.texts import MIXED, notifications, subscriptions
from tocsin.matching.catalogue import Catalogue
from tocsin.mediation.ce import webhook
from tocsin.mediation.dialects import BY_NAME, customise, event_dialect, open_in_full
from tocsin.model.declarations import Declaration, MetaStatement, Ontology
from tocsin.model.delivery import Match, Outcome
from tocsin.model.filters import Graph
from tocsin.model.identity import Instant, MessageId, Node, SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted, Changed, Declared
from tocsin.model.subscription import Endpoint, Form, Position, Subscription
from tocsin.store.codec import encode
from tocsin.store.database import Store
from tocsin.store.log.appender import Appender
from tocsin.store.places import LOG, OUTCOMES, Places

T = TypeVar("T")
BASE_URL = "http://broker.example.org:8080"
NODE = Node("n")
BEGUN, STEP = 1_700_000_000_000_000_000, 1_000_000
_CHUNK = 5_000
TOLD = (*FORMS.values(), Form(webhook.NAME))
RAW = "raw"
SEMANTIC, RDF = 500, 20  # one subscription, one publication in so many

_O = "urn:offers#"
_KINDS = {"Product": "", "Computer": "Product", "Desktop": "Computer", "Notebook": "Computer", "Chair": "Product"}
_DECIMAL = "http://www.w3.org/2001/XMLSchema#decimal"
OFFERS = Ontology(
    "offers",
    tuple((_O + name, (_O + above,) if above else ()) for name, above in {"Offer": "", **_KINDS}.items()),
    ((f"{_O}target", ()), (f"{_O}price", ())),
    (MetaStatement(f"{_O}Offer", f"{_O}target", f"{_O}Product"), MetaStatement(f"{_O}Offer", f"{_O}price", _DECIMAL)),
    prefixes=(("", _O), ("xsd", "http://www.w3.org/2001/XMLSchema#")),
)
DECLARED: tuple[Declaration, ...] = (*MIXED.declared, OFFERS)


def asked(number: int, seed: int) -> Graph:
    random = Random(f"{seed} pattern {number}")
    kind, most = random.choice(list(_KINDS)), random.randrange(100, 1_000)
    text = f"(_:H, ?1, (Offer, target, {kind})) (_:H, ?2, (Offer, price, xsd:decimal), ?2 < {most})"
    return Graph("pattern", text, OFFERS.prefixes)


def standing(count: int, seed: int) -> Iterator[Subscription]:
    known = Catalogue(DECLARED)
    for number, each in enumerate(subscriptions(MIXED, count, seed)):
        made = replace(subscription(each, known), form=TOLD[number % len(TOLD)])
        yield made if (number + 1) % SEMANTIC else replace(made, filters=(asked(number, seed),))


def published(first: int, seed: int, start: int = 0) -> Iterator[Accepted]:
    """From the offset `first` on, without end; `start` of them came before."""
    random = Random(f"{seed} offers {start}")
    alerts = notifications(MIXED, 1 << 62, seed + start)
    for number in count(start):
        at = Position(NODE, first + number)
        yield _offer(at, random) if number % RDF == RDF - 1 else _alert(next(alerts), number, at)


def _alert(telling: object, number: int, at: Position) -> Accepted:
    told = notification(telling, number)  # type: ignore[arg-type]
    form = (*TOLD, None)[number % (len(TOLD) + 1)]
    if form is None:
        path = "/".join(each.local for each in told.topic.steps)
        return _accepted(at, RAW, f"/broker/publish/{path}", (("content-type", "application/xml"),), told.payload.data)
    return _written(told, form, at)


def _written(told: Notification, form: Form, at: Position) -> Accepted:
    """As a publisher of that dialect writes it."""
    dialect = BY_NAME[form.dialect]
    door = "/events" if not dialect.is_soap else "/broker" if form.wrapped and dialect.wrapped else "/broker/publish"
    publisher = Subscription(
        SubscriptionId(""), None, Endpoint(f"{BASE_URL}{door}"), None, form, (), Position(NODE, 0), None
    )
    headers, body = customise(told, publisher, BASE_URL)
    spoken = event_dialect(open_in_full(body)) if dialect.is_soap else form.dialect
    return _accepted(at, spoken, door, tuple((name.lower(), value) for name, value in headers), body)


def _offer(at: Position, random: Random) -> Accepted:
    price, kind = random.randrange(50, 2_000), random.choice(list(_KINDS))
    text = f"@prefix : <{_O}> .\n_:H a :Offer ; :target _:t ; :price {price}.0 .\n_:t a :{kind} .\n"
    return _accepted(at, RAW, "/broker/publish/offers", (("content-type", "text/turtle"),), text.encode())


def _accepted(at: Position, dialect: str, door: str, headers: tuple[tuple[str, str], ...], body: bytes) -> Accepted:
    return Accepted(at, Instant(BEGUN + at.offset * STEP), door, dialect, headers, None, f"c{at.offset}", body)


class Laid(Struct, frozen=True):
    """A data directory with its subscriptions, and where its publications begin."""

    data: Path
    first: int
    seed: int

    @classmethod
    def at(cls, data: Path, count: int, seed: int) -> "Laid":
        """Records of subscriptions and declarations are older than what retention keeps of the log."""
        places = Places(data)
        with closing(Store.open(places.database)) as store, closing(_log(places, LOG)) as log:
            store.set_meta("base_url", BASE_URL)
            store.claim_engine("spark")
            for records in _batched(_changes(count, seed), _CHUNK):
                store.apply(records)
                log.commit([encode(each) for each in records], (), None)
            laid = cls(data, log.next_offset, seed)
            old = log.segments()
            log.commit([encode(each) for each in laid.records(0, 1)], (), None)
            log.drop(old)
        return laid

    def records(self, start: int, stop: int) -> Iterator[Accepted]:
        """The publications from the one of that number on."""
        return islice(published(self.first, self.seed, start), stop - start)

    def publish(self, start: int, stop: int) -> None:
        self.append(LOG, map(encode, self.records(start, stop)))

    def append(self, name: str, payloads: Iterable[bytes]) -> None:
        with closing(_log(Places(self.data), name)) as log:
            for each in _batched(payloads, _CHUNK):
                log.commit(each, (), None)


def _changes(count: int, seed: int) -> Iterator[Changed | Declared]:
    for offset, what in enumerate((*DECLARED, *standing(count, seed))):
        at, now = Position(NODE, offset), Instant(BEGUN + offset * STEP)
        if isinstance(what, Subscription):
            yield Changed(at, now, replace(what, since=at))
        else:
            yield Declared(at, now, what)


def outcomes(pairs: Iterable[tuple[str, str, int, int]], together: int = 100) -> Iterator[bytes]:
    """Each delivered at the first attempt, as senders write it."""
    for some in _batched(pairs, together):
        yield msgspec.msgpack.encode(
            [
                Outcome(
                    Match(MessageId(name), SubscriptionId(to)),
                    Position(NODE, offset),
                    index,
                    Instant(BEGUN + offset * STEP + 1_000_000_000),
                    "delivered",
                    1,
                    "",
                )
                for name, to, offset, index in some
            ]
        )


def _batched(values: Iterable[T], size: int) -> Iterator[list[T]]:
    given = iter(values)
    while found := list(islice(given, size)):
        yield found


def _log(places: Places, name: str) -> Appender:
    """A segment for each commit."""
    return Appender.open(places.log(name), segment_bytes=1 << 10)


__all__ = ["OUTCOMES", "Laid", "outcomes", "published", "standing"]
