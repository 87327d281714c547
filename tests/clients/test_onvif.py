"""onvif-zeep-async, the client of Home Assistant: pull points and web hooks, with a UsernameToken as its proof."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from onvif import ONVIFCamera
from onvif.util import extract_subcodes_as_strings, is_auth_error
from tests.whole.acts import IMPATIENT, until
from tests.whole.people import digest_header, known, with_header
from tests.whole.shell import BrokerProcess, wait_until
from tests.whole.sink import Sink
from tests.whole.speech import message, notify
from zeep.exceptions import Fault

from tocsin.model.access import Right
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.clients

ON = IMPATIENT | {"access-on": "true"}
TT = "http://www.onvif.org/ver10/schema"
LONG, SHORT = timedelta(seconds=60), timedelta(seconds=2)
NOW = {"Timeout": timedelta(0), "MessageLimit": 100}
LATER = {"Timeout": timedelta(seconds=20), "MessageLimit": 100}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    process = BrokerProcess.start(_with_users(tmp_path_factory.mktemp("onvif") / "data"), ON)
    yield process
    process.kill()


def _with_users(data: Path) -> Path:
    known(data, "cam", Right("publish"))
    known(data, "home", Right("subscribe"))
    return data


@contextlib.asynccontextmanager
async def camera(broker: BrokerProcess, password: str = "homehome") -> AsyncIterator[Any]:
    """The broker as the client sees it; its clock is asked for before anything is proved."""
    made = ONVIFCamera("127.0.0.1", broker.port, "home", password, no_cache=True, adjust_time=True)
    try:
        yield made
    finally:
        await made.close()


def motion(moves: str, operation: str = "Changed") -> str:
    return (
        f'<tt:Message xmlns:tt="{TT}" UtcTime="2030-01-01T00:00:00Z" PropertyOperation="{operation}"><tt:Data>'
        f'<tt:SimpleItem Name="IsMotion" Value="{moves}"/></tt:Data></tt:Message>'
    )


async def publish(http: HttpClient, broker: BrokerProcess, topic: str, *payloads: str) -> None:
    for each in payloads:
        said = with_header(notify(message(each, topic), message_id=f"urn:{uuid4()}"), digest_header("cam"))
        answer = await http.request("POST", f"{broker.url}/broker", *said)
        assert answer.status == 202, answer


def told(answer: Any, topic: str) -> list[tuple[str, str]]:
    """How each property stands, and why it is told, of one topic."""
    found = [each.Message._value_1 for each in answer.NotificationMessage if each.Topic._value_1 == topic]
    return [(each.Data.SimpleItem[0].Value, each.PropertyOperation) for each in found]


async def pulled(pulling: Any, topic: str, count: int) -> list[tuple[str, str]]:
    """Others publish at this broker too."""
    found: list[tuple[str, str]] = []
    async with asyncio.timeout(20):
        while len(found) < count:
            found += told(await pulling.PullMessages(LATER), topic)
    return found


def new_topic() -> str:
    return f"VideoSource/t{uuid4().hex}"


async def test_pull_point(guarded: BrokerProcess, http: HttpClient) -> None:
    topic, lost = new_topic(), list[str]()
    async with camera(guarded) as device:
        await device.update_xaddrs()
        manager = await device.create_pullpoint_manager(LONG, lambda: lost.append("lost"))
        pulling = manager.get_service()
        waiting = asyncio.create_task(pulled(pulling, topic, 1))
        await publish(http, guarded, topic, motion("true"))
        assert await waiting == [("true", "Changed")], "who waits is told at once"
        await publish(http, guarded, topic, motion("false"), motion("true"))
        assert await pulled(pulling, topic, 2) == [("false", "Changed"), ("true", "Changed")]
        await manager.set_synchronization_point()
        assert await pulled(pulling, topic, 1) == [("true", "Initialized")]
        await manager._call_subscription_renew()
        await manager.shutdown()
        with pytest.raises(Fault):
            await pulling.PullMessages(NOW)
    assert not lost


async def test_web_hook(guarded: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    topic, lost = new_topic(), list[str]()
    await publish(http, guarded, topic, motion("true"))
    async with camera(guarded) as device:
        await device.update_xaddrs()
        manager = await device.create_notification_manager(sink.url("hook"), LONG, lambda: lost.append("lost"))

        def processed() -> list[tuple[str, str]]:
            answers = (manager.process(each.body) for each in sink.at("hook"))
            return [found for answer in answers for found in told(answer, topic)]

        await manager.set_synchronization_point()
        await wait_until(lambda: processed() == [("true", "Initialized")], "the property is told as it stands")
        await publish(http, guarded, topic, motion("false"))
        await wait_until(lambda: processed()[1:] == [("false", "Changed")], "what is published arrives")
        await manager._call_subscription_renew()
        await manager.shutdown()
        await publish(http, guarded, topic, motion("true"))
    assert len(processed()) == 2 and not lost


async def test_expiry(guarded: BrokerProcess, http: HttpClient) -> None:
    """What expired is refused; the client says that it was lost, and subscribes again by itself."""
    topic, lost = new_topic(), list[str]()
    async with camera(guarded) as device:
        await device.update_xaddrs()
        manager = await device.create_pullpoint_manager(SHORT, lambda: lost.append("lost"))
        old = manager.get_service()
        await until(lambda: _refused(lambda: old.PullMessages(NOW)), bool)
        await manager._renew_or_restart_subscription()
        assert lost == ["lost"]
        again = manager.get_service()
        assert again.xaddr != old.xaddr
        await publish(http, guarded, topic, motion("true"))
        assert await pulled(again, topic, 1) == [("true", "Changed")]
        await manager.shutdown()


async def _refused(call: Callable[[], Awaitable[Any]]) -> bool:
    try:
        await call()
    except Fault as fault:
        assert any("ResourceUnknownFault" in each for each in extract_subcodes_as_strings(fault.subcodes))
        return True
    return False


async def test_restart(tmp_path: Path, sink: Sink, http: HttpClient) -> None:
    """Ended in the middle of it and started again: the same addresses, and nothing is missing."""
    topic, data = new_topic(), _with_users(tmp_path / "data")
    broker = BrokerProcess.start(data, ON)
    try:
        async with camera(broker) as device:
            await device.update_xaddrs()
            pull = await device.create_pullpoint_manager(LONG, lambda: None)
            hook = await device.create_notification_manager(sink.url("hook"), LONG, lambda: None)
            await publish(http, broker, topic, motion("true"))
            broker.kill()
            broker = BrokerProcess.start(data, ON, broker.port)
            await publish(http, broker, topic, motion("false"))
            service = pull.get_service()
            assert await pulled(service, topic, 2) == [("true", "Changed"), ("false", "Changed")]
            await wait_until(
                lambda: {b"true" in each for each in sink.payloads("hook")} == {True, False}, "both arrive"
            )
            for each in (pull, hook):
                await each._call_subscription_renew()
                await each.shutdown()
    finally:
        broker.kill()


async def test_who_may_not(guarded: BrokerProcess) -> None:
    """The client knows by the fault that it is the password."""
    async with camera(guarded, "wrong") as device:
        with pytest.raises(Fault) as raised:
            await device.update_xaddrs()
        assert is_auth_error(raised.value)
        assert "{http://www.onvif.org/ver10/error}NotAuthorized" in extract_subcodes_as_strings(raised.value.subcodes)


async def test_what_it_is(guarded: BrokerProcess, http: HttpClient) -> None:
    topic = new_topic()
    await publish(http, guarded, topic, motion("true"))
    async with camera(guarded) as device:
        await device.update_xaddrs()
        assert (await device.get_capabilities())["Events"]["XAddr"] == f"{guarded.url}/onvif/events"
        information = await (await device.create_devicemgmt_service()).GetDeviceInformation()
        assert information.Manufacturer == "Tocsin"
        events = await device.create_events_service()
        properties = await events.GetEventProperties()
        assert "http://www.onvif.org/ver10/tev/topicExpression/ConcreteSet" in properties.TopicExpressionDialect
        source = next(each for each in properties.TopicSet._value_1 if each.tag == "VideoSource")
        assert topic.partition("/")[2] in {each.tag for each in source}
        assert (await events.GetServiceCapabilities()).WSPullPointSupport
