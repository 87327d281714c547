"""Publications that ask for replies, and receivers that reply, through the client."""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from tests.client.dialects import having
from tests.client.documented import run_example
from tests.whole.acts import IMPATIENT
from tests.whole.conftest import Start
from tests.whole.shell import BrokerProcess, wait_until
from tests.whole.sink import Sink

import tocsin.blocking
from tocsin import (
    Client,
    ClientError,
    Notification,
    Received,
    ReplyView,
    all_replied,
    count,
    deadline,
    fraction,
    quiet,
)
from tocsin.client.event_streams import events
from tocsin.client.replies import Condition
from tocsin.documents.replies import ViewDocument
from tocsin.mediation.dialects import BY_NAME, NAMES

SECONDS = 60.0
PUBLISHING = [each for each in NAMES if each != "onvif"]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """One that nobody else subscribes at: receivers are counted."""
    process = BrokerProcess.start(tmp_path_factory.mktemp("replies"), IMPATIENT | {"delivery-attempts": "3"})
    yield process
    process.kill()


def histogram(view: ViewDocument) -> dict[str, int]:
    return {each.value: each.count for each in view.histogram}


def topic_of(what: str) -> str:
    return f"{what}{uuid4().hex}"


async def settled(view: ReplyView[None]) -> ViewDocument:
    return await view.wait(all_replied() | deadline(SECONDS))


@pytest.mark.parametrize("dialect", PUBLISHING)
@pytest.mark.broker
async def test_any_dialect_asks_and_a_handler_replies_by_what_it_returns(broker: BrokerProcess, dialect: str) -> None:
    topic, heard = topic_of("asks"), list[Notification]()

    def handler(notification: Notification) -> str:
        heard.append(notification)
        return "no"

    async with Client(broker.url, dialect) as client, client.listening(handler, topic=topic):
        view = await client.publish(b"<beds/>", topic=topic, reply_type="enum:yes,no", reply_for="10m")
        found = await settled(view)
        assert (histogram(found), found.met, found.receivers) == ({"no": 1}, "all", 1)
        assert heard[0].reply_type == "enum:yes,no"
        assert (heard[0].id, heard[0].payload.data) == (view.message, b"<beds/>")
        assert view.id in [each.id for each in await client.views()]


@pytest.mark.parametrize("dialect", having("Subscribe"))
@pytest.mark.broker
async def test_a_notification_of_any_dialect_is_replied_to_by_a_call(broker: BrokerProcess, dialect: str) -> None:
    topic, heard = topic_of("calls"), asyncio.Queue[Notification]()
    async with Client(broker.url, dialect) as client, client.listening(heard.put, topic=topic):
        view = await client.publish(b"<beds/>", topic=topic, reply_type="int:0..500")
        told = await asyncio.wait_for(heard.get(), SECONDS)
        assert (await client.question(told)).reply_type == "int:0..500"
        with pytest.raises(ClientError, match="from 0 to 500") as refused:
            await client.reply(told, 501)
        assert refused.value.status == 400
        await client.reply(told, 12)
        with pytest.raises(ClientError, match="one reply counts"):
            await client.reply(told, 13)
        assert histogram(await settled(view)) == {"12": 1}


@pytest.mark.broker
async def test_what_was_received_or_pulled_is_replied_to_alike(broker: BrokerProcess) -> None:
    topic, heard = topic_of("pulled"), asyncio.Queue[Received]()
    async with (
        Client(broker.url) as client,
        client.pulling(topic=topic) as point,
        client.listening(received=heard.put, topic=topic),
    ):
        view = await client.publish(b"?", media_type="text/plain", topic=topic, reply_type="boolean")
        request = await asyncio.wait_for(heard.get(), SECONDS)
        assert request.reply_type == "boolean"
        await client.reply(request, True)
        (pulled,) = await client.pull(point, wait=SECONDS)
        await client.reply(pulled, "false")
        assert histogram(await settled(view)) == {"true": 1, "false": 1}


@pytest.mark.broker
async def test_an_address_or_a_token_is_enough(broker: BrokerProcess, sink: Sink) -> None:
    topic = topic_of("token")
    async with Client(broker.url) as client, Client(broker.url, "wsn-1.3") as other:
        await client.subscribe(sink.url("json"), topic=topic)
        await other.subscribe(sink.url("soap"), topic=topic)
        view = await client.publish(b"?", media_type="text/plain", topic=topic, reply_type="text:5")
        await wait_until(lambda: len(sink.received) == 2, "both are told")
        address = json.loads(sink.at("json")[0].body)["replyto"]
        token = address.rpartition("/")[2]
        assert (await client.question(token)).topic == topic
        await client.reply(token, "one")
        (told,) = sink.at("soap")[0].notifications()
        in_soap = told.attribute("replyto")
        assert in_soap is not None and "/broker/replies/" in in_soap
        assert (await client.question(in_soap)).reply_type == "text:5"
        await client.reply(in_soap, "two")
        assert histogram(await settled(view)) == {"one": 1, "two": 1}


