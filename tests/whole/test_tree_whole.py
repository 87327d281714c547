"""A tree of nodes: what is published at one reaches who asked at another, once, whatever fails between."""

from pathlib import Path

import pytest
from msgspec.msgpack import encode
from msgspec.structs import replace
from tests.matching.test_engine import notification
from tests.whole.acts import call, get, until
from tests.whole.shell import wait_until
from tests.whole.sink import Sink
from tests.whole.trees import heard, port_of, publish, received, subscribe, tree_node
from tests.whole.worlds import KEY

from tocsin.broker.caller import NODE
from tocsin.broker.node import Node
from tocsin.broker.tree.tree import BadParent
from tocsin.mediation.between_nodes import address_of, framed
from tocsin.model.identity import Node as NodeName
from tocsin.model.names import QName, Topic
from tocsin.model.subscription import Position, neighbour_of
from tocsin.wire.http_client import HttpClient
from tocsin.wire.peer_messages import PROOF, request_proof

pytestmark = pytest.mark.broker


def records(node: Node) -> int:
    return sum(node.publishing.accepted.values())


async def test_a_leaf_tells_another_in_its_own_dialect(tmp_path: Path, http: HttpClient, sink: Sink) -> None:
    async with (
        tree_node(tmp_path / "root") as root,
        tree_node(tmp_path / "left", root) as left,
        tree_node(tmp_path / "leaf", left) as leaf,
        tree_node(tmp_path / "right", root) as right,
    ):
        await subscribe(http, right, sink.url("wse"), "alarm//.", "wse-2004-08")
        await subscribe(http, root, sink.url("ce"), "alarm/fire")
        await subscribe(http, leaf, sink.url("here"), "alarm/fire", "wsn-1.3")
        await heard(leaf, left, right)
        await publish(http, leaf, "alarm/fire", *range(20))
        await publish(http, leaf, "other", 1, 2, 3)
        for path in ("wse", "ce", "here"):
            assert await received(sink, path, 20) == list(range(20))
        told = sink.notifications("ce")[0]
        assert (told.id, told.producer, str(told.topic)) == ("urn:alarm/fire:0", "urn:p", "alarm/fire")
        await wait_until(lambda: records(root) == 23, "what is published goes up")
        assert records(left) == 23 and records(right) == 20 and len(sink.received) == 60
        assert (left.publishing.repeated, root.publishing.repeated, right.publishing.repeated) == (0, 0, 0)
        await publish(http, right, "alarm/fire", 50)
        assert (await received(sink, "here", 21))[-1] == 50
        assert root.tree.neighbours() == sorted([left.base_url, right.base_url])
        assert left.tree.neighbours() == [root.base_url, leaf.base_url]


async def test_what_is_asked_for_no_more_is_not_passed_on(tmp_path: Path, http: HttpClient, sink: Sink) -> None:
    async with tree_node(tmp_path / "p") as parent, tree_node(tmp_path / "c", parent) as child:
        name = await subscribe(http, child, sink.url("c"), "a")
        await subscribe(http, child, sink.url("b"), "b")
        await heard(child)
        await publish(http, parent, "a", 1)
        await received(sink, "c", 1)
        assert parent.tree.view(NODE).children[0].asks == 2
        assert (await call(http, "DELETE", f"{child.base_url}/api/subscriptions/{name}")).status == 204
        await wait_until(lambda: parent.tree.view(NODE).children[0].asks == 1, "it is asked for no more", 20)
        await publish(http, parent, "a", 2)
        await publish(http, parent, "b", 3)
        assert await received(sink, "b", 1) == [3]
        assert records(child) == 2


async def test_a_node_that_was_away_gets_all_once(tmp_path: Path, http: HttpClient, sink: Sink) -> None:
    async with tree_node(tmp_path / "root") as root:
        async with tree_node(tmp_path / "mid", root) as mid:
            port = port_of(mid)
            async with tree_node(tmp_path / "leaf", mid) as leaf:
                await subscribe(http, leaf, sink.url("leaf"), "up")
                await subscribe(http, root, sink.url("root"), "down")
                await heard(leaf, mid)
                leaf_port = port_of(leaf)
        await publish(http, root, "up", *range(5))  # while both are away
        async with tree_node(tmp_path / "leaf", mid.base_url, port=leaf_port) as leaf:
            await publish(http, leaf, "down", *range(5))  # while the one between is away
            async with tree_node(tmp_path / "mid", root, port=port) as mid:
                assert await received(sink, "leaf", 5) == list(range(5))
                assert await received(sink, "root", 5) == list(range(5))
                assert len(sink.received) == 10
                assert await get(http, f"{root.base_url}/api/dead-letters") == {"items": [], "next": None}


