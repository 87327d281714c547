"""WS-Messenger's figures 13 and 14: what mediation costs, alone and as a share of the whole way of a message."""

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import cycle, product
from pathlib import Path
from random import Random
from statistics import fmean

from lxml import etree
from msgspec import Struct, structs

from tocsin.client.client import Client
from tocsin.client.consumer import Consumer, Received
from tocsin.client.requests import publication
from tocsin.lab.bench import race
from tocsin.lab.benches._alerts import BASE_URL, Alert, subscribers
from tocsin.lab.benches._stage import Lost, started
from tocsin.lab.experiment import Columns, Figure, Findings, Outcome, Progress, bars, experiment
from tocsin.markup import xml
from tocsin.mediation.dialects import BY_NAME, NAMES, customise, event_dialect, normalise, open_in_full
from tocsin.mediation.soap.namespaces import SOAP_12, WSA_2004, WSA_2005, WSE, WSN, WSN_CONSUMER
from tocsin.model.identity import Instant, MessageId, Node
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.records import Accepted
from tocsin.model.subscription import Form, Position
from tocsin.wire.http_client import HttpClient

ALERTS = 200
ROUNDS, CALLS = 8, 100
NOWHERE = Position(Node("lab"), 0)
# What the paper read from its own figures, on a Pentium 4 of 2006.
PAPER_QUEUE_MS, PAPER_DIRECT_MS, PAPER_SHARE = 6.8, 4.0, 0.7
PAPER_MICROSECONDS = {("wsn-1.3", "wse-2004-08"): 29.0, ("wse-2004-08", "wsn-1.3"): 12.0}


class Cost(Struct, frozen=True):
    """Microseconds a message; `floor` is lxml parsing and serialising the message that came in."""

    source: str
    target: str
    normalise: float
    customise: float
    floor: float
    xslt: float | None

    @property
    def total(self) -> float:
        return self.normalise + self.customise


class WholeWay(Struct, frozen=True):
    source: str
    target: str
    mean_ms: float


@experiment("mediation", "WS-Messenger Fig. 13 and 14: mediation alone, and within the whole way of a message")
def mediation(seed: int, progress: Progress) -> Outcome:
    pairs = list(product(NAMES, NAMES))
    costs = []
    for at, (source, target) in enumerate(pairs):
        progress(f"Fig. 14: {source} to {target} ({at + 1} of {len(pairs)})")
        costs.append(_cost(source, target, seed))
    ways = {mode: whole_ways(mode, _notifications(seed), NAMES, progress) for mode in ("queue", "direct")}
    return Outcome(
        (_figure_14(costs), _figure_13(costs, ways)),
        (
            Figure("14", lambda path: _draw_14(path, costs)),
            Figure("13", lambda path: _draw_13(path, ways)),
        ),
    )


def _notifications(seed: int, count: int = ALERTS) -> list[Notification]:
    random = Random(seed)
    return [_notification(Alert.random(number, random)) for number in range(count)]


def _notification(alert: Alert) -> Notification:
    topic = Topic(tuple(QName("", step) for step in alert.topic.split("/")))
    payload = Payload("application/xml", alert.cap.encode())
    return Notification(
        MessageId(alert.id), NOWHERE, 0, Instant(alert.number), "raw", "", alert.producer, topic, None, (), payload
    )


def records(source: str, seed: int) -> list[Accepted]:
    """The same alerts as a publisher of that dialect sends them."""
    found = []
    for each in _notifications(seed):
        url, (headers, body) = publication(BY_NAME[source], each, BASE_URL)
        lower = tuple((name.lower(), value) for name, value in headers)
        name = event_dialect(open_in_full(body)) if BY_NAME[source].is_soap else source  # as the door takes it
        found.append(Accepted(each.at, each.when, url[len(BASE_URL) :], name, lower, None, each.id[9:], body))
    return found


def _form(name: str) -> Form:
    dialect = BY_NAME[name]
    wrapped = dialect.wrapped is not None or not dialect.is_soap
    return Form(name, "1.2" if dialect.is_soap else None, dialect.addressing, wrapped)


