"""Subscriptions and notifications that meet in a ring (paper 004, s3): each step of their ways is what a node's table
says, in a ring at rest of as many nodes as one likes. What is delivered is compared with what should be."""

from bisect import bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator
from math import log2
from random import Random
from typing import Any

from msgspec import Struct

from tocsin.model.content_topic import CONTENT_TOPIC, write_point
from tocsin.model.filters import InBox
from tocsin.model.identity import Instant, MessageId, Node
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.space import Point
from tocsin.model.subscription import Position
from tocsin.routing.ring.identifiers import SIZE
from tocsin.routing.ring.keys import Place, place_of, places_of
from tocsin.routing.ring.multicast import NextKey, Part, parts
from tocsin.sim.contents import Contents, is_in, space
from tocsin.sim.ring import Settled, peer_at

Told = Callable[[str, int, int], None]  # what is being done, how many of how many are
TOPICS = 100
TOUCHED_BOUND = 1.3  # over owners
_STEP = 50


class Setting(Struct, frozen=True):
    nodes: int
    dimensions: int
    subscriptions: int
    notifications: int
    seed: int = 1


class Multicast(Struct, frozen=True):
    """How a subscription came to the nodes that own a part of its span: how many they are, and how many others it
    passed, of which `way` before it was first taken or divided: till then it is a lookup. `depth` is over how many
    nodes, one after the other, the last was reached."""

    owners: int
    others: int
    way: int
    depth: int

    @property
    def touched_over_owners(self) -> float:
        return (self.owners + self.others - self.way) / self.owners


class Meeting(Struct, frozen=True):
    """`hops` are of every key that was looked for. `expected` are the pairs of a subscription and a notification that
    match, `met` those that were delivered, `repeated` the deliveries beyond the first."""

    setting: Setting
    multicasts: tuple[Multicast, ...]
    hops: tuple[int, ...]
    expected: int
    met: int
    wrong: int
    repeated: int

    @property
    def hops_mean(self) -> float:
        return sum(self.hops) / max(1, len(self.hops))

    @property
    def hops_bound(self) -> float:
        """What Chord promises in the mean, and one more."""
        return log2(self.setting.nodes) / 2 + 1

    def hops_at(self, part: float) -> int:
        ordered = sorted(self.hops)
        return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0

    @property
    def touched_over_owners(self) -> float:
        """The mean over subscriptions: one with a single owner counts as much as one with hundreds."""
        ratios = [each.touched_over_owners for each in self.multicasts]
        return sum(ratios) / len(ratios) if ratios else 1.0

    @property
    def all_touched_over_owners(self) -> float:
        """Of all subscriptions together, with their ways."""
        owners = sum(each.owners for each in self.multicasts)
        return 1 + sum(each.others for each in self.multicasts) / max(1, owners)

    @property
    def owners_mean(self) -> float:
        return sum(each.owners for each in self.multicasts) / max(1, len(self.multicasts))

    @property
    def depth_mean(self) -> float:
        return sum(each.depth for each in self.multicasts) / max(1, len(self.multicasts))

    @property
    def messages_per_notification(self) -> float:
        return sum(self.hops) / max(1, self.setting.notifications)

    @property
    def recall(self) -> float:
        return self.met / self.expected if self.expected else 1.0


class Rendezvous:
    """A ring at rest, and what its nodes keep: by plane, the subscriptions whose spans are theirs."""

    def __init__(self, setting: Setting) -> None:
        self.ring = Settled(peer_at(f"node-{setting.seed}-{number}") for number in range(setting.nodes))
        self._kept: defaultdict[tuple[int, str], list[int]] = defaultdict(list)

    def subscribe(self, interface: int, number: int, place: Place) -> Multicast:
        """From that node on, which takes care of the whole circle."""
        owners, others, way, deepest, whole = 0, 0, 0, 0, True
        next_key = remembering(place.span.next_key)
        waiting = deque([(Part(self.ring.table(interface).own, interface, interface), 0)])
        while waiting:
            part, depth = waiting.popleft()
            found = parts(self.ring.table(part.peer.id), next_key, part.after, part.upto)
            waiting += ((each, depth + 1) for each in found.parts)
            deepest = max(deepest, depth)
            owners += found.own
            others += not found.own and depth > 0
            whole = whole and len(found.parts) == 1 and not found.own
            way += whole and depth > 0
            if found.own:
                self._kept[part.peer.id, place.plane].append(number)
        return Multicast(owners, others, way, deepest)

    def meet(self, interface: int, plane: str, key: int) -> tuple[list[int], int]:
        """Those that the owner of the key keeps, and over how many hops it was found."""
        at, hops = interface, 0
        while (ahead := self.ring.table(at).next_hop(key)) is not None:
            at, hops = ahead.id, hops + 1
        return self._kept.get((at, plane), []), hops


def remembering(next_key: NextKey) -> NextKey:
    """Each node asks for itself what another has asked: here it is asked once."""
    starts, keys = [SIZE], list[int | None]([None])

    def remembered(at: int) -> int | None:
        ahead = bisect_right(starts, at) - 1
        if ahead >= 0 and ((known := keys[ahead]) is None or known >= at):
            return known
        found = next_key(at)
        starts.insert(ahead + 1, at)
        keys.insert(ahead + 1, found)
        return found

    return remembered


def meeting(setting: Setting, told: Told = lambda *_: None) -> Meeting:
    declared = space(setting.dimensions)
    contents, spaces = Contents(declared, setting.seed), {declared.name: declared}
    rendezvous, random = Rendezvous(setting), Random(f"{setting.seed} interfaces")
    boxes, points = list(contents.boxes(setting.subscriptions)), list(contents.points(setting.notifications))
    multicasts = tuple(
        rendezvous.subscribe(random.choice(rendezvous.ring.peers).id, number, place_of((box,), spaces))
        for number, box in _telling(told, "subscriptions", boxes)
    )
    hops, met, wrong, repeated, expected = list[int](), 0, 0, 0, 0
    for number, point in _telling(told, "notifications", points):
        interface, delivered = random.choice(rendezvous.ring.peers).id, Counter[int]()
        for place in places_of(_notification(number, write_point(point, declared)), spaces):
            kept, way = rendezvous.meet(interface, place.plane, _first_key(place))
            hops.append(way)
            delivered.update(each for each in kept if is_in(boxes[each], point))
        wanted = _wanted(boxes, point)
        expected += len(wanted)
        met += len(wanted & delivered.keys())
        wrong += len(delivered.keys() - wanted)
        repeated += delivered.total() - len(delivered)
    return Meeting(setting, multicasts, tuple(hops), expected, met, wrong, repeated)


def _first_key(place: Place) -> int:
    """What lies at a point has no other."""
    found = place.span.next_key(0)
    assert found is not None
    return found


def _wanted(boxes: list[InBox], point: Point) -> set[int]:
    """One by one, of all there are."""
    return {number for number, box in enumerate(boxes) if is_in(box, point)}


def _telling(told: Told, what: str, things: list[Any]) -> Iterator[tuple[int, Any]]:
    for number, each in enumerate(things):
        if number % _STEP == 0:
            told(what, number, len(things))
        yield number, each


def _notification(number: int, content: str) -> Notification:
    topic = Topic((QName("", f"topic-{number % TOPICS}"),))
    at, payload = Position(Node(""), number), Payload("text/plain", b"")
    attributes = ((CONTENT_TOPIC, content),)
    return Notification(MessageId(f"{number}"), at, 0, Instant(0), "", "", "", topic, None, attributes, payload)
