"""WS-Messenger's figures 13 and 14: what mediation costs, alone and as a share of the whole way of a message."""

from collections.abc import Callable, Iterable
from itertools import cycle, product
from pathlib import Path
from random import Random

from lxml import etree
from msgspec import Struct

from tocsin.client.requests import publication
from tocsin.lab.benches._alerts import BASE_URL, Alert, subscribers
from tocsin.lab.experiment import Figure, Findings, Outcome, Progress, experiment
from tocsin.lab.experiments._stylesheets import STYLESHEETS
from tocsin.lab.experiments._whole_way import Way, whole_ways
from tocsin.lab.plots import grouped_bars, stacked_bars
from tocsin.lab.race import race
from tocsin.markup import xml
from tocsin.mediation.dialects import BY_NAME, NAMES, customise, event_dialect, normalise, open_in_full
from tocsin.model.identity import Instant, MessageId, Node
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.records import Accepted
from tocsin.model.subscription import Form, Position

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
    columns = ("from", "to", "normalise µs", "customise µs", "total µs", "floor µs", "× floor", "XSLT µs", "paper's µs")
    rows = tuple(
        (
            each.source,
            each.target,
            each.normalise,
            each.customise,
            each.total,
            each.floor,
            each.total / each.floor,
            each.xslt,
            PAPER_MICROSECONDS.get((each.source, each.target)),
        )
        for each in costs
    )
    notes = (
        "The floor is lxml parsing and serialising what came in; of a dialect without XML around it, the payload.",
        "XSLT is lxml's, compiled before: parsing, transforming, serialising. The paper feared tens of milliseconds.",
    )
    return Findings("Fig. 14: normalisation and customisation", columns, rows, notes)


def _figure_13(costs: Iterable[Cost], ways: dict[str, list[Way]]) -> Findings:
    total = {(each.source, each.target): each.total for each in costs}
    columns = ("from", "to", "queue ms", "direct ms", "mediation % of queue", "% of direct")
    queue = {(way.source, way.target): way for way in ways["queue"]}
    rows = tuple(_shares(way, queue[way.source, way.target], total) for way in ways["direct"])
    notes = (
        f"The paper: {PAPER_QUEUE_MS} ms with a queue, {PAPER_DIRECT_MS} ms without, of which mediation took"
        f" {PAPER_SHARE} %. From the publisher's first byte to the consumer's last, one message at a time.",
        "With either mode the publisher is answered when the message is on disk; direct tells consumers before that.",
    )
    return Findings("Fig. 13: the whole way of a message, means", columns, rows, notes)


def _shares(
    direct: Way, queue: Way, total: dict[tuple[str, str], float]
) -> tuple[str, str, float, float, float, float]:
    spent = total[direct.source, direct.target] / 1000
    return (
        direct.source,
        direct.target,
        queue.mean_ms,
        direct.mean_ms,
        100 * spent / queue.mean_ms,
        100 * spent / direct.mean_ms,
    )


def _draw_14(path: Path, costs: list[Cost]) -> None:
    parts = {"normalise": [each.normalise for each in costs], "customise": [each.customise for each in costs]}
    labels = [f"{each.source} → {each.target}" for each in costs]
    stacked_bars(path, "Normalisation and customisation (WS-Messenger Fig. 14)", labels, parts, "µs a message", {})


def _draw_13(path: Path, ways: dict[str, list[Way]]) -> None:
    labels = [f"{way.source} → {way.target}" for way in ways["queue"]]
    groups = {mode: [way.mean_ms for way in found] for mode, found in ways.items()}
    grouped_bars(path, "The whole way of a message (WS-Messenger Fig. 13)", labels, groups, "ms a message", {})
