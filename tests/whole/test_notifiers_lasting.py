"""A notifier that runs tells its service, whatever becomes of its subscription, its node's address or its making."""

from pathlib import Path

import pytest
from tests.whole.shell import document, wait_until
from tests.whole.sink import Sink
from tests.whole.worlds import create, graph, node_of, outcome, publish, pulled

from tocsin.broker.caller import NODE
from tocsin.broker.implicit import local_notifiers
from tocsin.broker.node import Node
from tocsin.doors.access import end_unentitled
from tocsin.model.access import Account, Accounts, Principal, Right
from tocsin.model.refusal import Refusal
from tocsin.semantics.interest.changes import RemoveService
from tocsin.store.errors import DatabaseFailed
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
TWO = graph(("A", "B"))


@pytest.fixture(autouse=True)
def soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_notifiers, "BETWEEN_ENDS", 0.01)
    monkeypatch.setattr(local_notifiers, "AGAIN_AFTER", 0.01)


async def pair(node: Node, address: str = "") -> str:
    await node.implicit.change_world(NODE, TWO, "operator")
    await create(node, "NA", "A")
    return await create(node, "NB", "B", address)


async def test_whoever_may_manage_notifiers_need_not_be_one_who_may_subscribe(tmp_path: Path) -> None:
    async with node_of(tmp_path / "a") as node:
        box = await pair(node)
        rights = (Right("manage"), Right("publish"))
        await end_unentitled(node, Accounts.of((Account(Principal("operator", rights)),)))
        await end_unentitled(node, Accounts())
        assert node.implicit.notifier(NODE, "NB").subscription == box
        message = await publish(node, "NA")
        assert await pulled(node, box) == [message]


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_service_whose_subscription_has_ended_misses_nothing(
    tmp_path: Path, sink: Sink, restarted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what came between the end and the new beginning."""
    async with node_of(tmp_path / "a") as node:
        old = await pair(node, sink.url("nb"))
        if restarted:  # it was killed before it could see to that
            monkeypatch.setattr(node.implicit._local, "has_ended", lambda _: None)
        await node.subscriptions.cancel(NODE, old)
        between = await outcome(node, "NA")
        if not restarted:
            await wait_until(lambda: len(sink.at("nb")) == 1, "NB is told")
    async with node_of(tmp_path / "a") as node:
        await wait_until(lambda: node.implicit.notifier(NODE, "NB").subscription != old, "there is another")
        assert between.receivers == (await outcome(node, "NA")).receivers == ("NB",)
        await wait_until(lambda: len(sink.at("nb")) == 2, "NB is told of both")
        assert len(node.subscriptions.page(NODE, "", 10)) == 2
        await node.implicit.remove_notifier(NODE, "NB", "operator")
        assert len(node.subscriptions.page(NODE, "", 10)) == 1
    assert len({document(each.body)["id"] for each in sink.at("nb")}) == 2


async def test_a_pull_point_that_was_ended_is_another_with_what_came_since(tmp_path: Path) -> None:
    async with node_of(tmp_path / "a") as node:
        old = await pair(node)
        await node.subscriptions.cancel(NODE, old)
        message = await publish(node, "NA")
        await wait_until(lambda: node.implicit.notifier(NODE, "NB").subscription != old, "there is another")
        assert await pulled(node, node.implicit.notifier(NODE, "NB").subscription) == [message]


async def test_a_notifier_that_could_not_be_made_leaves_nothing_that_tells_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with node_of(tmp_path / "a") as node:
        await node.implicit.change_world(NODE, TWO, "operator")
        with monkeypatch.context() as patched:

            async def fails(*_: object) -> None:
                raise DatabaseFailed("disk full")

            async def refuses(*_: object) -> None:
                raise Refusal("cannot-store", "disk full")

            patched.setattr(node.implicit._registry, "register", fails)
            patched.setattr(node.implicit._host, "unsubscribe", refuses)
            with pytest.raises(Refusal) as refused:
                await create(node, "NB", "B")
            assert refused.value.reason == "cannot-store" and len(node.subscriptions.page(NODE, "", 10)) == 1
        await create(node, "NB", "B")
        assert len(node.subscriptions.page(NODE, "", 10)) == 1


async def test_a_node_that_comes_back_elsewhere_gets_what_waited_for_it(tmp_path: Path) -> None:
    async with node_of(tmp_path / "a") as first:
        await first.implicit.change_world(NODE, TWO, "operator")
        await create(first, "NA", "A")
        async with node_of(tmp_path / "b", first) as second:
            old, box = second.base_url, await create(second, "NB", "B")
        message = await publish(first, "NA")
        async with node_of(tmp_path / "b", first) as second:
            assert second.base_url != old
            assert (await first.implicit.dissemination(NODE, message, 60)).receivers == ("NB",)
            assert await pulled(second, box) == [message]


async def test_a_twin_that_another_node_has_by_now_can_be_removed(tmp_path: Path) -> None:
    async with node_of(tmp_path / "a") as first, node_of(tmp_path / "b", first) as second:
        await pair(first)
        await first.implicit.change_world(NODE, [RemoveService("NB")], "operator")
        await create(second, "NB", "B")
        assert (await outcome(first, "NA")).receivers == ("NB",)
        assert second.implicit.notifier(NODE, "NB").handled == 1 and first.implicit.notifier(NODE, "NB").handled == 0
        await first.implicit.remove_notifier(NODE, "NB", "operator")
        assert first.implicit.world(NODE).services["NB"].node == second.base_url


async def test_the_status_tells_what_the_notifiers_do(tmp_path: Path, http: HttpClient) -> None:
    async with node_of(tmp_path / "a") as node:
        await pair(node)
        await outcome(node, "NA")
        answer = await http.request("GET", f"{node.base_url}/api/status")
        waiting = {"local": 0, "asking": 0, "outbox": 0}
        assert document(answer.body)["implicit"] == {"notifiers": 2, "handled": 2, "waiting": waiting}
