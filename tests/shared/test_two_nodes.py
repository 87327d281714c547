"""Two nodes that share a log in Kafka, and Spark behind them: together they are one broker."""

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.whole.acts import call, get, numbers, publish, subscribe, until
from tests.whole.shell import environment, wait_until
from tests.whole.sink import Sink

from tocsin.wire.http_client import HttpClient

if TYPE_CHECKING:
    from tests.shared.conftest import Nodes

pytestmark = [pytest.mark.spark, pytest.mark.broker, pytest.mark.kafka]


def pipeline(log: str, data: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    """To the end of what is there."""
    words = (sys.executable, "-m", "tocsin", "pipeline", "run", "--once", "--log", log, "--data", str(data), *more)
    return subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=240)


def batches(done: "subprocess.CompletedProcess[str]") -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    return [each for each in map(json.loads, done.stdout.splitlines()) if each["event"] == "batch"]


async def test_what_is_asked_for_at_one_and_said_at_the_other_arrives(
    nodes: "Nodes", tmp_path: Path, http: HttpClient, sink: Sink
) -> None:
    one, two = nodes.start("one"), nodes.start("two")
    name = await subscribe(http, one, sink.url("a"), "t")
    await subscribe(http, one, sink.url("large"), "large")
    gone = await subscribe(http, two, sink.url("b"), "t")
    await until(lambda: get(http, f"{one.url}/api/subscriptions"), lambda found: len(found["items"]) == 3)
    assert (await call(http, "DELETE", f"{one.url}/api/subscriptions/{gone}")).status == 204
    await until(lambda: get(http, f"{two.url}/api/subscriptions"), lambda found: len(found["items"]) == 2)
    await publish(http, one, "t", 1, 2, 3)
    await publish(http, two, "t", 4, 5)
    large = b"<n>" + b"x" * 1_000_000 + b"</n>"
    sent = await http.request("POST", f"{two.url}/broker/publish/large", (("Content-Type", "application/xml"),), large)
    assert sent.status == 202, sent
    found = batches(pipeline(nodes.log, tmp_path / "spark"))
    assert sum(each["deliveries"] for each in found) == 6
    await wait_until(lambda: len(sink.received) >= 6, "all are delivered")
    assert sink.payloads("large") == [large]
    assert sorted(numbers(sink, "a")) == [1, 2, 3, 4, 5]
    assert [each for each in numbers(sink, "a") if each < 4] == [1, 2, 3]
    assert (await get(http, f"{two.url}/api/subscriptions/{name}"))["id"] == name

    shown = subprocess.run(
        (sys.executable, "-m", "tocsin", "pipeline", "status", "--data", str(tmp_path / "spark"), "--json"),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert json.loads(shown.stdout)["lag"]["log"] == 0, shown.stderr


async def test_what_a_shared_log_cannot_do_is_refused(nodes: "Nodes", http: HttpClient, sink: Sink) -> None:
    one = nodes.start("one")
    pulled = await call(http, "POST", f"{one.url}/api/pullpoints", {"topic": "t"})
    assert pulled.status == 400 and b"no pull points yet" in pulled.body
    asked = {"consumer": sink.url("a"), "topic": "t", "from": {"offset": 0}}
    begun = await call(http, "POST", f"{one.url}/api/subscriptions", asked)
    assert begun.status == 400 and b"begins with what comes next" in begun.body
    assert (await get(http, f"{one.url}/api/subscriptions"))["items"] == []
