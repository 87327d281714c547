"""publish, subscribe, pull, what manages subscriptions, and dead-letters, against a running broker."""

import contextlib
import json
import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from tests.cli.commands import TOCSIN, tocsin
from tests.effort import brief, long
from tests.whole.people import known, users
from tests.whole.shell import BrokerProcess

from tocsin.model.access import Right

DIALECTS = ("wsn-1.3", "wse-2004-08", "cloudevents")
READY = "pulling from"
NO_WRONG_USE = ("missing.pem", "these have: wsn-1.3")


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.loads(answer.read())


@pytest.fixture
def alert(tmp_path: Path) -> str:
    path = tmp_path / "alert.xml"
    path.write_text("<alert xmlns='urn:test'><event>flood</event></alert>")
    return str(path)


@pytest.mark.broker
@pytest.mark.parametrize("dialect", brief(DIALECTS, "wse-2004-08"))
def test_a_terminal_that_subscribes_prints_what_is_published(broker: str, alert: str, dialect: str) -> None:
    command = (*TOCSIN, "subscribe", "--print", "--json", "--as", dialect, "--broker", broker, "--topic", "flood//.")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as consumer:
        assert consumer.stdout is not None and consumer.stderr is not None
        assert "subscribed until" in consumer.stderr.readline()
        for publisher in DIALECTS:
            tocsin("publish", alert, "--topic", "flood/severe", "--as", publisher, "--broker", broker)
        received = [json.loads(consumer.stdout.readline()) for _ in DIALECTS]
        consumer.send_signal(signal.SIGINT)
        _, words = consumer.communicate(timeout=120)
    assert [each["is"][0]["topic"] for each in received] == ["flood/severe"] * 3
    assert all("flood" in each["body"] for each in received)
    assert consumer.returncode == 0
    assert "unsubscribed" in words
    assert get(f"{broker}/api/subscriptions")["items"] == []


@pytest.mark.broker
def test_what_comes_is_on_standard_output_and_words_are_not(broker: str, alert: str) -> None:
    command = (*TOCSIN, "subscribe", "--print", "--broker", broker, "--topic", "flood//.")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as consumer:
        assert consumer.stdout is not None and consumer.stderr is not None
        assert "subscribed until" in consumer.stderr.readline()
        tocsin("publish", alert, "--topic", "flood/severe", "--id", "urn:one", "--broker", broker)
        title, payload = consumer.stdout.readline(), consumer.stdout.readline()
        consumer.send_signal(signal.SIGINT)
        _, words = consumer.communicate(timeout=120)
    assert title.startswith("flood/severe  from ") and title.endswith("urn:one\n")
    assert payload == "<alert xmlns='urn:test'><event>flood</event></alert>\n"
    assert "flood" not in words
    pulled = tocsin("pull", "--from", "0", "--wait", "20s", "--broker", broker)
    assert payload in pulled.stdout
    assert "flood" not in pulled.stderr


@pytest.mark.broker
@pytest.mark.parametrize(
    ("words", "dialect"),
    [
        (("subscribe", "--print", "--expires", "PT4S"), "wsn-1.3"),
        long(("subscribe", "--print", "--expires", "PT4S"), "wse-2004-08"),
        long(("subscribe", "--print", "--expires", "PT4S"), "cloudevents"),
        long(("pull", "--follow", "--wait", "1s"), "wsn-1.3"),
        long(("pull", "--follow", "--wait", "1s"), "onvif"),
        (("pull", "--follow", "--wait", "1s"), "cloudevents"),
    ],
)
def test_an_end_at_the_broker_ends_the_command(broker: str, words: tuple[str, ...], dialect: str) -> None:
    command = (*TOCSIN, *words, "--as", dialect, "--broker", broker)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as reader:
        assert reader.stderr is not None
        assert reader.stderr.readline()
        for each in get(f"{broker}/api/subscriptions")["items"]:
            url = f"{broker}/api/subscriptions/{each['id']}?cancel=true"
            with contextlib.suppress(urllib.error.HTTPError):  # leases of the tests before may end just now
                urllib.request.urlopen(urllib.request.Request(url, method="DELETE"), timeout=10).close()
        shown, said = reader.communicate(timeout=30)
    assert reader.returncode == 1
    assert "ended at the broker: " in said
    assert shown == ""


@pytest.mark.broker
@pytest.mark.parametrize("dialect", brief(DIALECTS, "wsn-1.3"))
def test_a_subscription_can_be_renewed_and_ended_by_its_id(broker: str, dialect: str) -> None:
    common = ("--as", dialect, "--broker", broker)
    made = json.loads(tocsin("subscribe", "--to", "http://127.0.0.1:9/x", "--json", *common).stdout)
    before = get(f"{broker}/api/subscriptions/{made['id']}")["expires"]
    renewed = json.loads(tocsin("renew", made["id"], "--expires", "PT2H", "--json", *common).stdout)
    assert renewed["expires"]
    assert get(f"{broker}/api/subscriptions/{made['id']}")["expires"] > before
    tocsin("unsubscribe", made["address"], *common)
    again = tocsin("unsubscribe", made["id"], *common, check=False)
    assert again.returncode == 1
    assert "no subscription" in again.stderr


