"""Pull points of a node, with either engine: everything once, in order, across restarts and failures."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import pytest

from tocsin.broker import lifecycle
from tocsin.broker.caller import NODE
from tocsin.broker.lifecycle import open_node
from tocsin.broker.node import Node
from tocsin.broker.pull_points import feeds as pull_feeds
from tocsin.broker.pull_points import mailboxes, pull_point
from tocsin.broker.settings import DeliverySettings, Limits, Settings
from tocsin.mediation.operations import CreatePullPoint, Held, Renew, Start, Subscribe
from tocsin.model.filters import NOTHING, TopicIs
from tocsin.model.identity import Instant, after
from tocsin.model.names import QName
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Form
from tocsin.store.errors import DatabaseFailed
from tocsin.store.pull_points import Saving

Engine = Literal["embedded", "spark"]
FORM = Form("wsn-1.3")
BASE = "http://127.0.0.1:9"
MINUTE = 60.0


@pytest.fixture(autouse=True)
def soon_drained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "DRAIN_SECONDS", 0.2)


@pytest.fixture(params=["embedded", "spark"])
def engine(request: pytest.FixtureRequest) -> Engine:
    return "spark" if request.param == "spark" else "embedded"


@asynccontextmanager
async def running(
    data: Path, engine: Engine = "embedded", base: str = BASE, told: list[str] | None = None, **limits: Any
) -> AsyncIterator[Node]:
    heard: list[str] = [] if told is None else told
    settings = Settings(data, engine, limits=Limits(**limits), delivery=DeliverySettings())
    async with open_node(settings, base, heard.append, {("127.0.0.1", 9)}) as node:
        yield node
    if told is None:
        assert heard == []


def wanting(topic: str) -> tuple[TopicIs, ...]:
    return (TopicIs(((QName("", topic),),)),)


async def pull_point_for(node: Node, topic: str, seconds: float = MINUTE, start: Start | None = None) -> str:
    expires = after(node.now(), seconds)
    return (await node.subscriptions.subscribe(NODE, Subscribe(None, None, FORM, wanting(topic), expires, start))).id


async def say(node: Node, topic: str, *numbers: int) -> None:
    headers = (("content-type", "text/plain"),)
    for number in numbers:
        await node.publishing.publish(NODE, f"/broker/publish/{topic}", "raw", headers, b"%d" % number)


def told(held: Sequence[Held]) -> list[int]:
    return [int(each.notification.payload.data) for each in held]


async def pulled(node: Node, name: str, most: int | None = None, seconds: float = 0.0) -> list[int]:
    return told((await node.pull_points.pull(NODE, name, most, seconds)).held)


def crash(node: Node) -> None:
    """From now on nothing more gets into the database; what is there is what a killed process leaves."""

    def fail(saving: Saving) -> Any:
        raise DatabaseFailed("killed")

    node.mailboxes._table.save = fail  # type: ignore[method-assign]


async def test_what_matches_is_pulled_in_order_and_once(tmp_path: Path, engine: Engine) -> None:
    async with running(tmp_path, engine) as node:
        name = await pull_point_for(node, "a")
        await say(node, "a", 1, 2, 3)
        await say(node, "b", 99)
        assert await pulled(node, name, 2) == [1, 2]
        assert node.pull_points.state(NODE, name).waiting == 1
        assert await pulled(node, name) == [3]
        assert await pulled(node, name) == []
        assert [each.number for each in await node.pull_points.held(NODE, name, 1, 10)] == [2, 3]
        assert node.engine.deliverer.figures().waiting == 0
        assert node.figures(NODE)["pull_points"] == {
            "points": 1,
            "waiting": 0,
            "put": 3,
            "handed_out": 3,
            "overflowed": 0,
        }


async def test_a_mailbox_gets_what_others_subscribe_for_it(tmp_path: Path, engine: Engine) -> None:
    async with running(tmp_path, engine) as node:
        box = (await node.pull_points.create(NODE, CreatePullPoint(FORM))).id
        assert node.standing.get(box).filters == (NOTHING,)
        consumer = Endpoint(f"{BASE}/broker/pullpoints/{box}")
        feeding = [
            (await node.subscriptions.subscribe(NODE, Subscribe(consumer, None, FORM, wanting(each), None))).id
            for each in "ab"
        ]
        await say(node, "a", 1)
        await say(node, "b", 2)
        await say(node, "c", 3)
        held = (await node.pull_points.pull(NODE, box, None)).held
        assert (told(held), [each.subscription for each in held]) == ([1, 2], feeding)
        await node.subscriptions.unsubscribe(NODE, feeding[0])
        await say(node, "a", 4)
        await say(node, "b", 5)
        assert await pulled(node, box) == [5]
    async with running(tmp_path, engine, base="http://127.0.0.1:10") as node:  # it is reached elsewhere now
        await say(node, "b", 6)
        assert await pulled(node, box) == [6]
        assert node.engine.deliverer.figures().waiting == 0


async def test_nobody_feeds_a_pull_point_that_is_not_there(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        pushed = await node.subscriptions.subscribe(
            NODE, Subscribe(Endpoint("http://127.0.0.1:8/"), None, FORM, (), None)
        )
        for path in ("none", "", "a/b", pushed.id):
            with pytest.raises(Refusal) as refused:
                await node.subscriptions.subscribe(
                    NODE, Subscribe(Endpoint(f"{BASE}/broker/pullpoints/{path}"), None, FORM, (), None)
                )
            assert refused.value.reason == "bad-consumer"
        with pytest.raises(Refusal, match="own address"):
            await node.subscriptions.subscribe(NODE, Subscribe(Endpoint(f"{BASE}/broker"), None, FORM, (), None))
        with pytest.raises(Refusal, match="no pull point"):
            await node.pull_points.pull(NODE, pushed.id, None)


async def test_what_is_posted_to_a_pull_point_is_for_it_alone(tmp_path: Path, engine: Engine) -> None:
    headers, said = (("content-type", "text/plain"),), list[str]()
    with pytest.raises(DatabaseFailed):
        async with running(tmp_path, engine, told=said) as node:
            crash(node)
            everything = (await node.subscriptions.subscribe(NODE, Subscribe(None, None, FORM, (), None))).id
            box = (await node.pull_points.create(NODE, CreatePullPoint(FORM))).id
            await node.publishing.publish(NODE, f"/broker/pullpoints/{box}", "raw", headers, b"7")
            await say(node, "a", 8)
            with pytest.raises(Refusal) as refused:
                await node.publishing.publish(NODE, "/broker/pullpoints/none", "raw", headers, b"9")
            assert refused.value.reason == "unknown-subscription"
    async with running(tmp_path, engine) as node:
        assert await pulled(node, box) == [7]
        assert await pulled(node, everything) == [8]


async def test_the_same_message_may_come_to_two_pull_points(tmp_path: Path) -> None:
    event = b'{"specversion":"1.0","id":"1","source":"urn:p","type":"t","data":5}'
    headers = (("content-type", "application/cloudevents+json"),)
    async with running(tmp_path) as node:
        boxes = [(await node.pull_points.create(NODE, CreatePullPoint(FORM))).id for _ in range(2)]
        for box in (*boxes, *boxes):
            await node.publishing.publish(NODE, f"/broker/pullpoints/{box}", "cloudevents", headers, event)
        assert [await pulled(node, box) for box in boxes] == [[5], [5]]


async def test_who_waits_is_woken_by_the_first(tmp_path: Path, engine: Engine) -> None:
    async with running(tmp_path, engine) as node:
        name = await pull_point_for(node, "a")
        waiting = asyncio.create_task(pulled(node, name, None, MINUTE))
        await asyncio.sleep(0)
        await say(node, "b", 1)
        assert not waiting.done()
        async with asyncio.timeout(60):
            await say(node, "a", 2)
            assert await waiting == [2]
        assert await pulled(node, name, None, 0.01) == []


async def test_waiting_ends_with_the_pull_point_and_with_the_node(tmp_path: Path) -> None:
    async with asyncio.timeout(60):
        async with running(tmp_path) as node:
            ending, staying = await pull_point_for(node, "a"), await pull_point_for(node, "a")
            waiting = [asyncio.create_task(pulled(node, each, None, MINUTE)) for each in (ending, staying)]
            await asyncio.sleep(0)
            await node.subscriptions.unsubscribe(NODE, ending)
            with pytest.raises(Refusal, match="may have ended"):
                await waiting[0]
            node.mailboxes.stop_waiting()
            assert await waiting[1] == []
            assert node.closing()


async def test_pulls_at_once_get_each_message_once(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        name = await pull_point_for(node, "a")
        pulling_all = [asyncio.create_task(pulled(node, name, 7, MINUTE)) for _ in range(30)]
        await asyncio.gather(*(say(node, "a", number) for number in range(200)))
        found: list[int] = []
        async with asyncio.timeout(60):
            while len(found) < 200:
                done, _ = await asyncio.wait(pulling_all, return_when=asyncio.FIRST_COMPLETED)
                for each in done:
                    found += await each
                    pulling_all.remove(each)
                    pulling_all.append(asyncio.create_task(pulled(node, name, 7, MINUTE)))
        node.mailboxes.stop_waiting()
        assert await asyncio.gather(*pulling_all) == [[]] * 30
        assert sorted(found) == list(range(200))


async def test_who_goes_away_while_waiting_takes_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        name = await pull_point_for(node, "a")
        waiting = asyncio.create_task(pulled(node, name, None, MINUTE))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await say(node, "a", 1)
        assert await pulled(node, name) == [1]


async def test_a_full_pull_point_loses_the_oldest_and_counts_them(tmp_path: Path) -> None:
    async with running(tmp_path, pull_queue=5) as node:
        name = await pull_point_for(node, "a")
        await say(node, "a", *range(12))
        held = (await node.pull_points.pull(NODE, name, None)).held
        state = node.pull_points.state(NODE, name)
        assert told(held)[-5:] == [7, 8, 9, 10, 11]
        assert state.overflowed == 12 - len(held) == held[0].number - 1
        assert node.figures(NODE)["pull_points"]["overflowed"] == state.overflowed
    async with running(tmp_path, pull_queue=5) as node:
        assert node.pull_points.state(NODE, name) == state


async def test_what_was_handed_out_is_kept_for_a_while(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull_point, "KEPT", 3)
    async with running(tmp_path) as node:
        name = await pull_point_for(node, "a")
        await say(node, "a", *range(10))
        await node.pull_points.pull(NODE, name, 8)
        await say(node, "a", 10)
        assert await pulled(node, name) == [8, 9, 10]
        assert told(await node.pull_points.held(NODE, name, 0, 100))[-3:] == [8, 9, 10]
        assert len(await node.pull_points.held(NODE, name, 0, 100)) <= 6
        monkeypatch.setattr(pull_point, "KEPT_SECONDS", 0.0)
        await node.mailboxes.tidy()
        await node.mailboxes.save()
        assert await node.pull_points.held(NODE, name, 0, 100) == []


async def test_acknowledging_hands_out(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        name = await pull_point_for(node, "a")
        await say(node, "a", 1, 2, 3)
        assert told(await node.pull_points.held(NODE, name, 0, 10)) == [1, 2, 3]
        await asyncio.gather(
            node.pull_points.hand_out(NODE, name, 1),
            node.pull_points.hand_out(NODE, name, 2),
            node.pull_points.hand_out(NODE, name, 1),
        )
        assert await pulled(node, name) == [3]
        with pytest.raises(Refusal, match="the last is 3"):
            await node.pull_points.hand_out(NODE, name, 4)


async def test_a_restart_loses_and_doubles_nothing(tmp_path: Path, engine: Engine) -> None:
    numbers: list[int] = []
    async with running(tmp_path, engine) as node:
        name = await pull_point_for(node, "a")
    for start in range(0, 40, 10):
        async with running(tmp_path, engine) as node:
            await say(node, "a", *range(start, start + 10))
            held = (await node.pull_points.pull(NODE, name, 7)).held
            numbers += told(held)
    async with running(tmp_path, engine) as node:
        while found := await pulled(node, name, 7):
            numbers += found
        assert numbers == list(range(40))
        assert (node.pull_points.state(NODE, name).last, node.pull_points.state(NODE, name).handed_to) == (40, 40)


async def test_a_failing_disk_is_told_and_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lifecycle, "CHECKPOINT_SECONDS", 600.0)
    async with running(tmp_path) as node:
        name = await pull_point_for(node, "a")
        await say(node, "a", 1)
        save = node.mailboxes._table.save
        crash(node)
        with pytest.raises(Refusal) as refused:
            await node.pull_points.pull(NODE, name, None)
        assert refused.value.reason == "cannot-store"
        await say(node, "a", 2)
        node.mailboxes._table.save = save  # type: ignore[method-assign]
        assert [each.number for each in (await node.pull_points.pull(NODE, name, None)).held] == [1, 2]


async def test_a_node_without_pull_points_saves_nothing_and_skips_the_log(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        await say(node, "a", *range(20))
        await node.mailboxes.save()
        assert node.store.pull_points.pulled_to() is None
        name = await pull_point_for(node, "a")
        await say(node, "a", 20)
        assert await pulled(node, name) == [20]
        await node.subscriptions.unsubscribe(NODE, name)
        await say(node, "a", 21)
    async with running(tmp_path) as node:
        assert node.mailboxes.pulled_to == node.journal.log.durable


async def test_pausing_and_expiry_count_as_for_any_subscription(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        name = await pull_point_for(node, "a")
        await say(node, "a", 1)
        await node.subscriptions.pause(NODE, name)
        await say(node, "a", 2)
        await node.subscriptions.resume(NODE, name)
        await say(node, "a", 3)
        assert await pulled(node, name) == [1, 3]
        await node.subscriptions.renew(NODE, Renew(name, after(node.now(), 0.01), FORM))
        waiting = asyncio.create_task(pulled(node, name, None, MINUTE))
        async with asyncio.timeout(60):
            with pytest.raises(Refusal) as refused:
                await waiting
        assert refused.value.reason == "unknown-subscription"
        async with asyncio.timeout(60):  # whoever asks is refused before all that it had is gone
            while node.store.pull_points.states():
                await node.mailboxes.save()
                await asyncio.sleep(0.001)


async def test_pulling_keeps_a_mailbox_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(tmp_path, pull_idle=1000.0) as node:
        box = await node.pull_points.create(NODE, CreatePullPoint(FORM))
        assert box.expires is not None
        start = node.journal.log.durable
        await node.pull_points.pull(NODE, box.id, None)
        assert node.journal.log.durable == start
        later = Instant(box.expires - 400 * 10**9)
        for service in (node.pull_points, node.subscriptions, node.standing):
            monkeypatch.setattr(service, "_now", lambda: later)
        await node.pull_points.pull(NODE, box.id, None)
        await node.pull_points.pull(NODE, box.id, None)
        assert node.journal.log.durable == start + 1
        assert node.standing.get(box.id).expires == after(later, 1000.0)


@pytest.mark.parametrize("page", [2, 10_000])
async def test_a_pull_point_that_begins_in_the_past_reads_the_log_first(
    tmp_path: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch, page: int
) -> None:
    monkeypatch.setattr(pull_feeds, "PAGE", page)
    async with running(tmp_path, engine) as node:
        await say(node, "a", *range(5))
        await say(node, "b", 77)
        name = await pull_point_for(node, "a", start=Start(offset=2))
        await say(node, "a", *range(5, 9))
        found: list[int] = []
        async with asyncio.timeout(60):
            while len(found) < 7:
                found += await pulled(node, name, None, 5)
            while node.mailboxes.feeds.lagging:
                await asyncio.sleep(0.001)
        await say(node, "a", 9)
        assert found + await pulled(node, name, None, 5) == list(range(2, 10))
    async with running(tmp_path, engine) as node:
        assert await pulled(node, name) == []


async def test_a_page_of_the_past_ends_by_its_bytes_and_is_saved_before_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull_feeds, "PAGE_BYTES", 1)
    buffered: list[int] = []
    collect = mailboxes.Mailboxes._collect

    def collecting(self: mailboxes.Mailboxes) -> Any:
        buffered.append(len(self._buffer))
        return collect(self)

    async with running(tmp_path) as node:
        await say(node, "a", *range(5))
        await say(node, "b", 77)
        monkeypatch.setattr(mailboxes.Mailboxes, "_collect", collecting)
        name = await pull_point_for(node, "a", start=Start(offset=0))
        found: list[int] = []
        async with asyncio.timeout(60):
            while len(found) < 5:
                found += await pulled(node, name, None, 5)
        assert found == list(range(5))
    assert max(buffered) == 1


async def test_reading_of_the_past_goes_on_after_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull_feeds, "PAGE", 3)
    stuck = asyncio.Event()

    async def once(self: pull_feeds.Feeds, name: str, at: int, stop: int) -> None:
        if at > 0:
            await stuck.wait()
        await read_page(self, name, at, stop)

    read_page = pull_feeds.Feeds._read_page
    monkeypatch.setattr(pull_feeds.Feeds, "_read_page", once)
    async with running(tmp_path) as node:
        await say(node, "a", *range(8))
        name = await pull_point_for(node, "a", start=Start(offset=0))
        assert await pulled(node, name, None, 5) == [0, 1, 2]
        await say(node, "a", 8)
    stuck.set()
    async with running(tmp_path) as node:
        found: list[int] = []
        async with asyncio.timeout(60):
            while len(found) < 6:
                found += await pulled(node, name, None, 5)
        assert found == list(range(3, 9))


async def test_answers_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailboxes, "MOST_AT_ONCE", 10)
    async with running(tmp_path) as node:
        name = await pull_point_for(node, "a")
        await say(node, "a", *range(25))
        assert [len(await pulled(node, name, most)) for most in (None, 11, 0, 1, 99)] == [10, 10, 0, 1, 4]
