"""A ring of processes against one: what it takes, what it delivers, and what goes between its nodes."""

from collections.abc import Iterator

from tocsin.lab.bench import Result, Timing, against_floor, alone, timing
from tocsin.lab.benches._messages import LENGTH
from tocsin.lab.benches._overlay_case import Case, Contest
from tocsin.lab.benches._overlay_load import Broker
from tocsin.lab.benches._overlay_stage import broker_at, ring, seen_by, served, topics_by_node
from tocsin.lab.benches._overlay_wire import carried, relayed
from tocsin.lab.benches._stage import Process

ONE, LOCAL = "one process", "at the node that has the key"
TOPICS_OF_EACH = 16


def rings(case: Case, replicas: int) -> Iterator[Result]:
    """Topics are spread evenly over the nodes, so that what is seen is not the luck of their places on the circle."""
    sizes, free = case.sizes, case.cores.brokers
    with served(case.folder / "one", free) as one, ring(case.folder, sizes.nodes, replicas, free) as nodes:
        topics = topics_by_node(nodes, TOPICS_OF_EACH)
        mixed = [name for several in zip(*topics, strict=True) for name in several]
        contestants = [broker_at(nodes, mixed), broker_at([one], mixed)]
        name = f"ring of {sizes.nodes}, replicas {replicas}"
        yield from _between_nodes(case, nodes, contestants[0], name, replicas)
        if replicas == 1:
            yield from _rendezvous(case, nodes, topics)
        yield from _compared(case, contestants, f"{name}, nobody subscribed", 0)
        for paths, what in ((range(1), "one subscriber"), (range(1, sizes.fan_out), f"fan-out {sizes.fan_out}")):
            for node in (nodes[0], one):
                case.subscribe(node, paths)
            yield from _compared(case, contestants, f"{name}, {what}", paths.stop)


def _compared(case: Case, contestants: list[Broker], name: str, fan_out: int) -> Iterator[Result]:
    count = max(case.sizes.messages // max(fan_out // 2, 1), 1)
    ours, theirs = case.floods(contestants, fan_out, count)
    contest = Contest(name, ONE, count, fan_out, ours, theirs)
    yield contest.per_second(f"{contest.spent()}; {case.cores}")
    yield contest.per_cpu()


def _between_nodes(case: Case, nodes: list[Process], ours: Broker, name: str, replicas: int) -> Iterator[Result]:
    """Before anything else is published: logs and connections have nothing of other cases."""
    seen, sizes = seen_by(nodes[0]), case.sizes
    ports = {int(each.address.rpartition(":")[2]) for each in seen.members}
    before = carried(ports)
    case.floods([ours], 0, sizes.messages)
    sent, count = carried(ports) - before, sizes.messages * (sizes.rounds + 1)
    details, what = {"messages": count, "bytes": LENGTH}, f"{name}, between nodes"
    note = "all that went over their connections, beats too; TCP segments are those that carry something"
    yield alone(what, sent.bytes / count, "bytes per notification", sizes=details, note=note)
    yield alone(what, sent.segments / count, "segments per notification", sizes=details)
    folders = [case.folder / f"ring{replicas}-{number}" for number in range(len(nodes))]
    found = [relayed(folder, seen_by(node).node) for folder, node in zip(folders, nodes, strict=True)]
    requests, notifications = sum(each.requests for each in found), sum(each.notifications for each in found)
    share = f"{notifications / count:.0%} of the notifications belonged to another node than where they were published"
    if notifications:
        unit = "requests per relayed notification"
        yield alone(what, requests / notifications, unit, sizes=details, note=share)


def _rendezvous(case: Case, nodes: list[Process], topics: list[list[str]]) -> Iterator[Result]:
    """One message at a time: a key's own node and the next one take turns with the same topic, node after node."""
    places = len(nodes)
    local = [broker_at([node], topics[at][:1]) for at, node in enumerate(nodes)]
    remote = [broker_at([nodes[(at + 1) % places]], topics[at][:1]) for at in range(places)]
    taken = case.one_by_one([*local, *remote], case.sizes.requests // places or 1)
    here, there = (timing([each for line in lines for each in line]) for lines in (taken[:places], taken[places:]))
    sizes = {"messages": here.calls, "bytes": LENGTH, "outstanding": 1}
    note = f"{there.median - here.median:,.0f} µs more in the median, {there.p99 - here.p99:,.0f} at p99"
    yield _slower("median", there, there.median, here.median, sizes, note)
    yield _slower("p99", there, there.p99, here.p99, sizes, "")


def _slower(which: str, timing: Timing, ours: float, theirs: float, sizes: dict[str, int], note: str) -> Result:
    name = f"a publication answered at another node, replicas 1, {which}"
    return against_floor(name, ours, "µs", LOCAL, theirs, sizes=sizes, timing=timing, note=note)
