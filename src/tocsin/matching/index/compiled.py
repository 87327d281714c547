"""Subscriptions compiled into arrays that many processes map into memory: the same bytes for the same subscriptions,
declarations and statistics. Nothing changes in it; an engine over it takes the changes since."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tocsin.markup.conditions import Comparator, Compare, Constant, Exists, Path
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.evidence import Evidence
from tocsin.matching.index import atom_indexes
from tocsin.matching.index.atom_indexes import AtomIndex, GraphAtoms
from tocsin.matching.index.atoms import terms_of
from tocsin.matching.index.boxes import BoxHeader, BoxIndex
from tocsin.matching.index.combination import NO_STATISTICS, STANDING, Combination, Matcher, Statistics
from tocsin.matching.index.postings import Postings
from tocsin.model.filters import ProducerIs, TopicIs, TypeIs
from tocsin.model.identity import SubscriptionId
from tocsin.model.subscription import Subscription, notifier_of

VERSION = 2
Arrays = Mapping[str, NDArray[Any]]
DECODED = 65_536  # subscriptions that are kept as values
_GRAPH = "graph_"
_TERM, _ATOM = ("slot", "atoms", "bounds"), ("start", "count")


class Head(Struct, frozen=True):
    """The part of a snapshot that is not arrays: the atoms, by number; of ordered comparisons only the paths."""

    version: int
    named: list[tuple[int, TopicIs | TypeIs | ProducerIs]]
    paths: list[Path]
    sides: list[tuple[int, int]]  # of the paths
    compared: list[tuple[int, int, Comparator | None, Constant]]  # with the place of their path
    boxes: list[BoxHeader]
    graphs: bytes  # a head of its own
    services: list[int]  # the slots of those who are told by a notifier


class Snapshot(Struct, frozen=True):
    head: bytes
    arrays: dict[str, NDArray[Any]]


def compiled(
    subscriptions: Iterable[Subscription], catalogue: Catalogue, statistics: Statistics = NO_STATISTICS
) -> Snapshot:
    kept = sorted((each for each in subscriptions if each.state != "ended"), key=lambda each: each.id)
    combination = Combination(catalogue, statistics)
    for each in kept:
        combination.add(each, terms_of(each) if notifier_of(each) is None else ())
    bodies = [_encode(each) for each in kept]
    arrays = {f"term_{name}": combination.terms(name) for name in _TERM}
    arrays |= {f"atom_{name}": combination.numbered(name) for name in _ATOM}
    arrays |= {f"filed_{name}": each for name, each in combination.filed()._asdict().items()}
    arrays |= {f"slot_{name}": combination.slots(name) for name in STANDING}
    boxes = [index.arrays() for index in combination.boxes()]
    arrays |= {_box_name(at, name): each for at, (_, found) in enumerate(boxes) for name, each in found.items()}
    graphs, found = combination.graphs.arrays()
    arrays |= {f"{_GRAPH}{name}": each for name, each in found.items()}
    arrays |= {
        "bodies": np.frombuffer(b"".join(bodies), np.uint8),
        "body_ends": np.cumsum([0, *map(len, bodies)], dtype=np.int64),
    }
    arrays["ids"] = np.array([each.id.encode() for each in kept] or [b""], "S")[: len(kept)]
    services = [slot for slot, each in enumerate(kept) if notifier_of(each) is not None]
    head = _head(combination, [header for header, _ in boxes], graphs, services)
    return Snapshot(_encode(head), arrays)


def _box_name(space: int, name: str) -> str:
    return f"box{space}_{name}"


def _head(combination: Combination, boxes: list[BoxHeader], graphs: bytes, services: list[int]) -> Head:
    atoms, paths = combination.atoms(), combination.paths()
    named = [(at, each) for at, each in atoms if isinstance(each, TopicIs | TypeIs | ProducerIs)]
    place = {path: at for at, path in enumerate(paths)}
    compared: list[tuple[int, int, Comparator | None, Constant]] = []
    for at, each in atoms:
        if isinstance(each, Exists):
            compared.append((at, place[each.path], None, None))
        elif isinstance(each, Compare):
            compared.append((at, place[each.path], each.how, each.value))
    sides = [index.sides for index in paths.values()]
    return Head(VERSION, named, list(paths), sides, compared, boxes, graphs, services)


_encode = msgspec.msgpack.Encoder(order="deterministic").encode
_decode_head = msgspec.msgpack.Decoder(Head).decode
_decode_subscription = msgspec.msgpack.Decoder(Subscription).decode


class Compiled:
    def __init__(self, snapshot: Snapshot, catalogue: Catalogue) -> None:
        head = _decode_head(snapshot.head)
        if head.version != VERSION:
            raise ValueError(f"the snapshot has version {head.version}, this is for {VERSION}")
        self._arrays = snapshot.arrays
        terms, slots, atoms = (
            self._rows(kind, of) for kind, of in (("term", _TERM), ("slot", STANDING), ("atom", _ATOM))
        )
        atoms["level"] = np.full(len(atoms["start"]), np.nan)
        filed = Postings(**self._rows("filed", Postings._fields))
        self._matcher = Matcher(_indexes(head, snapshot.arrays, catalogue), atoms, terms, slots, lambda: filed)
        self.services = head.services
        self.subscription = lru_cache(maxsize=DECODED)(self._subscription)

    def __len__(self) -> int:
        return len(self._arrays["ids"])

    def __contains__(self, subscription: SubscriptionId) -> bool:
        return self.slot(subscription) is not None

    def slot(self, subscription: SubscriptionId) -> int | None:
        ids, name = self._arrays["ids"], subscription.encode()
        at = int(np.searchsorted(ids, np.bytes_(name)))
        return at if at < len(ids) and ids[at] == name else None

    def match(self, evidence: Evidence) -> tuple[list[int], list[int]]:
        """The slots of those who want it, and of those whose filters are to be verified."""
        decided, partly, _ = self._matcher.match(evidence)
        return decided, partly

    def _rows(self, kind: str, columns: Iterable[str]) -> dict[str, NDArray[Any]]:
        """As arrays of the plain type, for which alone kernels are compiled."""
        return {name: np.asarray(self._arrays[f"{kind}_{name}"]) for name in columns}

    def _subscription(self, slot: int) -> Subscription:
        ends = self._arrays["body_ends"]
        return _decode_subscription(self._arrays["bodies"][ends[slot] : ends[slot + 1]].tobytes())


def _indexes(head: Head, arrays: Arrays, catalogue: Catalogue) -> tuple[AtomIndex, ...]:
    topics, boxes = atom_indexes.TopicAtoms(), atom_indexes.BoxAtoms(catalogue)
    types, producers = atom_indexes.types(), atom_indexes.producers()
    for at, asked in head.named:
        match asked:
            case TopicIs():
                topics.add(at, asked)
            case TypeIs():
                types.add(at, asked)
            case ProducerIs():
                producers.add(at, asked)
    for place, header in enumerate(head.boxes):
        boxes.put(BoxIndex.from_arrays(header, _below(_box_name(place, ""), arrays)))
    graphs = GraphAtoms.from_arrays(head.graphs, _below(_GRAPH, arrays))
    return topics, types, producers, boxes, _values(head), graphs


def _below(prefix: str, arrays: Arrays) -> dict[str, NDArray[Any]]:
    return {name.removeprefix(prefix): each for name, each in arrays.items() if name.startswith(prefix)}


def _values(head: Head) -> atom_indexes.ValueAtoms:
    """The paths have their old sides."""
    values = atom_indexes.ValueAtoms(chain.from_iterable(head.sides).__next__, _stays)
    for path in head.paths:
        values.at(path).hold()  # bounds on it are in the arrays alone
    for at, place, how, constant in head.compared:
        path = head.paths[place]
        values.add(at, Exists(path) if how is None else Compare(path, how, constant))
    return values


def _stays(side: int) -> None:
    raise AssertionError(f"side {side} of a snapshot was given back")