def _cost(source: str, target: str, seed: int) -> Cost:
    accepted = records(source, seed)
    read = [notification for record in accepted for notification in normalise(record)]
    incoming, said, bodies, consumers = cycle(accepted), cycle(read), cycle(accepted), cycle(subscribers(_form(target)))
    works: dict[str, Callable[[], object]] = {
        "normalise": lambda: normalise(next(incoming)),
        "customise": lambda: customise(next(said), next(consumers), BASE_URL),
    }
    if BY_NAME[source].is_soap:
        works["floor"] = lambda: xml.serialise(etree.fromstring(next(bodies).body, xml.SAFE_PARSER))
    else:
        works["floor"] = lambda: xml.serialise(etree.fromstring(next(said).payload.data, xml.SAFE_PARSER))
    if (stylesheet := STYLESHEETS.get((source, target))) is not None:
        transform = etree.XSLT(etree.fromstring(stylesheet))
        works["xslt"] = lambda: bytes(transform(etree.fromstring(next(bodies).body, xml.SAFE_PARSER)))
    timings = race(works, rounds=ROUNDS, calls=CALLS)
    xslt = timings["xslt"].median if "xslt" in timings else None
    return Cost(source, target, timings["normalise"].median, timings["customise"].median, timings["floor"].median, xslt)


def _figure_14(costs: Iterable[Cost]) -> Findings:
    columns: Columns = {
        "from": "source", "to": "target", "normalise µs": "normalise", "customise µs": "customise", "total µs": "total",
        "floor µs": "floor", "× floor": lambda each: each.total / each.floor, "XSLT µs": "xslt",
        "paper's µs": lambda each: PAPER_MICROSECONDS.get((each.source, each.target)),
    }  # fmt: skip
    return Findings.of(
        "Fig. 14: normalisation and customisation",
        costs,
        columns,
        "The floor is lxml parsing and serialising what came in; of a dialect without XML around it, the payload.",
        "XSLT is lxml's, compiled before: parsing, transforming, serialising. The paper feared tens of milliseconds.",
    )


def _figure_13(costs: Iterable[Cost], ways: dict[str, list[WholeWay]]) -> Findings:
    spent = {(each.source, each.target): each.total / 1000 for each in costs}
    queue = {(way.source, way.target): way.mean_ms for way in ways["queue"]}
    columns: Columns = {
        "from": "source", "to": "target",
        "queue ms": lambda way: queue[way.source, way.target], "direct ms": "mean_ms",
        "mediation % of queue": lambda way: 100 * spent[way.source, way.target] / queue[way.source, way.target],
        "% of direct": lambda way: 100 * spent[way.source, way.target] / way.mean_ms,
    }  # fmt: skip
    return Findings.of(
        "Fig. 13: the whole way of a message, means",
        ways["direct"],
        columns,
        f"The paper: {PAPER_QUEUE_MS} ms with a queue, {PAPER_DIRECT_MS} ms without, of which mediation took"
        f" {PAPER_SHARE} %. From the publisher's first byte to the consumer's last, one message at a time.",
        "With either mode the publisher is answered when the message is on disk; direct tells consumers before that.",
    )


def _draw_14(path: Path, costs: list[Cost]) -> None:
    parts = {"normalise": [each.normalise for each in costs], "customise": [each.customise for each in costs]}
    labels = [f"{each.source} → {each.target}" for each in costs]
    bars(path, "Normalisation and customisation (WS-Messenger Fig. 14)", labels, parts, "µs a message", stacked=True)


def _draw_13(path: Path, ways: dict[str, list[WholeWay]]) -> None:
    labels = [f"{way.source} → {way.target}" for way in ways["queue"]]
    groups = {mode: [way.mean_ms for way in found] for mode, found in ways.items()}
    bars(path, "The whole way of a message (WS-Messenger Fig. 13)", labels, groups, "ms a message", stacked=False)


WARM_UP, MEASURED = 10, 50
PATIENCE = 10.0


def whole_ways(mode: str, said: Sequence[Notification], names: Sequence[str], progress: Progress) -> list[WholeWay]:
    """For every pair of those dialects, by a broker of its own in that delivery mode."""
    with tempfile.TemporaryDirectory() as folder:
        data, mode_set = str(Path(folder) / "data"), f"delivery.mode={mode}"
        command = ["serve", "--workers", "1", "--port", "0", "--data", data, "--set", mode_set, "--json"]
        with started(command) as (_, told):
            return asyncio.run(_ways(mode, told["url"], said, names, progress))


