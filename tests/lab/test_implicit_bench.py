"""Small runs of the benchmark of implicit notification: that it measures what it says, not how fast anything is."""

from pathlib import Path

import msgspec
import pytest

from tocsin.lab.bench import BENCHES
from tocsin.lab.benches import _notifying, implicit
from tocsin.lab.benches._messages import DATA, Copies, number_of
from tocsin.lab.benches.implicit import FLOOR, LITERALLY, SQL, Sizes, get_neighbours
from tocsin.lab.experiments import _dissemination
from tocsin.lab.experiments._disasters import SCENARIOS
from tocsin.lab.experiments._dissemination import counted
from tocsin.model.notification import Copy


def test_it_is_listed() -> None:
    assert "implicit" in BENCHES.entries()


def test_a_world_as_large_as_asked_for() -> None:
    world = implicit.random_world(300, 50, seed=3)
    assert (len(world.services), len(world.edges)) == (300, 50)
    assert max(len(world.categories.path(name)) for name in world.categories) == 3
    assert max(len(world.topics.path(name)) for name in world.topics) == 3
    assert {len(each.categories) for each in world.services.values()} == {1, 2, 3}


def test_the_rivals_answer_as_the_world_does() -> None:
    world = implicit.random_world(120, 150, seed=1)
    literally, in_sql = implicit.literally(world), implicit.in_sql(world)
    told = 0
    for service in world.services:
        for topic in list(world.topics)[:12]:
            answer = world.neighbours(service, topic)
            told += len(answer)
            assert literally(service, topic) == set(answer)
            assert in_sql(service, topic) == [(name,) for name in answer]
    assert told > 100


def test_every_rival_has_a_row() -> None:
    found = list(get_neighbours(1, Sizes(services=200, edges=60, questions=5, rounds=2)))
    assert [each.rival for each in found] == [FLOOR, LITERALLY, SQL, LITERALLY, SQL]
    assert {each.unit for each in found} == {"µs"}
    assert all(each.ours > 0 and each.ratio is not None and each.sizes["services"] == 200 for each in found)


def test_a_copy_is_what_nodes_send() -> None:
    bodies = [Copies("authority", "responder-1").of(number) for number in (7, 123_456)]
    assert [number_of(body) for body in bodies] == [7, 123_456]
    copy = msgspec.msgpack.decode(bodies[0], type=Copy)
    assert (copy.to, copy.message.data.data) == ("responder-1", DATA.encode())


@pytest.mark.long
@pytest.mark.broker
def test_notifications_are_counted_and_none_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_notifying, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(_notifying, "PROTOCOLS", ("din", "hin"))
    found = list(_notifying.results(_notifying.Sizes(rounds=1, messages=2, runners=(0,))))
    assert [each.case for each in found] == ["din, one node", "hin, one node"]
    assert [each.sizes["copies a message"] for each in found] == [76, 64]
    assert all(each.ratio is not None and each.ratio > 0 for each in found)


@pytest.mark.long
@pytest.mark.broker
def test_real_notifiers_count_as_the_simulator_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_dissemination, "SCENARIOS", SCENARIOS[2:3])
    monkeypatch.setattr(_dissemination, "RUNNERS", 2)
    took = _dissemination.measured_times(1, (0.0, 20.0), lambda text: None)
    for each in took:
        if each.protocol != "hin-din":  # of which the order of arrival decides
            assert each.notifications == counted(each.scenario).sent[each.protocol]
    cin = {each.history_ms: each.ms for each in took if each.protocol == "cin"}
    assert cin[20.0] > 40  # two hops ask before they tell
    (findings,) = _dissemination.measured_findings(took)
    assert [len(row) for row in findings.rows] == [len(findings.columns)] * 2
    _dissemination.draw_measured(tmp_path / "measured.png", took)
    assert (tmp_path / "measured.png").read_bytes()[:4] == b"\x89PNG"
