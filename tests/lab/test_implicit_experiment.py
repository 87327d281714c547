"""The ten disasters fall into the classes of paper 000, Fig. 17; the rest is that it measures what it says."""

import json
import socket
import threading
import time
from pathlib import Path
from random import Random

import pytest
from tests.cli.commands import tocsin

from tocsin.lab import experiment
from tocsin.lab.benches._world import delayed
from tocsin.lab.experiments import _dissemination, _world_growth
from tocsin.lab.experiments._disasters import SCENARIOS, Scenario, document, world_of
from tocsin.lab.experiments._dissemination import COMPARED, Links, counted, mapped, scenario_ms
from tocsin.semantics.interest import world_json
from tocsin.sim.implicit import disseminate

ALL = pytest.mark.parametrize("scenario", SCENARIOS, ids=str)


def test_there_are_ten() -> None:
    assert [each.number for each in SCENARIOS] == list(range(1, 11))


@ALL
def test_each_falls_into_the_class_of_figure_17(scenario: Scenario) -> None:
    found = counted(scenario)
    cin, din, hin = (found.sent[name] for name in ("cin", "din", "hin"))
    assert cin < din
    match scenario.number:
        case 1 | 4 | 6 | 9:
            assert hin == cin
        case 3 | 10:
            assert cin < din < hin
        case 2 | 7 | 8:
            assert cin < hin < din
        case 5:
            assert cin < hin == din
    assert found.falls == scenario.falls
    assert cin <= found.sent["hin-din"] <= min(hin, din)


@ALL
def test_everybody_is_told_whatever_the_protocol(scenario: Scenario) -> None:
    world = world_of(scenario)
    for protocol in COMPARED:
        found = disseminate(world, scenario.root, scenario.topic, protocol)
        assert {*found.receivers, scenario.root} == {each.name for each in scenario.services}
        assert found.repetitions == found.notifications - len(found.receivers)


def test_all_have_loops_and_some_services_several_categories() -> None:
    looping = [each for each in SCENARIOS if "bin" in counted(each).endless]
    several = [each for each in SCENARIOS if any(len(one.categories) > 1 for one in each.services)]
    assert len(looping) >= 3
    assert len(several) >= 3


def test_the_command_runs_a_scenario(tmp_path: Path) -> None:
    file = tmp_path / "earthquake.json"
    file.write_text(json.dumps(document(SCENARIOS[2])))
    told = json.loads(tocsin("implicit", "run", str(file), "--protocol", "hin", "--json").stdout)
    assert (told["notifications"], told["stopped"]) == (counted(SCENARIOS[2]).sent["hin"], None)


def test_only_cin_waits_for_the_history() -> None:
    near, far = (scenario_ms(SCENARIOS[2], Links(history), 1) for history in (0.0, 20.0))
    assert far["cin"] >= near["cin"] + 40  # two hops ask before they tell
    assert {name: near[name] for name in COMPARED[1:]} == {name: far[name] for name in COMPARED[1:]}


def test_a_place_in_the_map(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_dissemination, "FAN_OUTS", (4,))
    cells = {(each.shape, each.history): each for each in mapped((0.0, 20.0), Links(), 1)}
    assert cells["tree", 20.0].fewest == COMPARED
    assert cells["relayed", 0.0].fewest == cells["relayed", 0.0].fastest == ("cin",)
    assert cells["back-talk", 20.0].fastest == ("hin", "hin-din")
    assert cells["relayed", 0.0].sent == {"cin": 12, "din": 36, "hin": 84, "hin-din": 36}


@pytest.mark.parametrize("name", _world_growth.WORLDS)
def test_growth_in_the_small(name: str) -> None:
    world = _world_growth.WORLDS[name](200, Random(1))
    cin, din, hin, both = (_world_growth.measured(name, world, protocol) for protocol in COMPARED)
    assert cin.reached == cin.notifications == din.reached == both.reached == hin.reached
    assert cin.notifications <= both.notifications <= din.notifications
    assert hin.notifications >= both.notifications
    assert (cin.central_rows, din.local_rows, both.local_rows, hin.local_rows) == (*[cin.reached + 1] * 3, 0)
    assert cin.central_bytes > 50 * cin.central_rows
    assert din.local_bytes > 50 * din.local_rows
    assert (cin.local_bytes, din.central_bytes, hin.central_bytes) == (0, 0, 0)
    assert 0 < both.largest_header < both.header_bytes
    assert (cin.header_bytes, din.header_bytes) == (0, 0)


