"""What a thin notice points to, for as long as the log has it."""

from pathlib import Path

import msgspec
import pytest
from tests.broker.records import NODE, accepted, subscribed

from tocsin.broker.tracing.lookup import fetch
from tocsin.flow.addressing import door_of
from tocsin.mediation.ce import cloudevents
from tocsin.model.identity import Instant, SubscriptionId
from tocsin.model.records import Accepted, Position
from tocsin.model.refusal import Refusal
from tocsin.store.codec import encode
from tocsin.store.log.appender import Appender

NOW = Instant(10**18)


def batch(offset: int, *names: str, door: str = "/events", **more: str) -> Accepted:
    events = [{"specversion": "1.0", "id": name, "source": "s", "type": "t", "data": name, **more} for name in names]
    headers = (("content-type", cloudevents.BATCHED),)
    body = msgspec.json.encode(events)
    return Accepted(Position(NODE, offset), Instant(1), door, cloudevents.NAME, headers, None, f"cause-{offset}", body)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    appender = Appender.open(tmp_path, segment_bytes=200)
    records = (
        accepted(0, "a", body=b"x" * 300),
        batch(1, "one", "two"),
        subscribed(2, SubscriptionId("s"), "a"),
        batch(3, "late", expirytime="2001-01-01T00:00:00Z"),
        batch(4, "mine", door="/broker/pullpoints/p"),
        batch(5, "hers", door=door_of("Her Service")),
    )
    for each in records:
        appender.commit([encode(each)], (), None)
    appender.drop(appender.segments()[:1])
    appender.close()
    return tmp_path


def test_each_notification_of_a_record_can_be_had(log: Path) -> None:
    assert [fetch(log, 1, index, NOW).notification.id for index in (0, 1)] == ["one", "two"]
    assert not fetch(log, 1, 0, NOW).private


@pytest.mark.parametrize("offset", [4, 5])
def test_what_was_for_one_alone_is_private(log: Path, offset: int) -> None:
    assert fetch(log, offset, 0, NOW).private


@pytest.mark.parametrize(
    ("offset", "index", "words"),
    [
        (0, 0, "record 0 is no longer kept; the log starts at record 1"),
        (1, 2, "there is no notification 2 in record 1"),
        (2, 0, "there is no notification 0 in record 2"),
        (6, 0, "there is no notification 0 in record 6"),
        (10**17, 0, "there is no notification 0 in record 1"),
        (3, 0, "overdue: it expired at 2001-01-01T00:00:00Z"),
    ],
)
def test_what_is_not_there_is_refused(log: Path, offset: int, index: int, words: str) -> None:
    with pytest.raises(Refusal) as refused:
        fetch(log, offset, index, NOW)
    assert refused.value.reason == "unknown-name"
    assert words in refused.value.text


def test_before_there_is_a_log_nothing_is_there(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="there is no notification"):
        fetch(tmp_path / "none", 0, 0, NOW)