@pytest.mark.broker
async def test_what_asks_for_no_reply_cannot_be_replied_to(broker: BrokerProcess, sink: Sink) -> None:
    topic = topic_of("none")
    async with Client(broker.url) as client:
        await client.subscribe(sink.url("a"), topic=topic)
        assert isinstance(await client.publish(b"<a/>", topic=topic), str)
        await wait_until(lambda: sink.received, "it is told")
        (told,) = sink.received[0].notifications()
        assert (told.reply_type, sink.received[0].reply_type) == ("", "")
        cases: list[tuple[Callable[[], Awaitable[object]], str]] = [
            (lambda: client.reply(told, "yes"), "asks for no reply"),
            (lambda: client.reply(sink.received[0], "yes"), "no notifications of this request"),
            (lambda: client.reply(" ", "yes"), "its token"),
            (lambda: client.reply("nothing", "yes"), "is no token"),
            (lambda: client.reply("nothing", object()), "a reply is JSON"),
            (lambda: client.publish(b"<a/>", reply_type="enum:"), "is no reply type"),
            (lambda: client.publish(b"<a/>", reply_type="text", reply_for="soon"), "no time to wait"),
            (lambda: client.view("nothing").look(), "no view 'nothing'"),
            (lambda: client.view("nothing").terminate(), "no view 'nothing'"),
            (lambda: client.view("nothing").wait(), "no view 'nothing'"),
            (lambda: anext(client.view("nothing").stream()), "no view 'nothing'"),
        ]
        for act, why in cases:
            with pytest.raises(ClientError, match=why):
                await act()


@pytest.mark.broker
async def test_a_wrong_value_that_a_handler_returns_is_told_and_does_not_come_again(
    broker: BrokerProcess, caplog: pytest.LogCaptureFixture
) -> None:
    topic, heard = topic_of("wrong"), Counter[str]()
    caplog.set_level(logging.WARNING, "tocsin.client")

    def handler(notification: Notification) -> object:
        heard[notification.dialect] += 1
        return "perhaps"

    async with (
        Client(broker.url) as client,
        Client(broker.url, "wsn-1.3") as other,
        client.listening(handler, topic=topic),
        other.listening(handler, topic=topic),
    ):
        view = await client.publish(b"<a/>", topic=topic, reply_type="enum:yes,no")
        await wait_until(lambda: len(caplog.records) == 2, "both are told of")
        found = await view.look()
        assert (found.replied, found.outstanding) == (0, 2)
    assert set(heard.values()) == {1}
    assert all("does not count: 'perhaps' is not what was asked for" in each.message for each in caplog.records)


@pytest.mark.broker
async def test_a_batch_is_replied_to_one_by_one(broker: BrokerProcess) -> None:
    topic = topic_of("batch")
    async with Client(broker.url) as client:
        first = await client.publish(b"1", media_type="application/json", topic=topic, reply_type="int")
        second = await client.publish(b"2", media_type="application/json", topic=topic, reply_type="int")
        options = {"mode": "batched", "together": 2, "start": 0}
        async with client.listening(lambda told: int(told.payload.data), topic=topic, **options):  # type: ignore[arg-type]
            assert (await first.wait(count(1) | deadline(SECONDS))).replied == 1
            found = await second.wait([count(1), deadline(SECONDS)])
        assert histogram(found) == {"2": 1}


@pytest.mark.parametrize(
    ("until", "met"),
    [
        (count(1) | all_replied(), "count"),
        ([fraction(0.5), deadline(SECONDS)], "fraction"),
        (quiet(0.5) | deadline(SECONDS), "quiet"),
        (deadline(0.2), "deadline"),
        (all_replied() | deadline(0), "deadline"),
    ],
)
@pytest.mark.broker
async def test_a_wait_says_which_of_its_conditions_held(
    broker: BrokerProcess, sink: Sink, until: Condition | list[Condition], met: str
) -> None:
    topic = topic_of("wait")
    async with Client(broker.url) as client, client.listening(lambda _: 7, topic=topic):
        await client.subscribe(sink.url("silent"), topic=topic)
        view = await client.publish(b"?", media_type="text/plain", topic=topic, reply_type="int")
        found = await view.wait(until)
        assert found.met == met


