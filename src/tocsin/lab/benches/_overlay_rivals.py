"""A ring against a cluster of NATS: one publishes at a node what somebody is told by another one."""

import math
from collections.abc import Iterator

from msgspec.structs import replace

from tocsin.lab.bench import Result, against_rival
from tocsin.lab.benches._overlay_case import PER_SECOND, Case, Contest
from tocsin.lab.benches._overlay_nats import NODES, Cluster, NotThere, cluster
from tocsin.lab.benches._overlay_stage import broker_at, ring, topics_by_node

CORE, JETSTREAM = f"core NATS, {NODES} nodes", f"NATS JetStream, {NODES} replicas"
NOTES = {
    CORE: "core NATS keeps nothing on disk, acknowledges nothing and looks into nothing",
    JETSTREAM: "JetStream acknowledges what most nodes have written, but not synced to disk, and looks into nothing",
}


def against_nats(case: Case) -> Iterator[Result]:
    try:
        with cluster(case.folder) as servers:
            for replicas, rival in ((1, CORE), (NODES, JETSTREAM)):
                yield from _compared(case, replicas, rival, replace(servers, durable=rival == JETSTREAM))
    except NotThere as problem:
        for rival in (CORE, JETSTREAM):
            name = f"ring of {NODES} against {rival}: not available"
            yield against_rival(name, math.nan, PER_SECOND, rival, None, note=str(problem))


def _compared(case: Case, replicas: int, rival: str, servers: Cluster) -> Iterator[Result]:
    """All that is published at the first node belongs to the second."""
    count = case.sizes.rival_messages
    with ring(case.folder, NODES, replicas, case.cores.brokers) as nodes:
        case.subscribe(nodes[0], range(1))
        ours = broker_at(nodes, topics_by_node(nodes, 4)[1], [nodes[0].port])
        runs = case.floods([ours, servers], 1, count)
    name = f"ring of {NODES}, replicas {replicas}, from one node to a subscriber of another"
    contest = Contest(name, rival, count, 1, *runs)
    note = f"{NOTES[rival]}; its Python client is publisher and subscriber in one; {contest.spent()}"
    yield contest.per_second(note)
    yield contest.per_cpu()
