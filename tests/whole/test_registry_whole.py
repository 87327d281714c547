"""The world as other nodes have it: what they register counts once, and what they know of it is never older."""

from pathlib import Path

import pytest
from tests.whole.shell import wait_until
from tests.whole.worlds import KEY, create, graph, node_of

from tocsin.broker.caller import NODE
from tocsin.broker.implicit.remote_registry import RemoteRegistry
from tocsin.semantics.interest.changes import PutService, PutTopic, RemoveService
from tocsin.semantics.interest.ino import Service
from tocsin.semantics.interest.partition import Entry, Partition
from tocsin.wire.http_client import HttpClient
from tocsin.wire.peer_messages import PROOF, SERVICES, Registering, encode, request_proof

pytestmark = pytest.mark.broker
TWO = graph(("A", "B"))


async def test_what_registers_counts_once(tmp_path: Path, http: HttpClient) -> None:
    """Somebody who overhears it, and says it again, changes nothing."""
    async with node_of(tmp_path / "a") as first:
        await first.implicit.change_world(NODE, TWO, "operator")
        service = Service("X", ("A",), notifier="http://x/notifiers/X", node="http://x")
        asked = Registering("X", "http://x", "x", service, when=first.now(), nonce="one")
        body, url = encode(asked), first.base_url + SERVICES
        proof = ((PROOF, request_proof(KEY, "POST", SERVICES, first.now(), body)),)
        assert (await http.request("POST", url, proof, body)).status == 200
        await first.implicit.change_world(NODE, [RemoveService("X")], "operator")
        assert (await http.request("POST", url, proof, body)).status == 403
        assert not first.implicit.world(NODE).services


async def test_a_name_that_another_node_took_can_be_left(tmp_path: Path) -> None:
    async with node_of(tmp_path / "a") as first, node_of(tmp_path / "b", first) as second:
        await first.implicit.change_world(NODE, TWO, "operator")
        await create(second, "N", "A")
        await first.implicit.change_world(NODE, [RemoveService("N")], "operator")
        await create(first, "N", "A")
        await second.implicit.remove_notifier(NODE, "N", "operator")
        assert second.implicit.notifiers(NODE) == [] and second.subscriptions.page(NODE, "", 10) == []
        assert first.implicit.world(NODE).services["N"].node == first.base_url


async def test_who_was_asked_for_stays_known_whatever_else_changes(tmp_path: Path) -> None:
    async with node_of(tmp_path / "a") as first, node_of(tmp_path / "b", first) as second:
        await first.implicit.change_world(NODE, TWO, "operator")
        await create(first, "NA", "A")
        await create(second, "NB", "B")
        world = second.implicit._registry
        assert isinstance(world, RemoteRegistry) and world.entry("NA") is None
        assert (await world.look_up(["NA", "nobody"])).keys() == {"NA"}
        await first.implicit.change_world(NODE, [PutTopic("more")], "operator")
        await wait_until(lambda: "more" in world.topics, "the new part is known")
        assert world.entry("NA") is not None
        await first.implicit.remove_notifier(NODE, "NA", "operator")
        assert await world.look_up(["NA", "NB"]) == {"NB": world.entry("NB")} and world.entry("NA") is None


async def test_a_part_that_comes_late_is_passed_over_and_one_of_a_new_registry_is_not(tmp_path: Path) -> None:
    async with node_of(tmp_path / "a") as first, node_of(tmp_path / "b", first) as second:
        await first.implicit.change_world(NODE, TWO, "operator")
        await create(second, "NB", "B")
        world = second.implicit._registry
        assert isinstance(world, RemoteRegistry)
        await world.close()  # from here on it hears what is said here
        now = world._part.version
        late, later, fresh = (Partition(version, topics={"T": None}) for version in (now + 1, now + 2, 1))
        await world._keep(later)
        await world._keep(late, now)
        assert world._part.version == now + 2
        moved = Entry("http://elsewhere/x", "http://elsewhere")
        await first.implicit.change_world(
            NODE, [PutService(Service("NB", ("B",), notifier=moved.notifier, node=moved.node))], ""
        )
        assert (await world.look_up(["NB"]))["NB"] == world.entry("NB") == moved  # it is newer than the part
        await world._keep(Partition(now + 3, entries={"NB": Entry("http://x")}))
        assert world.entry("NB") == Entry("http://x")
        await world._keep(fresh, now + 3)
        assert world._part.version == 1
        world.start()
