"""What `tocsin pipeline simulate` counts by classes of services, beside what the machines do one by one."""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import astuple

from tocsin.lab.experiment import Findings, Outcome, Progress, UnknownChoice, experiment
from tocsin.lab.experiments._dissemination import TITLES
from tocsin.lab.experiments._world_growth import TOPIC, taxonomies, uncollected
from tocsin.platform.java import spark_problem
from tocsin.routing.implicit.protocols import PROTOCOLS
from tocsin.semantics.interest import world_json
from tocsin.semantics.interest.world import World
from tocsin.sim.counting import Count
from tocsin.sim.implicit import Tally

if TYPE_CHECKING:
    from tocsin.pipeline.simulate import Simulation

PER_LEAF = 20  # services of a category: enough to be alike, few enough to follow each
MACHINES, CLASSES = "the machines", "simulate"
COLUMNS = ("protocol", "by", "sent", "repetitions", "told", "dropped", "withheld", "hops", "largest header", "s")


class Choices(Struct, frozen=True):
    """`limit` is of the passes of one notifier, by BIN and HIN, which send about so many times what DIN does."""

    services: int = 10_000
    limit: int = 4


class Compared(Struct, frozen=True):
    """One message by one protocol; seconds that each took."""

    protocol: str
    simulated: Count
    machines: Count
    seconds: tuple[float, float]

    @property
    def are_equal(self) -> bool:
        return self.simulated == self.machines


@experiment("simulate", "`pipeline simulate` on Spark counts what the machines do, service by service", choices=Choices)
def simulate(seed: int, progress: Progress, choices: Choices) -> Outcome:
    if (problem := spark_problem(os.environ)) is not None:
        raise UnknownChoice(problem)
    world = taxonomies(choices.services, Random(seed), PER_LEAF)
    root = max(world.services, key=lambda name: len(world.neighbours(name, TOPIC)))
    progress(f"{choices.services:,} services, on Spark")
    counted = _simulated(world, root, choices.limit)
    return Outcome((findings(counted, list(compared(world, root, counted, choices.limit, progress))),))


def compared(world: World, root: str, counted: "Simulation", limit: int, progress: Progress) -> Iterator[Compared]:
    for each in counted.results:
        progress(f"{len(world.services):,} services, {TITLES[each.protocol]} by the machines")
        begun = time.perf_counter()
        machines = tallied(world, root, each.protocol, limit)
        simulated = Count(*(getattr(each, name) for name in Count.__struct_fields__))
        yield Compared(each.protocol, simulated, machines, (each.seconds, time.perf_counter() - begun))


def tallied(world: World, root: str, protocol: str, limit: int) -> Count:
    tally = Tally(world, lambda names: len(list(names)))
    with uncollected():
        tally.publish(root, TOPIC, protocol, limit=limit)
        tally.clock.run()
    return Count.of(tally)


def findings(counted: "Simulation", found: list[Compared]) -> Findings:
    rows = [
        (TITLES[each.protocol], by, *astuple(count), seconds)
        for each in found
        for by, count, seconds in zip((CLASSES, MACHINES), (each.simulated, each.machines), each.seconds, strict=True)
    ]
    differ = [TITLES[each.protocol] for each in found if not each.are_equal]
    told = "All counts are equal." if not differ else f"Not equal: {', '.join(differ)}."
    classes = counted.results[0].classes
    title = f"{counted.services:,} services in {counted.categories:,} categories, {classes:,} classes"
    return Findings(f"{title}: one message, counted twice", COLUMNS, tuple(rows), (told,))


def _simulated(world: World, root: str, limit: int) -> "Simulation":
    from tocsin.pipeline.simulate import SimulateSettings
    from tocsin.pipeline.simulate import simulate as simulate_job

    with TemporaryDirectory(prefix="tocsin-lab-") as folder:
        path = Path(folder, "world.json")
        path.write_bytes(world_json.write(world))
        return simulate_job(SimulateSettings(str(path), (root,), (TOPIC,), protocols=tuple(PROTOCOLS), limit=limit))
