"""Nodes of one world: what one sends the other takes once, whatever fails between; nobody else is listened to."""

import asyncio
from pathlib import Path

import msgspec
import pytest
from msgspec import Raw
from msgspec.structs import replace
from tests.whole.acts import until
from tests.whole.shell import wait_until
from tests.whole.sink import Say, Sink
from tests.whole.worlds import KEY, TOPIC, create, graph, node_of, outcome, publish, pulled

from tocsin.broker.caller import NODE
from tocsin.broker.implicit import local_notifiers
from tocsin.broker.implicit.family import MESSAGES, NAME
from tocsin.broker.node import Node
from tocsin.model.identity import SECOND, Instant, MessageId
from tocsin.model.notification import Payload
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Form
from tocsin.routing.implicit.messages import Copy, Message
from tocsin.semantics.interest.changes import PutEdge, PutService, RemoveEdge, RemoveService
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient
from tocsin.wire.peer_messages import (
    PART,
    PROOF,
    SERVICES,
    BadKey,
    Batch,
    Registering,
    WireLetter,
    decode_taken,
    encode,
    letters_of,
    request_proof,
)

pytestmark = pytest.mark.broker
PATH = letters_of(NAME)
TWO = graph(("A", "B"))
LINE = graph(("A", "B"), ("B", "C"))


def batch(to: str) -> bytes:
    said = Message(MessageId("m"), "din", "R", "Disaster Info", Payload("text/plain", b"x"), Instant(1))
    return encode(Batch((WireLetter("c", to, Raw(MESSAGES.encode(Copy("c", said, "R", to, 1)))),)))


async def posted(
    http: HttpClient, node: Node, body: bytes, key: bytes = KEY, seconds: int = 0, path: str = PATH
) -> Answer:
    proof = request_proof(key, "POST", PATH, Instant(node.now() + seconds * SECOND), body)
    return await http.request("POST", node.base_url + path, ((PROOF, proof),), body)


async def known(node: Node, other: str) -> None:
    """Until the node has heard of a notifier that its own tell."""
    await wait_until(lambda: known_at(node, other), f"{other} is known")


def known_at(node: Node, other: str) -> bool:
    return node.implicit._registry.entry(other) is not None


async def test_who_has_not_the_key_is_refused_and_changes_nothing(tmp_path: Path, http: HttpClient) -> None:
    async with node_of(tmp_path / "a") as node:
        await node.implicit.change_world(NODE, TWO, "operator")
        box = await create(node, "N", "B")
        body, forged = batch("N"), batch("N") + b" "
        proof = request_proof(KEY, "POST", PATH, node.now(), body)
        asked = encode(Registering("X", "http://x", "x", Service("X", ("A",))))
        refused = [
            await http.request("POST", node.base_url + PATH, (), body),
            await http.request("POST", node.base_url + PATH, ((PROOF, "1 x y"),), body),
            await http.request("POST", node.base_url + PATH, ((PROOF, f"{'9' * 5000} ab"),), body),
            await http.request("POST", node.base_url + PATH, ((PROOF, proof),), forged),
            await http.request("GET", f"{node.base_url}{PART}?node=x&after=0", ((PROOF, proof),)),
            await posted(http, node, body, key=b"another key of 16"),
            await posted(http, node, body, seconds=301),
            await posted(http, node, body, seconds=-301),
            await posted(http, node, asked, path=SERVICES),
        ]
        assert [each.status for each in refused] == [403] * len(refused)
        assert node.implicit.notifier(NODE, "N").handled == 0 and "X" not in node.implicit.world(NODE).services
        assert (await node.pull_points.pull(NODE, box, None)).held == ()
        assert (await posted(http, node, body, seconds=-290)).status == 200
        assert (await posted(http, node, body)).status == 200  # the same again changes nothing
        assert node.implicit.notifier(NODE, "N").handled == 1


async def test_what_no_node_says_is_an_error(tmp_path: Path, http: HttpClient) -> None:
    async with node_of(tmp_path / "a") as node:
        assert (await posted(http, node, b"\xc1")).status == 400
        assert (await posted(http, node, b"x" * (9 << 20))).status == 413
        assert (await http.request("GET", node.base_url + PATH)).status == 405
        assert (await http.request("POST", node.base_url + PART)).status == 405
        for query in ("", "?node=x", "?node=x&after=-1", "?node=x&after=" + "9" * 40):
            proof = request_proof(KEY, "GET", PART + query, node.now(), b"")
            assert (await http.request("GET", node.base_url + PART + query, ((PROOF, proof),))).status == 400


