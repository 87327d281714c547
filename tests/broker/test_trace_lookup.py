"""A notification of the log by its names, from the end backwards and within bounds."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.broker.records import accepted, subscribed
from tests.broker.test_notification_lookup import batch

from tocsin.broker.tracing import lookup as finding
from tocsin.broker.tracing.lookup import find, newest
from tocsin.flow.traces import Logged, Sought
from tocsin.model.identity import Instant, SubscriptionId
from tocsin.model.records import Declared, Node, Position, Record
from tocsin.model.refusal import Refusal
from tocsin.model.space import Dimension, InformationSpace
from tocsin.store.codec import encode
from tocsin.store.log.appender import Appender

WSN = "http://docs.oasis-open.org/wsn/b-2"
NOTIFY = (
    '<e:Envelope xmlns:e="http://www.w3.org/2003/05/soap-envelope"><e:Header>'
    '<a:MessageID xmlns:a="http://www.w3.org/2005/08/addressing">urn:x:a&amp;b</a:MessageID></e:Header><e:Body>'
    f'<n:Notify xmlns:n="{WSN}"><n:NotificationMessage><n:Message><x/></n:Message></n:NotificationMessage>'
    "<n:NotificationMessage><n:Message><y/></n:Message></n:NotificationMessage></n:Notify></e:Body></e:Envelope>"
)


def written(folder: Path, *records: Record, segment_bytes: int = 1 << 20) -> Path:
    appender = Appender.open(folder, segment_bytes=segment_bytes)
    for each in records:
        appender.commit([encode(each)], (), None)
    appender.close()
    return folder


def named(log: Path, message: str, index: int | None = None) -> tuple[int, int]:
    found = find(log, Sought(message, index=index)).notification
    return found.at.offset, found.index


@pytest.fixture
def log(tmp_path: Path) -> Path:
    soap = accepted(3, "t", "wsn-1.3", NOTIFY.encode())
    wide = accepted(4, "t", "wsn-1.3", NOTIFY.replace("urn:x:a&amp;b", "urn:wide").encode("utf-16"))
    return written(
        tmp_path,
        batch(0, "one", "two"),
        subscribed(1, SubscriptionId("one"), "a"),
        batch(2, "one", door="/broker/pullpoints/p"),
        soap,
        wide,
        accepted(5, "t"),
    )


def test_the_newest_of_a_name_is_found(log: Path) -> None:
    assert named(log, "two") == (0, 1)
    assert named(log, "one") == (2, 0)
    assert find(log, Sought("one")).pull_point == "p" and find(log, Sought("one")).private
    assert not find(log, Sought("two")).private


def test_by_cause_all_of_a_record_can_be_had(log: Path) -> None:
    assert named(log, "cause-0") == (0, 0)
    assert [named(log, "cause-0", index) for index in (0, 1)] == [(0, 0), (0, 1)]
    assert find(log, Sought("cause-0")).of == 2
    assert named(log, "urn:uuid:cause-5") == (5, 0)  # what has no id of its own is named after its cause


def test_what_came_in_one_message_has_its_name(log: Path) -> None:
    assert [named(log, "urn:x:a&b", index) for index in (None, 0, 1)] == [(3, 0), (3, 0), (3, 1)]
    assert named(log, "urn:x:a&b/1") == (3, 1)


def test_another_encoding_hides_nothing(log: Path) -> None:
    assert named(log, "urn:wide/0") == (4, 0)


def test_by_offset_it_is_had_at_once(log: Path) -> None:
    found = find(log, Sought(offset=0, index=1))
    assert (found.notification.id, found.of, found.door) == ("two", 2, "/events")


@pytest.mark.parametrize(
    ("sought", "reason", "words"),
    [
        (Sought("nosuch"), "unknown-name", "'nosuch' was found in the records 0 to 5"),
        (Sought("\u2603"), "unknown-name", "was found in the records 0 to 5"),
        (Sought("two", index=2), "unknown-name", "no notification 2 in the message 'two': it has 2, from 0 on"),
        (Sought(offset=1), "unknown-name", "record 1 is a change of a subscription"),
        (Sought(offset=9), "unknown-name", "there is no record 9; the log ends at record 5"),
        (Sought(), "malformed", "by its id or cause, or its record by offset=N"),
        (Sought("x" * 9000), "malformed", "by its id or cause"),
    ],
)
def test_what_is_not_there_is_refused(log: Path, sought: Sought, reason: str, words: str) -> None:
    with pytest.raises(Refusal) as refused:
        find(log, sought)
    assert (refused.value.reason, words in refused.value.text) == (reason, True), refused.value.text


def test_a_declaration_is_said_to_be_one(tmp_path: Path) -> None:
    space = InformationSpace("weather", (Dimension("place", "string"),))
    log = written(tmp_path, Declared(Position(Node("n"), 0), Instant(0), space))
    with pytest.raises(Refusal, match="record 0 is a declaration"):
        find(log, Sought(offset=0))


def test_what_is_no_longer_kept_is_said_to_be_so(tmp_path: Path) -> None:
    written(tmp_path, accepted(0, "a", body=b"x" * 300), batch(1, "one"), segment_bytes=200)
    appender = Appender.open(tmp_path, segment_bytes=200)
    appender.drop(appender.segments()[:1])
    appender.close()
    with pytest.raises(Refusal, match="record 0 is no longer kept; the log starts at record 1"):
        find(tmp_path, Sought(offset=0))
    assert named(tmp_path, "one") == (1, 0)


def test_the_search_has_bounds_and_says_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "MOST_RECORDS", 5)
    for name in ("_BLOCK", "_WHOLE_BLOCK"):
        monkeypatch.setattr(finding, name, 2)
    log = written(tmp_path, *(batch(offset, f"m{offset}") for offset in range(8)))
    assert [named(log, f"m{offset}") for offset in (7, 4, 3)] == [(7, 0), (4, 0), (3, 0)]
    monkeypatch.setattr(finding, "MOST_READ", 1)
    with pytest.raises(Refusal, match="in the records 3 to 7; older ones can be named by offset=N"):
        find(log, Sought("m2"))
    assert find(log, Sought(offset=2)).notification.id == "m2"


def test_the_newest_are_those_that_anybody_could_want(log: Path) -> None:
    found = [(each.notification.at.offset, each.notification.index) for each in newest(log, 4)]
    assert found == [(5, 0), (4, 1), (4, 0), (3, 1)]
    assert [each.notification.id for each in newest(log, 100)][-2:] == ["two", "one"]  # and not what is in p


def test_before_there_is_a_log_nothing_is_there(tmp_path: Path) -> None:
    with pytest.raises(Refusal, match="the log, which is empty"):
        find(tmp_path / "none", Sought("x"))
    assert newest(tmp_path / "none", 5) == []


def test_what_may_not_be_heard_is_passed_over_as_if_it_were_not_there(log: Path) -> None:
    def heard(*offsets: int) -> Callable[[Logged], bool]:
        return lambda each: each.notification.at.offset in offsets

    assert find(log, Sought("one"), heard(0, 1)).notification.at.offset == 0
    for sought in (Sought("one"), Sought("nosuch"), Sought("cause-0", index=1), Sought("cause-0", index=7)):
        with pytest.raises(Refusal, match=r"no notification with the id or cause .* was found in the records 0 to 5"):
            find(log, sought, heard())
    with pytest.raises(Refusal, match="there is no record 9"):
        find(log, Sought(offset=9), heard())
    for offset in (0, 1):
        with pytest.raises(Refusal, match=f"there is no notification in record {offset} of the log"):
            find(log, Sought(offset=offset), heard())
    second = find(log, Sought(offset=0), lambda each: each.notification.index == 1).notification
    assert second.index == 1
    with pytest.raises(Refusal, match="there is no notification 0 in record 0 to be told of"):
        find(log, Sought(offset=0, index=0), lambda each: each.notification.index == 1)
