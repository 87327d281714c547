"""The blocking twins are the same interface, and work from any thread."""

import inspect
import queue
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.whole.shell import BrokerProcess

import tocsin
import tocsin.blocking
from tocsin import ClientError, Notification
from tocsin.client.api import Resource

ALERT = b"<alert>Inn</alert>"
PATIENCE = 60.0


def parts(client: object) -> dict[str, object]:
    """The client itself, and each resource that stands in one of its attributes."""
    return {"": client} | {name: each for name, each in vars(client).items() if isinstance(each, Resource)}


def calls(of: object) -> dict[str, inspect.Signature]:
    methods = inspect.getmembers(of, inspect.ismethod)
    return {name: inspect.signature(each) for name, each in methods if not name.startswith("_")}


def test_every_call_is_awaited_or_waited_for_with_the_same_parameters() -> None:
    with tocsin.blocking.Client() as blocking:
        ours, theirs = parts(tocsin.Client()), parts(blocking)
        assert ours.keys() == theirs.keys() and len(ours) > 15
        for part, each in ours.items():
            assert calls(each) == calls(theirs[part])
            assert not [name for name in calls(each) if inspect.iscoroutinefunction(getattr(theirs[part], name))]
    awaited = [name for name in calls(ours["world"]) if inspect.iscoroutinefunction(getattr(ours["world"], name))]
    assert awaited == list(calls(ours["world"]))


def test_both_are_made_with_the_same_parameters() -> None:
    """But for the shared HTTP client, which belongs to a loop."""
    ours = list(inspect.signature(tocsin.Client).parameters)
    ours.remove("http")
    assert list(inspect.signature(tocsin.blocking.Client).parameters) == ours
    assert list(inspect.signature(tocsin.blocking.Consumer).parameters) == list(
        inspect.signature(tocsin.Consumer).parameters
    )


def test_the_package_imports_nothing_heavy_until_it_is_used() -> None:
    code = (
        "import sys, tocsin\n"
        "heavy = [name for name in ('lxml', 'uvicorn', 'pycurl', 'msgspec', 'asyncio') if name in sys.modules]\n"
        "assert not heavy, heavy\n"
        "assert all(getattr(tocsin, name) for name in tocsin.__all__)\n"
        "assert 'lxml' in sys.modules\n"
    )
    subprocess.run((sys.executable, "-c", code), check=True, timeout=60)
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        tocsin.Nothing  # noqa: B018


@pytest.mark.broker
@pytest.mark.parametrize("dialect", ["wsn-1.3", "wse-2004-08", "cloudevents"])
def test_publish_and_listen(broker: BrokerProcess, dialect: str) -> None:
    heard: queue.Queue[Notification] = queue.Queue()
    topic = f"blocking-{dialect.replace('.', '-')}"
    with tocsin.blocking.Client(broker.url, dialect) as client, client.listening(heard.put, topic=topic) as lease:
        assert lease.seconds
        name = client.publish(ALERT, topic=topic)
        found = heard.get(timeout=PATIENCE)
        assert (found.id, found.payload.data) == (name, ALERT)
        assert client.renew(lease, "PT1H").seconds
    with pytest.raises(ClientError, match="closed"):
        client.publish(ALERT)


@pytest.mark.broker
@pytest.mark.parametrize("dialect", ["wsn-1.3", "onvif", "cloudevents"])
def test_pull(broker: BrokerProcess, dialect: str) -> None:
    with tocsin.blocking.Client(broker.url, dialect) as client, client.pulling(topic=f"pulled/{dialect[:3]}") as point:
        client.publish(ALERT, topic=f"pulled/{dialect[:3]}")
        (found,) = client.pull(point, wait=PATIENCE)
        assert found.payload.data == ALERT


@pytest.mark.broker
def test_a_handler_may_call_the_client(broker: BrokerProcess) -> None:
    """It runs in a thread of its own, so it can wait for the loop."""
    heard: queue.Queue[str] = queue.Queue()
    with tocsin.blocking.Client(broker.url) as client:

        def handler(notification: Notification) -> None:
            if str(notification.topic) == "echo/first":
                client.publish(notification.payload.data, topic="echo/second")
            heard.put(str(notification.topic))

        with client.listening(handler, topic="echo//."):
            client.publish(ALERT, topic="echo/first")
            assert {heard.get(timeout=PATIENCE) for _ in range(2)} == {"echo/first", "echo/second"}


@pytest.mark.broker
def test_several_threads(broker: BrokerProcess) -> None:
    with tocsin.blocking.Client(broker.url) as client, ThreadPoolExecutor(8) as threads:
        names = list(threads.map(lambda number: client.publish(ALERT, message_id=f"urn:thread:{number}"), range(64)))
    assert names == [f"urn:thread:{number}" for number in range(64)]


@pytest.mark.broker
def test_a_consumer_of_its_own_beside_a_client(broker: BrokerProcess) -> None:
    heard: queue.Queue[Notification] = queue.Queue()
    with tocsin.blocking.Consumer(heard.put).listening() as consumer, tocsin.blocking.Client(broker.url) as client:
        lease = client.subscribe(f"{consumer.url}/mine", topic="beside")
        client.publish(ALERT, topic="beside")
        assert heard.get(timeout=PATIENCE).payload.data == ALERT
        client.unsubscribe(lease)


@pytest.mark.broker
def test_no_thread_stays_behind(broker: BrokerProcess) -> None:
    before = set(threading.enumerate())
    with tocsin.blocking.Client(broker.url) as client, client.listening(lambda _: None, topic="threads"):
        assert set(threading.enumerate()) - before
    client.close()
    assert not [each for each in set(threading.enumerate()) - before if each.name.startswith("tocsin")]


@pytest.mark.broker
def test_an_error_inside_leaves_in_order(broker: BrokerProcess) -> None:
    with tocsin.blocking.Client(broker.url) as client:
        with pytest.raises(ZeroDivisionError), client.listening(lambda _: None, topic="left") as lease:
            raise ZeroDivisionError
        with pytest.raises(ClientError, match="no subscription"):
            client.status(lease)