async def test_a_message_goes_through_three_nodes_and_its_result_comes_back(tmp_path: Path) -> None:
    async with (
        node_of(tmp_path / "a") as first,
        node_of(tmp_path / "b", first) as second,
        node_of(tmp_path / "c", first, history=second) as third,
    ):
        await first.implicit.change_world(NODE, LINE, "operator")
        await create(first, "NA", "A")
        boxes = (second, await create(second, "NB", "B")), (third, await create(third, "NC", "C"))
        await known(second, "NC")
        found = await outcome(first, "NA")
        assert found.receivers == ("NB", "NC") and found.hops == 2 and found.complete
        assert [step.sender for step in found.trace] == ["NA", "NB"]
        for node, box in boxes:
            assert len(await pulled(node, box)) == 1
        with pytest.raises(Refusal) as refused:
            second.implicit.world(NODE)
        assert refused.value.reason == "not-here"


async def test_the_central_history_may_be_at_a_third_node(tmp_path: Path) -> None:
    async with (
        node_of(tmp_path / "c") as registry,
        node_of(tmp_path / "a", registry) as first,
        node_of(tmp_path / "b", registry) as second,
    ):
        await registry.implicit.change_world(NODE, graph(("A", "B"), ("B", "A")), "operator")
        await create(first, "A1", "A")
        await create(first, "A2", "A")
        await create(second, "B1", "B")
        await known(first, "B1")
        await known(second, "A2")
        found = await outcome(first, "A1", "cin")
        assert (found.notifications, set(found.receivers)) == (2, {"B1", "A2"})
        assert {each.to for each in found.suppressed} == {"A1", "B1"}


async def test_a_copy_for_who_left_is_reported_gone(tmp_path: Path, http: HttpClient) -> None:
    async with node_of(tmp_path / "a") as first, node_of(tmp_path / "b", first) as second:
        await first.implicit.change_world(NODE, TWO, "operator")
        await create(first, "NA", "A")
        lost = Service("lost", ("B",), notifier="http://x", node=second.base_url)
        await first.implicit.change_world(NODE, [PutService(lost)], "operator")
        assert (await outcome(first, "NA")).gone == ("lost",)
        answer = await posted(http, second, batch("lost"))
        assert decode_taken(answer.body).absent == ("c",)
        await first.implicit.change_world(NODE, [RemoveService("lost")], "operator")
        await create(second, "NB", "B")
        assert (await outcome(first, "NA")).receivers == ("NB",)
        await second.implicit.remove_notifier(NODE, "NB", "operator")
        assert "NB" not in first.implicit.world(NODE).services
        assert (await outcome(first, "NA")).notifications == 0


async def test_a_dead_node_costs_the_others_nothing_and_gets_its_own_when_it_is_back(tmp_path: Path) -> None:
    async with node_of(tmp_path / "a") as first, node_of(tmp_path / "b", first) as second:
        await first.implicit.change_world(NODE, TWO, "operator")
        await create(first, "NA", "A")
        await create(second, "NB", "B")
        async with node_of(tmp_path / "c", first) as third:
            port, box = int(third.base_url.rpartition(":")[2]), await create(third, "NC", "B")
        message = await publish(first, "NA")
        await wait_until(lambda: second.implicit.notifier(NODE, "NB").handled, "NB is told")
        await until(lambda: first.implicit.dissemination(NODE, message), lambda found: found.waiting == ("NC",))
        async with node_of(tmp_path / "c", first, port=port) as third:
            assert (await first.implicit.dissemination(NODE, message, 60)).complete
            assert await pulled(third, box) == [message]


async def test_without_the_registry_notifiers_go_on(tmp_path: Path) -> None:
    async with node_of(tmp_path / "a") as first:
        address = first.base_url
        await first.implicit.change_world(NODE, LINE, "operator")
        async with node_of(tmp_path / "b", first) as second:
            await create(second, "NA", "A")
            await create(second, "NB", "B")
    async with node_of(tmp_path / "b", address) as second:
        assert (await outcome(second, "NA", "din")).receivers == ("NB",)
        with pytest.raises(Refusal, match="does not answer"):
            await create(second, "NC", "C")
        assert [each.service.name for each in second.implicit.notifiers(NODE)] == ["NA", "NB"]
        assert len(second.subscriptions.page(NODE, "", 10)) == 2
        with pytest.raises(Refusal, match="no topic"):
            second.implicit.topic("nothing")


async def test_a_node_with_another_address_is_found_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_notifiers, "AGAIN_AFTER", 0.01)
    async with node_of(tmp_path / "a") as first:
        await first.implicit.change_world(NODE, TWO, "operator")
        await create(first, "NA", "A")
        async with node_of(tmp_path / "b", first) as second:
            await create(second, "NB", "B")
        async with node_of(tmp_path / "b", first) as second:
            entry = first.implicit.world(NODE).services
            await wait_until(lambda: entry["NB"].node == second.base_url, "NB has moved")
            assert (await outcome(first, "NA")).receivers == ("NB",)


