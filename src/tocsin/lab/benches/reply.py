"""Replies: how many a node counts and merges for each second of its processor, against the least that could be done."""

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from time import thread_time_ns
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from tocsin.broker.reply.family import MESSAGES
from tocsin.lab.bench import Result, Timing, against_rival, alone, benchmark, race, side_by_side
from tocsin.lab.benches import _asking
from tocsin.lab.benches._receivers import Poster, receivers, reply_to
from tocsin.lab.benches._stage import Process, stage
from tocsin.model.histogram import Histogram
from tocsin.model.identity import SECOND, Instant
from tocsin.model.replies import ReplyRequest
from tocsin.routing.reply.harvester import Harvester
from tocsin.routing.reply.messages import Forwarded, Opened, Passed, Replied, Report, Reported, Single, harvester_of
from tocsin.routing.reply.relay import Relay
from tocsin.routing.reply.weights import VIEW, node_name, receiver_name

CONNECTIONS = 16
ASKED = 300_000  # replies per CPU-second of a merging machine
NOW, UNTIL = Instant(0), Instant(3600 * SECOND)
REPLIES, REPORTS = "replies per CPU-s", "reports per CPU-s"
PLAIN = "a dict of counters and a set of receivers"
PLAIN_REPORTS = "the same bytes decoded, and added in a dict"
PLAIN_SINGLES = "the same bytes decoded, and a counter"
PLAIN_PASSED = "the same bytes decoded and encoded, less an address"
ROOT, NODE = node_name(0), node_name(1)
Take = Callable[[Any], object]


class Sizes(Struct, frozen=True):
    """Without `publications` no node is started."""

    replies: int = 20_000
    values: int = 10
    reports: int = 50
    entries: int = 1_000
    addresses: int = 10
    rounds: int = 25
    publications: int = 600
    receivers: int = 2_000


@benchmark(
    "reply", "Replies: what asking costs, what is counted and merged per CPU-second, what doors take", choices=Sizes
)
def measure(seed: int, sizes: Sizes) -> Iterable[Result]:
    yield from counting(seed, sizes)
    yield from merging(seed, sizes)
    yield from passing(seed, sizes)
    if sizes.publications:
        yield from _asking.results(seed, _asking.Sizes(messages=sizes.publications))
    if sizes.receivers:
        yield from doors(sizes)


class Batch:
    """The same messages again and again, each time to something new that takes them."""

    def __init__(self, messages: Sequence[Any], fresh: Callable[[], Take]) -> None:
        self._messages, self._fresh = messages, fresh
        self._take: Take = len

    def renew(self) -> None:
        self._take = self._fresh()

    def run(self) -> None:
        take = self._take
        for message in self._messages:
            take(message)


def raced(batches: Mapping[str, Batch], rounds: int) -> dict[str, Timing]:
    """All of a batch is one call, by the processor's clock."""
    works, before = {n: each.run for n, each in batches.items()}, {n: each.renew for n, each in batches.items()}
    return race(works, rounds=rounds, calls=1, before=before, clock=thread_time_ns)


def per_second(
    case: str,
    timings: Mapping[str, Timing],
    rival: str,
    count: int,
    unit: str,
    sizes: Mapping[str, int],
    note: str = "",
) -> Result:
    mine, theirs = (count * 1e6 / each for each in side_by_side(timings["ours"], timings[rival]))
    return against_rival(case, mine, unit, rival, theirs, sizes=sizes, timing=timings["ours"], note=note)


def counting(seed: int, sizes: Sizes) -> Iterator[Result]:
    """Receivers' replies, at a node that merges."""
    random = Random(seed)
    values = [str(random.randrange(sizes.values)) for _ in range(sizes.replies)]
    replies = [Replied(receiver_name(number), value) for number, value in enumerate(values)]
    batches = {
        "ours": Batch(replies, lambda: taking(opened(receivers=2 * sizes.replies))),
        PLAIN: Batch(replies, plain),
    }
    timings = raced(batches, sizes.rounds)
    details = {"replies": sizes.replies, "values": sizes.values}
    note = "the step alone: whether it is the first of its receiver, the count, and what is to be remembered of it"
    found = per_second("a receiver's reply", timings, PLAIN, sizes.replies, REPLIES, details, note)
    yield against_rival(
        "a receiver's reply, asked for", found.ours, REPLIES, "what was asked for", ASKED, target=1.0, sizes=details
    )
    yield found


def merging(seed: int, sizes: Sizes) -> Iterator[Result]:
    """Last reports of the nodes behind, from their bytes."""
    random = Random(seed)
    bodies = [MESSAGES.encode(reported(number, sizes.entries, random)) for number in range(1, sizes.reports + 1)]
    batches = {
        "ours": Batch(bodies, lambda: decoding(taking(opened(children=sizes.reports + 1)))),
        PLAIN_REPORTS: Batch(bodies, plain_merging),
    }
    timings = raced(batches, sizes.rounds)
    details = {"reports": sizes.reports, "values": sizes.entries}
    mine = timings["ours"].median / sizes.reports / sizes.entries * 1000
    note = f"read and merged; {mine:.0f} ns a value"
    yield per_second("a report taken in", timings, PLAIN_REPORTS, sizes.reports, REPORTS, details, note)


