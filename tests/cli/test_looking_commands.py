"""topics, subscriptions and doctor against a running broker."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import tocsin

from tocsin.mediation.topic_documents import T1

SPACE = (
    f'<w:TopicNamespace xmlns:w="{T1}" targetNamespace="urn:d">'
    '<w:Topic name="flood"><w:Topic name="severe"/></w:Topic></w:TopicNamespace>'
)
CONSUMER = "http://127.0.0.1:9/closed"


@pytest.fixture
def alert(tmp_path: Path) -> str:
    path = tmp_path / "alert.json"
    path.write_text('{"event": "flood"}')
    return str(path)


def said(*arguments: str) -> Any:
    return json.loads(tocsin(*arguments, "--json").stdout)


@pytest.mark.broker
def test_topics_are_listed_declared_and_drawn(broker: str, alert: str, tmp_path: Path) -> None:
    at = ("--broker", broker)
    empty = tocsin("topics", *at)
    assert "topics load" in empty.stderr and empty.stdout == ""
    document = tmp_path / "space.xml"
    document.write_text(SPACE)
    assert said("topics", "load", str(document), *at)["topics"] == ["{urn:d}flood", "{urn:d}flood/severe"]
    tocsin("subscribe", "--to", CONSUMER, "--topic", "d:flood//.", "--namespace", "d=urn:d", *at)
    tocsin("publish", alert, "--topic", "{urn:d}flood/severe", *at)
    rows = {each["topic"]: each for each in said("topics", *at)["items"]}
    severe = rows["{urn:d}flood/severe"]
    assert (severe["notifications"], severe["subscriptions"], severe["declared"]) == (1, 1, True)
    shown = tocsin("topics", *at, COLUMNS="200").stderr
    assert "{urn:d}flood/severe" in shown and "never" in shown
    tree = tocsin("topics", "--tree", *at, COLUMNS="200").stderr
    assert "└── severe  1 notifications, 1 want it" in tree
    document.write_text(SPACE.replace('name="flood"', 'name="fl ood"'))
    refused = tocsin("topics", *at, "load", str(document), check=False)  # the option may stand before, too
    assert refused.returncode == 1 and "/TopicNamespace/Topic[1]/@name" in refused.stderr


@pytest.mark.broker
def test_subscriptions_are_listed_paused_resumed_and_cancelled(broker: str, alert: str) -> None:
    at = ("--broker", broker)
    assert "tocsin subscribe" in tocsin("subscriptions", *at).stderr
    name = said("subscribe", "--to", CONSUMER, "--topic", "flood", *at)["id"]
    tocsin("publish", alert, "--topic", "flood", *at)
    while not (found := said("subscriptions", "show", name, *at))["dead_letters"]:
        pass
    assert (found["consumer"], found["state"], found["delivered"]) == (CONSUMER, "active", 0)
    (listed,) = said("subscriptions", *at)["items"]
    assert listed == found
    assert said("subscriptions", "pause", name, *at)["state"] == "paused"
    shown = tocsin("subscriptions", *at, COLUMNS="300").stderr
    assert all(word in shown for word in (name, "cloudevents", "paused", CONSUMER, "topic flood", "dead letters"))
    assert said("subscriptions", "resume", f"{broker}/api/subscriptions/{name}", *at)["state"] == "active"
    assert "topic flood" in tocsin("subscriptions", "show", name, *at).stderr
    assert said("subscriptions", "cancel", name, *at) == {"id": name, "state": "ended"}
    again = tocsin("subscriptions", "cancel", name, *at, check=False)
    assert again.returncode == 1 and "no subscription" in again.stderr


@pytest.mark.broker
def test_the_doctor_finds_a_running_broker_well(broker: str, tmp_path: Path) -> None:
    here = ("doctor", "--broker", broker, "--data", str(tmp_path / "data"), "--set", "engine=embedded")
    found = said(*here)
    states = {each["check"]: each["state"] for each in found["findings"]}
    assert found["healthy"] and states["broker"] == states["clock"] == states["log"] == states["engine"] == "ok"
    assert "the broker at" in tocsin(*here, COLUMNS="200").stderr


def test_the_doctor_ends_with_1_on_a_problem(tmp_path: Path) -> None:
    done = tocsin("doctor", "--broker", "http://127.0.0.1:9", "--data", str(tmp_path / "d"), check=False)
    assert done.returncode == 1
    assert "problem" in done.stderr and "tocsin serve" in done.stderr and done.stdout == ""
    told = tocsin("doctor", "--broker", "http://127.0.0.1:9", "--data", str(tmp_path / "d"), "--json", check=False)
    assert told.returncode == 1 and not json.loads(told.stdout)["healthy"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("topics", "--broker", "http://127.0.0.1:9"), "tocsin serve"),
        (("topics", "load", "missing.xml"), "missing.xml"),
        (("subscriptions", "--broker", "ftp://x"), "http://"),
        (("subscriptions", "show", "a", "--broker", "http://127.0.0.1:9"), "--broker"),
    ],
)
def test_what_goes_wrong_is_told_in_a_sentence(arguments: tuple[str, ...], words: str) -> None:
    done = tocsin(*arguments, check=False)
    assert done.returncode in (1, 2)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