async def test_a_node_that_never_comes_back_is_given_up(tmp_path: Path) -> None:
    told: list[str] = []
    async with node_of(tmp_path / "a", retention=0.2, told=told) as node:
        await node.implicit.change_world(NODE, TWO, "operator")
        await create(node, "NA", "A")
        dead = Service("dead", ("B",), notifier="http://127.0.0.1:1/x", node="http://127.0.0.1:1")
        await node.implicit.change_world(NODE, [PutService(dead)], "operator")
        found = await outcome(node, "NA")
        assert found.complete and found.gone == ("dead",)
        assert len(told) == 1 and told[0].startswith("http://127.0.0.1:1 does not take")


async def test_who_is_named_by_the_sender_is_asked_for_at_the_registry(tmp_path: Path) -> None:
    async with node_of(tmp_path / "a") as first, node_of(tmp_path / "b", first) as second:
        await first.implicit.change_world(NODE, TWO, "operator")
        box = await create(first, "NA", "A")
        await create(second, "NB", "B")
        message = await publish(second, "NB", "direct", ("NA", "NB"))
        assert (await second.implicit.dissemination(NODE, message, 60)).receivers == ("NA",)
        assert await pulled(first, box) == [message]
        with pytest.raises(Refusal, match="no service 'nobody'"):
            await publish(second, "NB", "direct", ("NA", "nobody"))


async def test_what_the_registry_changes_counts_at_every_node(tmp_path: Path) -> None:
    """Categories of a service, an edge, a service that leaves."""
    async with node_of(tmp_path / "a") as first, node_of(tmp_path / "b", first) as second:
        await first.implicit.change_world(NODE, LINE, "operator")
        await create(first, "NC", "C")
        await create(second, "N", "A")
        assert (await outcome(second, "N")).receivers == ()
        moved = replace(first.implicit.world(NODE).services["N"], categories=("B",))
        await first.implicit.change_world(NODE, [PutService(moved)], "operator")
        await wait_until(lambda: second.implicit.notifier(NODE, "N").service.categories == ("B",), "N is in B")
        assert (await outcome(second, "N")).receivers == ("NC",)
        await first.implicit.remove_notifier(NODE, "NC", "operator")
        await wait_until(lambda: not known_at(second, "NC"), "NC is gone")
        assert (await outcome(second, "N")).receivers == ()


async def test_who_has_another_key_hears_why_it_cannot_follow_the_world(tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / "other").mkdir()
    async with node_of(tmp_path / "a") as first, node_of(tmp_path / "other" / "b", first, told=told, key=KEY[::-1]):
        await wait_until(lambda: told, "it is told")
        assert "cannot be followed: HTTP 403" in told[0]


@pytest.mark.parametrize("key", [b"short", None])
async def test_a_key_that_is_none_is_refused_at_the_start(tmp_path: Path, key: bytes | None) -> None:
    with pytest.raises(BadKey, match="16 are the least" if key else "cannot be read"):
        async with node_of(tmp_path / "a", key=key):
            pass


async def test_a_name_is_had_by_one_node(tmp_path: Path) -> None:
    async with node_of(tmp_path / "a") as first, node_of(tmp_path / "b", first) as second:
        await first.implicit.change_world(NODE, TWO, "operator")
        await create(first, "N", "A")
        for node in (first, second):
            with pytest.raises(Refusal) as refused:
                await create(node, "N", "B")
            assert refused.value.reason == "in-use"
        with pytest.raises(Refusal, match="no category 'nowhere'"):
            await create(second, "M", "nowhere")
        await create(second, "M", "B")
        with pytest.raises(Refusal, match=f"no notifier 'M' at this node; it runs at {second.base_url}: ask there"):
            first.implicit.notifier(NODE, "M")
        await second.implicit.remove_notifier(NODE, "M", "")
        assert second.subscriptions.page(NODE, "", 10) == [] and len(first.subscriptions.page(NODE, "", 10)) == 1


async def test_a_notifier_that_was_half_made_when_its_node_was_killed_can_be_made(tmp_path: Path, sink: Sink) -> None:
    async with node_of(tmp_path / "a") as node:
        await node.implicit.change_world(NODE, TWO, "operator")
        await create(node, "NA", "A")
        await node.subscriptions.subscribe_service("NB", Endpoint(sink.url("nb")), Form("cloudevents"))
    async with node_of(tmp_path / "a") as node:
        await create(node, "NB", "B", sink.url("nb"))
        assert (await outcome(node, "NA")).receivers == ("NB",)
        assert len(node.subscriptions.page(NODE, "", 10)) == 2
        await wait_until(lambda: sink.at("nb"), "NB is told")
    assert len(sink.at("nb")) == 1


