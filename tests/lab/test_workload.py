import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from lxml import etree
from typer.testing import CliRunner

from tocsin.cli import application
from tocsin.lab.workloads.alerts import FIELDS
from tocsin.lab.workloads.files import drawn_notifications, drawn_subscriptions, one_by_one, read, write
from tocsin.lab.workloads.texts import CONTENT, MIXED, TOPICS, WEATHER, Kind, kinds, notifications, subscriptions
from tocsin.markup.conditions import Compare, Every
from tocsin.markup.content import condition_of
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.engine import Engine
from tocsin.model.content_topic import CONTENT_TOPIC, parse_point
from tocsin.model.filters import Content, Filter
from tocsin.model.space import check_space

FILES = ("README.txt", "declarations.json", "matches.jsonl", "notifications.jsonl", "subscriptions.jsonl")
KINDS = list(kinds().values())


def nobody(what: str, number: int) -> None:
    del what, number


def lines(path: Path) -> Iterator[dict[str, object]]:
    return map(json.loads, path.read_text().splitlines())


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_seed_decides_every_byte(kind: Kind, tmp_path: Path) -> None:
    for name, seed in (("one", 7), ("two", 7), ("other", 8)):
        write(tmp_path / name, kind, (120, 8), seed, nobody, expected=2)
    contents = {name: [(tmp_path / name / each).read_bytes() for each in FILES[1:]] for name in ("one", "two", "other")}
    assert contents["one"] == contents["two"]
    assert contents["one"][2:] != contents["other"][2:]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_fewer_are_the_beginning_of_more(kind: Kind) -> None:
    assert list(subscriptions(kind, 30, 1)) == list(subscriptions(kind, 60, 1))[:30]
    assert list(notifications(kind, 5, 1)) == list(notifications(kind, 9, 1))[:5]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_what_is_written_is_read_again_and_the_engine_finds_what_is_expected(kind: Kind, tmp_path: Path) -> None:
    write(tmp_path, kind, (1500, 13), 3, nobody, expected=12)
    known = Catalogue(kind.declared)
    asking, events = read(tmp_path, known)
    assert asking == drawn_subscriptions(kind, 1500, 3)[1]
    assert events[1::2] + events[12:] == drawn_notifications(kind, 13, 3)[1::2] + drawn_notifications(kind, 13, 3)[12:]
    engine = Engine(known)
    for each in asking:
        engine.apply(each)
    expected = list(lines(tmp_path / "matches.jsonl"))
    found = [
        {"notification": each.id, "subscriptions": [one.id for one in engine.match(each).wanted]}
        for each in events[:12]
    ]
    assert found == expected
    assert any(each["subscriptions"] for each in expected)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_second_notification_with_matches_is_made_for_a_subscription(kind: Kind, tmp_path: Path) -> None:
    write(tmp_path, kind, (100, 240), 5, nobody, expected=240)
    for at, each in enumerate(list(lines(tmp_path / "matches.jsonl"))[:200:2]):
        assert f"s{at:07d}" in each["subscriptions"]  # type: ignore[operator]


def test_without_expected_matches_the_files_have_what_the_benchmarks_are_given(tmp_path: Path) -> None:
    write(tmp_path, MIXED, (50, 20), 1, nobody, expected=0)
    assert read(tmp_path, Catalogue(MIXED.declared))[1] == drawn_notifications(MIXED, 20, 1)


def test_declarations_say_what_filters_refer_to(tmp_path: Path) -> None:
    write(tmp_path, MIXED, (50, 3), 1, nobody, expected=0)
    declared = json.loads((tmp_path / "declarations.json").read_text())
    (space,) = declared["spaces"]
    assert [each["name"] for each in space["dimensions"]] == ["town", "degrees", "sky", "wind"]
    assert space["dimensions"][1] == {"name": "degrees", "kind": "number", "low": -50.0, "high": 60.0}
    categories = {each["categories"][0] for each in declared["producers"]}
    assert categories <= declared["categories"].keys()
    assert declared["types"]["org.example.a.e.h"] == ["org.example.a.e"]
    assert declared["types"]["org.example.a.e"] == ["org.example.a"]
    assert (tmp_path / "matches.jsonl").read_bytes() == b""


