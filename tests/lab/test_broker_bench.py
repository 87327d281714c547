"""A small run of the broker's benchmark: that it measures what it says, not how fast anything is."""

import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest

from tocsin.lab.bench import BENCHES, Result
from tocsin.lab.benches._messages import LENGTH, TOPIC, Messages, number_of
from tocsin.lab.benches._stage import Lost, Stage, stage
from tocsin.lab.benches.broker import Sizes, results
from tocsin.mediation.dialects import normalise
from tocsin.model.identity import Instant, Node
from tocsin.model.records import Accepted
from tocsin.model.subscription import Position

SMALL = Sizes(
    rounds=1,
    messages=40,
    warm_up=20,
    fan_out=3,
    connections=4,
    ahead=16,
    per_second=200,
    slices=1,
    slice_messages=20,
    accept_slices=2,
    accept_messages=20,
)


def body_of(number: int, seed: int = 1) -> bytes:
    return Messages(seed, "127.0.0.1:80", "/broker").of(number).partition(b"\r\n\r\n")[2]


def test_it_is_listed_and_its_helpers_are_not() -> None:
    found = BENCHES.entries()
    assert "broker" in found
    assert not [name for name in found if name.startswith("_")]


def test_messages_are_of_one_length_and_have_ids_of_their_own() -> None:
    bodies = [body_of(number) for number in (0, 7, 123_456)]
    assert {len(body) for body in bodies} == {LENGTH}
    assert [number_of(body) for body in bodies] == [0, 7, 123_456]
    assert body_of(1, seed=1) != body_of(1, seed=2)
    record = Accepted(Position(Node("n"), 0), Instant(0), "/broker", "wsn-1.3", (), None, "cause", bodies[1])
    (notification,) = normalise(record)
    assert (notification.id, notification.topic) == ("urn:bench:0000000000000007", TOPIC)


@pytest.fixture(scope="module")
def small() -> list[Result]:
    return list(results(1, SMALL))


@pytest.mark.broker
def test_a_row_for_each_rival_and_the_floor(small: list[Result]) -> None:
    assert [result.rival for result in small] == [
        "what is promised",
        "our HTTP client alone",
        "pycurl alone",
        None,
        "a POST to the consumer + one fdatasync",
        "uvicorn, lxml parse, 202",
    ]
    assert [result.target for result in small] == [1.0, 0.4, 0.4, None, 0.4, 0.5]
    for result in small:
        assert result.ours > 0
        assert (result.ratio is None) == (result.rival is None) == (result.met is None)
        assert result.sizes["bytes"] == LENGTH


@pytest.mark.broker
def test_the_latency_says_its_median_and_its_p99(small: list[Result]) -> None:
    latency = small[-2]
    assert latency.unit == "µs"
    assert latency.median == latency.ours
    assert latency.p99 is not None
    assert latency.p99 >= latency.ours
    assert latency.sizes["messages"] == SMALL.slice_messages


@pytest.mark.broker
def test_accepting_is_compared_with_the_least_that_can_accept(small: list[Result]) -> None:
    accepting = small[-1]
    assert accepting.unit == "CPU µs"
    assert accepting.rival_value is not None and accepting.rival_value > 0
    assert accepting.sizes["messages"] == SMALL.accept_slices * SMALL.accept_messages
    assert "times the floor" in accepting.note


@pytest.fixture(scope="module")
def set_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with stage(Path(tmp_path_factory.mktemp("stage"))) as made:
        yield made


def post(port: int, path: str, number: int) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST", path, body_of(number))
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.broker
def test_what_comes_twice_counts_once(set_up: Stage) -> None:
    set_up.reset()
    assert [post(set_up.sink.port, path, number) for path, number in [("/a", 1), ("/a", 1), ("/b", 1)]] == [202] * 3
    set_up.wait_for(2, seconds=5.0)
    assert set_up.came() == 2
    assert set_up.sink.get("/counts") == {"/a": 1, "/b": 1}
    assert [number for number, _ in set_up.sink.get("/times")] == [1]


@pytest.mark.broker
def test_what_is_missing_is_an_error(set_up: Stage) -> None:
    set_up.reset()
    post(set_up.sink.port, "/a", 1)
    with pytest.raises(Lost, match="1 of 2 deliveries are missing"):
        set_up.wait_for(2, seconds=0.05)


@pytest.mark.broker
def test_the_cpu_clock_of_another_process(set_up: Stage) -> None:
    before = set_up.sink.cpu_seconds()
    for number in range(50):
        post(set_up.sink.port, "/a", number)
    assert 0 < before < set_up.sink.cpu_seconds()
