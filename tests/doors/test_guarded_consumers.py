"""Who may have a secret sent, and who may add one."""

from collections.abc import Sequence
from typing import Any, cast

import pytest

from tocsin.documents.ports.port import Broker
from tocsin.doors.guarded import Guarded
from tocsin.mediation.operations import Subscribe
from tocsin.model.access import Principal, Right, Secret
from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Form

FREE, BOUND = (
    Secret("free", "bearer", "t", Instant(1)),
    Secret("bound", "bearer", "t", Instant(1), "", "https://a.example"),
)
SUBSCRIBER = Principal("ann", (Right("subscribe"),))
OPERATOR = Principal("op", (Right("subscribe"), Right("manage")))


class Behind:
    """Stands for the node: notes what passed."""

    base_url, body_limit = "http://broker.example", 1

    def __init__(self) -> None:
        self.passed: list[object] = []

    def secrets(self) -> Sequence[Secret]:
        return [FREE, BOUND]

    async def subscribe(self, request: Subscribe, *, owner: str | None = None) -> Any:
        self.passed.append(request)

    async def add_secret(self, secret: Secret, *, replace: bool) -> None:
        self.passed.append(secret)

    async def remove_secret(self, name: str) -> None:
        self.passed.append(name)


def asked(secret: str | None, end: str | None = None) -> Subscribe:
    ending = None if end is None else Endpoint("https://b.example", secret=end)
    return Subscribe(Endpoint("https://b.example", secret=secret), ending, Form("cloudevents"), (), None)


async def test_a_secret_for_any_address_is_sent_only_for_who_manages_everything() -> None:
    behind = Behind()
    ann, operator = (Guarded(cast(Broker, behind), who) for who in (SUBSCRIBER, OPERATOR))
    for request in (asked("free"), asked(None, "free")):
        with pytest.raises(Refusal, match="'free'") as caught:
            await ann.subscribe(request)
        assert caught.value.reason == "not-allowed"
    assert behind.passed == []
    for guarded, name in ((ann, "bound"), (ann, None), (operator, "free")):
        await guarded.subscribe(asked(name))
    assert len(behind.passed) == 3


async def test_secrets_are_changed_only_by_who_manages_everything() -> None:
    behind = Behind()
    ann, operator = (Guarded(cast(Broker, behind), who) for who in (SUBSCRIBER, OPERATOR))
    with pytest.raises(Refusal):
        await ann.add_secret(FREE, replace=True)
    with pytest.raises(Refusal):
        await ann.remove_secret("free")
    await operator.add_secret(FREE, replace=True)
    await operator.remove_secret("free")
    assert behind.passed == [FREE, "free"]