def test_an_alert_has_what_filters_ask_for() -> None:
    (event,) = drawn_notifications(CONTENT, 1, 1)
    document = etree.fromstring(event.payload.data)
    assert len(FIELDS) == 40
    namespaces = {"cap": "urn:oasis:names:tc:emergency:cap:1.2"}
    missing = [each.path for each in FIELDS if not document.xpath(each.path, namespaces=namespaces)]
    assert missing == []


def test_the_shares_of_content() -> None:
    shapes = Counter(shape(each.filters[0]) for each in drawn_subscriptions(CONTENT, 4000, 1)[1])
    shares = {name: round(count / 40) for name, count in shapes.items()}
    assert shares.keys() == {"equality", "equality and range", "deep", "ranges"}
    for name, wanted in (("equality", 35), ("equality and range", 40), ("deep", 15), ("ranges", 10)):
        assert abs(shares[name] - wanted) <= 3


def shape(asked: Filter) -> str:
    assert isinstance(asked, Content)
    condition = condition_of(asked)
    parts = condition.conditions if isinstance(condition, Every) else (condition,)
    hows = {each.how for each in parts if isinstance(each, Compare)}
    assert len(parts) in (1, 2) and hows
    if "//" in asked.text:
        return "deep"
    if hows == {"="}:
        return "equality"
    return "equality and range" if "=" in hows else "ranges"


def test_mixed_subscriptions_are_conjunctions_of_different_kinds() -> None:
    sizes: Counter[int] = Counter()
    for each in subscriptions(MIXED, 2000, 1):
        named = [next(name for name in asked.__struct_fields__ if getattr(asked, name)) for asked in each.filters]
        assert len(set(named)) == len(named)
        assert len(named) > 1 or named == ["topic"]
        sizes[len(named)] += 1
    assert sizes.keys() == {1, 2, 3}
    assert 0.1 < sizes[1] / 2000 < 0.2


def test_half_of_the_topic_expressions_have_wildcards() -> None:
    wild = sum(bool(re.search(r"\*|//", each.filters[0].topic)) for each in subscriptions(TOPICS, 2000, 1))
    assert 0.4 < wild / 2000 < 0.6


def test_points_lie_in_the_space_they_name() -> None:
    check_space(WEATHER)
    for event in drawn_notifications(kinds()["weather"], 20, 1):
        text = event.attribute(CONTENT_TOPIC)
        assert text is not None
        assert len(parse_point(text, WEATHER)) == 4


def test_what_is_found_one_by_one() -> None:
    known, asking = drawn_subscriptions(TOPICS, 400, 1)
    event = drawn_notifications(TOPICS, 40, 1)[3]
    found = one_by_one(asking, event, known)
    assert found == [each.id for each in asking if each.id in found]
    leaf = event.topic.steps[-1].local
    asked = {each.id: each.filters[0].topic for each in subscriptions(TOPICS, 400, 1)}
    assert all(leaf in asked[name] or asked[name].endswith(("*", "//.")) for name in found)


def test_the_command_writes_and_tells(tmp_path: Path) -> None:
    arguments = ["bench", "workload", "spaces", "--subscriptions", "40", "--notifications", "5", "--dimensions", "6"]
    ran = CliRunner().invoke(application, [*arguments, "--out", str(tmp_path / "new" / "w"), "--seed", "7", "--json"])
    assert ran.exit_code == 0
    assert json.loads(ran.stdout)["notifications with expected matches"] == 5
    assert sorted(each.name for each in (tmp_path / "new" / "w").iterdir()) == sorted(FILES)
    (first, *_) = lines(tmp_path / "new" / "w" / "subscriptions.jsonl")
    assert re.fullmatch(r"numbers6:([^/]+/){5}[^/]+", str(first["filters"][0]["box"]))  # type: ignore[index]
    assert "seed 7: 40 subscriptions, 5 notifications" in (tmp_path / "new" / "w" / "README.txt").read_text()


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    ran = CliRunner().invoke(application, ["bench", "workload", "boxes", "--out", str(tmp_path)])
    assert ran.exit_code == 2
    assert "there are: topics, content, spaces, weather, engine" in ran.stderr
