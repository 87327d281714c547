"""Many brokers as one: what a ring of them and several workers take and deliver, and what it costs between them."""

import os
from collections.abc import Iterator

from tocsin.lab.bench import Result, UnknownChoice, benchmark
from tocsin.lab.benches._overlay_case import Sizes, opened
from tocsin.lab.benches._overlay_rings import rings
from tocsin.lab.benches._overlay_rivals import against_nats
from tocsin.lab.benches._overlay_stage import cores
from tocsin.lab.benches._overlay_workers import workers

REPLICAS = 1, 3


@benchmark(
    "overlay",
    "Many brokers as one: rings and workers against one process, and against a cluster of NATS",
    rivals=("nats-py",),
    choices=Sizes,
)
def measure(seed: int, sizes: Sizes) -> Iterator[Result]:
    cases = {"rings": _rings, "workers": _workers, "rivals": _rivals}
    asked = sizes.cases.split(",")
    if unknown := [name for name in asked if name not in cases]:
        raise UnknownChoice(f"overlay: there are no cases {unknown[0]!r}; there are: {','.join(cases)}")
    for name in asked:
        yield from cases[name](seed, sizes, sorted(os.sched_getaffinity(0)))


def _rings(seed: int, sizes: Sizes, have: list[int]) -> Iterator[Result]:
    for replicas in REPLICAS:
        with opened(seed, sizes, cores(have, len(have))) as case:
            yield from rings(case, replicas)


def _workers(seed: int, sizes: Sizes, have: list[int]) -> Iterator[Result]:
    """As many cores as workers, wherever there are more."""
    with opened(seed, sizes, cores(have, sizes.workers)) as case:
        yield from workers(case)


def _rivals(seed: int, sizes: Sizes, have: list[int]) -> Iterator[Result]:
    with opened(seed, sizes, cores(have, len(have))) as case:
        yield from against_nats(case)
