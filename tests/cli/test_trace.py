"""`trace` against a running broker: why something arrived, and why nothing did."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rich.console import Console
from tests.cli.commands import tocsin

from tocsin.cli.trace import tree_of
from tocsin.documents.traces import TraceDocument

CONSUMER = "http://127.0.0.1:9/closed"
pytestmark = pytest.mark.broker
SAID = {"id": "urn:m", "topic": "t", "offset": 1, "when": "2030-01-31T12:00:30Z", "door": "/events", "dialect": "raw"}
SAID |= {"producer": "", "type": None, "media_type": "", "bytes": 1, "content_topic": None, "of": 1}
SAID |= {"cause": "urn:c", "index": 0}


def said(*arguments: str) -> Any:
    return json.loads(tocsin(*arguments, "--json").stdout)


@pytest.fixture
def alert(tmp_path: Path) -> str:
    path = tmp_path / "alert.json"
    path.write_text('{"event": "flood"}')
    return str(path)


def test_a_notification_is_followed_to_each_subscription(broker: str, alert: str) -> None:
    at = ("--broker", broker)
    sent = said("subscribe", "--to", CONSUMER, "--topic", "flood", *at)["id"]
    other = said("subscribe", "--to", CONSUMER, "--topic", "flood/severe", *at)["id"]
    tocsin("pull", "--keep", "--topic", "flood//.", *at)
    tocsin("publish", alert, "--topic", "flood", "--id", "urn:test:1/2", *at)
    while (found := said("trace", "urn:test:1/2", "--subscription", sent, *at))["items"][0]["outcome"] != "dead letter":
        pass
    notification = found["notification"]
    assert (notification["topic"], notification["door"], notification["bytes"]) == ("flood", "/events", 18)
    wanted = {each["subscription"]: each for each in said("trace", "urn:test:1/2", *at)["items"]}
    assert len(wanted) == 2 and wanted[sent]["detail"] and other not in wanted
    assert {each["outcome"] for each in wanted.values()} == {"dead letter", "waiting"}
    every = said("trace", notification["cause"], "--all", *at)
    assert len(every["items"]) == 3 and every["next"] is None
    (only,) = said("trace", "--offset", str(notification["offset"]), "--subscription", other, *at)["items"]
    assert (only["wanted"], only["because"]) == (False, "topic flood/severe: the topic ends before severe")
    shown = tocsin("trace", "urn:test:1/2", "--all", *at, COLUMNS="200")
    assert shown.stdout == "" and "✗ topic flood/severe  the topic ends before severe  ← decides" in shown.stderr
    assert f"✓ {sent}  {CONSUMER}  dead letter" in shown.stderr
    few = tocsin("trace", "urn:test:1/2", "--all", "--limit", "1", *at)
    assert "there are more than these 1" in few.stderr


def test_a_subscription_asks_why_nothing_arrived(broker: str, alert: str) -> None:
    at = ("--broker", broker)
    name = said("subscribe", "--to", CONSUMER, "--topic", "flood", *at)["id"]
    assert "nothing was published yet" in tocsin("trace", "--subscription", name, *at).stderr
    for number, topic in enumerate(("flood", "fire", "ice")):
        tocsin("publish", alert, "--topic", topic, "--id", f"urn:test:{number}", *at)
    items = said("trace", "--subscription", f"{broker}/api/subscriptions/{name}", "--limit", "2", *at)["items"]
    assert [each["notification"]["topic"] for each in items] == ["ice", "fire"]
    shown = tocsin("trace", "--subscription", name, *at, COLUMNS="200").stderr
    assert "✗ urn:test:1  on fire" in shown and "expected flood, the topic has fire" in shown
    assert "✓ urn:test:0  on flood" in shown
    unwanted = tocsin("trace", "urn:test:2", *at, COLUMNS="200").stderr
    assert "no subscription wanted it; --all tells why not, for each" in unwanted


def shown(account: dict[str, Any]) -> str:
    console = Console(width=200, record=True, file=StringIO())
    document = {"notification": SAID, "items": [account], "next": None}
    console.print(tree_of(msgspec.convert(document, TraceDocument), True))
    return console.export_text()


def test_a_filter_that_failed_says_why_once() -> None:
    failed = {"what": "xpath x", "verdict": "undecided", "why": "it could not be evaluated: it takes too long"}
    part = failed | {"decides": True, "parts": [], "more": 0}
    account = {"subscription": "s", "consumer": "c", "wanted": None, "because": "xpath x: ...", "remark": "", "more": 3}
    account |= {
        "state": "active",
        "outcome": "dead letter",
        "detail": "its filter could not be evaluated: it takes too long",
    }
    once = shown(account | {"parts": [part]})
    assert once.count("it takes too long") == 1 and "and 3 more" in once
    assert "nobody is there" in shown(account | {"parts": [part], "detail": "nobody is there"})


def test_what_is_not_there_ends_in_a_sentence(broker: str) -> None:
    at = ("--broker", broker)
    missing = tocsin("trace", "urn:none", *at, check=False)
    assert missing.returncode == 1 and "no notification with the id or cause 'urn:none'" in missing.stderr
    beyond = tocsin("trace", "--offset", "999999", *at, check=False)
    assert beyond.returncode == 1 and "there is no record 999999; the log " in beyond.stderr
    never = tocsin("trace", "--subscription", "none", *at, check=False)
    assert never.returncode == 1 and "there never was a subscription 'none'" in never.stderr
    for wrong in ((), ("x", "--offset", "1"), ("--offset", "-1"), ("x", "--limit", "0")):
        assert tocsin("trace", *wrong, *at, check=False).returncode == 2
