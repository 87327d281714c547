"""When a notification is of no use any more."""

import pytest

from tocsin.flow.lifetime import check_expiry, expiry_of, overdue
from tocsin.model.identity import SECOND, Instant, MessageId, Node
from tocsin.model.names import NO_TOPIC
from tocsin.model.notification import Notification, Payload
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Position

WHEN = Instant(1_900_000_000 * SECOND)  # 2030-03-17T17:46:40Z


def said(expirytime: str | None = None) -> Notification:
    attributes = () if expirytime is None else (("expirytime", expirytime),)
    at = Position(Node("n"), 7)
    payload = Payload("text/plain", b"x")
    return Notification(MessageId("m"), at, 0, WHEN, "cloudevents", "c", "/s", NO_TOPIC, None, attributes, payload)


@pytest.mark.parametrize("text", ["2030-03-17T17:46:41Z", "2030-03-17t17:46:41z", "2030-03-17T18:46:41+01:00"])
def test_the_producer_says_when(text: str) -> None:
    assert expiry_of(said(text)) == WHEN + SECOND
    assert overdue(said(text), WHEN, None) is None
    assert overdue(said(text), Instant(WHEN + SECOND), None) == "overdue: it expired at 2030-03-17T17:46:41Z"


def test_the_broker_says_how_long() -> None:
    assert overdue(said(), Instant(WHEN + 1000 * SECOND), None) is None
    assert overdue(said(), Instant(WHEN + 2 * SECOND - 1), 2.0) is None
    late = overdue(said(), Instant(WHEN + 2 * SECOND), 2.0)
    assert late == "overdue: it was accepted at 2030-03-17T17:46:40Z and is told of for 2 s only"
    assert overdue(said("2040-01-01T00:00:00Z"), Instant(WHEN + 2 * SECOND), 2.0) == late, "whichever is sooner"


def test_what_is_no_time_is_refused_at_the_door_and_means_nothing_later() -> None:
    assert overdue(said("tomorrow"), Instant(WHEN * 2), None) is None
    with pytest.raises(Refusal, match="'tomorrow'; write a time such as"):
        check_expiry([said(), said("tomorrow")])
    check_expiry([said(), said("2030-03-17T17:46:41Z")])