def passing(seed: int, sizes: Sizes) -> Iterator[Result]:
    """Replies that nobody merges on the way: at the root, and at a node between."""
    random = Random(seed)
    said = [Single(node_name(1 + number % 100), str(random.randrange(sizes.values))) for number in range(sizes.replies)]
    batches = {
        "ours": Batch(
            [MESSAGES.encode(each) for each in said], lambda: decoding(taking(opened(children=100, root=True)))
        ),
        PLAIN_SINGLES: Batch([MESSAGES.encode(each) for each in said], plain_counting),
    }
    timings = raced(batches, sizes.rounds)
    details = {"replies": sizes.replies, "values": sizes.values}
    yield per_second("one that was passed on, at the root", timings, PLAIN_SINGLES, sizes.replies, REPLIES, details)
    path = tuple(map(node_name, range(sizes.addresses)))
    bodies = [MESSAGES.encode(Passed(VIEW, path, each)) for each in said]
    batches = {"ours": Batch(bodies, relaying), PLAIN_PASSED: Batch(bodies, plain_passing)}
    timings, details = raced(batches, sizes.rounds), {"replies": sizes.replies, "addresses": sizes.addresses}
    yield per_second("one that is passed on, at a node between", timings, PLAIN_PASSED, sizes.replies, REPLIES, details)


def doors(sizes: Sizes) -> Iterator[Result]:
    """What a node takes at its door: replies by POST, each on disk before it is answered."""
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder, stage(Path(folder)) as set_up:
        cpu, seconds = asyncio.run(_replied_at_the_door(set_up.broker, sizes.receivers))
    details = {"receivers": sizes.receivers, "connections": CONNECTIONS}
    yield alone("replies at the door, each durable", sizes.receivers / cpu, REPLIES, sizes=details)
    yield alone("replies at the door, each durable", sizes.receivers / seconds, "replies per second", sizes=details)


async def _replied_at_the_door(broker: Process, count: int) -> tuple[float, float]:
    tokens, all_told = list[str](), asyncio.Event()

    async def heard(path: str, body: bytes) -> bytes:
        del path
        tokens.append(urlsplit(reply_to(body)).path)
        if len(tokens) == count:
            all_told.set()
        return b""

    async with receivers(heard) as port:
        for number in range(count):
            asked = {"consumer": f"http://127.0.0.1:{port}/{number}", "topic": "t"}
            await asyncio.to_thread(broker.ask, "POST", "/api/subscriptions", asked)
        poster = Poster(broker.url, CONNECTIONS)
        await poster.open()
        event = {"specversion": "1.0", "id": "1", "source": "/b", "type": "t", "subject": "t", "replytype": "int"}
        headers = {"Content-Type": "application/cloudevents+json"}
        await asyncio.to_thread(broker.post, "/events", msgspec.json.encode(event), headers)
        await all_told.wait()
        begun, started_at = broker.cpu_seconds(), time.monotonic()
        said = await asyncio.gather(*(poster.post(each, b'{"value": %d}' % at) for at, each in enumerate(tokens)))
        assert set(said) == {204}, "all count"
        used = broker.cpu_seconds() - begun, time.monotonic() - started_at
        poster.close()
        return used


def opened(*, receivers: int = 0, children: int = 0, root: bool = False) -> Harvester:
    made = Harvester(harvester_of(VIEW, ROOT if root else NODE), {})
    made.step(Opened(ReplyRequest(VIEW, "int:0..999", UNTIL, "", () if root else (ROOT,))), NOW)
    made.step(Forwarded(receivers, tuple(map(node_name, range(1, children + 1)))), NOW)
    return made


def taking(machine: Harvester) -> Take:
    step = machine.step
    return lambda message: step(message, NOW)


def decoding(take: Take) -> Take:
    decode = MESSAGES.decode
    return lambda body: take(decode(body))


def reported(number: int, entries: int, random: Random) -> Reported:
    counts = {str(value): random.randint(1, 1000) for value in range(entries)}
    total = sum(counts.values())
    return Reported(node_name(number), Report(1, total, total, 0, 0, True, True, Histogram(counts)))


def relaying() -> Take:
    relay = Relay(NODE, lambda _: None, tuple, merging=False)

    def take(body: bytes) -> None:
        (send,) = relay.step(MESSAGES.decode(body), NOW)
        MESSAGES.encode(getattr(send, "message"))  # noqa: B009

    return take


# The least that could be done


def plain() -> Take:
    replied, counts = set[str](), dict[str, int]()

    def take(reply: Replied) -> bool:
        if reply.receiver in replied:
            return False
        replied.add(reply.receiver)
        counts[reply.value] = counts.get(reply.value, 0) + 1
        return True

    return take


def plain_merging() -> Take:
    counts, decode = dict[str, int](), msgspec.msgpack.decode

    def take(body: bytes) -> None:
        for value, count in decode(body)[1]["report"][-1][0].items():
            counts[value] = counts.get(value, 0) + count

    return take


def plain_counting() -> Take:
    counts, decode = dict[str, int](), msgspec.msgpack.decode

    def take(body: bytes) -> None:
        value = decode(body)[1]["value"]
        counts[value] = counts.get(value, 0) + 1

    return take


def plain_passing() -> Take:
    decode, encode = msgspec.msgpack.decode, msgspec.msgpack.Encoder().encode

    def take(body: bytes) -> None:
        kind, message = decode(body)
        message["path"].pop()
        encode((kind, message))

    return take