async def _ways(
    mode: str, broker: str, said: Sequence[Notification], names: Sequence[str], progress: Progress
) -> list[WholeWay]:
    arrived: asyncio.Queue[tuple[float, Received]] = asyncio.Queue()
    http = HttpClient()
    found: dict[tuple[str, str], WholeWay] = {}
    async with Consumer(received=lambda each: arrived.put_nowait((time.perf_counter(), each))).listening() as consumer:
        for target in names:
            client = Client(broker, target)
            lease = await client.subscribe(consumer.url)
            for source in names:
                progress(f"Fig. 13, {mode}: {source} to {target}")
                found[source, target] = WholeWay(source, target, await _mean_ms(http, broker, source, said, arrived))
            await client.unsubscribe(lease.address)
            await client.close()
    await http.close()
    return [found[source, target] for source in names for target in names]


async def _mean_ms(
    http: HttpClient,
    broker: str,
    source: str,
    said: Sequence[Notification],
    arrived: "asyncio.Queue[tuple[float, Received]]",
) -> float:
    taken = []
    for number in range(WARM_UP + MEASURED):
        # A repeated id would be taken for a repeated message
        once = structs.replace(said[number % len(said)], id=MessageId(f"urn:tocsin:lab:{next(_count)}"))
        url, (headers, body) = publication(BY_NAME[source], once, broker)
        begun = time.perf_counter()
        answer = asyncio.ensure_future(http.request("POST", url, headers, body))
        async with asyncio.timeout(PATIENCE):
            came, received = await arrived.get()
        if not 200 <= (status := (await answer).status) < 300:
            raise Lost(f"{source} was answered {status}")
        if once.id.encode() not in received.body:
            raise Lost(f"another message came than {once.id}")
        taken.append(came - begun)
    return 1000 * fmean(taken[WARM_UP:])


_count = iter(range(1 << 62))


_HEAD = (
    '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" '
    f'xmlns:s="{SOAP_12}" xmlns:a5="{WSA_2005}" xmlns:a4="{WSA_2004}" xmlns:wsnt="{WSN}" xmlns:wse="{WSE}" '
    'exclude-result-prefixes="a4 a5 wse"><xsl:output method="xml" omit-xml-declaration="yes"/>'
    '<xsl:template match="/s:Envelope">'
)
_TAIL = "</xsl:template></xsl:stylesheet>"
_MESSAGE = "s:Body/wsnt:Notify/wsnt:NotificationMessage"

_TO_EVENT = f"""<s:Envelope><s:Header>
<a4:Action><xsl:value-of select="namespace-uri({_MESSAGE}/wsnt:Message/*)"/>/<xsl:value-of
 select="local-name({_MESSAGE}/wsnt:Message/*)"/></a4:Action>
<a4:MessageID><xsl:value-of select="s:Header/a5:MessageID"/></a4:MessageID>
<a4:From><a4:Address><xsl:value-of select="{_MESSAGE}/wsnt:ProducerReference/a5:Address"/></a4:Address></a4:From>
<xsl:copy-of select="{_MESSAGE}/wsnt:Topic"/>
<a4:To>http://consumer.example.org/in</a4:To></s:Header>
<s:Body><xsl:copy-of select="{_MESSAGE}/wsnt:Message/*"/></s:Body></s:Envelope>"""

_TO_NOTIFY = f"""<s:Envelope><s:Header><a5:Action>{WSN_CONSUMER}/Notify</a5:Action>
<a5:MessageID><xsl:value-of select="s:Header/a4:MessageID"/></a5:MessageID>
<a5:To>http://consumer.example.org/in</a5:To></s:Header>
<s:Body><wsnt:Notify><wsnt:NotificationMessage><wsnt:SubscriptionReference>
<a5:Address>http://broker.example.org:8080/broker/subscriptions/s0</a5:Address></wsnt:SubscriptionReference>
<xsl:copy-of select="s:Header/wsnt:Topic"/>
<wsnt:ProducerReference><a5:Address><xsl:value-of select="s:Header/a4:From/a4:Address"/></a5:Address>
</wsnt:ProducerReference>
<wsnt:Message><xsl:copy-of select="s:Body/*"/></wsnt:Message></wsnt:NotificationMessage></wsnt:Notify></s:Body>
</s:Envelope>"""

STYLESHEETS: Mapping[tuple[str, str], str] = {
    ("wsn-1.3", "wse-2004-08"): _HEAD + _TO_EVENT + _TAIL,
    ("wse-2004-08", "wsn-1.3"): _HEAD + _TO_NOTIFY + _TAIL,
}
