"""Leases that are renewed: what is made again, and what stays ended."""

import asyncio
from collections.abc import Callable

import pytest
from tests.whole.shell import wait_until

from tocsin import ClientError, Lease, Status, Unreachable
from tocsin.client import leases as keeping
from tocsin.client.leases import KeptLease
from tocsin.client.values import Terms

TERMS = Terms("http://c")
PAST = "2001-01-01T00:00:00Z"
UNKNOWN = ClientError("there is no such subscription", 404)
AWAY = Unreachable("away")


class Manager:
    """Grants leases of a few milliseconds, and does as it is told when one is renewed."""

    def __init__(self, answer: Callable[[int], ClientError | None], stands: bool = False, until: str = "") -> None:
        self.answer, self.stands, self.until, self.log = answer, stands, until, list[str]()
        self.refuses_more = False

    async def subscribe(self, terms: Terms) -> Lease:
        self.log.append("subscribe")
        if self.refuses_more and self.log.count("subscribe") > 1:
            raise ClientError("no more of it", 400)
        return Lease(f"http://x/{len(self.log)}", self.until, 0.02)

    async def renew(self, lease: Lease, expires: str) -> Lease:
        self.log.append("renew")
        if problem := self.answer(self.log.count("renew")):
            raise problem
        return Lease(lease.address, self.until, 0.02)

    async def status(self, lease: Lease) -> Status:
        if not self.stands:
            raise UNKNOWN
        return Status(lease.expires)

    async def unsubscribe(self, lease: Lease) -> None:
        self.log.append(f"unsubscribe {lease.id}")


class Ending(list[str]):
    """What is called when it is gone, as a client has it."""

    def __init__(self, held: KeptLease) -> None:
        self._held = held

    async def __call__(self, reason: str) -> None:
        self._held.over.set()
        self.append(reason)


def held_by(manager: Manager) -> tuple[KeptLease, Ending]:
    held = KeptLease(manager)  # type: ignore[arg-type]
    return held, Ending(held)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "LATER", 0.01)


def failing(*problems: ClientError) -> Callable[[int], ClientError | None]:
    """The first renewal works, then they come in turn, then it works."""
    return lambda number: problems[number - 2] if 2 <= number < 2 + len(problems) else None


async def test_a_lease_is_renewed_again_and_again_and_ended_once() -> None:
    manager = Manager(failing())
    held, told = held_by(manager)
    async with held.kept(TERMS, told) as lease:
        await wait_until(lambda: manager.log.count("renew") >= 3, "three renewals")
    assert manager.log[0] == "subscribe"
    assert manager.log[-1] == f"unsubscribe {lease.id}"
    assert not told


async def test_what_vanished_though_it_was_renewed_in_time_was_ended() -> None:
    manager = Manager(failing(UNKNOWN))
    held, told = held_by(manager)
    async with held.kept(TERMS, told):
        await wait_until(lambda: told, "the end")
    assert told == [str(UNKNOWN)]
    assert manager.log == ["subscribe", "renew", "renew"]


@pytest.mark.parametrize(("problems", "until"), [((AWAY, UNKNOWN), ""), ((UNKNOWN,), PAST)])
async def test_what_the_broker_lost_is_made_again(problems: tuple[ClientError, ...], until: str) -> None:
    """It could not be reached meanwhile, or the lease ran out while this machine slept."""
    manager = Manager(failing(*problems), until=until)
    held, told = held_by(manager)
    async with held.kept(TERMS, told) as first:
        await wait_until(lambda: manager.log.count("subscribe") == 2, "the second subscription")
        second = held.lease
    assert second.address != first.address
    assert manager.log[-1] == f"unsubscribe {second.id}"
    assert not told


async def test_what_was_reached_again_is_no_longer_excused() -> None:
    manager = Manager(lambda number: {2: AWAY, 4: UNKNOWN}.get(number))
    held, told = held_by(manager)
    async with held.kept(TERMS, told):
        await wait_until(lambda: told, "the end")
    assert manager.log.count("subscribe") == 1


@pytest.mark.parametrize("problem", [ClientError("overloaded", 503), ClientError("who are you", 401)])
async def test_a_refusal_that_says_nothing_of_the_subscription_is_tried_again(problem: ClientError) -> None:
    manager = Manager(failing(problem, problem))
    held, told = held_by(manager)
    async with held.kept(TERMS, told):
        await wait_until(lambda: manager.log.count("renew") >= 5, "more renewals")
    assert manager.log.count("subscribe") == 1
    assert not told


async def test_a_renewal_that_is_refused_while_the_subscription_stands_is_tried_again() -> None:
    manager = Manager(failing(ClientError("not that long", 400)), stands=True)
    held, told = held_by(manager)
    async with held.kept(TERMS, told):
        await wait_until(lambda: manager.log.count("renew") >= 4, "more renewals")
    assert manager.log.count("subscribe") == 1
    assert not told


async def test_what_cannot_be_made_again_is_over() -> None:
    manager = Manager(failing(AWAY, UNKNOWN))
    manager.refuses_more = True
    held, told = held_by(manager)
    async with held.kept(TERMS, told):
        await wait_until(lambda: told, "the end")
    assert told == ["no more of it"]


async def test_what_is_over_is_not_renewed() -> None:
    manager = Manager(failing())
    held, told = held_by(manager)
    held.over.set()
    async with held.kept(TERMS, told):
        await asyncio.sleep(0)
    assert manager.log == ["subscribe"]
