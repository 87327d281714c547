"""Several workers behind one port are one broker: for who publishes and subscribes, for who starts and stops them, and
whatever happens to one of them."""

import asyncio
import os
import re
import signal
import socket
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from random import Random

import msgspec
import pytest
from tests.whole.acts import IMPATIENT, call, get, numbers, publish, subscribe, until
from tests.whole.crews import CALLERS, Crew, crew
from tests.whole.people import basic, known
from tests.whole.shell import command, document, run_to_end, wait_until
from tests.whole.sink import Say, Sink
from tests.whole.speech import message, notify

from tocsin.model.access import Right

pytestmark = pytest.mark.broker
_NUMBER = re.compile(rb">([0-9]+)<")


@pytest.fixture
async def workers(tmp_path: Path) -> AsyncIterator[Crew]:
    async with crew(tmp_path / "data") as made:
        yield made


async def test_two_are_one_broker_behind_one_port(workers: Crew, sink: Sink) -> None:
    broker = workers.start(2)
    for each in range(6):
        await subscribe(workers.caller, broker, sink.url(f"t{each}"), f"t{each}")
    await subscribe(workers.caller, broker, sink.url("all"), "*//.")
    for number in range(60):
        await publish(workers.caller, broker, f"t{number % 6}", number)
    await wait_until(lambda: len(numbers(sink, "all")) >= 60, "all of them are told")
    for each in range(6):
        await wait_until(lambda each=each: len(numbers(sink, f"t{each}")) >= 10, f"t{each}")  # type: ignore[misc]
        assert numbers(sink, f"t{each}") == list(range(each, 60, 6))
    assert sorted(numbers(sink, "all")) == list(range(60))
    members = await workers.members(2)
    assert all(each["accepted"] > 0 for each in members)
    assert all(0.45 < each["share"] < 0.55 for each in members)
    assert {each["url"].partition("/at/")[0] for each in members} == {broker.url}
    assert broker.stop() == 0
    said = broker.said()
    assert said.count("listens on") == said.count("stopped; ") == 1
    await workers.gone()


class Publishers:
    """Three that publish one after the other, at whichever worker, until they are stopped."""

    def __init__(self, workers: Crew) -> None:
        self._workers, self._is_over = workers, asyncio.Event()
        self.acknowledged: list[int] = []

    async def some(self, many: int = 40) -> None:
        wanted = len(self.acknowledged) + many
        await wait_until(lambda: len(self.acknowledged) > wanted, f"{many} more are published")

    async def _publish(self, number: int) -> None:
        while not self._is_over.is_set():
            said = notify(message(f'<n xmlns="">{number}</n>', f"t{number % 20}"), message_id=f"urn:{number}")
            answer = await self._workers.caller.request("POST", f"{self._workers.up.url}/broker", *said)
            if answer.status == 202:
                self.acknowledged.append(number)
            number += 3

    async def __aenter__(self) -> "Publishers":
        self._tasks = [asyncio.create_task(self._publish(first)) for first in range(3)]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_over.set()
        await asyncio.gather(*self._tasks)


async def test_a_worker_that_dies_is_started_again_on_its_own_data(workers: Crew, sink: Sink) -> None:
    broker = workers.start(2)
    await subscribe(workers.caller, broker, sink.url("all"), "*//.")
    before, victim = workers.pids(), Random(1).choice([0, 1])
    async with Publishers(workers) as publishers:
        await publishers.some()
        os.kill(before[victim], signal.SIGKILL)
        await wait_until(lambda: workers.pids().get(victim) not in (None, before[victim]), "it is started again")
        await workers.members(2)
        early = {*numbers(sink, "all")}
        await publishers.some()
    await wait_until(lambda: {*publishers.acknowledged} <= {*numbers(sink, "all")}, "all that was acknowledged is told")
    twice = {number for number, count in Counter(numbers(sink, "all")).items() if count > 1}
    assert twice <= early, "only what was told when it died, and not noted yet"
    assert f"worker {victim}: it was ended by SIGKILL; it is started again" in broker.said()
    assert broker.stop() == 0
    await workers.gone()


@pytest.mark.long
async def test_one_that_leaves_is_not_noticed(workers: Crew, sink: Sink) -> None:
    broker = workers.start(3)
    await subscribe(workers.caller, broker, sink.url("all"), "*//.")
    assert broker.stop() == 0
    broker = workers.start(1)
    async with Publishers(workers) as publishers:
        await wait_until(lambda: folders(workers) == set(), "the others have left", 240)
        await publishers.some()
    await wait_until(lambda: {*publishers.acknowledged} <= {*numbers(sink, "all")}, "all that was acknowledged is told")
    assert sorted({*numbers(sink, "all")}) == sorted(numbers(sink, "all"))
    assert "has left, and the others have what it had" in broker.said()
    assert "put out" not in broker.said()


PATIENT = {"delivery-attempts": "1000000"}