@pytest.mark.broker
@pytest.mark.parametrize("dialect", brief(["cloudevents", "wsn-1.2"]))
def test_a_subscription_is_paused_looked_at_and_resumed(broker: str, dialect: str) -> None:
    common = ("--as", dialect, "--broker", broker)
    made = json.loads(tocsin("subscribe", "--to", "http://127.0.0.1:9/x", "--json", *common).stdout)["id"]
    assert f"`tocsin resume {made} --as {dialect} --broker {broker}`" in tocsin("pause", made, *common).stderr
    assert get(f"{broker}/api/subscriptions/{made}")["state"] == "paused"
    assert json.loads(tocsin("status", made, "--json", *common).stdout)["expires"]
    said = tocsin("status", made, *common).stderr
    knowing = f"`tocsin status {made} --as cloudevents --broker {broker}` does"
    assert said.startswith("paused until") if dialect == "cloudevents" else knowing in said
    tocsin("resume", made, *common)
    assert get(f"{broker}/api/subscriptions/{made}")["state"] == "active"
    lacks = tocsin("pause", made, "--as", "wse-2004-08", "--broker", broker, check=False)
    assert lacks.returncode == 1
    assert "has no Pause; these have: wsn-1.3" in lacks.stderr


@pytest.mark.broker
@pytest.mark.parametrize("dialect", brief(["onvif", "cloudevents"]))
def test_a_pull_point_is_kept_pulled_from_and_destroyed(broker: str, alert: str, dialect: str) -> None:
    common = ("--as", dialect, "--broker", broker)
    made = tocsin("pull", "--topic", "flood//.", "--keep", *common).stderr
    address = made.split("further notice: ")[-1].split("Z: ")[-1].split()[0]
    assert f"`tocsin pull {address} --wait 30s --as {dialect} --broker {broker}`" in made
    tocsin("publish", alert, "--topic", "flood/severe", *common)
    pulled = json.loads(tocsin("pull", address, "--wait", "20s", "--json", "--destroy", *common).stdout)["items"]
    assert [(each["topic"], "flood" in each["data"]) for each in pulled] == [("flood/severe", True)]
    gone = tocsin("pull", address, *common, check=False)
    assert gone.returncode == 1
    assert "no pull point" in gone.stderr


@pytest.mark.broker
@pytest.mark.parametrize("words", [("pull", "--follow"), ("subscribe", "--print", "--pull")])
def test_a_terminal_without_an_address_fetches_what_is_published(
    broker: str, alert: str, words: tuple[str, ...]
) -> None:
    command = (*TOCSIN, *words, "--json", "--broker", broker, "--topic", "flood//.")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as reader:
        assert reader.stdout is not None and reader.stderr is not None
        assert READY in reader.stderr.readline()
        for number in range(2):
            tocsin("publish", alert, "--topic", "flood/severe", "--id", f"urn:{number}", "--broker", broker)
        assert [json.loads(reader.stdout.readline())["id"] for _ in range(2)] == ["urn:0", "urn:1"]
        reader.send_signal(signal.SIGINT)
        reader.communicate(timeout=120)
    assert reader.returncode == 0
    assert get(f"{broker}/api/subscriptions")["items"] == []


@pytest.mark.broker
def test_what_was_published_before_is_fetched_from_the_log(broker: str, alert: str) -> None:
    tocsin("publish", alert, "--topic", "flood", "--id", "urn:first", "--broker", broker)
    said = tocsin("pull", "--from", "0", "--wait", "20s", "--json", "--broker", broker)
    assert [each["id"] for each in json.loads(said.stdout)["items"]] == ["urn:first"]


@pytest.mark.broker
def test_a_message_may_be_about_several_content_topics_and_spans(broker: str, alert: str) -> None:
    tocsin("spaces", "declare", "weather", "place:string", "temperature:number:-50..60", "--broker", broker)
    at = ("publish", alert, "--broker", broker)
    tocsin(*at, "--id", "urn:both", "--content-topic", "weather:*,NJ/29", "--content-topic", "weather:Troy,NY/40..50")
    tocsin(*at, "--id", "urn:other", "--content-topic", "weather:*,NJ/<28")
    said = tocsin("pull", "--from", "0", "--wait", "20s", "--json", "--box", "weather:*/>28", "--broker", broker)
    assert [each["id"] for each in json.loads(said.stdout)["items"]] == ["urn:both"]
    wrong = tocsin(*at, "--content-topic", "weather:*,NJ/50..20", check=False)
    assert "temperature has its smaller end first" in wrong.stderr


@pytest.mark.broker
def test_who_one_is(tmp_path: Path, alert: str) -> None:
    data, password, token = tmp_path / "data", tmp_path / "password", tmp_path / "token"
    known(data, "ann", Right("publish"))
    password.write_text("annann\n")
    token.write_text(users(data, "token", "ann").split()[-1])
    process = BrokerProcess.start(data, {"access-on": "true"})
    try:
        at = ("publish", alert, "--as", "wsn-1.3", "--broker", process.url)
        tocsin(*at, "--user", "ann", "--password-file", str(password))
        tocsin(*at, "--user", "ann", "--password-file", str(password), "--digest")
        tocsin(*at, "--token-file", str(token))
        nobody = tocsin(*at, check=False)
        assert "say who you are with --user" in nobody.stderr
    finally:
        process.kill()


