"""Subscriptions of every kind and notifications for them, from a seed: a ring makes of them what one broker does."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from msgspec import Struct
from tests.whole.acts import call
from tests.whole.shell import BrokerProcess
from tests.whole.sink import Sink

from tocsin.wire.http_client import HttpClient

OURS = "urn:tocsin:dialect:"
AUCTION = Path(__file__).parents[2] / "src" / "tocsin" / "semantics" / "demo" / "auction.ttl"
PREFIXES = "@prefix : <urn:tocsin:demo:auction#> . @prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> ."
SPACE = {
    "dimensions": [
        {"name": "place", "kind": "string"},
        {"name": "pressure", "kind": "number", "low": 0, "high": 100},
        {"name": "temperature", "kind": "number", "low": -50, "high": 60},
    ]
}
PLACES = [f"{town},{state}" for town in ("Piscataway", "Newark", "Akron", "Passau") for state in ("NJ", "OH", "BY")]
KINDS = ("NotebookPC", "DesktopPC", "Product")
Told = tuple[str, str]  # the consumer's path, and the id of an event


class Event(Struct, frozen=True):
    id: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


async def declare(http: HttpClient, node: BrokerProcess) -> None:
    answer = await call(http, "PUT", f"{node.url}/api/spaces/weather", SPACE)
    assert 200 <= answer.status < 300, answer
    turtle = (("Content-Type", "text/turtle"),)
    answer = await http.request("PUT", f"{node.url}/api/ontologies/auction", turtle, AUCTION.read_bytes())
    assert 200 <= answer.status < 300, answer


def subscriptions(seed: int, many: int) -> Iterator[dict[str, Any]]:
    """In turn: a topic, topics below one, a point, a box, a box by prefix and suffix, an XPath, a pattern."""
    random = Random(seed)
    for number in range(many):
        place = random.choice(PLACES)
        low = random.randrange(0, 90)
        asked: list[dict[str, Any]] = [
            {"topic": f"t{random.randrange(20)}/s{random.randrange(3)}"},
            {"topic": f"t{random.randrange(20)}//."},
            {"filters": [{f"{OURS}content-topic": f"weather:{place}/{low}/{random.randrange(-50, 60)}"}]},
            {"filters": [{f"{OURS}content-topic": f"weather:*/{low}..{low + 10}/<{random.randrange(-20, 40)}"}]},
            {"filters": [{f"{OURS}content-topic": f"weather:{place[:4]}*,{place[-2:]}/>{low}/*"}]},
            {"filters": [{f"{OURS}xpath": f"/r/v > {random.randrange(100)} and /r/k = 'k{random.randrange(5)}'"}]},
            {"filters": [{f"{OURS}graph-pattern": f"(_:H, ?1, (Selling, target, {random.choice(KINDS)}))"}]},
        ]
        yield asked[number % len(asked)]


def events(seed: int, many: int) -> Iterator[Event]:
    random = Random(seed + 1)
    for number in range(many):
        topic = f"t{random.randrange(20)}/s{random.randrange(3)}"
        headers = [("ce-specversion", "1.0"), ("ce-id", f"e{number}"), ("ce-source", "/w"), ("ce-type", "w")]
        headers += [("ce-subject", topic), ("ce-topic", topic)]
        if number % 3 == 0:
            headers.append(("ce-contenttopic", _content_topic(number // 3, random)))
        if number % 5 == 4:
            kind = random.choice(KINDS)
            body = f"{PREFIXES} _:H a :Selling ; :target [ a :{kind} ] .".encode()
            headers.append(("Content-Type", "text/turtle"))
        else:
            body = f"<r><v>{random.randrange(100)}</v><k>k{random.randrange(5)}</k></r>".encode()
            headers.append(("Content-Type", "application/xml"))
        yield Event(f"e{number}", tuple(headers), body)


def _content_topic(number: int, random: Random) -> str:
    """A point; or a span, or several, which lie at many nodes."""
    point = f"weather:{random.choice(PLACES)}/{random.randrange(0, 100)}/{random.randrange(-50, 60)}"
    place, low = random.choice(PLACES), random.randrange(0, 90)
    spans = (f"weather:*,{place[-2:]}/{low}..{low + 9}/*", f"weather:{place[:3]}*/*/<{low - 40}", "weather:*/50/*")
    return (point, spans[number % 3], point, f"{point} || {spans[number % 3]} || weather:{place}/{low}/7")[number % 4]


async def subscribe_all(http: HttpClient, nodes: list[BrokerProcess], sink: Sink, seed: int, many: int) -> None:
    for number, said in enumerate(subscriptions(seed, many)):
        node, asked = nodes[number % len(nodes)], {"consumer": sink.url(f"c{number}"), **said}
        answer = await call(http, "POST", f"{node.url}/api/subscriptions", asked)
        assert answer.status == 201, answer


async def publish_all(http: HttpClient, nodes: list[BrokerProcess], seed: int, many: int) -> None:
    for number, event in enumerate(events(seed, many)):
        node = nodes[number % len(nodes)]
        answer = await http.request("POST", f"{node.url}/events", event.headers, event.body)
        assert answer.status in (202, 204), answer


def told(sink: Sink) -> list[Told]:
    return sorted((each.path, str(found.id)) for each in sink.received for found in each.notifications())
