"""One dialect to another: read, normalise and write again, against lxml parsing and serialising the same bytes.

Nothing is kept of a payload from one call to the next; what a broker remembers of its senders and subscribers is.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import cycle, product
from random import Random

import msgspec
from lxml import etree

from tocsin.lab.bench import Result, Timing, against_floor, at_most, benchmark, race, side_by_side
from tocsin.lab.benches._alerts import BASE_URL, Alert, cloud_event, subscribers, written, wse_event, wsn_notify
from tocsin.markup import xml
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.dialects import DIALECTS, customise, normalise
from tocsin.mediation.ws import wse_2004_08, wsn_1_3
from tocsin.model.records import Accepted
from tocsin.model.subscription import Form

ALERTS = 400
ROUNDS, CALLS = 20, 200  # of the cases where no message may come twice
PAIR_ROUNDS = 16
WSN, WSE, EVENTS = wsn_1_3.NAME, wse_2004_08.NAME, cloudevents.NAME
BY_HAND = {WSN: wsn_notify, WSE: wse_event, EVENTS: cloud_event}
LXML, JSON = "lxml parse + serialise", "msgspec decode + encode"

Work = Callable[[], object]


def _forms() -> dict[str, Form]:
    """Each form of each SOAP dialect once, for some dialects share a form; and a CloudEvent in JSON."""
    forms: dict[str, Form] = {}
    seen: set[object] = set()
    for dialect in DIALECTS:
        for message, wrapped in ((dialect.wrapped, True), (dialect.raw, False)):
            if message is None or message in seen:
                continue
            seen.add(message)
            name = dialect.name if wrapped or dialect.wrapped is None else f"{dialect.name} raw"
            forms[name] = Form(dialect.name, "1.2", dialect.addressing, wrapped)
    return forms | {EVENTS: Form(EVENTS)}


FORMS = _forms()


@benchmark("mediation", "a message from one dialect to another, against parsing and serialising it")
def mediation(seed: int) -> Iterable[Result]:
    for source, target in product(FORMS, repeat=2):
        records = _records(source, ALERTS, seed)
        floor, least = _floor(source, target)
        work = {"ours": _mediation(cycle(records), target), "floor": _each(records, least)}
        # once, and once more: from their second message on, senders are known
        mediate = work["ours"]
        for _ in range(2 * len(records)):
            mediate()
        most = None if floor == JSON else at_most(1.3)
        yield _result(f"{source} to {target}", race(work, rounds=PAIR_ROUNDS), floor, records, most)
    for source, target in ((WSN, WSE), (WSE, WSN)):
        records = _records(source, ROUNDS * CALLS, seed, strangers=True)
        work = {"ours": _mediation(iter(records), target), "floor": _each(records, _parse_and_serialise)}
        timings = race(work, rounds=ROUNDS, calls=CALLS)
        yield _result(f"{source} to {target}, unknown senders", timings, LXML, records)


def _floor(source: str, target: str) -> tuple[str, Callable[[bytes], object]]:
    """What nobody can do without: the message read and written once by the fastest library for it."""
    if source != EVENTS:
        return LXML, _parse_and_serialise
    return (JSON, _decode_and_encode) if target == EVENTS else (f"{JSON}, {LXML} of the data", _decode_and_parse)


def _records(name: str, count: int, seed: int, *, strangers: bool = False) -> list[Accepted]:
    random, form = Random(seed), FORMS[name]
    alerts = (Alert.random(number, random, stranger=strangers) for number in range(count))
    write = BY_HAND.get(name) or partial(written, form=form)
    return [write(alert, random) for alert in alerts]


def _mediation(records: Iterator[Accepted], name: str) -> Work:
    consumers = cycle(subscribers(FORMS[name]))

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


def _decode_and_parse(data: bytes) -> object:
    event = msgspec.json.decode(data)
    return msgspec.json.encode(event), _parse_and_serialise(event["data"].encode())


def _result(
    case: str, timings: dict[str, Timing], floor: str, records: Sequence[Accepted], target: float | None = None
) -> Result:
    timing, (ours, least) = timings["ours"], side_by_side(timings["ours"], timings["floor"])
    sizes = {"bytes": round(sum(len(each.body) for each in records) / len(records)), "messages": len(records)}
    if target is None:
        return against_floor(case, ours, "µs", floor, least, sizes=sizes, timing=timing)
    return against_floor(case, ours, "µs", floor, least, sizes=sizes, timing=timing, target=target)
