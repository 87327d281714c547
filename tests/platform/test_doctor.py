"""What the doctor finds, and what it says to do."""

import os
import resource
import shutil
import socket
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from tests.whole.sink import Say, Sink

from tocsin.broker.settings import Settings, load
from tocsin.mediation.times import timestamp
from tocsin.model.identity import SECOND, Instant
from tocsin.platform.doctor import Finding, examine
from tocsin.store.database import Store
from tocsin.store.log.log import Log

NO_JAVA = {"PATH": ""}  # which is found out quickly


def settings(tmp_path: Path, **flags: str) -> Settings:
    given = {"data": str(tmp_path / "d"), "engine": "embedded", "port": "9"} | flags
    return load({name.replace("_", "-"): value for name, value in given.items()}, {})


async def found(asked: Settings, broker: str | None = None, env: Mapping[str, str] = NO_JAVA) -> dict[str, Finding]:
    findings = await examine(asked, env, broker)
    assert all(each.advice for each in findings if each.state != "ok")
    return {each.check: each for each in findings}


async def kept(folder: Path, records: int) -> None:
    log = Log.open(folder)
    for number in range(records):
        await log.append(b"record %d" % number)
    await log.close()


def answering(status: int, told: dict[str, object]) -> Sink:
    return Sink(lambda _: Say(status, "Content-Type: application/json\r\n", msgspec.json.encode(told)))


def at(seconds: float) -> str:
    return timestamp(Instant(time.time_ns() + round(seconds * SECOND)))


async def test_a_machine_before_the_first_start(tmp_path: Path) -> None:
    checks = await found(settings(tmp_path))
    assert {name for name, each in checks.items() if each.state == "problem"} == set()
    assert checks["broker"].state == "warning" and "tocsin serve" in checks["broker"].advice
    assert "first start" in checks["data directory"].text


async def test_a_broker_that_is_named_must_answer(tmp_path: Path) -> None:
    checks = await found(settings(tmp_path), "http://127.0.0.1:9")
    assert checks["broker"].state == "problem"


async def test_a_well_broker(tmp_path: Path) -> None:
    async with answering(200, {"status": "ok", "time": at(0)}).open() as sink:
        checks = await found(settings(tmp_path), sink.url())
    assert (checks["broker"].state, checks["clock"].state) == ("ok", "ok")


async def test_a_broker_that_is_not_well(tmp_path: Path) -> None:
    async with answering(503, {"status": "failing", "reason": "the disk broke"}).open() as sink:
        checks = await found(settings(tmp_path), sink.url())
    assert checks["broker"].state == "problem" and "the disk broke" in checks["broker"].text
    assert "clock" not in checks


@pytest.mark.parametrize(
    ("skew", "state", "words"), [(20, "warning", "ahead"), (-20, "warning", "behind"), (-4000, "problem", "behind")]
)
async def test_clocks_that_disagree(tmp_path: Path, skew: float, state: str, words: str) -> None:
    async with answering(200, {"status": "ok", "time": at(skew)}).open() as sink:
        checks = await found(settings(tmp_path), sink.url())
    assert checks["clock"].state == state and words in checks["clock"].text


@pytest.mark.parametrize("told", [{}, {"time": "soon"}])
async def test_a_clock_that_is_not_told(tmp_path: Path, told: dict[str, object]) -> None:
    async with answering(200, told).open() as sink:
        assert (await found(settings(tmp_path), sink.url()))["clock"].state == "warning"


async def test_java_is_needed_by_spark_only(tmp_path: Path) -> None:
    env = {"JAVA_HOME": str(tmp_path)}
    assert (await found(settings(tmp_path), env=os.environ))["java"].state == "ok"
    assert (await found(settings(tmp_path), env=env))["java"].state == "warning"
    checks = await found(settings(tmp_path, engine="spark"), env=env)
    assert checks["java"].state == "problem" and "JDK" in checks["java"].text


async def test_a_data_directory_that_cannot_be_one(tmp_path: Path) -> None:
    (tmp_path / "d").write_text("a file")
    checks = await found(settings(tmp_path))
    assert checks["data directory"].state == "problem" and "--data" in checks["data directory"].advice


async def test_a_data_directory_of_the_other_engine(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "d" / "tocsin.db")
    store.claim_engine("spark")
    store.close()
    checks = await found(settings(tmp_path))
    assert checks["engine"].state == "problem" and "--engine spark" in checks["engine"].advice
    assert (await found(settings(tmp_path, engine="spark")))["engine"].state == "ok"


