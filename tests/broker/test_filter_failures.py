"""Filters that keep failing, counted; and what a node makes of them, for consumers and for pull points."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.broker.test_pull_points import FORM, Engine, engine, running, soon_drained
from tests.judging import DEEP, wide

from tocsin.broker.caller import NODE
from tocsin.broker.node import Node
from tocsin.broker.subscriptions.failures import FilterFailures
from tocsin.broker.subscriptions.suspension import SUSPENDED
from tocsin.flow.flow import UNJUDGED
from tocsin.matching.judge import Undecided
from tocsin.mediation.operations import Start, Subscribe
from tocsin.model.delivery import Match, Outcome
from tocsin.model.filters import Content
from tocsin.model.identity import Instant, MessageId, SubscriptionId
from tocsin.model.identity import Node as NodeName
from tocsin.model.records import Changed
from tocsin.model.subscription import Endpoint, Form, Position, State, Subscription
from tocsin.store.dead_letters import DeadLetter
from tocsin.store.judge.judge import CROWDED, NOT_ITS_OWN

__all__ = ["engine", "soon_drained"]

NAME = SubscriptionId("s")
A = b"<a><b/></a>"
ENVELOPE = (
    b'<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope" xmlns:n="http://docs.oasis-open.org/wsn/b-2">'
    b"<s:Body><n:Notify>%b</n:Notify></s:Body></s:Envelope>"
)
WRONG = "count(string(/a)) > 0"  # no node-set: found out where it is evaluated (XPath 1.0 s4.1)
SLOW = "it took longer than 100 ms"


def dead(detail: str, offset: int = 0) -> Outcome:
    return Outcome(Match(MessageId("m"), NAME), Position(NodeName("n"), offset), 0, Instant(0), "dead", 0, detail)


def as_of(state: State, offset: int) -> Changed:
    at = Position(NodeName("n"), offset)
    return Changed(at, Instant(0), Subscription(NAME, None, None, None, Form("wsn-1.3"), (), at, None, state))


def test_so_many_with_no_delivery_between_are_too_many() -> None:
    failures = FilterFailures(3)
    for _ in range(2):
        failures.died(dead(UNJUDGED + SLOW))
        failures.died(dead(UNJUDGED + SLOW))
        assert failures.over() == {}
        failures.delivered(NAME)
    for _ in range(3):
        failures.died(dead(UNJUDGED + SLOW))
    assert failures.over() == {NAME: f"its filter failed 3 times in a row: {SLOW}"}
    failures.forget(NAME)
    assert failures.over() == {}


@pytest.mark.parametrize("detail", ["404 Not Found", *(UNJUDGED + each for each in sorted(NOT_ITS_OWN))])
def test_what_is_not_the_filters_own_failing_does_not_count(detail: str) -> None:
    failures = FilterFailures(1)
    failures.died(dead(detail))
    assert failures.over() == {}


def test_what_was_held_until_it_was_resumed_does_not_count() -> None:
    failures = FilterFailures(1)
    failures.changed(as_of("suspended", 3))
    failures.changed(as_of("active", 9))
    failures.died(dead(UNJUDGED + SLOW, 8))
    assert failures.over() == {}
    failures.died(dead(UNJUDGED + SLOW, 10))
    assert failures.over()
    failures.changed(as_of("ended", 11))
    assert failures.over() == {}


async def say(node: Node, *payloads: bytes) -> None:
    for payload in payloads:
        await node.publishing.publish(NODE, "/broker/publish/t", "raw", (("content-type", "application/xml"),), payload)


async def until(good: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not good():
            await asyncio.sleep(0.005)


async def pull_point(node: Node, expression: str, start: Start | None = None) -> str:
    return (
        await node.subscriptions.subscribe(
            NODE, Subscribe(None, None, FORM, (Content("xpath", expression),), None, start)
        )
    ).id


async def pulled(node: Node, name: str) -> list[bytes]:
    return [each.notification.payload.data for each in (await node.pull_points.pull(NODE, name, None)).held]


@pytest.mark.parametrize("from_the_past", [False, True])
async def test_a_pull_point_is_told_too(tmp_path: Path, engine: Engine, from_the_past: bool) -> None:
    said: list[str] = []
    async with running(tmp_path, engine, told=said) as node:
        start = None
        if from_the_past:
            await say(node, *[wide()] * 3)
            start = Start(offset=0)
        bad, good = await pull_point(node, DEEP, start), await pull_point(node, "count(/a/*) > 100", start)
        if not from_the_past:
            await say(node, *[wide()] * 3)
        await until(lambda: said)
        reason, state = node.standing.get(bad).reason, node.standing.get(bad).state
        assert state == "suspended"
        assert reason.startswith("its filter failed 3 times in a row: it ")
        assert said == [f"subscription {bad} is suspended: {reason}"]
        await until(lambda: node.pull_points.state(NODE, good).waiting == 3)
        assert await pulled(node, good) == [wide()] * 3
        (notice,) = (await node.pull_points.pull(NODE, bad, None)).held
        assert notice.notification.type == SUSPENDED
        await node.settlement.save()
        letters = node.dead_letters.page(NODE, 0, 9, bad)
        assert [each.reason.startswith(f"{UNJUDGED}it ") for each in letters] == [True] * 3


async def caught_up(node: Node) -> None:
    await until(lambda: not node.mailboxes.feeds.lagging)


async def letter_of(node: Node, name: str) -> DeadLetter:
    await caught_up(node)
    await node.settlement.save()
    (letter,) = node.dead_letters.page(NODE, 0, 9, name)
    return letter


async def test_a_dead_letter_of_a_pull_point_is_put_there_when_it_is_tried_again(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        bad = await pull_point(node, WRONG)
        await say(node, b"<a/>")
        letter = await letter_of(node, bad)
        assert letter.reason.startswith(UNJUDGED)
        assert await node.dead_letters.redrive(NODE, [letter.id]) == 1
        await node.settlement.save()
        assert node.dead_letters.page(NODE, 0, 9, bad) == []
        assert await pulled(node, bad) == [b"<a/>"]
        assert await node.dead_letters.redrive(NODE, None) == 0
        assert await pulled(node, bad) == []


async def test_one_whose_pull_point_is_gone_is_told_so(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        bad = await pull_point(node, WRONG)
        await say(node, b"<a/>")
        letter = await letter_of(node, bad)
        await node.subscriptions.unsubscribe(NODE, bad)
        assert await node.dead_letters.redrive(NODE, [letter.id]) == 1
        after = await letter_of(node, bad)
        assert (after.state, after.id) == ("dead", letter.id)
        assert after.reason == f"it could not be put into its pull point: there is no pull point {bad!r} here; " + (
            "it may have ended"
        )


@pytest.mark.parametrize("consumer", [None, Endpoint("http://127.0.0.1:8/")])
async def test_whom_a_loop_has_no_time_for_gets_all_the_same_in_order(
    tmp_path: Path, consumer: Endpoint | None
) -> None:
    async with running(tmp_path, told=[]) as node:
        node.judges.in_loop.judge = node.judges.in_loop.written = no_time  # type: ignore[assignment, method-assign]
        filters = (Content("xpath", "count(/a/b) > 1"),)
        name = (await node.subscriptions.subscribe(NODE, Subscribe(consumer, None, FORM, filters, None))).id
        said = [b"<a><n>%d</n>%b</a>" % (number, b"<b/>" * (number % 3)) for number in range(30)]
        wanted = [each for each in said if each.count(b"<b/>") > 1]
        await say(node, *said)
        if consumer is None:
            await until(lambda: node.pull_points.state(NODE, name).waiting == len(wanted))
            assert await pulled(node, name) == wanted
        else:
            await until(lambda: node.engine.deliverer.waiting().get(SubscriptionId(name)) == len(wanted))
        await node.settlement.save()
        assert node.dead_letters.page(NODE, 0, 9, name) == []
        assert node.standing.get(name).state == "active"


def no_time(*_: object) -> bool:
    raise Undecided(CROWDED)


async def test_of_several_in_one_record_none_is_put_twice(tmp_path: Path) -> None:
    async with running(tmp_path, told=[]) as node:
        judge, asked = node.judges.in_loop.judge, list[bytes]()

        def once(content: Content, document: bytes) -> bool:
            asked.append(document)
            return True if len(asked) == 1 else no_time()

        node.judges.in_loop.judge = once  # type: ignore[method-assign, assignment]
        name = await pull_point(node, "count(/a) = 1")
        body = b"".join(
            b"<n:NotificationMessage><n:Message>%b</n:Message></n:NotificationMessage>" % each for each in (b"<a/>", A)
        )
        await node.publishing.publish(NODE, "/broker", "wsn-1.3", (), ENVELOPE % body)
        await until(lambda: node.pull_points.state(NODE, name).waiting == 2)
        await caught_up(node)
        assert len(asked) == 2
        assert [b"<b/>" in each for each in await pulled(node, name)] == [False, True]
        node.judges.in_loop.judge = judge  # type: ignore[method-assign]


async def test_innocents_lose_nothing_by_a_crowd_and_the_loop_does_not_wait_for_it(tmp_path: Path) -> None:
    async with running(tmp_path, told=[]) as node:
        for number in range(40):
            await pull_point(node, f"count(//*[count(//*) > {number}]) > 0")
        good = await pull_point(node, "count(/a/*) > 100")
        for _ in range(3):
            await say(node, wide())
        await until(lambda: node.pull_points.state(NODE, good).waiting == 3)
        await node.settlement.save()
        assert node.dead_letters.page(NODE, 0, 9, good) == []


async def test_an_expression_that_is_refused_as_often_as_it_is_asked_is_a_failure_like_any(tmp_path: Path) -> None:
    async with running(tmp_path, told=[], filter_failures=2) as node:
        bad = await pull_point(node, WRONG)
        await say(node, b"<a/>", b"<a/>")
        await until(lambda: node.standing.get(bad).state == "suspended")
        assert "2 times" in node.standing.get(bad).reason
        await node.subscriptions.resume(NODE, bad)
        assert (node.standing.get(bad).state, node.standing.get(bad).reason) == ("active", "")


async def test_what_a_pull_point_gets_between_makes_it_begin_anew(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        name = await pull_point(node, f"count(/a/b) = 0 or {DEEP}")
        for _ in range(2):
            await say(node, wide(), wide(), b"<a/>")
            await caught_up(node)
        assert len(await pulled(node, name)) == 2
        await node.settlement.save()
        assert len(node.dead_letters.page(NODE, 0, 9, name)) == 4
        assert node.settlement.filters.over() == {}
