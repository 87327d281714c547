"""A filter that takes a minute costs its own subscription, and nobody else."""

import time
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any

import pytest
from tests.judging import DEEP, is_there, judges_of, wide
from tests.whole.acts import dead_letters, get, until
from tests.whole.conftest import Start
from tests.whole.life import ENGINES, Engine, Life, living
from tests.whole.shell import BrokerProcess, wait_until
from tests.whole.sink import Sink
from tests.whole.speech import manager_of, message, notify, wsn_subscribe

from tocsin.broker.caller import NODE
from tocsin.broker.subscriptions.suspension import SUSPENDED
from tocsin.mediation.operations import Start as Beginning
from tocsin.mediation.operations import Subscribe
from tocsin.mediation.soap.namespaces import XPATH_10
from tocsin.model.filters import Content
from tocsin.model.subscription import Endpoint, Form
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker

GOOD = "contains(name(/*), 'a') and count(/a/*) > 3"
OFTEN = "its filter failed 3 times in a row: it "
SUSPICIOUS = "its filter could not be evaluated: it "


async def subscribe(http: HttpClient, url: str, consumer: str, expression: str) -> str:
    inside = f'<n:MessageContent Dialect="{XPATH_10}">{escape(expression)}</n:MessageContent>'
    answer = await http.request("POST", f"{url}/broker", *wsn_subscribe(consumer, "t", inside=inside))
    assert answer.status == 200, answer
    return manager_of(answer.body).rpartition("/")[2]


async def publish(http: HttpClient, url: str, *numbers: int) -> None:
    for number in numbers:
        said = notify(message(wide().decode(), "t"), message_id=f"urn:{number}")
        answer = await http.request("POST", f"{url}/broker", *said)
        assert answer.status == 202, answer


async def publish_in(life: Life, *numbers: int) -> None:
    await publish(life.http, life.node.base_url, *numbers)
    life.match()


async def state_of(life: Life, name: str) -> Any:
    return await get(life.http, f"{life.node.base_url}/api/subscriptions/{name}")


async def suspended(life: Life, name: str) -> Any:
    return await until(lambda: state_of(life, name), lambda found: found["state"] == "suspended")


def notices(sink: Sink, path: str) -> list[bytes]:
    return [each.payload.data for each in sink.notifications(path) if each.type == SUSPENDED]


def told(sink: Sink, path: str) -> int:
    return len(sink.payloads(path)) - len(notices(sink, path))


@pytest.mark.parametrize("engine", ENGINES)
async def test_three_failures_suspend_it_and_others_are_told_all_the_same(
    engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink
) -> None:
    said: list[str] = []
    async with living(tmp_path, engine, http, sink, said) as life:
        url = life.node.base_url
        good = await subscribe(http, url, sink.url("good"), GOOD)
        bad = await subscribe(http, url, sink.url("bad"), DEEP)
        await publish_in(life, 1, 2, 3)
        found = await suspended(life, bad)
        assert found["reason"].startswith(OFTEN)
        await wait_until(lambda: told(sink, "good") == 3, "the other filter is evaluated")
        await wait_until(lambda: notices(sink, "bad"), "its subscriber is told")
        assert found["reason"].encode() in notices(sink, "bad")[0]
        assert bad.encode() in notices(sink, "bad")[0]
        await wait_until(lambda: len(life.node.dead_letters.page(NODE, 0, 9, None)) == 3, "and has its dead letters")
        letters = life.node.dead_letters.page(NODE, 0, 9, None)
        assert {each.delivery.match.subscription for each in letters} == {bad}
        assert all(each.reason.startswith(SUSPICIOUS) for each in letters), letters
        assert said == [f"subscription {bad} is suspended: {found['reason']}"]
        await publish_in(life, 4)
        await wait_until(lambda: told(sink, "good") == 4, "the other one goes on")
        assert (await state_of(life, good))["state"] == "active"
        assert told(sink, "bad") == 0
        await life.node.settlement.save()
        assert len(life.node.dead_letters.page(NODE, 0, 9, None)) == 3
    async with living(tmp_path, engine, http, sink) as life:
        assert (await state_of(life, bad))["reason"] == found["reason"], "after a restart, too"
        await publish_in(life, 5)
        await wait_until(lambda: told(sink, "good") == 5, "and the other one goes on")