@pytest.mark.broker
async def test_a_wait_is_longer_than_one_question_to_the_broker(
    broker: BrokerProcess, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tocsin.client.replies.AT_ONCE", 0.1)
    topic = topic_of("long")
    async with Client(broker.url) as client:
        await client.subscribe(sink.url("a"), topic=topic)
        view = await client.publish(b"?", media_type="text/plain", topic=topic, reply_type="int")
        assert (await view.wait(all_replied() | deadline(0.5))).met == "deadline"
        waiting = asyncio.ensure_future(view.wait())
        await asyncio.sleep(0.3)
        ended = await view.terminate(grace=0.1)
        assert (ended.ended, (await waiting).met) == ("terminated", "ended")
        assert (await view.look(0.1)).outstanding == 1


def test_of_two_conditions_of_a_kind_the_first_to_hold_counts() -> None:
    joined = fraction(0.9) | fraction(0.5) | count(10) | count(3) | quiet(0.5) | quiet(2) | deadline(60) | deadline(5)
    assert joined == Condition(False, 0.5, 3, 2, 5)
    assert (joined | all_replied()).all


@pytest.mark.broker
async def test_a_stream_shows_the_view_as_it_grows(broker: BrokerProcess, sink: Sink) -> None:
    topic = topic_of("stream")
    async with Client(broker.url) as client:
        await client.subscribe(sink.url("a"), topic=topic)
        view = await client.publish(b"?", media_type="text/plain", topic=topic, reply_type="enum:a,b")
        await wait_until(lambda: sink.received, "it is told")
        seen = list[ViewDocument]()
        async for found in view.stream():
            seen.append(found)
            if len(seen) == 1:
                await client.reply(sink.received[0], "b")
            elif found.complete and not found.ended:
                await view.terminate()
        assert (seen[0].replied, seen[-1].ended, histogram(seen[-1])) == (0, "terminated", {"b": 1})
        async for _ in client.view(view.id).stream():
            break  # a stream that nobody reads on is let go


@pytest.mark.broker
async def test_who_waits_and_who_watches_go_on_after_a_kill(start: Start, tmp_path: Path, sink: Sink) -> None:
    broker = start(tmp_path, IMPATIENT)
    async with Client(broker.url) as client:
        await client.subscribe(sink.url("a"), topic="t")
        view = await client.publish(b"?", media_type="text/plain", topic="t", reply_type="boolean")
        await wait_until(lambda: sink.received, "it is told")
        seen = list[ViewDocument]()

        async def watch() -> None:
            async for found in view.stream():
                seen.append(found)

        watching, waiting = asyncio.ensure_future(watch()), asyncio.ensure_future(view.wait())
        await wait_until(lambda: seen, "it is seen")
        broker.kill()
        again = BrokerProcess.start(tmp_path, IMPATIENT, broker.port)
        try:
            await client.reply(sink.received[0], True)
            found = await asyncio.wait_for(waiting, SECONDS)
            assert (found.met, histogram(found)) == ("all", {"true": 1})
            await view.terminate()
            await asyncio.wait_for(watching, SECONDS)
            assert seen[-1].ended == "terminated"
        finally:
            again.kill()


@pytest.mark.broker
async def test_whoever_a_notifier_tells_can_reply(start: Start, tmp_path: Path) -> None:
    broker = start(tmp_path, IMPATIENT)
    async with Client(broker.url) as client:
        world = {"topics": {"Beds": None}, "categories": {"Desks": None, "Hospitals": None}}
        await client.world.load(world | {"edges": [["Desks", "Beds", "Hospitals"]]})
        await client.notifiers.create("desk", ["Desks"])
        made = await client.notifiers.create("north", ["Hospitals"])
        assert isinstance(await client.notifiers.publish("desk", "Beds", "a drill"), str)
        view = await client.notifiers.publish("desk", "Beds", "how many?", reply_type="int:0..", reply_for="10m")
        assert (await client.notifiers.result(view.message, wait=SECONDS)).receivers == ("north",)
        found = list[Notification]()
        while len(found) < 2:
            found += await client.pull(made.subscription, wait=SECONDS)
        await client.reply(found[1], 12)
        assert histogram(await settled(view)) == {"12": 1}


@pytest.mark.broker
def test_the_blocking_twin(broker: BrokerProcess) -> None:
    topic = topic_of("blocking")
    with tocsin.blocking.Client(broker.url) as client, client.listening(lambda _: "yes", topic=topic):
        view = client.publish(b"?", media_type="text/plain", topic=topic, reply_type="enum:yes,no")
        assert view.wait(all_replied() | deadline(SECONDS)).replied == 1
        for found in view.stream():
            if found.ended:
                break
            assert histogram(view.terminate()) == {"yes": 1}
        assert client.view(view.id).look().ended == "terminated"


async def test_events_are_read_whatever_pieces_they_come_in() -> None:
    text = b"retry: 1000\n\n:\n\ndata: {\r\ndata:  }\r\n\r\nevent: end\ndata:over\n\ndata: half"

    async def pieces(size: int):  # type: ignore[no-untyped-def]
        for at in range(0, len(text), size):
            yield text[at : at + size]

    for size in (1, 3, len(text)):
        assert [each async for each in events(pieces(size))] == [("", b"{\n }"), ("end", b"over")]


def test_every_dialect_that_can_be_published_in_is_tried() -> None:
    assert set(PUBLISHING) | {"onvif"} == {each for each in NAMES if each in BY_NAME}


@pytest.mark.broker
async def test_the_documented_example(broker: BrokerProcess, capsys: pytest.CaptureFixture[str]) -> None:
    await run_example("Replies", broker.url)
    assert capsys.readouterr().out in ("fraction 0 [('yes', 1)]\n", "all 0 [('yes', 1)]\n")