async def test_what_is_published_before_the_parent_is_there_reaches_it(
    tmp_path: Path, http: HttpClient, sink: Sink
) -> None:
    async with tree_node(tmp_path / "p") as parent:
        port = port_of(parent)
        await subscribe(http, parent, sink.url("p"), "a")
    async with tree_node(tmp_path / "c", parent.base_url) as child:
        await publish(http, child, "a", *range(3))
        assert child.tree.view(NODE).parent is not None and not child.tree.view(NODE).told
        async with tree_node(tmp_path / "p", port=port):
            assert await received(sink, "p", 3) == [0, 1, 2]


async def test_a_child_too_many_is_refused(tmp_path: Path, http: HttpClient, sink: Sink) -> None:
    told: list[str] = []
    async with (
        tree_node(tmp_path / "p", children=1) as parent,
        tree_node(tmp_path / "a", parent) as first,
        tree_node(tmp_path / "b", parent, told=told) as second,
    ):
        await heard(first)
        await wait_until(lambda: told, "it is refused", 20)
        (shown,) = {*told}
        assert "does not take this node as a child" in shown and "tree.children" in shown
        view = second.tree.view(NODE)
        assert view.parent is not None and "has 1 children" in view.parent.trouble and view.parent.since is None
        await subscribe(http, parent, sink.url("p"), "a")
        await publish(http, second, "a", 1)
        await publish(http, first, "a", 2)
        assert await received(sink, "p", 1) == [2]


async def test_another_key_is_told_with_what_to_do(tmp_path: Path, http: HttpClient) -> None:
    told: list[str] = []
    async with (
        tree_node(tmp_path / "p") as parent,
        tree_node(tmp_path / "c", parent, key=b"another key of 16", told=told) as child,
    ):
        await wait_until(lambda: told, "it is told", 20)
        assert "same implicit.key_file" in told[0] and parent.tree.neighbours() == []
        shown = (await get(http, f"{child.base_url}/api/tree"))["parent"]["trouble"]
        assert "does not believe that this node is of its tree" in shown


async def test_what_comes_again_is_taken_once(tmp_path: Path, http: HttpClient) -> None:
    """In whatever company, and after the node was started again."""

    def said(node: Node, *numbers: int, origin: str = "far") -> bytes:
        made = [replace(notification(Topic((QName("", "a"),)), 1, 100), cause=f"c{each}") for each in numbers]
        return framed(encode(replace(each, at=Position(NodeName(origin), 1))) for each in made)

    async def passed_on(node: Node, body: bytes) -> None:
        address = address_of(node.base_url, child.base_url)
        proof = request_proof(KEY, "POST", address[len(node.base_url) :], node.now(), body)
        assert (await http.request("POST", address, ((PROOF, proof),), body)).status == 204

    async with tree_node(tmp_path / "p") as parent:
        async with tree_node(tmp_path / "c", parent) as child:
            await heard(child)
        await passed_on(parent, said(parent, 1, 2))
        await passed_on(parent, said(parent, 1, 2, 3))
        await passed_on(parent, said(parent, 2, 3))
        await passed_on(parent, said(parent, 4, origin=parent.journal.node))  # what began here
        assert (records(parent), parent.publishing.repeated) == (3, 5)
    async with tree_node(tmp_path / "p", port=port_of(parent)) as parent:
        await passed_on(parent, said(parent, 3, 2, 5))
        assert (records(parent), parent.publishing.repeated) == (1, 2)


async def test_nobody_else_passes_anything_on(tmp_path: Path, http: HttpClient) -> None:
    async with tree_node(tmp_path / "p") as parent:
        for by, key, status in (("http://x", KEY, 421), ("", KEY, 421), ("http://x", b"another key of 16", 403)):
            address = address_of(parent.base_url, by)
            proof = request_proof(key, "POST", address[len(parent.base_url) :], parent.now(), b"")
            assert (await http.request("POST", address, ((PROOF, proof),), b"")).status == status
        assert records(parent) == 0


async def test_a_node_is_not_its_own_parent(tmp_path: Path) -> None:
    async with tree_node(tmp_path / "p") as parent:
        port = port_of(parent)
    with pytest.raises(BadParent, match="this node itself"):
        async with tree_node(tmp_path / "p", parent.base_url, port=port):
            pass


