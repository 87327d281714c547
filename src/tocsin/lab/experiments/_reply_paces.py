"""How long a node's own work with one message of a harvest takes: reading it, the machine's step, writing what follows;
by the processor's clock. What else a node does for it, HTTP and disk, is not in it."""

from collections.abc import Callable, Sequence
from functools import partial
from time import thread_time_ns

import msgspec

from tocsin.broker.reply import family
from tocsin.model.histogram import Histogram
from tocsin.model.identity import SECOND, Instant
from tocsin.model.replies import ReplyRequest
from tocsin.routing.reply.costs import passed_bytes, report_bytes
from tocsin.routing.reply.harvester import Harvester
from tocsin.routing.reply.messages import Forwarded, Opened, Passed, Replied, Report, Reported, Single, harvester_of
from tocsin.routing.reply.relay import Relay
from tocsin.routing.reply.weights import VIEW, node_name, receiver_name
from tocsin.sim.reply_time import Pace, Paces

NOW, UNTIL = Instant(0), Instant(3600 * SECOND)
ENTRIES = (1, 1_000)  # of a histogram
ADDRESSES = (1, 20)  # of a path
LENGTHS = (100, 10_000)  # bytes of a publication
MESSAGES, REPEATED = 200, 9
ROOT, NODE = node_name(0), node_name(1)
Work = Callable[[], object]


def measured_paces(link: int, repeated: int = REPEATED) -> Paces:
    """`link` in nanoseconds."""
    cost = partial(_cost, repeated)
    reports = [report_bytes(count, count) for count in ENTRIES]
    passed = [passed_bytes("0", count + 1) for count in ADDRESSES]
    return Paces(
        link,
        forward=_line(LENGTHS, [cost(partial(_forwarding, each)) for each in LENGTHS]),
        reply=Pace(cost(_replying)),
        merge=_line(reports, [cost(partial(_merging, each)) for each in ENTRIES]),
        finish=_line(reports, [cost(partial(_finishing, each)) for each in ENTRIES]),
        relay=_line(passed, [cost(partial(_relaying, each)) for each in ADDRESSES]),
        single=Pace(cost(_counting)),
    )


def _line(sizes: Sequence[int], costs: Sequence[float]) -> Pace:
    """By messages of two lengths."""
    byte = max(0.0, (costs[1] - costs[0]) / (sizes[1] - sizes[0]))
    return Pace(max(0.0, costs[0] - byte * sizes[0]), byte)


def _cost(repeated: int, prepare: Callable[[], Work]) -> float:
    """Nanoseconds a message, of the quickest run: what the machine does besides only adds to it."""
    took = []
    for _ in range(repeated):
        work = prepare()
        began = thread_time_ns()
        work()
        took.append(thread_time_ns() - began)
    return min(took) / MESSAGES


def _opened(*, receivers: int = 0, children: int = 0, path: tuple[str, ...] = ()) -> Harvester:
    made = Harvester(harvester_of(VIEW, NODE if path else ROOT), {})
    made.step(Opened(ReplyRequest(VIEW, "int:0..999", UNTIL, "", path)), NOW)
    made.step(Forwarded(receivers, tuple(map(node_name, range(1, children + 1)))), NOW)
    return made


def _taking(machine: Harvester | Relay, bodies: Sequence[bytes]) -> Work:
    def work() -> None:
        for body in bodies:
            for effect in machine.step(family.MESSAGES.decode(body), NOW):
                if isinstance(machine, Relay):
                    family.MESSAGES.encode(getattr(effect, "message"))  # noqa: B009

    return work


def _replying() -> Work:
    bodies = [family.MESSAGES.encode(Replied(receiver_name(number), "7")) for number in range(MESSAGES)]
    return _taking(_opened(receivers=2 * MESSAGES, path=(ROOT,)), bodies)


def _reported(number: int, entries: int) -> bytes:
    histogram = Histogram({str(value): 1 for value in range(entries)})
    return family.MESSAGES.encode(Reported(node_name(number), Report(1, entries, entries, 0, 0, True, True, histogram)))


def _merging(entries: int) -> Work:
    bodies = [_reported(number, entries) for number in range(1, MESSAGES + 1)]
    return _taking(_opened(children=2 * MESSAGES, path=(ROOT,)), bodies)


def _finishing(entries: int) -> Work:
    """All that it has, in one report."""
    harvester = _opened(children=2, path=(ROOT,))
    harvester.step(family.MESSAGES.decode(_reported(1, entries)), NOW)

    def work() -> None:
        for _ in range(MESSAGES):
            family.MESSAGES.encode(Reported(NODE, harvester.report(final=True)))

    return work


def _relaying(addresses: int) -> Work:
    path = tuple(map(node_name, range(addresses)))
    body = family.MESSAGES.encode(Passed(VIEW, path, Single(NODE, "7")))
    return _taking(Relay(NODE, lambda _: None, tuple, merging=False), [body] * MESSAGES)


def _counting() -> Work:
    bodies = [family.MESSAGES.encode(Single(node_name(1 + number % 50), "7")) for number in range(MESSAGES)]
    return _taking(_opened(children=50), bodies)


def _forwarding(length: int) -> Work:
    """A copy, with what it says of replies."""
    request, payload = ReplyRequest(VIEW, "int:0..999", UNTIL, "", (ROOT,)), b"x" * length

    def work() -> None:
        for _ in range(MESSAGES):
            msgspec.msgpack.encode((request, payload))

    return work