async def test_a_notifier_of_others_is_told_in_soap(tmp_path: Path, sink: Sink) -> None:
    """What it takes counts as told, what it refuses for good as gone."""
    sink.script = lambda received: Say(400 if received.path == "/bad" else 202)
    async with node_of(tmp_path / "a") as node:
        await node.implicit.change_world(NODE, TWO, "operator")
        await create(node, "NA", "A")
        others = [PutService(Service(name, ("B",), notifier=sink.url(name))) for name in ("good", "bad")]
        await node.implicit.change_world(NODE, others, "operator")
        found = await outcome(node, "NA", "hin")
        assert found.receivers == ("good",) and found.gone == ("bad",)
        assert b"Root" in sink.at("good")[0].body and b"NA" in sink.at("good")[0].body


async def test_hundreds_of_messages_at_once_reach_everybody_once(tmp_path: Path) -> None:
    async with node_of(tmp_path / "a") as first, node_of(tmp_path / "b", first) as second:
        await first.implicit.change_world(NODE, graph(("A", "B"), ("B", "A")), "operator")
        await create(first, "NA", "A")
        boxes = [await create(second, f"N{number}", "B") for number in range(5)]
        await known(first, "N4")
        messages = await asyncio.gather(*(publish(first, "NA", "din") for _ in range(100)))
        found = await asyncio.gather(*(first.implicit.dissemination(NODE, each, 60) for each in messages))
        assert {(each.notifications, each.repetitions, each.complete) for each in found} == {(10, 5, True)}
        for box in boxes:
            held = await wait_until_held(second, box, 100)
            assert sorted(held) == sorted(messages)


async def test_services_and_edges_come_and_go_while_messages_travel(tmp_path: Path) -> None:
    """Whatever is told of whom, each message comes to an end that is known."""
    async with node_of(tmp_path / "a") as first, node_of(tmp_path / "b", first) as second:
        await first.implicit.change_world(NODE, graph(("A", "B"), ("B", "C"), ("C", "A")), "operator")
        for node, name, category in ((first, "A1", "A"), (second, "B1", "B"), (first, "C1", "C")):
            await create(node, name, category)
        await known(second, "C1")
        changing = asyncio.create_task(_churn(first, second))
        messages: list[MessageId] = []
        while not changing.done():
            messages += [await publish(first, "A1", protocol) for protocol in ("cin", "din", "hin-din")]
        await changing
        found = [await first.implicit.dissemination(NODE, each, 60) for each in messages]
        assert all(each.complete for each in found)
        assert set().union(*(each.receivers for each in found)) >= {"B1", "C1", "B2"}
        assert (await outcome(first, "A1")).receivers == ("B1", "C1")


async def _churn(first: Node, second: Node) -> None:
    edge = ("B", TOPIC, "C")
    for _ in range(5):
        await create(second, "B2", "B")
        await first.implicit.change_world(NODE, [RemoveEdge(*edge)], "operator")
        await second.implicit.remove_notifier(NODE, "B2", "operator")
        await first.implicit.change_world(NODE, [PutEdge(Edge(*edge))], "operator")
    await wait_until(lambda: known_at(second, "C1"), "C1 is told by B again")


async def wait_until_held(node: Node, box: str, number: int) -> list[MessageId]:
    held: list[MessageId] = []
    while len(held) < number:
        held += await pulled(node, box)
    return held


def test_what_nodes_say_can_be_read_by_a_later_version() -> None:
    """Fields may be added at the end."""
    more = msgspec.msgpack.encode([["absent"], [], "something new"])
    assert decode_taken(more).absent == ("absent",)


async def test_whatever_a_node_with_the_key_says_the_others_stay_well(tmp_path: Path, http: HttpClient) -> None:
    """A batch whose bytes are changed, one after the other, and signed: it is taken or an error, and no more."""
    async with node_of(tmp_path / "a") as node:
        await node.implicit.change_world(NODE, TWO, "operator")
        await create(node, "NA", "A")
        await create(node, "N", "B")
        body = batch("N")
        changed = [body[:at] + bytes([byte]) + body[at + 1 :] for at in range(len(body)) for byte in (0x00, 0xC0, 0xFF)]
        answers = await asyncio.gather(*(posted(http, node, each) for each in changed))
        assert {each.status for each in answers} == {200, 400}
        assert (await outcome(node, "NA")).receivers == ("N",)
