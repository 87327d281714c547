"""`client.world` and `client.notifiers` against a started broker; the blocking twins too."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.client.documented import run_example
from tests.whole.acts import IMPATIENT
from tests.whole.shell import BrokerProcess

from tocsin import Client, ClientError
from tocsin.blocking import Client as Blocking
from tocsin.semantics.interest.ino import Service

WORLD = {
    "topics": {"Disaster Info": None, "Earthquake": "Disaster Info"},
    "categories": {"Orgs": None, "Research": "Orgs", "Media": "Orgs"},
    "edges": [["Research", "Disaster Info", "Media"], ["Research", "Earthquake", "Research"]],
}
EDGE = ("Media", "Earthquake", "Research")


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker with a world of these tests alone; each uses names of its own."""
    process = BrokerProcess.start(tmp_path_factory.mktemp("world"), IMPATIENT)
    with Blocking(process.url) as client:
        client.world.load(WORLD)
    yield process
    process.kill()


@pytest.mark.broker
async def test_a_world_is_loaded_saved_and_changed(own: BrokerProcess, tmp_path: Path) -> None:
    async with Client(own.url, "wsn-1.3") as client:
        turtle = tmp_path / "world.ttl"
        turtle.write_bytes(await client.world.save("ttl"))
        assert (await client.world.load(turtle)).changed == 0
        assert (await client.world.load((await client.world.save()).decode())).changed == 0
        assert b"Research,Earthquake" in await client.world.save("csv", table="edges")
        assert (await client.world.topic("Tsunami", "Disaster Info", by="ann")).parent == "Disaster Info"
        assert "Tsunami" in [each.name for each in await client.world.topics()]
        await client.world.remove_topic("Tsunami", by="ann")
        made = await client.world.category("Volunteers", "Orgs", owner="ann")
        assert (made.parent, made.owner) == ("Orgs", "ann")
        assert (await client.world.category("Volunteers", None)).owner == "ann"
        await client.world.remove_category("Volunteers")
        last = (await client.world.history(after=await client.world.version() - 1))[-1]
        assert last.said == "category Volunteers removed"
        assert (await client.world.put_rules(quorum=3)).quorum == (await client.world.rules()).quorum == 3


@pytest.mark.broker
async def test_edges_and_votes(own: BrokerProcess) -> None:
    async with Client(own.url) as client:
        proposed = await client.world.edge(*EDGE, by="ann", note="they asked")
        assert not proposed.counts and proposed.proposed_by == "ann"
        await client.world.vote(*EDGE, by="bob")
        assert (await client.world.vote(*EDGE, by="cleo")).counts
        disputed = await client.world.vote(*EDGE, agrees=False, by="cleo", note="no")
        assert (disputed.agree, disputed.disagree, disputed.votes[-1].note) == (1, 1, "no")
        assert [each.target for each in await client.world.edges(source="Media", counts=False)] == ["Research"]
        await client.world.remove_edge(*EDGE)
        assert await client.world.edges(source="Media") == []


@pytest.mark.broker
async def test_services_elsewhere_and_who_tells_them(own: BrokerProcess) -> None:
    async with Client(own.url) as client:
        made = await client.world.put_service("BBC of World", ["Media"], notifier="https://bbc.example/")
        assert made == Service("BBC of World", ("Media",), notifier="https://bbc.example/")
        assert await client.world.service(made.name) == made
        assert made in await client.world.services("Orgs")
        await client.world.remove_service(made.name)


@pytest.mark.broker
async def test_who_is_late_overwrites_nothing(own: BrokerProcess) -> None:
    async with Client(own.url) as client:
        seen = await client.world.version()
        await client.world.topic("Flood")
        with pytest.raises(ClientError, match="changed by somebody else") as refused:
            await client.world.load({"topics": {"Fire": None}}, version=seen)
        assert refused.value.status == 412
        assert "Fire" not in [each.name for each in await client.world.topics()]
        assert (await client.world.load({"topics": {"Fire": None}}, version=seen + 1)).changed == 1


@pytest.mark.broker
async def test_a_notifier_from_its_beginning_to_its_end(own: BrokerProcess) -> None:
    async with Client(own.url) as client:
        await client.notifiers.create("IDER", ["Research"])
        tv = await client.notifiers.create("TV", ["Media"], qualities={"price": 2.5}, policies=["live"])
        assert (tv.qualities, tv.policies) == ({"price": 2.5}, ["live"])
        assert [each.name for each in await client.world.neighbours("IDER", "Disaster Info")] == ["TV"]
        said: list[tuple[object, str, bytes]] = [
            ("as it is", "text/plain", b"as it is"),
            (b"\x00\xff", "application/octet-stream", b"\x00\xff"),
            ({"magnitude": 7.1}, "application/json", b'{"magnitude":7.1}'),
        ]
        for data, media_type, body in said:
            message = await client.notifiers.publish("IDER", "Disaster Info", data, protocol="cin")
            told = await client.notifiers.result(message, wait=60)
            assert (told.id, told.root, told.topic, told.protocol) == (message, "IDER", "Disaster Info", "cin")
            assert told.complete and told.receivers == ("TV",)
            assert [(step.sender, step.to, step.hop) for step in told.trace] == [("IDER", "TV", 1)]
            (found,) = await client.pull(tv.subscription, wait=60)
            assert (str(found.topic), found.payload.media_type, found.payload.data) == (
                "Disaster-Info",
                media_type,
                body,
            )
        assert len(await client.notifiers.results()) >= 3
        assert (await client.notifiers.get("TV")).handled == 3
        await client.world.change_service("TV", qualities={"speed": 1}, tells={"Disaster Info": "IDER"})
        changed = await client.notifiers.get("TV")
        assert (changed.qualities, changed.tells) == ({"price": 2.5, "speed": 1.0}, {"Disaster Info": "IDER"})
        with pytest.raises(ClientError, match="rule of 'TV' for the topic 'Disaster Info'"):
            await client.notifiers.remove("IDER")
        await client.world.change_service("TV", policies=[], tells={"Disaster Info": None})
        assert ((await client.notifiers.get("TV")).tells, changed.subscription) == ({}, tv.subscription)
        await client.notifiers.remove("TV")
        with pytest.raises(ClientError, match="TV"):
            await client.notifiers.get("TV")
        assert [each.name for each in await client.notifiers.list()] == ["IDER"]
        await client.notifiers.remove("IDER")


@pytest.mark.broker
def test_the_blocking_twin_does_the_same(own: BrokerProcess) -> None:
    with Blocking(own.url) as client:
        client.notifiers.create("USGS", ["Research"])
        client.notifiers.create("USPEER", ["Research"])
        message = client.notifiers.publish("USGS", "Earthquake", "7.1")
        assert client.notifiers.result(message, wait=60).receivers == ("USPEER",)
        for name in ("USGS", "USPEER"):
            client.notifiers.remove(name)
        with pytest.raises(ClientError, match="no category 'Zoo'"):
            client.world.edge("Zoo", "Earthquake", "Research")


@pytest.mark.broker
async def test_the_documented_example(own: BrokerProcess, capsys: pytest.CaptureFixture[str]) -> None:
    await run_example("Implicit notification", own.url)
    assert capsys.readouterr().out == "('Harbour',) 1 [('Kiel', 'Harbour', 1)]\n"


async def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    async with Client("http://127.0.0.1:9") as client:
        with pytest.raises(ClientError, match="No such file"):
            await client.world.load(tmp_path / "world.json")
        with pytest.raises(ClientError, match="text/turtle"):
            await client.world.load(b"x", "image/png")
