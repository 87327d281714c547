"""Services that interact, against real brokers: over HTTP, in their own dialects, through kills, with rights."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.whole.acts import IMPATIENT, JSON, call, get
from tests.whole.conftest import Start
from tests.whole.people import about, basic, known
from tests.whole.shell import PATIENCE, BrokerProcess, document, wait_until
from tests.whole.sink import Sink
from tests.whole.worlds import create, graph, node_of

from tocsin import Client, ClientError
from tocsin.broker.caller import NODE
from tocsin.model.access import Right
from tocsin.model.identity import Pairs
from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.broker
VOTING = {"topics": {"Vote": None}, "categories": {"Voters": None, "Chairs": None}}


@asynccontextmanager
async def voters(client: Client, *names: str) -> AsyncIterator[dict[str, str]]:
    """Pull points of services by name; the first is the chair."""
    async with AsyncExitStack() as stack:
        await client.world.load(VOTING)
        boxes = {}
        for name in names:
            category = "Chairs" if name == names[0] else "Voters"
            boxes[name] = (await stack.enter_async_context(client.serving(name, [category]))).subscription
        yield boxes


async def drained(client: Client, box: str, least: int = 1) -> list[bytes]:
    """All that waits there, once there are so many: after a start a box is filled again one by one."""
    found: list[bytes] = []
    deadline = time.monotonic() + PATIENCE
    while len(found) < least and time.monotonic() < deadline:
        found += [each.payload.data for each in await client.pull(box, wait=5)]
    return found


async def test_nothing_acknowledged_is_lost_to_a_kill(tmp_path: Path, start: Start) -> None:
    """Asked, killed, answered, killed: each participant has the one answer once."""
    broker = start(tmp_path / "data", IMPATIENT)
    async with Client(broker.url) as client:
        await client.world.load(VOTING)
        boxes = {
            name: (await client.notifiers.create(name, [category])).subscription
            for name, category in {"Chair": "Chairs", "V1": "Voters", "V2": "Voters"}.items()
        }
        asked = [await client.ask("pull-1:n-explicit", "Vote", "ready", by=name, of="Chair") for name in ("V1", "V2")]
        broker.kill()
    port = {"listen-port": str(broker.port)}
    broker = start(tmp_path / "data", IMPATIENT | port)
    async with Client(broker.url) as client:
        assert len(await drained(client, boxes["Chair"], least=2)) == 2
        assert [each.state for each in await client.requests()] == ["open", "open"]
        told = await client.answer(asked[0], "commit", by="Chair")
        assert (set(told.told), set(told.closed)) == ({"V1", "V2"}, {each.id for each in asked})
        broker.kill()
    broker = start(tmp_path / "data", IMPATIENT | port)
    async with Client(broker.url) as client:
        for name in ("V1", "V2"):
            assert await drained(client, boxes[name]) == [b"commit"]
            assert await client.pull(boxes[name]) == ()
        assert [each.state for each in await client.requests(state="answered")] == ["answered", "answered"]
        found = [(each.act, each.by, list(each.told)) for each in await client.interactions()]
        assert found == [
            ("asked", "V1", ["Chair"]),
            ("asked", "V2", ["Chair"]),
            ("answered", "Chair", ["V1", "V2"]),
        ]


async def test_a_standing_request_outlives_a_restart(tmp_path: Path, start: Start) -> None:
    broker = start(tmp_path / "data", IMPATIENT)
    async with Client(broker.url) as client:
        await client.world.load(VOTING)
        await client.notifiers.create("Chair", ["Chairs"])
        box = (await client.notifiers.create("V1", ["Voters"])).subscription
        asked = await client.ask("push-1:1-explicit", "Vote", by="V1", of="Chair")
        assert (await client.status(asked.subscription)).expires == ""
    assert broker.stop() == 0
    broker = start(tmp_path / "data", IMPATIENT | {"listen-port": str(broker.port)})
    async with Client(broker.url) as client:
        assert (await client.tell("push-1:1-explicit", "Vote", "open", by="Chair")).told == ["V1"]
        assert await drained(client, box) == [b"open"]
        await client.end_request(asked, by="V1")
        with pytest.raises(ClientError, match="nobody has subscribed at Chair for 'Vote'"):
            await client.tell("push-1:1-explicit", "Vote", "closed", by="Chair")
        with pytest.raises(ClientError, match="no subscription"):
            await client.status(asked.subscription)


async def test_a_service_is_asked_in_its_own_dialect(broker: BrokerProcess, sink: Sink) -> None:
    """SOAP has no place for the attributes; the id of the message names the request."""
    async with (
        Client(broker.url) as client,
        voters(client, "Soap Chair", "Soap Voter") as boxes,
        client.serving("Soap Judge", ["Chairs"], address=sink.url("judge"), dialect="wse-2004-08"),
    ):
        asked = await client.ask("pull-1:1-explicit", "Vote", {"n": 1}, by="Soap Voter", of="Soap Judge")
        (received,) = await wait_until(lambda: sink.at("judge"), "the question")
        name = f"urn:tocsin:request:{asked.id}"
        assert name.encode() in received.body
        await client.answer(name, {"fair": True}, by="Soap Judge")
        assert await drained(client, boxes["Soap Voter"]) == [b'{"fair":true}']


async def test_answers_at_once_are_given_once(broker: BrokerProcess) -> None:
    names = ("Busy Chair", *(f"Busy {number}" for number in range(8)))
    async with Client(broker.url) as client, voters(client, *names) as boxes:
        asked = await asyncio.gather(
            *(client.ask("pull-1:n-explicit", "Vote", by=name, of="Busy Chair") for name in names[1:])
        )
        answers = (client.answer(each, number, by="Busy Chair") for number, each in enumerate(asked))
        done = await asyncio.gather(*answers, return_exceptions=True)
        assert sum(not isinstance(each, BaseException) for each in done) == 1
        assert {each.status for each in done if isinstance(each, ClientError)} == {409}
        heard = [await drained(client, boxes[name]) for name in names[1:]]
        assert heard == heard[:1] * 8
        assert len(heard[0]) == 1


BAD: dict[str, tuple[str, dict[str, object], int, str]] = {
    "an unknown pattern": ("requests", {"pattern": "smoke"}, 400, "'smoke' is no pattern"),
    "an asker that is not registered": ("requests", {"by": "Nobody"}, 404, "there is no service 'Nobody'"),
    "an unknown topic": ("requests", {"topic": "Weather"}, 404, "there is no topic 'Weather'"),
    "nobody of that name": ("requests", {"of": "Nobody"}, 404, "there is no service 'Nobody'"),
    "no producer named": ("requests", {"of": ""}, 400, "say whom you ask"),
    "an unknown field": ("requests", {"colour": "red"}, 400, "unknown field `colour`"),
    "a weight below zero": (
        "requests",
        {"pattern": "pull-1:1-implicit", "of": "", "profile": {"qualities": {"price": {"weight": -1}}}},
        400,
        ">= 0",
    ),
    "a profile nobody fits": (
        "requests",
        {"pattern": "pull-1:1-implicit", "of": "", "category": "Chairs", "profile": {"policies": ["free"]}},
        404,
        "1 without the policy 'free'",
    ),
    "data that is no text": ("requests", {"media_type": "text/plain", "data": {}}, 400, "is a string"),
    "bytes that are no base64": ("requests", {"data_base64": "?"}, 400, "data_base64 cannot be decoded"),
    "a push that is asked for": ("requests", {"pattern": "push-1:n-implicit"}, 400, "begins with the producer"),
    "a pull that is told": ("interactions", {"pattern": "pull-1:1-explicit"}, 400, "begins with a consumer"),
    "a rule that is not there": ("interactions", {"pattern": "push-1:1-implicit"}, 404, "has no rule for 'Vote'"),
}


@pytest.mark.parametrize("what", BAD)
async def test_what_is_wrong_is_said_and_changes_nothing(broker: BrokerProcess, http: HttpClient, what: str) -> None:
    door, wrong, status, words = BAD[what]
    whole: dict[str, object] = {"pattern": "pull-1:1-explicit", "topic": "Vote", "by": "Bad Voter", "data": 1}
    if door == "requests":
        whole["of"] = "Bad Chair"
    async with Client(broker.url) as client, voters(client, "Bad Chair", "Bad Voter") as boxes:
        answer = await call(http, "POST", f"{broker.url}/api/{door}", whole | wrong)
        assert answer.status == status, answer
        assert words in document(answer.body)["detail"]
        assert await client.requests(service="Bad Voter") == []
        assert await client.interactions(service="Bad Voter") == []
        assert await client.pull(boxes["Bad Chair"]) == ()


async def test_of_lists_one_gets_pages(broker: BrokerProcess, http: HttpClient) -> None:
    async with Client(broker.url) as client, voters(client, "Page Chair", "Page Voter"):
        made = [await client.ask("pull-1:1-explicit", "Vote", n, by="Page Voter", of="Page Chair") for n in range(5)]
        await client.answer(made[2], by="Page Chair")
        found: list[str] = []
        after: str | None = ""
        while after is not None:
            page = await get(http, f"{broker.url}/api/requests?service=Page%20Chair&state=open&limit=2{after}")
            found += [each["id"] for each in page["items"]]
            after = None if page["next"] is None else f"&after={page['next']}"
        assert found == [each.id for each in made if each is not made[2]]
        record = await client.interactions(request=made[2].id)
        assert [each.act for each in record] == ["asked", "answered"]


async def test_a_thin_notice_is_fetched(broker: BrokerProcess, http: HttpClient, sink: Sink) -> None:
    async with Client(broker.url) as client:
        for dialect in ("cloudevents", "wsn-1.3", "webhook"):
            asked = {"consumer": sink.url(f"thin-{dialect}"), "topic": "thin//.", "dialect": dialect, "thin": True}
            made = await call(http, "POST", f"{broker.url}/api/subscriptions", asked)
            assert (made.status, document(made.body)["thin"]) == (201, True)
        await client.publish(b"<film>SECRET</film>", topic="thin/film", producer="urn:camera")
        for dialect in ("cloudevents", "wsn-1.3", "webhook"):
            (received,) = await wait_until(lambda: sink.at(f"thin-{dialect}"), dialect)  # noqa: B023
            assert b"SECRET" not in received.body
            address = received.body.partition(b"/api/notifications/")[2]
            assert address
        path = address.partition(b'"')[0].decode()
        found = await http.request("GET", f"{broker.url}/api/notifications/{path}", (), b"")
        assert (found.status, found.body) == (200, b"<film>SECRET</film>")
        shown = {name.lower(): value for name, value in found.headers}
        assert shown["content-type"] == "application/xml"
        assert shown["content-disposition"] == "attachment"
        assert shown["x-content-type-options"] == "nosniff"
        assert "sandbox" in shown["content-security-policy"]
        accept = (("Accept", "application/cloudevents+json"),)
        event = await http.request("GET", f"{broker.url}/api/notifications/{path}", accept, b"")
        assert document(event.body)["source"] == "urn:camera"


@pytest.mark.parametrize(
    ("place", "status", "words"),
    [
        ("999999999/0", 404, "there is no notification 0 in record 999999999"),
        ("0/77", 404, "there is no notification 77 in record 0"),
        ("x/0", 400, "offset='x' is not a whole number"),
        ("0/-1", 400, "index='-1' is not a whole number"),
        ("9999999999999999999999/0", 400, "is not a whole number"),
    ],
)
async def test_where_nothing_is_nothing_is_fetched(
    broker: BrokerProcess, http: HttpClient, place: str, status: int, words: str
) -> None:
    answer = await http.request("GET", f"{broker.url}/api/notifications/{place}", (), b"")
    assert (answer.status, words in document(answer.body)["detail"]) == (status, True)


async def test_a_pull_point_is_never_thin(broker: BrokerProcess, http: HttpClient) -> None:
    answer = await call(http, "POST", f"{broker.url}/api/pullpoints", {"topic": "thin", "thin": True})
    assert answer.status == 400
    assert "what is pulled is there already" in document(answer.body)["detail"]


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[BrokerProcess]:
    """Chair and V1 are users and services of that name; Eve hears nothing, Max manages everything."""
    data = tmp_path / "data"
    for name in ("Chair", "V1"):
        known(data, name, about("publish", "Vote//."), about("subscribe", "Vote//."))
    known(data, "Eve", about("publish", "Other"))
    known(data, "Max", Right("manage"), Right("publish"), Right("subscribe"))
    process = BrokerProcess.start(data, IMPATIENT | {"access-on": "true"})
    yield process
    process.kill()


async def test_each_speaks_for_itself_alone(guarded: BrokerProcess, http: HttpClient) -> None:
    url = f"{guarded.url}/api"

    async def as_(who: str, method: str, path: str, body: object = None) -> tuple[int, Any]:
        said = b"" if body is None else msgspec.json.encode(body)
        headers: Pairs = JSON + basic(who)
        answer = await http.request(method, f"{url}/{path}", headers, said)
        return answer.status, document(answer.body) if answer.body.startswith(b"{") else answer.body

    async with Client(guarded.url, user="Max", password="MaxMax") as operator:
        await operator.world.load(VOTING)
        for name, category in {"Chair": "Chairs", "V1": "Voters", "V2": "Voters"}.items():
            await operator.notifiers.create(name, [category])
    question = {"pattern": "pull-1:1-explicit", "topic": "Vote", "by": "V1", "of": "Chair"}
    status, told = await as_("Eve", "POST", "requests", question)
    assert (status, told["detail"]) == (
        403,
        "Eve may not speak for the service 'V1'; `tocsin users grant` gives rights",
    )
    assert (await as_("V1", "POST", "requests", question | {"by": "V2"}))[0] == 403
    status, asked = await as_("V1", "POST", "requests", question)
    assert status == 201
    place = f"requests/{asked['id']}"
    assert (await as_("V1", "POST", f"{place}/answer", {"by": "Chair"}))[0] == 403
    assert (await as_("Eve", "GET", place))[0] == 403
    assert (await as_("Eve", "DELETE", place))[0] == 403
    assert (await as_("Eve", "GET", "requests"))[1]["items"] == []
    assert (await as_("Eve", "GET", "interactions"))[1]["items"] == []
    for who in ("Chair", "Max"):
        assert [each["id"] for each in (await as_(who, "GET", "requests"))[1]["items"]] == [asked["id"]]
    assert (await as_("Chair", "DELETE", place))[0] == 403
    tell = {"pattern": "push-1:n-implicit", "topic": "Vote", "by": "Chair"}
    assert (await as_("V1", "POST", "interactions", tell))[0] == 403
    assert (await as_("Chair", "POST", f"{place}/answer", {"by": "Chair", "data": 1}))[0] == 200
    assert len((await as_("V1", "GET", "interactions"))[1]["items"]) == 2
    status, stands = await as_("V1", "POST", "requests", question | {"pattern": "push-1:n-explicit"})
    assert status == 201
    for who, many in {"Chair": 1, "V1": 1, "Eve": 0}.items():
        seen = (await as_(who, "GET", f"interactions?request={stands['id']}"))[1]["items"]
        assert [each["of"] for each in seen] == ["Chair"] * many


async def test_what_one_may_not_hear_one_may_not_fetch(guarded: BrokerProcess) -> None:
    async with (
        Client(guarded.url, user="V1", password="V1V1") as voter,
        Client(guarded.url, user="Eve", password="EveEve") as eve,
    ):
        await voter.publish(b"<vote/>", topic="Vote/paper")
        (place,) = [number for number in range(5) if await _fetches(voter, number)]
        with pytest.raises(ClientError, match="Eve may not hear of what is there"):
            await eve.get(f"/api/notifications/{place}/0")


async def _fetches(client: Client, offset: int) -> bool:
    try:
        await client.get(f"/api/notifications/{offset}/0")
    except ClientError as problem:
        return "cannot be read" in str(problem)  # it is XML
    return False


async def test_services_of_other_nodes_ask_and_answer_where_the_world_is(tmp_path: Path) -> None:
    """The world is kept by one node, the services are told by two others."""
    async with (
        node_of(tmp_path / "world") as keeper,
        node_of(tmp_path / "one", keeper) as one,
        node_of(tmp_path / "two", keeper) as two,
        Client(keeper.base_url) as client,
        Client(one.base_url) as at_one,
        Client(two.base_url) as at_two,
    ):
        await keeper.implicit.change_world(NODE, graph(("A", "B")), "operator")
        chair, voter = await create(two, "Chair", "A"), await create(one, "V1", "B")
        here = await create(keeper, "V2", "B")
        for name in ("V1", "V2"):
            await client.ask("pull-1:n-explicit", "Disaster Info", {"beds": "?"}, by=name, of="Chair")
        asked = list(await at_two.pull(chair, wait=30))
        while len(asked) < 2:
            asked += await at_two.pull(chair, wait=30)
        assert {each.attribute("root") for each in asked} == {"V1", "V2"}
        assert (asked[0].attribute("replyto") or "").startswith(keeper.base_url)
        told = await client.answer(asked[0], {"beds": 7}, by="Chair")
        assert set(told.told) == {"V1", "V2"}
        for reader, box in ((at_one, voter), (client, here)):
            (answer,) = await reader.pull(box, wait=30)
            assert (answer.payload.data, answer.producer) == (b'{"beds":7}', f"{two.base_url}/notifiers/Chair")
        with pytest.raises(ClientError, match="the world is kept by"):
            await at_one.ask("pull-1:1-explicit", "Disaster Info", by="V1", of="Chair")


@pytest.mark.kills
async def test_answers_cut_off_by_a_kill_reach_all_or_are_given_again(tmp_path: Path, start: Start) -> None:
    """Of twenty answers to three each some are acknowledged when the broker is killed; the rest is sent again."""
    topics = [f"Trip {number}" for number in range(20)]
    names = ("Flight", "Hotel", "Car")
    broker = start(tmp_path / "data", IMPATIENT)
    async with Client(broker.url) as client:
        await client.world.load({"topics": dict.fromkeys(topics), "categories": {"All": None}})
        boxes = {each: (await client.notifiers.create(each, ["All"])).subscription for each in ("Coordinator", *names)}
        asked: dict[str, str] = {}
        for name in names:
            asks = (client.ask("pull-1:n-explicit", topic, by=name, of="Coordinator") for topic in topics)
            asked |= {each.topic: each.id for each in await asyncio.gather(*asks)}
        answers = [asyncio.ensure_future(client.answer(asked[each], each, by="Coordinator")) for each in topics]
        await asyncio.wait(answers, return_when=asyncio.FIRST_COMPLETED)
        broker.kill()
        done = await asyncio.gather(*answers, return_exceptions=True)
    acknowledged = {topic for topic, each in zip(topics, done, strict=True) if not isinstance(each, BaseException)}
    assert 0 < len(acknowledged) < len(topics)
    broker = start(tmp_path / "data", IMPATIENT | {"listen-port": str(broker.port)})
    async with Client(broker.url) as client:
        answered = {each.topic for each in await client.requests(state="answered")}
        assert answered >= acknowledged
        for topic in topics:
            if topic not in answered:
                await client.answer(asked[topic], topic, by="Coordinator")
        for name in names:
            heard: list[str] = []
            while len(heard) < len(topics):
                heard += [each.payload.data.decode() for each in await client.pull(boxes[name], wait=30)]
            assert sorted(heard) == sorted(topics)
            assert await client.pull(boxes[name]) == ()
