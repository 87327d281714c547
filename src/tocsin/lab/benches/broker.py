"""The broker as a process of its own: deliveries for each CPU-second, and the latency it adds."""

import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from tocsin.lab.bench import Result, against_floor, against_rival, alone, at_most, benchmark
from tocsin.lab.benches import _bare, _load
from tocsin.lab.benches._messages import LENGTH, Messages
from tocsin.lab.benches._stage import Stage, helper, stage
from tocsin.lab.race import Timing, timing

DELIVERIES_PER_CPU_SECOND = 10_000
SHARE_OF_THE_CLIENT = 0.4
TIMES_THE_FLOOR = 2.5


class Sizes(Struct, frozen=True):
    rounds: int = 5
    messages: int = 2_000
    warm_up: int = 1_500
    fan_out: int = 10
    connections: int = 16
    ahead: int = 256
    per_second: int = 500
    slices: int = 8
    slice_messages: int = 200


@benchmark("broker", "The broker as a process: deliveries for each CPU-second, and the latency it adds")
def measure(seed: int) -> Iterable[Result]:
    return _Run(seed, Sizes()).results()
