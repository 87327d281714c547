"""topics, subscriptions and doctor against a running broker."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import tocsin
from tests.whole.certificates import Authority
from tests.whole.people import about, known
from tests.whole.shell import BrokerProcess

from tocsin.mediation.ws.topic_documents import T1
from tocsin.model.access import Right

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
    assert said("subscriptions", "list", *at)["items"] == [found]
    assert said("subscriptions", "pause", name, *at)["state"] == "paused"
    shown = tocsin("subscriptions", *at, COLUMNS="300").stderr
    assert all(word in shown for word in (name, "cloudevents", "paused", CONSUMER, "topic flood", "dead letters"))
    assert said("subscriptions", "resume", f"{broker}/api/subscriptions/{name}", *at)["state"] == "active"
    assert "topic flood" in tocsin("subscriptions", "show", name, *at).stderr
    assert said("subscriptions", "cancel", name, *at) == {"id": name, "state": "ended"}
    again = tocsin("subscriptions", "cancel", name, *at, check=False)
    assert again.returncode == 1 and "no subscription" in again.stderr


@pytest.mark.broker
def test_at_80_columns_every_id_is_whole(broker: str, alert: str) -> None:
    at, long = ("--broker", broker), f"{CONSUMER}/{'a-long-way/' * 12}"
    made = [
        said("subscribe", "--to", long, "--topic", "flood", *at)["id"],
        said("subscribe", "--as", "wse-2004-08", "--to", CONSUMER, *at)["id"],
    ]
    tocsin("pull", "--keep", "--topic", "fire", *at)
    tocsin("pull", "--keep", "--as", "wsn-1.3", *at)
    (mailbox,) = (each for each in said("subscriptions", *at)["items"] if each["filters"] == ["any ()"])
    made.append(said("subscribe", "--to", f"{broker}/broker/pullpoints/{mailbox['id']}", "--topic", "ice", *at)["id"])
    tocsin("publish", alert, "--topic", "flood", "--id", f"urn:test:{'x' * 90}", *at)
    while len(letters := said("dead-letters", *at)["items"]) < 2:
        pass
    listed = tocsin("subscriptions", *at, COLUMNS="80").stderr
    heads = [line.split() for line in listed.splitlines() if not line.startswith(" ")]
    assert {line[0] for line in heads} == {each["id"] for each in said("subscriptions", *at)["items"]} >= set(made)
    assert all(len(line) <= 80 for line in listed.splitlines())
    assert "any ()" not in listed and "pull point  topic fire" in listed and f"pull point {mailbox['id']}" in listed
    assert "0 waiting" not in listed and "1 dead letter\n" in listed
    assert ".0" not in listed.replace("127.0.0.1", "")  # seconds are whole
    dead = tocsin("dead-letters", *at, COLUMNS="80").stderr
    assert all(each["notification"] in dead and each["subscription"] in dead for each in letters)
    shown = tocsin("subscriptions", "show", mailbox["id"], *at).stderr
    assert "pull point" in shown and "any ()" not in shown


@pytest.mark.broker
def test_a_dead_letter_that_is_not_there_is_not_tried_again(broker: str) -> None:
    at = ("--broker", broker)
    missing = tocsin("dead-letters", "--redrive", "99", *at, check=False)
    assert missing.returncode == 1 and "no dead letter 99" in missing.stderr
    assert "0 will be tried again" in tocsin("dead-letters", "--redrive-all", *at).stderr
    for wrong in (("--limit", "0"), ("--redrive", "0")):
        assert tocsin("dead-letters", *wrong, *at, check=False).returncode == 2


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A broker that asks who one is, with a certificate of a private authority; max may see and change all."""
    folder = tmp_path_factory.mktemp("guarded")
    authority = Authority(folder / "tls")
    own = authority.issue("/CN=broker")
    known(folder / "data", "max", Right("manage"), Right("subscribe"))
    known(folder / "data", "eve", about("publish", "flood"))
    for name in ("max", "eve"):
        (folder / name).write_text(f"{name * 2}\n")
    tls = {"access-on": "true", "tls-certificate": str(own.file), "tls-key": str(own.key)}
    process = BrokerProcess.start(folder / "data", tls)
    yield process.url, folder
    assert process.stop() == 0


@pytest.mark.broker
def test_commands_show_who_they_are_over_tls(guarded: tuple[str, Path]) -> None:
    url, folder = guarded
    at = ("--broker", url, "--ca-file", str(folder / "tls" / "authority.pem"))
    who = ("--user", "max", "--password-file", str(folder / "max"))
    space = folder / "space.xml"
    space.write_text(SPACE)
    unnamed = tocsin("subscriptions", *at, check=False)
    assert unnamed.returncode == 1 and "--password-file" in unnamed.stderr
    unbelieved = tocsin("topics", "--broker", url, *who, check=False)
    assert unbelieved.returncode == 1 and "CA file" in unbelieved.stderr
    assert "no dead letters" in tocsin("dead-letters", *at, *who).stderr
    assert said("topics", *at, *who, "load", str(space))["namespace"] == "urn:d"  # before the subcommand
    assert said("topics", *who, "load", str(space), *at)["namespace"] == "urn:d"  # and on both sides
    tocsin("secrets", "add", "one", "--generate", *at, *who)
    assert [each["name"] for each in said("secrets", "list", *at, *who)["items"]] == ["one"]
    tocsin("secrets", "remove", "one", *at, *who)
    made = said("subscribe", "--to", CONSUMER, *at, *who)["id"]
    assert said("subscriptions", "pause", made, *at, *who)["state"] == "paused"
    assert said("subscriptions", *at, *who, "cancel", made)["state"] == "ended"


@pytest.mark.broker
def test_who_has_no_right_is_told_which(guarded: tuple[str, Path]) -> None:
    url, folder = guarded
    at = ("--broker", url, "--ca-file", str(folder / "tls" / "authority.pem"))
    eve = ("--user", "eve", "--password-file", str(folder / "eve"))
    refused = tocsin("subscribe", "--to", CONSUMER, "--topic", "flood", *at, *eve, check=False)
    assert refused.returncode == 1 and "eve may not subscribe to any topic" in refused.stderr
    missing = tocsin("pull", "nosuch", *at, *eve, check=False)
    assert missing.returncode == 1 and "no pull point 'nosuch'" in missing.stderr


@pytest.mark.broker
def test_the_doctor_speaks_of_the_certificate_as_a_client(guarded: tuple[str, Path]) -> None:
    url, folder = guarded
    here = ("doctor", "--broker", url, "--data", str(folder / "data"))
    unbelieved = tocsin(*here, check=False)
    assert unbelieved.returncode == 1 and "--ca-file" in unbelieved.stderr
    assert "consumer's" not in unbelieved.stderr and "delivery.ca_file" not in unbelieved.stderr
    states = {
        each["check"]: each["state"]
        for each in said(*here, "--ca-file", str(folder / "tls" / "authority.pem"))["findings"]
    }
    assert states["broker"] == states["engine"] == states["advertised address"] == "ok"
    bad = tocsin(*here, "--ca-file", str(folder / "max"), check=False)
    assert bad.returncode == 2 and "Traceback" not in bad.stderr


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
        (("doctor", "--set", "foo=1"), "tocsin: foo is not a setting"),
    ],
)
def test_what_goes_wrong_is_told_in_a_sentence(arguments: tuple[str, ...], words: str) -> None:
    done = tocsin(*arguments, check=False)
    assert done.returncode in (1, 2)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
