import subprocess
import sys

import numba
import pytest

from tocsin.matching import warming
from tocsin.matching.warming import compiled_text, warm

TOPICS_ALONE = """
import sys
from tocsin.matching.engine import Engine
from tocsin.model.identity import Instant, MessageId, Node, SubscriptionId
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.subscription import Form, Position, Subscription
from tocsin.model.topics import parse_topic_expression

engine, at, topic = Engine(), Position(Node("n"), 0), Topic((QName("", "a"),))
asked = parse_topic_expression("a", "full", {})
engine.apply(Subscription(SubscriptionId("s"), None, None, None, Form("raw"), (asked,), at, None))
payload = Payload("application/xml", b"<x/>")
found = engine.match(Notification(MessageId("m"), at, 0, Instant(1), "raw", "", "", topic, None, (), payload))
assert [each.id for each in found.wanted] == ["s"]
import tocsin.matching.warming
assert "numba" not in sys.modules
"""


def test_who_has_no_boxes_does_not_load_numba() -> None:
    subprocess.run([sys.executable, "-c", TOPICS_ALONE], check=True)


def test_what_is_warm_is_not_compiled_again() -> None:
    warm()
    assert warm() == {}


def test_which_were_compiled_and_how_long_it_took(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice(number: int) -> int:
        return 2 * number

    warm()
    monkeypatch.setattr(warming, "WARMERS", [*warming.WARMERS, ("doubles", lambda: numba.njit(twice)(1))])
    said = list[str]()
    took = warm(said.append)
    assert said == [warming.COMPILING]
    assert list(took) == ["doubles"]
    assert took["doubles"] > 0
    assert compiled_text(took).endswith("the kernels for doubles")


def test_it_says_what_it_did() -> None:
    done = subprocess.run([sys.executable, "-m", "tocsin.matching.warming"], capture_output=True, text=True, check=True)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert "compiled" in done.stderr
