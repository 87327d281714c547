"""One dialect to another: read, normalise and write again, against lxml parsing and serialising the same bytes."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle
from random import Random

import msgspec
from lxml import etree

from tocsin.lab.bench import Result, against_floor, at_most, benchmark, race
from tocsin.lab.benches._alerts import BASE_URL, Alert, cloud_event_of, subscribers, wse_event_of, wsn_notify_of
from tocsin.markup import xml
from tocsin.mediation import cloudevents, wse_2004_08, wsn_1_3
from tocsin.mediation.dialects import CUSTOMISE, normalise
from tocsin.model.records import Accepted

ALERTS = 400
STRANGERS = 6_000
LXML = "lxml parse + serialise"
MSGSPEC = "msgspec decode + encode"
WSN, WSE, EVENTS = wsn_1_3.NAME, wse_2004_08.NAME, cloudevents.NAME

Writer = Callable[[Alert, Random], Accepted]


@benchmark("mediation", "a message from one dialect to another, against parsing and serialising it")
def mediation(seed: int) -> Iterable[Result]:
    writers: dict[str, Writer] = {WSN: wsn_notify_of, WSE: wse_event_of, EVENTS: cloud_event_of}
    for source, target in ((WSN, WSE), (WSE, WSN), (WSN, EVENTS), (WSE, EVENTS)):
        records = _records(writers[source], ALERTS, seed)
        yield _measure(f"{source} to {target}", records, target, target=at_most(1.3))
    for source, target in ((WSN, WSE), (WSE, WSN)):
        strangers = _records(writers[source], STRANGERS, seed, strangers=True)
        yield _measure(f"{source} to {target}, senders never seen before", strangers, target, once=True)
    yield _measure(f"{EVENTS} to {WSN}", _records(cloud_event_of, ALERTS, seed), WSN, floor=MSGSPEC)


def _records(write: Writer, count: int, seed: int, *, strangers: bool = False) -> list[Accepted]:
    random = Random(seed)
    return [write(Alert.random(number, random, stranger=strangers), random) for number in range(count)]


def _measure(
    case: str,
    records: Sequence[Accepted],
    dialect: str,
    *,
    target: float | None = None,
    floor: str = LXML,
    once: bool = False,
) -> Result:
    """Every call takes the next message; `once` sees to it that none comes twice."""
    bodies, floor_work = cycle([record.body for record in records]), _FLOORS[floor]
    mediate = _mediation(iter(records) if once else cycle(records), dialect)
    contestants = {"ours": mediate, "floor": lambda: floor_work(next(bodies))}
    timings = race(contestants, rounds=20, calls=STRANGERS // 20) if once else race(contestants)
    ours, least = timings["ours"], timings["floor"]
    sizes = {"bytes": round(sum(len(each.body) for each in records) / len(records)), "messages": len(records)}
    result = against_floor(case, ours.median, "µs", floor, least.median, sizes=sizes, timing=ours)
    return result if target is None else msgspec.structs.replace(result, target=target, met=_met(result, target))


def _met(result: Result, target: float) -> bool | None:
    return None if result.ratio is None else result.ratio >= target


def _mediation(records: Iterator[Accepted], dialect: str) -> Callable[[], object]:
    customise, consumers = CUSTOMISE[dialect], cycle(subscribers(dialect))

    def mediate() -> object:
        (notification,) = normalise(next(records))
        return customise(notification, next(consumers), BASE_URL)

    return mediate


def _parse_and_serialise(data: bytes) -> object:
    return xml.serialise(etree.fromstring(data, xml.SAFE_PARSER))


def _decode_and_encode(data: bytes) -> object:
    return msgspec.json.encode(msgspec.json.decode(data))


_FLOORS: dict[str, Callable[[bytes], object]] = {LXML: _parse_and_serialise, MSGSPEC: _decode_and_encode}