def test_a_layered_world_reaches_all() -> None:
    assert _world_growth.measured("layered", _world_growth.WORLDS["layered"](333, Random(2)), "cin").reached == 332


def test_what_plain_hin_would_send_without_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_world_growth, "HIN_PASSES", 10**6)
    world = _world_growth.WORLDS["layered"](100, Random(1))
    found = _world_growth.measured("layered", world, "hin")
    assert (found.stopped, found.notifications) == (False, found.unlimited)


def test_plain_hin_doubles_with_every_layer_and_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_world_growth, "DEEPEST_LADDER", 8)
    found = {(each.layers, each.protocol): each for each in _world_growth.ladders(lambda text: None)}
    assert [found[layers, "hin"].notifications for layers in (2, 4, 6)] == [6, 30, 126]
    assert [_world_growth.ways(layers) for layers in (2, 4, 6, 8)] == [6, 30, 126, 510]
    assert (found[8, "hin"].notifications, found[8, "hin"].stopped) == (254, True)  # each passes it on 16 times
    assert [found[layers, "hin-din"].notifications for layers in (2, 4, 6, 8)] == [6, 14, 22, 30]


def test_the_size_of_a_thing_counts_what_it_shares_once() -> None:
    shared = "x" * 1000
    assert _world_growth.size_of([shared, shared]) < 1300
    assert _world_growth.size_of({"a": [shared], "b": {shared}}) > 1000


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> experiment.Report:
    monkeypatch.setattr(_dissemination, "RUNS", 1)
    monkeypatch.setattr(_dissemination, "FAN_OUTS", (4,))
    monkeypatch.setattr(_world_growth, "DEEPEST_LADDER", 4)
    chosen = {"services": "100", "history_ms": "2.5"}
    return experiment.run("implicit", out=tmp_path, progress=lambda text: None, chosen=chosen)


@pytest.mark.long
def test_tables_and_pictures(report: experiment.Report) -> None:
    titles = [each.title for each in report.tables]
    assert len(titles) == len(set(titles)) == 7
    for findings in report.tables:
        assert findings.rows
        assert all(len(row) == len(findings.columns) for row in findings.rows)
    swept = next(each for each in report.tables if "swept" in each.title)
    assert [row[0] for row in swept.rows] == [0.0, 1.0, 2.5, 5.0, 20.0]
    assert {row[1] for row in report.tables[-1].rows} == {100}
    assert [Path(each).name for each in report.figures] == [
        "implicit-17.png",
        "implicit-19.png",
        "implicit-map.png",
        "implicit-growth.png",
    ]
    assert all(Path(each).read_bytes()[:4] == b"\x89PNG" for each in report.figures)


@pytest.mark.parametrize("choice", ["histry_ms=5", "services=many"])
def test_a_choice_that_is_none(choice: str) -> None:
    done = tocsin("lab", "run", "implicit", "--set", choice, check=False)
    assert done.returncode == 2
    assert "implicit" in done.stderr


def test_what_can_be_chosen_is_listed() -> None:
    listed = {each["name"]: each["choices"] for each in json.loads(tocsin("lab", "list", "--json").stdout)}
    assert listed["implicit"]["history_ms"] == 5.0
    assert listed["mediation"] == {}


def test_the_ten_make_one_world_of_ten_parts() -> None:
    world = world_json.read(json.dumps(_dissemination.whole()).encode()).world()
    assert not world.services
    assert len(world.edges) == sum(len(world_of(each).edges) for each in SCENARIOS)


def test_a_way_can_be_made_longer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, delayed(server.getsockname()[1]) as way:
        threading.Thread(target=_echo, args=(server,), daemon=True).start()
        with socket.create_connection(("127.0.0.1", way.port), timeout=10) as line:
            for seconds in (0.0, 0.05):
                way.seconds = seconds
                begun = time.monotonic()
                line.sendall(b"well?")
                assert line.recv(100) == b"well?"
                assert time.monotonic() - begun >= seconds


def _echo(server: socket.socket) -> None:
    line, _ = server.accept()
    with line:
        while piece := line.recv(100):
            line.sendall(piece)
