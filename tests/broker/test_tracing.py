"""What is told of one notification: each subscription as it was then, and what became of it."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace
from tests.broker.records import NODE, accepted, subscribed
from tests.broker.test_notification_lookup import batch
from tests.broker.test_trace_lookup import written

from tocsin.broker.caller import NODE as NODE_CALLER
from tocsin.broker.caller import Caller
from tocsin.broker.engines.embedded import EmbeddedEngine
from tocsin.broker.engines.outbox import ROWS, OutboxEngine
from tocsin.broker.tracing import lookup as trace_lookup
from tocsin.broker.tracing import tracing
from tocsin.broker.tracing.tracing import Traces
from tocsin.flow.flow import Flow
from tocsin.flow.traces import Account, Logged, Sought
from tocsin.matching.judge import Undecided
from tocsin.model.delivery import Delivery, Match
from tocsin.model.filters import Content, Filter, InBox
from tocsin.model.identity import Instant, MessageId, SubscriptionId
from tocsin.model.notification import Payload
from tocsin.model.records import Accepted, Changed, Declared
from tocsin.model.refusal import Refusal
from tocsin.model.space import WHOLE, Dimension, InformationSpace
from tocsin.model.subscription import Endpoint, Form, Position, Subscription
from tocsin.store.blocks import in_blocks
from tocsin.store.database import Store
from tocsin.store.dead_letters import DeadLetter
from tocsin.store.errors import DatabaseFailed
from tocsin.store.judge.judge import Judges
from tocsin.store.log.reader import LogReader
from tocsin.store.outbox import Outbox
from tocsin.store.pull_points import PointState, Put, Saving

S = SubscriptionId("s")
CONSUMER = Endpoint("http://c/")
LARGE = Payload("text/plain", b"x" * (5 << 20))  # two are more than one answer may have
NOTHING_WAITS = dict[tuple[str, int], bool | None]()


class Manager(Caller):
    """Of the subscriptions with these names of one letter."""

    def __init__(self, names: str) -> None:
        super().__init__()
        self._names = names

    def may_manage(self, subscription: Subscription) -> bool:
        return subscription.id in self._names


class Node:
    """What is asked of one: `waiting` is what its engine says; of its pull points p alone stands."""

    base_url = "http://broker.example"

    def __init__(self, store: Store) -> None:
        self.store, self.engine, self.sending, self.pulling, self.feeds = store, self, self, self, self
        self.waiting = NOTHING_WAITS
        self.pulled_to, self.lagging = 100, dict[str, int]()
        self.saved = 0

    def page(self, after: str, limit: int, seen: Any = None, neighbours: bool = False) -> Sequence[Subscription]:
        del neighbours
        standing = sorted(self.store.past.subscriptions(), key=lambda each: each.id)
        return [each for each in standing if each.id > after and (seen is None or seen(each))][:limit]

    async def save(self) -> None:
        self.saved += 1
        raise DatabaseFailed("the disk is full")

    def waits(self) -> Any:
        return lambda name, at, index: self.waiting.get((name, at.offset), False)

    def state(self, name: str) -> PointState:
        if name != "p":
            raise Refusal("unknown-subscription", "gone")
        return self.store.pull_points.states()[0]

    async def surely_saved(self) -> None:
        """What overflows does as it is saved."""


class Stage:
    def __init__(self, folder: Path) -> None:
        self.store = Store.open(folder / "tocsin.db")
        self.node, self._log = Node(self.store), folder / "log"
        self._log.mkdir()
        node: Any = self.node
        self.traces = Traces(
            self.store,
            self._log,
            "http://broker.example",
            standing=node,
            engine=node,
            settlement=node,
            mailboxes=node,
            judge=self,
        )

    def begin(self) -> None:
        """Nobody waits."""

    def written(self, size: int) -> None:
        """Nor here."""

    def judge(self, asked: Content, document: bytes) -> bool:
        raise Undecided("it takes too long")

    def has(self, *records: Accepted | Changed | Declared) -> None:
        written(self._log, *cast(Any, records))
        self.store.apply([each for each in records if not isinstance(each, Accepted)])

    async def told(self, offset: int, subscription: str = S) -> Account:
        return await self.traces.account(NODE_CALLER, await self.at(offset), subscription)

    async def at(self, offset: int) -> Logged:
        return await self.traces.find(NODE_CALLER, Sought(offset=offset))


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.store.close()


def changed(offset: int, change: Changed, **now: Any) -> Changed:
    at = Position(NODE, offset)
    return Changed(at, Instant(offset), replace(change.subscription, **now))


def asking(offset: int, name: str, *filters: Filter, consumer: Endpoint | None = CONSUMER) -> Changed:
    at = Position(NODE, offset)
    made = Subscription(SubscriptionId(name), None, consumer, None, Form("cloudevents"), filters, at, None)
    return Changed(at, Instant(offset), made)


async def test_a_subscription_is_told_of_as_it_was_then(stage: Stage) -> None:
    first = subscribed(1, S, "a")
    stage.has(
        accepted(0, "a"),
        first,
        accepted(2, "a"),
        changed(3, first, state="paused"),
        accepted(4, "a"),
        changed(5, first, filters=subscribed(5, S, "b").subscription.filters),
        accepted(6, "a"),
        changed(7, first, state="ended", reason="unsubscribed"),
        accepted(8, "a"),
    )
    found = [
        (each.explanation.wanted, each.explanation.because, each.remark)
        for each in [await stage.told(offset) for offset in (0, 2, 4, 6, 8)]
    ]
    assert found == [
        (False, "from record 1 on: it began after this, which is record 0", "it was made after this, as record 1"),
        (True, "topic a: the topic is a", "it has ended since: unsubscribed"),
        (False, "an active subscription: the subscription was paused then", "it has ended since: unsubscribed"),
        (False, "topic b: expected b, the topic has a", "it has ended since: unsubscribed"),
        (False, "an active subscription: the subscription was ended then: unsubscribed", ""),
    ]


async def test_what_changed_since_is_said(stage: Stage) -> None:
    first = subscribed(0, S, "a")
    stage.has(first, accepted(1, "a"), changed(2, first, state="paused"), changed(3, first), accepted(4, "a"))
    assert (await stage.told(1)).remark == ""  # it is as it was
    stage.store.apply([changed(5, first, state="paused")])
    assert (await stage.told(1)).remark == "it was changed since; this is as it was then"


async def test_declarations_count_as_of_the_record(stage: Stage) -> None:
    space = InformationSpace("roads", (Dimension("name", "string"),))
    at = Position(NODE, 2)
    asked = asking(0, "s", InBox("roads", (WHOLE,)))
    stage.has(asked, batch(1, "x", contenttopic="other:1"), Declared(at, Instant(2), space), batch(3, "y"))
    assert [(await stage.told(offset)).explanation.because for offset in (1, 3)] == [
        "content topic roads:*: no space roads is declared",
        "content topic roads:*: it has no content topic",
    ]


def letter(name: SubscriptionId, offset: int, state: str = "dead") -> DeadLetter:
    to = Endpoint("http://c/")
    delivery = Delivery(Match(MessageId("m"), name), Position(NODE, offset), 0, to, (), b"", 0, Instant(0), None)
    return DeadLetter(0, delivery, Instant(1), "nobody is there", 3, cast(Any, state))


async def test_what_became_of_it(stage: Stage) -> None:
    stage.has(subscribed(0, S, "a"), *(accepted(offset, "a") for offset in range(1, 6)), accepted(6, "b"))
    stage.node.waiting = {(S, 1): True, (S, 2): None, (S, 6): True}
    stage.store.save_progress(0, {}, [letter(S, 3), letter(S, 4, "queued")])
    found = [await stage.told(offset) for offset in range(1, 7)]
    assert [(each.outcome, each.detail) for each in found] == [
        ("waiting", ""),
        ("not matched yet", ""),
        ("dead letter", "nobody is there"),
        ("waiting", "nobody is there"),
        ("delivered", ""),
        ("", ""),
    ]
    assert stage.node.saved == 6  # what just died is looked for where it is kept, even if that fails
    stage.store.apply([changed(7, subscribed(0, S, "a"), state="ended")])
    assert (await stage.told(5)).outcome == "not known"


async def test_what_became_of_it_in_a_pull_point(stage: Stage) -> None:
    stage.has(
        asking(0, "p", consumer=None),
        asking(1, "q", consumer=Endpoint("/broker/pullpoints/p")),
        asking(2, "gone", consumer=None),
        accepted(3, "a"),
        accepted(4, "a"),
        batch(5, "x", door="/broker/pullpoints/p"),
    )
    there = [Put("p", number, name, (await stage.at(3)).notification) for number, name in ((4, "q"), (5, "p"))]
    stage.store.pull_points.save(Saving(6, there, [PointState("p", 5, 4)]))
    assert [(await stage.told(3, name)).outcome for name in ("p", "q", "gone")] == [
        "waiting",
        "handed out",
        "not known",
    ]
    assert (await stage.told(4, "p")).outcome == "handed out"  # and forgotten since
    own, other = await stage.told(5, "p"), await stage.told(5, "q")
    assert own.explanation.wanted and not other.explanation.wanted
    assert other.explanation.because == "it was put into the pull point p alone"
    assert other.explanation.parts[0].decides
    page = await stage.traces.accounts(NODE_CALLER, await stage.at(5), "", 10, every=False)
    assert [each.subscription.id for each in page.items] == ["p"]


async def test_what_nobody_pulled_is_not_said_to_be_handed_out(stage: Stage) -> None:
    stage.has(asking(0, "p", consumer=None), *(accepted(offset, "a") for offset in range(1, 4)))
    large = [replace((await stage.at(offset)).notification, payload=LARGE) for offset in (1, 2, 3)]
    there = [Put("p", number, "p", each) for number, each in enumerate(large, 1)]
    points = stage.store.pull_points
    points.save(Saving(4, there, [PointState("p", 3, 1, 1)]))
    assert [(await stage.told(offset, "p")).outcome for offset in (1, 2, 3)] == ["overflowed", "waiting", "waiting"]
    assert (await stage.told(1, "p")).detail == "the pull point was full; 1 were lost so"
    points.save(Saving(4, (), [PointState("p", 3, 2, 1)]))
    unclear = await stage.told(1, "p")
    assert (unclear.outcome, unclear.detail) == ("not known", "it was handed out, or is one of the 1 that overflowed")
    stage.node.lagging["p"] = 2
    points.save(Saving(4, (), [PointState("p", 3, 0)], [("p", 9)]))
    assert [(await stage.told(offset, "p")).outcome for offset in (1, 2)] == ["not known", "not matched yet"]
    stage.node.lagging, stage.node.pulled_to = {}, 3
    assert (await stage.told(3, "p")).outcome == "not matched yet"
    stage.store.save_progress(0, {}, [letter(SubscriptionId("p"), 3)])
    dead = await stage.told(3, "p")
    assert (dead.outcome, dead.detail) == ("dead letter", "nobody is there")


async def test_who_could_not_tell_is_among_those_concerned(stage: Stage) -> None:
    asked = Content("xpath", "count(//x) > 2")
    stage.has(asking(0, "s", asked), accepted(1, "a"))
    plain = await stage.told(1)
    assert (plain.explanation.wanted, plain.explanation.parts[0].verdict) == (False, "does not apply")
    over = asking(2, "t", replace(asked, over="envelope"))
    stage.store.apply([replace(over, subscription=replace(over.subscription, since=Position(NODE, 0)))])
    (only,) = (await stage.traces.accounts(NODE_CALLER, await stage.at(1), "", 10, every=False)).items
    assert (only.subscription.id, only.explanation.wanted, only.outcome) == ("t", None, "")
    assert only.explanation.because.endswith("it could not be evaluated: it takes too long")


async def test_pages_are_bounded_and_go_on(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "MOST_LOOKED_AT", 3)
    names = "abcdefgh"
    stage.has(
        *(asking(at, name, *subscribed(0, S, "xy"[at % 2]).subscription.filters) for at, name in enumerate(names))
    )
    written(stage._log, *(accepted(offset, "x") for offset in range(8, 9)))
    found = await stage.at(8)

    async def all_pages(limit: int, caller: Caller = NODE_CALLER, *, every: bool) -> list[list[str]]:
        pages, after = list[list[str]](), ""
        while True:
            page = await stage.traces.accounts(caller, found, after, limit, every=every)
            pages.append([each.subscription.id for each in page.items])
            if page.next is None:
                return pages
            after = page.next

    assert await all_pages(9, every=False) == [["a", "c"], ["e"], ["g"]]
    assert await all_pages(2, every=True) == [["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"]]
    assert await all_pages(9, Manager("bh"), every=True) == [["b", "h"]]
    monkeypatch.setattr(tracing, "AT_ONCE", 3)
    assert await all_pages(9, Manager("bh"), every=True) == [["b", "h"]]
    assert await all_pages(2, every=True) == [["a", "b"], ["c", "d"], ["e", "f"], ["g", "h"]]
    monkeypatch.setattr(tracing, "MOST_SECONDS", -1.0)
    assert len(await all_pages(9, every=True)) == len(names)  # one at least, however long it takes


async def test_the_newest_are_explained_to_one(stage: Stage) -> None:
    stage.has(subscribed(0, S, "b"), accepted(1, "b"), accepted(2, "a"), accepted(3, "b"), accepted(4, "a"))
    found = await stage.traces.newest(NODE_CALLER, S, 3)
    assert [(each.notification.at.offset, told.explanation.wanted) for each, told in found.items] == [
        (4, False),
        (3, True),
        (2, False),
    ]
    assert not found.cut
    with pytest.raises(Refusal, match="there never was a subscription 'x'"):
        await stage.traces.newest(NODE_CALLER, "x", 3)


async def test_the_newest_have_bounds_of_time_and_size(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    stage.has(subscribed(0, S, "b"), *(accepted(offset, "b") for offset in range(1, 6)))
    monkeypatch.setattr(tracing, "MOST_TOLD", 2)
    few = await stage.traces.newest(NODE_CALLER, S, 5)
    assert (len(few.items), few.cut) == (2, True)
    page = await stage.traces.accounts(NODE_CALLER, await stage.at(1), "", 5, every=True)
    assert (len(page.items), page.next) == (1, None)
    monkeypatch.setattr(tracing, "MOST_SECONDS", -1.0)
    one = await stage.traces.newest(NODE_CALLER, S, 5)
    assert (len(one.items), one.cut) == (1, True)  # one at least, however long it takes


async def test_who_may_not_hear_the_newest_is_told_of_the_newest_it_may(stage: Stage) -> None:
    stage.has(batch(0, "same"), batch(1, "same"))
    found = trace_lookup.find(stage._log, Sought("same"), lambda each: each.notification.at.offset == 0)
    assert found.notification.at.offset == 0


async def test_only_so_many_may_ask_at_once(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "MOST_WAITING", 2)
    stage.has(accepted(0, "a"))
    found = await asyncio.gather(*(stage.at(0) for _ in range(3)), return_exceptions=True)
    assert [isinstance(each, Logged) for each in found] == [True, True, False]
    assert isinstance(found[2], Refusal) and found[2].reason == "overloaded"
    await stage.at(0)


class Lanes:
    def unsettled(self) -> dict[SubscriptionId, tuple[int, int]]:
        return {S: (4, 0)}


async def test_the_embedded_engine_knows_by_its_cursors(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "tocsin.db")
    engine = EmbeddedEngine(Flow("http://here"), store, LogReader(tmp_path / "log"), Judges(), cast(Any, Lanes()))
    engine.matched_to = 8
    waits = engine.waits()
    found = [waits(S, Position(NODE, offset), index) for offset, index in ((3, 0), (4, 0), (4, 1), (7, 0), (8, 0))]
    assert found == [False, False, True, True, None]
    assert waits(SubscriptionId("t"), Position(NODE, 7), 0) is False
    store.close()


def test_the_outbox_knows_by_its_rows(tmp_path: Path) -> None:
    store, outbox = Store.open(tmp_path / "tocsin.db"), Outbox.open(tmp_path / "outbox.db")
    engine = OutboxEngine(store, outbox, cast(Any, Lanes()))
    assert engine.waits()(S, Position(NODE, 0), 0) is None
    outbox.publish(0, in_blocks([letter(S, 3).delivery, letter(S, 5).delivery]), rows=6, end='{"log": 6}')
    waits = engine.waits()
    assert [waits(S, Position(NODE, offset), 0) for offset in (2, 3, 5, 6)] == [False, True, True, None]
    outbox.publish(1, in_blocks([letter(S, 6).delivery] * ROWS), rows=1, end='{"log": 7}')
    assert waits(S, Position(NODE, 2), 0)  # as good as waiting
    for each in (outbox, store):
        each.close()
