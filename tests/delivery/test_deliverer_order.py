"""The engine with a sender and a backlog that do what they are told, over random sequences."""

import asyncio
import json
from collections.abc import Callable, Sequence
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tocsin.delivery.deliverer import Deliverer
from tocsin.delivery.lane import Entry, Place
from tocsin.delivery.settings import DeliverySettings
from tocsin.mediation.ce.attributes import BATCHED
from tocsin.model.delivery import Delivery, Match, Outcome
from tocsin.model.identity import Instant, MessageId, Node, Pairs, SubscriptionId
from tocsin.model.subscription import Endpoint, Position
from tocsin.wire.answer import Answer

SETTINGS = DeliverySettings(
    window=3, window_bytes=8, attempts=3, first_delay=0.0, failures_to_open=2, cool_down=0.0, backlog_readers=2
)
NAMES = [SubscriptionId(name) for name in "abc"]
Done = Callable[[Answer], None]


class World:
    """Subscriptions a and b share an origin, c takes three in one message.

    A request waits until the script answers it, a backlog likewise.
    """

    def __init__(self) -> None:
        self.truth: dict[str, list[Place]] = {name: [(n, 0) for n in range(1, 6)] for name in NAMES}
        self.flying: dict[str, Done] = {}
        self.reading: list[asyncio.Future[None]] = []
        self.sent: dict[str, list[Place]] = {name: [] for name in NAMES}
        self.final: dict[str, list[tuple[Place, str]]] = {name: [] for name in NAMES}
        self.attempts: list[int] = []
        self.deliverer = Deliverer(
            self,
            SETTINGS,
            prepare=prepare,
            settled=self.settled,
            backlog=self.backlog,
            now=lambda: Instant(0),
            random=Random(0),
            together=lambda name: 3 if name == "c" else 1,
        )

    def post(self, url: str, headers: Pairs, body: bytes, done: Done) -> None:
        name, offset = json.loads(body)[0].split()
        assert name not in self.flying, "two in flight for one subscription"
        self.flying[name] = done
        self.sent[name].append((int(offset), 0))

    def settled(self, entry: Entry, delivery: Delivery, outcome: Outcome) -> None:
        self.attempts.append(outcome.attempt)
        if outcome.result != "retry":
            self.final[entry.subscription].append((entry.place, outcome.result))

    async def backlog(self, subscription: SubscriptionId, after: Place, limit: int) -> Sequence[Entry]:
        found = [entry(subscription, place) for place in self.truth[subscription] if place > after][:limit]
        self.reading.append(wait := asyncio.get_running_loop().create_future())
        await wait
        return found

    def offer(self, name: SubscriptionId) -> None:
        self.truth[name].append((len(self.truth[name]) + 1, 0))
        self.deliverer.offer(entry(name, self.truth[name][-1]))

    def answer(self, name: SubscriptionId, status: int) -> None:
        if done := self.flying.pop(name, None):
            done(Answer(status))

    def read(self) -> None:
        if self.reading:
            self.reading.pop(0).set_result(None)

    def step(self, action: str, name: SubscriptionId) -> None:
        match action:
            case "offer":
                self.offer(name)
            case "read":
                self.read()
            case "hold":
                self.deliverer.hold(name)
            case "release":
                self.deliverer.release(name)
            case status:
                self.answer(name, int(status))

    async def finish(self) -> None:
        for name in NAMES:
            self.deliverer.release(name)
        while not self.deliverer.idle():
            self.read()
            for name in NAMES:
                self.answer(name, 202)
            await asyncio.sleep(0)


def entry(name: SubscriptionId, place: Place) -> Entry:
    """Two or three of the large ones fill the window."""
    return Entry(name, place, None, place[0] % 3 * 4)


def prepare(entry: Entry) -> Delivery:
    host = "one" if entry.subscription in "ab" else "two"
    return Delivery(
        Match(MessageId("m"), entry.subscription),
        Position(Node("n"), entry.place[0]),
        0,
        Endpoint(f"http://{host}/{entry.subscription}"),
        (("Content-Type", BATCHED),),
        json.dumps([f"{entry.subscription} {entry.place[0]}"]).encode(),
    )


async def play(steps: list[tuple[str, SubscriptionId]]) -> World:
    world = World()
    for name in NAMES:
        world.deliverer.seed(name, (0, 0))
    for action, name in steps:
        world.step(action, name)
        for name_, after in world.deliverer.unsettled().items():
            assert after == (len(world.final[name_]), 0)
        await asyncio.sleep(0)
    await world.finish()
    await world.deliverer.close()
    return world


ACTIONS = st.sampled_from(["offer", "offer", "202", "202", "500", "404", "400", "read", "hold", "release"])


@given(st.lists(st.tuples(ACTIONS, st.sampled_from(NAMES)), max_size=100))
def test_in_order_once_and_complete(steps: list[tuple[str, SubscriptionId]]) -> None:
    world = asyncio.run(play(steps))
    for name in NAMES:
        assert [place for place, _ in world.final[name]] == world.truth[name]
        assert world.sent[name] == sorted(world.sent[name])
    assert max(world.attempts, default=0) <= SETTINGS.attempts
    assert world.deliverer.unsettled() == {}
    figures = world.deliverer.figures()
    assert (figures.in_flight, figures.waiting, figures.behind) == (0, 0, 0)