@pytest.mark.broker
def test_a_repeated_id_is_accepted_once(broker: str, alert: str) -> None:
    for _ in range(2):
        said = tocsin("publish", alert, "--id", "urn:test:1", "--json", "--broker", broker)
        assert json.loads(said.stdout) == {"id": "urn:test:1"}
    assert get(f"{broker}/api/status")["repeated"] == 1


@pytest.mark.broker
def test_dead_letters_are_listed_and_driven_again(broker: str, alert: str) -> None:
    tocsin("subscribe", "--to", "http://127.0.0.1:9/closed", "--broker", broker)
    tocsin("publish", alert, "--broker", broker)
    found: list[dict[str, Any]] = []
    while not found:
        found = json.loads(tocsin("dead-letters", "--json", "--broker", broker).stdout)["items"]
    assert found[0]["consumer"] == "http://127.0.0.1:9/closed"
    assert found[0]["attempts"] == 2
    shown = tocsin("dead-letters", "--broker", broker, COLUMNS="250").stderr
    assert "http://127.0.0.1:9/closed" in shown
    again = tocsin("dead-letters", "--redrive", str(found[0]["id"]), "--json", "--broker", broker)
    assert json.loads(again.stdout) == {"redriven": 1}


def test_without_a_broker_it_says_so(alert: str) -> None:
    done = tocsin("publish", alert, "--broker", "http://127.0.0.1:9", check=False)
    assert done.returncode == 1
    assert "could not be reached" in done.stderr
    assert "`tocsin serve`" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("publish", "missing.xml"), "missing.xml"),
        (("publish", "-", "--topic", "a//b"), "not a path"),
        (("subscribe",), "--to URL"),
        (("subscribe", "--print", "--namespace", "x"), "PREFIX=URI"),
        (("publish", "-", "--as", "smtp"), "choose one of wsn-1.3"),
        (("publish", "-", "--user", "ann"), "--password-file"),
        (("publish", "-", "--ca-file", "missing.pem"), "missing.pem"),
        (("subscribe", "--to", "http://x", "--pull"), "tocsin pull"),
        (("subscribe", "--print", "--pull", "--mode", "raw"), "nothing is"),
        (("subscribe", "--to", "http://x", "--mode", "loud"), "choose one of structured, binary, batched"),
        (("subscribe", "--to", "http://x", "--mode", "raw"), "choose one of structured, binary, batched"),
        (("subscribe", "--to", "http://x", "--mode", "binary", "--as", "wsn-1.3"), "choose one of wrapped, raw"),
        (("subscribe", "--to", "http://x", "--mode", "binary", "--as", "wse-2011"), "choose one of wrapped, raw"),
        (("subscribe", "--to", "http://x", "--mode", "raw", "--as", "webhook"), "leave it out"),
        (("subscribe", "--to", "http://x", "--together", "2", "--as", "wsn-1.3"), "--as cloudevents"),
        (("subscribe", "--to", "http://x", "--together", "2", "--mode", "binary"), "--mode batched"),
        (("subscribe", "--to", "http://x", "--max-latency", "soon"), "250ms, 1s or PT1S"),
        (("subscribe", "--print", "--pull", "--max-latency", "1s"), "--max-latency are about what is sent"),
        (("subscribe", "--to", "http://x", "--print"), "exclude each other"),
        (("subscribe", "--to", "http://x", "--expires", "soon"), "neither a time"),
        (("subscribe", "--to", "http://x", "--topic", ""), "the topic filter is empty"),
        (("subscribe", "--to", "http://x", "--content", ""), "the content filter is empty"),
        (("subscribe", "--to", "http://x", "--box", ""), "the box filter is empty"),
        (("subscribe", "--to", "http://x", "--topic", "a", "--topic", "b"), "--topic is said 2 times"),
        (("subscribe", "--to", "http://x", "--content", "/a", "--content", "/b"), "--content is said 2 times"),
        (("pull", "--box", "a:*", "--box", "b:*"), "--box is said 2 times"),
        (
            ("subscribe", "--to", "http://x", "--topic", "a", "--topic-dialect", "fulll"),
            "choose one of simple, concrete, full",
        ),
        (("renew", "x", "--expires", "PT"), "not a duration"),
        (("pull", "--expires", "1h"), "neither a time"),
        (("publish", "-", "--broker", "localhost:8080"), "must begin with http://"),
        (("pull", "--wait", "soon"), "such as 30s"),
        (("pull", "x", "--topic", "a"), "leave POINT out"),
        (("pull", "--as", "wse-2004-08"), "these have: wsn-1.3"),
    ],
)
def test_wrong_use_is_told_in_a_sentence(arguments: tuple[str, ...], words: str) -> None:
    done = tocsin(*arguments, check=False, text="x")
    assert done.returncode == (1 if words in NO_WRONG_USE else 2)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
