"""Notifications through real notifiers: how many for each CPU-second of all nodes, by protocol, on one node and on
several; and the floor, which is to POST the same copies and do nothing else."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import msgspec
from msgspec import Struct

from tocsin.lab.bench import Result, against_rival
from tocsin.lab.benches import _bare
from tocsin.lab.benches._messages import ALARM, DATA, ROOT
from tocsin.lab.benches._stage import Lost, Process, helper, started
from tocsin.lab.benches._world import Nodes, nodes
from tocsin.wire.http_client import HttpClient

PROTOCOLS = ("cin", "din", "hin", "hin-din")
AUTHORITIES, RESPONDERS = 4, 15
UNIT = "notifications per CPU-s"
FLOOR = "bare POSTs of the same copies"
QUIET_LOOKS, LOOK_SECONDS = 5, 0.2


class Sizes(Struct, frozen=True):
    rounds: int = 3
    messages: int = 60
    connections: int = 8
    runners: tuple[int, ...] = (0, 3)


class Pushed(Struct, frozen=True):
    """Of one round: copies that were handled, services that were told, CPU seconds of all nodes."""

    copies: int
    told: int
    cpu: float


def results(sizes: Sizes) -> Iterator[Result]:
    for runners in sizes.runners:
        with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder, _stage(Path(folder), runners) as set_up:
            yield from _compared(*set_up, sizes)


@contextmanager
def _stage(folder: Path, runners: int) -> Iterator[tuple[Nodes, Process]]:
    sink_command = [str(folder / "progress")]
    with started(sink_command, "tocsin.lab.benches._sink") as (sink, told), nodes(folder, runners) as stage:
        # the authorities tell each other and the same responders: there is something to save for each protocol
        edges = [("Observers", "Authorities"), ("Authorities", "Authorities"), ("Authorities", "Responders")]
        stage.learn(
            {
                "topics": {ALARM: None},
                "categories": dict.fromkeys(("Observers", "Authorities", "Responders")),
                "edges": [[source, ALARM, target] for source, target in edges],
                "services": {},
            }
        )
        for number, (name, category) in enumerate(_services().items()):
            stage.create(number, name, [category])
        yield stage, Process(sink, told["port"])


def _services() -> dict[str, str]:
    authorities = {f"authority-{each}": "Authorities" for each in range(AUTHORITIES)}
    return {ROOT: "Observers", **authorities, **{f"responder-{each}": "Responders" for each in range(RESPONDERS)}}


def _compared(stage: Nodes, sink: Process, sizes: Sizes) -> Iterator[Result]:
    """All contestants by turns; the first round warms up."""
    rounds: dict[str, list[Pushed]] = {name: [] for name in PROTOCOLS}
    bare: list[float] = []
    for number in range(sizes.rounds + 1):
        found = {name: _push(stage, name, sizes) for name in PROTOCOLS}
        # as DIN has them, the most: from each authority to each responder
        sink.get("/reset")
        first = number * sizes.messages * AUTHORITIES
        task = _bare.Task("ours", 1, sink.port, first, sizes.messages * AUTHORITIES, RESPONDERS, copies=True)
        seconds: float = helper("_bare", task)
        came, sent = sum(sink.get("/counts").values()), task.count * task.fan_out
        if came != sent:
            raise Lost(f"{sent - came} of {sent} bare copies are missing")
        posted = sent / seconds
        if number:
            bare.append(posted)
            for name, pushed in found.items():
                rounds[name].append(pushed)
    for name in PROTOCOLS:
        yield _result(stage, name, rounds[name], bare, sizes)


def _result(stage: Nodes, protocol: str, rounds: Sequence[Pushed], bare: Sequence[float], sizes: Sizes) -> Result:
    where = "one node" if stage.keeper in stage.runners else f"{len(stage.runners)} and a keeper"
    ours = _median(rounds, lambda each: each.copies / each.cpu)
    told = _median(rounds, lambda each: each.told / each.cpu)
    ms = _median(rounds, lambda each: 1000 * each.cpu / sizes.messages)
    note = f"{told:,.0f} services told per CPU-s; {ms:.1f} ms of CPU a publication"
    details = {"notifiers": len(_services()), "messages": sizes.messages, "bytes": len(DATA)}
    details["copies a message"] = round(_median(rounds, lambda each: each.copies / sizes.messages))
    return against_rival(f"{protocol}, {where}", ours, UNIT, FLOOR, statistics.median(bare), sizes=details, note=note)


def _median(rounds: Sequence[Pushed], value: Callable[[Pushed], float]) -> float:
    return statistics.median(map(value, rounds))


def _push(stage: Nodes, protocol: str, sizes: Sizes) -> Pushed:
    begun, handled = _cpu(stage), _handled(stage)
    messages = asyncio.run(_publish(stage.runner(0), protocol, sizes))
    # until nothing more is handled; to ask for each message would cost the nodes more than to look at them
    least = handled + sizes.messages * len(_services())
    last, same, until = -1, 0, time.monotonic() + 60.0
    while same < QUIET_LOOKS:
        time.sleep(LOOK_SECONDS)
        now = _handled(stage)
        same = same + 1 if now == last and now >= least else 0
        last = now
        if time.monotonic() > until:
            raise Lost(f"{least - now} of {least} copies are missing")
    cpu = _cpu(stage) - begun
    became = [stage.became(0, each) for each in messages]  # which also says that nobody is missing
    told = {len(each.receivers) for each in became}
    if told != {len(_services()) - 1}:
        raise Lost(f"{protocol} has told {told} services of {len(_services()) - 1}")
    return Pushed(sum(each.notifications for each in became), sum(len(each.receivers) for each in became), cpu)


async def _publish(root: Process, protocol: str, sizes: Sizes) -> list[str]:
    http, gate = HttpClient(), asyncio.Semaphore(sizes.connections)
    body = msgspec.json.encode({"topic": ALARM, "data": DATA, "media_type": "text/plain", "protocol": protocol})
    url = f"{root.url}/api/notifiers/{quote(ROOT)}/publish"

    async def one() -> str:
        async with gate:
            answer = await http.request("POST", url, (("Content-Type", "application/json"),), body)
        if answer.status != 202:
            raise Lost(f"a publication was answered {answer.status}: {answer.body.decode(errors='replace')}")
        return str(msgspec.json.decode(answer.body)["id"])

    try:
        return await asyncio.gather(*(one() for _ in range(sizes.messages)))
    finally:
        await http.close()


def _handled(stage: Nodes) -> int:
    pages: list[Mapping[str, list[dict[str, int]]]] = [each.get("/api/notifiers") for each in stage.runners]
    return sum(notifier["handled"] for page in pages for notifier in next(iter(page.values())))


def _cpu(stage: Nodes) -> float:
    return sum(each.cpu_seconds() for each in {stage.keeper, *stage.runners})
