"""One dialect to another: read, normalise and write again, against lxml parsing and serialising the same bytes.

Nothing is kept of a payload from one call to the next; what a broker remembers of its senders and subscribers is.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import cycle
from random import Random

import msgspec
from lxml import etree

from tocsin.lab.bench import Result, Timing, against_floor, at_most, benchmark, race
from tocsin.lab.benches._alerts import BASE_URL, Alert, cloud_event, subscribers, wse_event, wsn_notify
from tocsin.markup import xml
from tocsin.mediation import cloudevents, wse_2004_08, wsn_1_3
from tocsin.mediation.dialects import customise, normalise
from tocsin.model.records import Accepted

ALERTS = 400
ROUNDS, CALLS = 20, 200  # of the cases where no message may come twice
WSN, WSE, EVENTS = wsn_1_3.NAME, wse_2004_08.NAME, cloudevents.NAME
WRITERS = {WSN: wsn_notify, WSE: wse_event, EVENTS: cloud_event}

Work = Callable[[], object]


@benchmark("mediation", "a message from one dialect to another, against parsing and serialising it")
def mediation(seed: int) -> Iterable[Result]:
    for source, target in ((WSN, WSE), (WSE, WSN), (WSN, EVENTS), (WSE, EVENTS)):
        records = _records(source, ALERTS, seed)
        timings = race({"ours": _mediation(cycle(records), target), "floor": _each(records, _parse_and_serialise)})
        yield _result(f"{source} to {target}", timings, "lxml parse + serialise", records, at_most(1.3))
    for source, target in ((WSN, WSE), (WSE, WSN)):
        records = _records(source, ROUNDS * CALLS, seed, strangers=True)
        work = {"ours": _mediation(iter(records), target), "floor": _each(records, _parse_and_serialise)}
        timings = race(work, rounds=ROUNDS, calls=CALLS)
        yield _result(f"{source} to {target}, unknown senders", timings, "lxml parse + serialise", records)
    records = _records(EVENTS, ALERTS, seed)
    timings = race({"ours": _mediation(cycle(records), WSN), "floor": _each(records, _decode_and_encode)})
    yield _result(f"{EVENTS} to {WSN}", timings, "msgspec decode + encode", records)


def _records(dialect: str, count: int, seed: int, *, strangers: bool = False) -> list[Accepted]:
    random = Random(seed)
    return [WRITERS[dialect](Alert.random(number, random, stranger=strangers), random) for number in range(count)]


def _mediation(records: Iterator[Accepted], dialect: str) -> Work:
    consumers = cycle(subscribers(dialect))

    def mediate() -> object:
        (notification,) = normalise(next(records))
        return customise(notification, next(consumers), BASE_URL)

    return mediate


def _each(records: Sequence[Accepted], work: Callable[[bytes], object]) -> Work:
    bodies = cycle([record.body for record in records])
    return lambda: work(next(bodies))


def _parse_and_serialise(data: bytes) -> object:
    return xml.serialise(etree.fromstring(data, xml.SAFE_PARSER))


def _decode_and_encode(data: bytes) -> object:
    return msgspec.json.encode(msgspec.json.decode(data))


def _result(
    case: str, timings: dict[str, Timing], floor: str, records: Sequence[Accepted], target: float | None = None
) -> Result:
    ours, least = timings["ours"], timings["floor"].median
    sizes = {"bytes": round(sum(len(each.body) for each in records) / len(records)), "messages": len(records)}
    if target is None:
        return against_floor(case, ours.median, "µs", floor, least, sizes=sizes, timing=ours)
    return against_floor(case, ours.median, "µs", floor, least, sizes=sizes, timing=ours, target=target)
