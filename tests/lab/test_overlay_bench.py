"""A small run of the overlay's benchmark: that it measures what it says, not how fast anything is."""

import os
import shutil
from pathlib import Path

import pytest

from tocsin.lab.bench import BENCHES, Report, run
from tocsin.lab.benches import _overlay_nats, _overlay_rivals
from tocsin.lab.benches._messages import LENGTH
from tocsin.lab.benches._overlay_case import PER_CPU, PER_SECOND, Case, Contest, Sizes, opened
from tocsin.lab.benches._overlay_load import Spread, topic_of
from tocsin.lab.benches._overlay_rings import LOCAL, ONE
from tocsin.lab.benches._overlay_run import Run
from tocsin.lab.benches._overlay_stage import Cores, Sink, cores, family, has_workers, ring, topics_by_node
from tocsin.lab.benches._overlay_wire import carried
from tocsin.lab.benches._stage import Process
from tocsin.routing.ring.topic_keys import key_of_topic

SMALL = {
    "rounds": "1",
    "messages": "20",
    "nodes": "2",
    "fan_out": "2",
    "connections": "4",
    "requests": "4",
    "slices": "1",
    "slice_messages": "4",
    "rival_messages": "20",
}


def test_it_is_listed_and_its_helpers_are_not() -> None:
    found = BENCHES.entries()
    assert "overlay" in found
    assert not [name for name in found if name.startswith("_")]


def test_cores_are_shared_where_there_are_too_few() -> None:
    assert cores([0, 1], 2) == Cores([0, 1], [1], [1])
    assert cores([0, 1, 2], 2) == Cores([0, 1], [2], [2])
    assert cores([0, 1, 2, 3], 2) == Cores([0, 1], [2], [3])
    assert cores([4, 5, 6, 7], 4) == Cores([4, 5, 6, 7], [7], [7])
    assert [cores(list(range(many)), 2).shared for many in (1, 2, 3, 4)] == [True, True, False, False]


def test_publications_take_turns_with_the_topics_and_are_of_one_length() -> None:
    messages = Spread(1, 80, ["a", "hazards17"])
    bodies = [messages.of(number).partition(b"\r\n\r\n")[2] for number in range(4)]
    assert {len(body) for body in bodies} == {LENGTH}
    assert [b"hazards17" in body for body in bodies] == [False, True, False, True]
    assert key_of_topic(topic_of("a")) >> 32 != key_of_topic(topic_of("hazards17")) >> 32


def test_the_row_is_of_the_round_whose_ratio_is_the_median() -> None:
    def runs(*seconds: float) -> list[Run]:
        return [Run(each, each / 2, 0.0, 0.0) for each in seconds]

    contest = Contest("c", "r", 100, 1, runs(1.0, 2.0, 4.0), runs(2.0, 2.0, 2.0))
    for row, factor in ((contest.per_second(target=1.6), 1), (contest.per_cpu(), 2)):
        assert (row.ours, row.rival_value, row.ratio) == (50.0 * factor, 50.0 * factor, 1.0)
    assert contest.per_second(target=1.6).met is False
    assert "brokers 10,000" in contest.spent()


def test_what_is_not_there_is_not_met_and_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    nowhere = Process(0, 0)
    case = Case(1, Sizes(), tmp_path, Cores([0], [0], [0]), Sink(nowhere, ""))
    for row in _overlay_rivals.against_nats(case):
        assert "not available" in row.case
        assert (row.met, row.ratio, row.rival_value) == (None, None, None)
        assert "apt-get install nats-server" in row.note


@pytest.fixture(scope="module")
def small() -> Report:
    return run("overlay", chosen=SMALL)


@pytest.mark.long
@pytest.mark.broker
def test_rings_are_compared_with_one_process(small: Report) -> None:
    for replicas in (1, 3):
        for what in ("nobody subscribed", "one subscriber", "fan-out 2"):
            rows = [each for each in small.results if each.case == f"ring of 2, replicas {replicas}, {what}"]
            assert [(each.unit, each.rival) for each in rows] == [(PER_SECOND, ONE), (PER_CPU, ONE)]
            assert all(each.ours > 0 and each.ratio is not None and each.ratio > 0 for each in rows)
            assert "sink" in rows[0].note
        told = [each for each in small.results if each.case == f"ring of 2, replicas {replicas}, between nodes"]
        assert told[0].ours > 0
        assert 0 < told[-1].ours <= 1


@pytest.mark.long
@pytest.mark.broker
def test_another_node_is_compared_with_the_one_that_has_the_key(small: Report) -> None:
    median, p99 = [each for each in small.results if each.rival == LOCAL]
    assert 0 < median.ours <= p99.ours
    assert median.sizes["outstanding"] == 1


@pytest.mark.long
@pytest.mark.broker
def test_workers_are_held_against_one_or_are_not_there(small: Report) -> None:
    rows = [each for each in small.results if each.case.startswith("--workers 2")]
    if not has_workers():
        (row,) = rows
        assert "not available" in row.case
        assert (row.met, row.target) == (None, None)
        return
    assert [each.target for each in rows] == [1.6, None, 1.0, None, 1.6, None]
    assert all(each.rival == "--workers 1" and each.ours > 0 for each in rows)


@pytest.mark.long
@pytest.mark.broker
def test_nats_is_there_or_it_is_said_what_to_install(small: Report) -> None:
    rows = [each for each in small.results if (each.rival or "") in (_overlay_rivals.CORE, _overlay_rivals.JETSTREAM)]
    try:
        _overlay_nats.server()
    except _overlay_nats.NotThere:
        assert len(rows) == 2
        assert all("not available" in each.case and each.met is None for each in rows)
    else:
        assert [each.unit for each in rows] == [PER_SECOND, PER_CPU] * 2
        assert all(each.ratio for each in rows)


@pytest.mark.long
@pytest.mark.broker
def test_topics_are_those_of_the_node_and_what_goes_between_nodes_is_counted() -> None:
    here = sorted(os.sched_getaffinity(0))
    with opened(1, Sizes(), cores(here, 1)) as case, ring(case.folder, 2, 1, here) as nodes:
        topics = topics_by_node(nodes, 3)
        assert [len(each) for each in topics] == [3, 3]
        assert not set(topics[0]) & set(topics[1])
        assert family(nodes[0].pid)[0] == nodes[0].pid
        ports = {int(each["address"].rpartition(":")[2]) for each in nodes[0].get("/api/ring")["members"]}
        before = carried(ports)
        nodes[1].get("/api/ring")
        after = carried(ports) - before
        assert after.bytes > 0
        assert after.segments >= 2
