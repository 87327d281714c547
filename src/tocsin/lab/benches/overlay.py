"""Many brokers as one: what a ring of them and several workers take and deliver, and what it costs between them."""

import os
from collections.abc import Iterator

from tocsin.lab.bench import Result, benchmark
from tocsin.lab.benches import _overlay_rings, _overlay_rivals, _overlay_workers
from tocsin.lab.benches._overlay_case import Sizes, opened
from tocsin.lab.benches._overlay_stage import cores

REPLICAS = 1, 3


@benchmark(
    "overlay",
    "Many brokers as one: rings and workers against one process, and against a cluster of NATS",
    rivals=("nats-py",),
    choices=Sizes,
)
def measure(seed: int, sizes: Sizes) -> Iterator[Result]:
    have = sorted(os.sched_getaffinity(0))
    for replicas in REPLICAS:
        with opened(seed, sizes, cores(have, len(have))) as case:
            yield from _overlay_rings.against_one(case, replicas)
    with opened(seed, sizes, cores(have, sizes.workers)) as case:
        yield from _overlay_workers.against_one(case)
    if sizes.rival_messages:
        with opened(seed, sizes, cores(have, len(have))) as case:
            yield from _overlay_rivals.against_nats(case)