@pytest.mark.parametrize("engine", ENGINES)
async def test_who_is_resumed_begins_anew_and_gets_its_dead_letters_if_asked(
    engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink
) -> None:
    said: list[str] = []
    async with living(tmp_path, engine, http, sink, said) as life:
        name = await subscribe(http, life.node.base_url, sink.url("bad"), DEEP)
        await publish_in(life, 1, 2, 3)
        await suspended(life, name)
        resumed = await life.api(f"/{name}/resume")
        assert resumed.status == 200
        found = await state_of(life, name)
        assert (found["state"], found["reason"]) == ("active", "")
        await publish_in(life, 4, 5)
        await wait_until(lambda: len(life.node.dead_letters.page(NODE, 0, 9, None)) == 5, "two more")
        assert (await state_of(life, name))["state"] == "active"
        assert await life.node.dead_letters.redrive(NODE, None) == 5
        await wait_until(lambda: told(sink, "bad") == 5, "sent as they are: who tries again wants them sent")
        await publish_in(life, 6)
        await wait_until(lambda: life.node.dead_letters.page(NODE, 0, 9, None), "one more")
        assert (await state_of(life, name))["state"] == "active", "there was a delivery between"


@pytest.mark.parametrize("engine", ENGINES)
async def test_the_past_that_it_asked_for_fails_the_same_way(
    engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink
) -> None:
    async with living(tmp_path, engine, http, sink, []) as life:
        await publish_in(life, 1, 2, 3)
        form, filters = Form("wsn-1.3", "1.2", "2005-08"), (Content("xpath", DEEP),)
        asked = Subscribe(Endpoint(sink.url("bad")), None, form, filters, None, Beginning(offset=0))
        name = (await life.node.subscriptions.subscribe(NODE, asked)).id
        life.match()
        await wait_until(lambda: len(life.node.dead_letters.page(NODE, 0, 9, None)) == 3, "three dead letters")
        assert (await suspended(life, name))["reason"].startswith(OFTEN)


@pytest.mark.parametrize("end", [BrokerProcess.kill, BrokerProcess.stop])
async def test_the_process_that_evaluates_ends_with_its_broker(
    tmp_path: Path, http: HttpClient, sink: Sink, start: Start, end: Callable[[BrokerProcess], object]
) -> None:
    """And another broker on the same data starts one of its own."""
    broker = start(tmp_path / "data")
    await subscribe(http, broker.url, sink.url("good"), GOOD)
    await publish(http, broker.url, 1)
    await wait_until(lambda: told(sink, "good") == 1, "it is told")
    judges = judges_of(broker.process.pid)
    assert judges
    end(broker)
    await wait_until(lambda: not any(map(is_there, judges)), "they are gone")
    broker = start(tmp_path / "data")
    await publish(http, broker.url, 2)
    await wait_until(lambda: told(sink, "good") >= 2, "it is told again")
    assert judges_of(broker.process.pid)


async def test_a_broker_with_a_filter_of_a_minute_answers_others(
    tmp_path: Path, http: HttpClient, sink: Sink, start: Start
) -> None:
    broker = start(tmp_path / "data")
    name = await subscribe(http, broker.url, sink.url("bad"), DEEP)
    began = time.monotonic()
    await publish(http, broker.url, *range(20))
    assert time.monotonic() - began < 60
    letters = await until(lambda: dead_letters(http, broker, name), lambda found: len(found) >= 3)
    assert all(each["reason"].startswith(SUSPICIOUS) for each in letters)
    shown = await until(
        lambda: get(http, f"{broker.url}/api/subscriptions/{name}"), lambda found: found["state"] == "suspended"
    )
    assert shown["reason"].startswith("its filter failed ")
    assert f"subscription {name} is suspended" in broker.said()