@pytest.mark.long
@pytest.mark.parametrize("counts", [(1, 2, 1), (3, 2, 4, 1)])
async def test_the_whole_is_started_again_with_another_number(
    workers: Crew, sink: Sink, counts: tuple[int, ...]
) -> None:
    """What waits for a consumer that is down, and what nobody fetched yet, is neither lost nor told twice."""
    topics, down = [f"t{each}" for each in range(8)], True
    sink.script = lambda _: Say(503) if down else Say()
    broker = workers.start(counts[0], **PATIENT)
    for topic in topics:
        await subscribe(workers.caller, broker, sink.url(topic), topic)
    points = [await pull_point(workers) for _ in range(3)]
    for turn, many in enumerate(counts):
        if turn:
            broker = workers.start(many, **PATIENT)
            await wait_until(lambda many=many: folders(workers) == {*range(1, many)}, f"there are {many}", 240)  # type: ignore[misc]
        await workers.members(many)
        for each, topic in enumerate(topics):
            await publish(workers.caller, broker, topic, turn * 100 + each)
        if turn < len(counts) - 1:
            assert broker.stop() == 0
            await workers.gone()
    down, before = False, len(sink.received)
    for each, topic in enumerate(topics):
        mine = [turn * 100 + each for turn in range(len(counts))]
        await wait_until(lambda topic=topic, mine=mine: {*mine} <= {*taken(sink, topic, before)}, topic)  # type: ignore[misc]
        assert sorted(taken(sink, topic, before)) == mine
    wanted = sorted(turn * 100 + each for turn in range(len(counts)) for each in range(8))
    for point in points:
        assert sorted(await pulled(workers, point, len(wanted))) == wanted


def folders(workers: Crew) -> set[int]:
    return {int(each.name) for each in (workers.data / "workers").glob("*")}


def taken(sink: Sink, path: str, since: int) -> list[int]:
    """Since so many had been refused."""
    found = (said for each in sink.received[since:] if each.path == f"/{path}" for said in each.notifications())
    return [int(_NUMBER.findall(each.payload.data)[0]) for each in found]


async def pull_point(workers: Crew) -> str:
    answer = await call(workers.caller, "POST", f"{workers.up.url}/api/pullpoints", {"topic": "*//."})
    assert answer.status == 201, answer
    return str(document(answer.body)["id"])


async def pulled(workers: Crew, point: str, many: int) -> list[int]:
    held: list[int] = []
    while len(held) < many:
        page = await get(workers.caller, f"{workers.up.url}/api/pullpoints/{point}/messages?wait=10s")
        assert page["items"], sorted(held)
        held += [int(_NUMBER.findall(msgspec.json.encode(each["event"]))[0]) for each in page["items"]]
    return held


async def test_users_of_the_directory_are_those_of_each_worker(workers: Crew) -> None:
    workers.data.mkdir()
    known(workers.data, "desk", Right("manage"))
    broker = workers.start(2, **{"access-on": "true"})

    async def answers(url: str, name: str) -> int:
        answer = await workers.caller.request("GET", f"{url}/api/status", basic(name))
        return answer.status

    async def all_answer(url: str, name: str) -> set[int]:
        return {await answers(url, name) for _ in range(CALLERS)}

    async def members() -> list[str]:
        shown = await workers.caller.request("GET", f"{broker.url}/api/ring", basic("desk"))
        return [each["url"] for each in document(shown.body)["members"]] if shown.status == 200 else []

    urls = await until(members, lambda found: len(found) == 2)
    for url in urls:
        assert await all_answer(url, "desk") == {200}
        assert await all_answer(url, "late") == {401}
    known(workers.data, "late", Right("manage"))
    for url in urls:
        await until(lambda url=url: all_answer(url, "late"), lambda found: found == {200})  # type: ignore[misc]
    assert broker.stop() == 0


@pytest.mark.long
async def test_nothing_is_left_when_who_started_them_is_killed(workers: Crew) -> None:
    broker = workers.start(2)
    assert {*workers.pids()} == {0, 1}
    broker.kill()
    await workers.gone()
    again = workers.start(2)
    assert (await get(workers.caller, f"{again.url}/healthz"))["status"] == "ok"


def test_a_port_that_is_taken_is_told_once_and_leaves_nothing(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = run_to_end(command(tmp_path / "data", {"workers": "2"}, port), tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count(f"cannot listen on 127.0.0.1:{port}") == 1


@pytest.mark.long
async def test_a_directory_that_is_in_use_is_told_once(workers: Crew, tmp_path: Path) -> None:
    broker = workers.start(2)
    for many in ("2", "1"):
        done = await asyncio.to_thread(run_to_end, command(broker.data, {"workers": many}), tmp_path)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.count("is written by another process") == done.stderr.count("\n") == 1, done.stderr
    assert (await get(workers.caller, f"{broker.url}/healthz"))["status"] == "ok"


def test_a_bad_setting_is_told_before_anything_is_started(tmp_path: Path) -> None:
    done = run_to_end(command(tmp_path / "data", IMPATIENT | {"workers": "0"}), tmp_path)
    assert done.returncode == 2
    assert "workers = '0'" in done.stderr
    assert not (tmp_path / "data").exists()