async def test_a_child_that_changes_its_parent_takes_all_along(tmp_path: Path, http: HttpClient, sink: Sink) -> None:
    async with (
        tree_node(tmp_path / "root") as root,
        tree_node(tmp_path / "a", root) as first,
        tree_node(tmp_path / "b", root) as second,
    ):
        await subscribe(http, root, sink.url("root"), "x")
        async with tree_node(tmp_path / "c", first) as child:
            await subscribe(http, child, sink.url("c"), "x")
            await heard(child, first)
            port = port_of(child)
        async with tree_node(tmp_path / "c", second, port=port) as child:
            await heard(child, second)
            await wait_until(lambda: first.tree.neighbours() == [root.base_url], "it left the first", 20)
            assert second.tree.neighbours() == [root.base_url, child.base_url]
            await heard(first, second)
            await publish(http, first, "x", 1)
            await publish(http, child, "x", 2)
            assert sorted(await received(sink, "c", 2)) == [1, 2] and sorted(await received(sink, "root", 2)) == [1, 2]
        async with tree_node(tmp_path / "c", port=port) as child:
            await wait_until(lambda: second.tree.neighbours() == [root.base_url], "it left the second too", 20)
            await wait_until(lambda: not child.tree.view(NODE).leaving, "which knows it", 20)
            assert list(child.standing.neighbours) == []


async def test_a_child_with_another_address_is_found_there(tmp_path: Path, http: HttpClient, sink: Sink) -> None:
    async with tree_node(tmp_path / "p") as parent:
        await subscribe(http, parent, sink.url("p"), "y")
        async with tree_node(tmp_path / "c", parent) as child:
            await subscribe(http, child, sink.url("c"), "x")
            await heard(child)
        await publish(http, parent, "x", 1, 2)
        async with tree_node(tmp_path / "c", parent) as child:
            assert await received(sink, "c", 2) == [1, 2]
            assert parent.tree.neighbours() == [child.base_url] and len(parent.standing.neighbours) == 1
            await publish(http, child, "y", 3)
            assert await received(sink, "p", 1) == [3]


async def test_a_child_that_is_removed_is_waited_for_no_more(tmp_path: Path, http: HttpClient, sink: Sink) -> None:
    async with tree_node(tmp_path / "p") as parent:
        async with tree_node(tmp_path / "c", parent) as child:
            await subscribe(http, child, sink.url("c"), "x")
            await heard(child)
        await publish(http, parent, "x", 1)
        gone = child.base_url.replace(":", "%3A").replace("/", "%2F")
        assert (await call(http, "DELETE", f"{parent.base_url}/api/tree/{gone}")).status == 204
        assert (await call(http, "DELETE", f"{parent.base_url}/api/tree/{gone}")).status == 404
        assert parent.tree.neighbours() == [] and not parent.standing.by_id
        async with tree_node(tmp_path / "c", parent, port=port_of(child)) as child:
            await heard(child)
            await publish(http, parent, "x", 2)
            assert await received(sink, "c", 1) == [2]


async def test_a_neighbour_is_no_subscription_of_anybodys(tmp_path: Path, http: HttpClient, sink: Sink) -> None:
    async with tree_node(tmp_path / "p") as parent, tree_node(tmp_path / "c", parent) as child:
        mine = await subscribe(http, child, sink.url("c"), "a")
        await heard(child)
        (theirs,) = child.standing.neighbours.values()
        assert neighbour_of(theirs) == parent.base_url
        listed = await get(http, f"{child.base_url}/api/subscriptions")
        assert [each["id"] for each in listed["items"]] == [mine]
        for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/pause")):
            answer = await call(http, method, f"{child.base_url}/api/subscriptions/{theirs.id}{path}")
            assert answer.status == 409 and b"tocsin tree" in answer.body
        await publish(http, parent, "a", 7)
        await received(sink, "c", 1)
        at_parent = await until(
            lambda: get(http, f"{parent.base_url}/api/trace/urn:a:7"),
            lambda found: found["items"] and found["items"][0]["outcome"] == "delivered",
        )
        assert [each["consumer"] for each in at_parent["items"]] == [f"node {child.base_url}"]
        at_child = await get(http, f"{child.base_url}/api/trace/urn:a:7?all=true")
        assert at_child["notification"]["by"] == parent.base_url and at_child["notification"]["dialect"] == "wsn-1.3"
        reasons = {each["consumer"]: each["because"] for each in at_child["items"]}
        assert "passed it on" in reasons[f"node {parent.base_url}"]
        cause = at_child["notification"]["cause"]
        assert (await get(http, f"{parent.base_url}/api/trace/{cause}"))["notification"]["id"] == "urn:a:7"
        assert (await get(http, f"{child.base_url}/api/trace/{cause}"))["notification"]["id"] == "urn:a:7"
        assert child.figures(NODE)["subscriptions"] == 1 and parent.figures(NODE)["subscriptions"] == 0