async def test_an_engine_that_nobody_asked_for_is_no_trouble(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "d" / "tocsin.db")
    store.claim_engine("embedded")
    store.close()
    unsaid = load({"data": str(tmp_path / "d"), "port": "9"}, {})
    checks = await found(unsaid, env={"JAVA_HOME": str(tmp_path)})
    assert checks["engine"].state == "ok" and "embedded" in checks["engine"].text
    assert checks["java"].state == "warning"  # for `tocsin up` alone


async def test_a_database_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "tocsin.db").write_bytes(b"no database" * 100)
    assert (await found(settings(tmp_path)))["engine"].state == "warning"


async def test_a_log_that_can_be_read(tmp_path: Path) -> None:
    await kept(tmp_path / "d" / "log", 3)
    await kept(tmp_path / "d" / "outcomes", 0)
    checks = await found(settings(tmp_path))
    assert (checks["log"].state, checks["outcomes"].state) == ("ok", "ok")
    assert "3" in checks["log"].text


async def test_a_log_that_is_damaged(tmp_path: Path) -> None:
    await kept(tmp_path / "d" / "log", 3)
    (segment,) = (tmp_path / "d" / "log").glob("*.log")
    data = segment.read_bytes()
    segment.write_bytes(data[:-3] + b"xyz")
    checks = await found(settings(tmp_path))
    assert checks["log"].state == "problem" and segment.name in checks["log"].text


async def test_a_mark_that_is_nonsense(tmp_path: Path) -> None:
    await kept(tmp_path / "d" / "log", 3)
    (tmp_path / "d" / "log" / "durable").write_bytes(b"nonsense" * 2)
    assert (await found(settings(tmp_path)))["log"].state == "problem"


@pytest.mark.parametrize(("free", "state"), [(10 << 30, "ok"), (500 << 20, "warning"), (1 << 20, "problem")])
async def test_disk_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, state: str) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    assert (await found(settings(tmp_path)))["disk space"].state == state


@pytest.mark.parametrize(("limit", "state"), [(20_000, "ok"), (1024, "warning"), (256, "problem")])
async def test_open_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int, state: str) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, resource.RLIM_INFINITY))
    assert (await found(settings(tmp_path)))["open files"].state == state


async def test_a_loopback_address_is_no_address_for_others(tmp_path: Path) -> None:
    asked = settings(tmp_path, host="0.0.0.0", advertise="http://localhost:8080")
    checks = await found(asked)
    assert checks["advertised address"].state == "problem"
    assert "advertise=" in checks["advertised address"].advice


async def test_an_advertised_address_must_lead_to_the_broker(tmp_path: Path) -> None:
    async with answering(200, {"status": "ok"}).open() as sink:
        good = settings(tmp_path, advertise=sink.url()[:-1])
        assert (await found(good))["advertised address"].state == "ok"
        await sink.down()
        assert (await found(good))["advertised address"].state == "warning"


async def test_a_running_broker_says_itself_what_its_address_is(tmp_path: Path) -> None:
    told: dict[str, object] = {"status": "ok", "time": at(0), "servers": [{"url": "http://nowhere.invalid:1"}]}
    async with answering(200, told).open() as sink:
        checks = await found(settings(tmp_path), sink.url())
        assert (
            checks["advertised address"].state == "problem" and "nowhere.invalid" in checks["advertised address"].text
        )
        told["servers"] = [{"url": sink.url()[:-1]}]
        checks = await found(settings(tmp_path), sink.url())
        assert checks["advertised address"].state == "ok" and "this machine only" in checks["advertised address"].text


async def test_a_name_that_leads_to_this_machine_may_not_lead_others_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the name of a machine does that listens on every address, where its own table of hosts says 127.0.1.1."""
    resolved = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.1.1", 8080))]
    told: dict[str, object] = {"status": "ok", "time": at(0), "servers": [{"url": "http://machine.test:8080"}]}
    async with answering(200, told).open() as sink:
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: resolved)
        checks = await found(settings(tmp_path, host="127.0.0.1"), sink.url())
    assert checks["advertised address"].state == "warning" and "others" in checks["advertised address"].text


async def test_an_advertised_name_must_be_one(tmp_path: Path) -> None:
    checks = await found(settings(tmp_path, advertise="http://nowhere.invalid:8080"))
    assert checks["advertised address"].state == "problem" and "resolved" in checks["advertised address"].text
