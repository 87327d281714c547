"""Fig. 8 of the OPS paper: its algorithm as written and repaired, the rival it was compared with, and our kernel."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product

from msgspec import Struct

from tocsin.lab.experiment import Figure, Outcome, Progress, experiment
from tocsin.lab.experiments import _ops_findings as tables
from tocsin.lab.experiments._ops_findings import draw
from tocsin.lab.experiments._ops_points import (
    CALLS,
    DECOMPOSITION,
    KERNEL,
    LITERAL,
    REPAIRED,
    Point,
    Sample,
    bed,
    samples,
)

SIZES = (10, 100, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
FEW = (1, 2, 5, 10, 20)
CLASSES = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20)
USUAL_CLASSES, USUAL_SIZE = 10, 1_000
MORE_EVENTS = 2  # for few subscriptions, where a match is seldom
LOST_CLASSES, LOST_SIZE = (2, 5, 10, 20), 100
MORE_MODELS, MANY_EVENTS = 5, 6  # for what is lost, which differs much from model to model, and from event to event


class Choices(Struct, frozen=True):
    """The most subscriptions for the paper's algorithm, and for the kernel; so many concept models by chance, and so
    many events of each."""

    largest: int = 10_000
    kernel: int = 100_000
    models: int = 2
    events: int = 6


class Course(Struct, frozen=True):
    """Part of the experiment: each size at each number of classes, by the ways that can take so many."""

    title: str
    classes: Sequence[int]
    sizes: Sequence[int]
    largest: Mapping[str, int]
    models: int
    events: int
    calls: int = CALLS


@experiment(
    "ops",
    "OPS Fig. 8: matching graph patterns as the paper has it, repaired, by its rival, by the kernel",
    choices=Choices,
)
def ops(seed: int, progress: Progress, choices: Choices) -> Outcome:
    by_size, few, by_classes, lost = (_points(each, seed, progress) for each in courses(choices))
    found = (
        tables.figure_a(by_size),
        tables.figure_b(few),
        tables.figures_c_d(by_classes),
        tables.figure_e([each for each in by_size if each.ms(REPAIRED) is not None]),
        tables.figure_f(by_classes),
        tables.lost(lost),
    )
    return Outcome(found, (Figure("8", lambda path: draw(path, by_size, few, by_classes)),))


def courses(choices: Choices) -> tuple[Course, Course, Course, Course]:
    largest, kernel, models, events = choices.largest, choices.kernel, choices.models, choices.events
    sizes = sorted({largest, *(each for each in (*SIZES, kernel) if each <= max(kernel, largest))})
    few = [each for each in FEW if each <= largest]
    usual, less = min(USUAL_SIZE, largest), min(LOST_SIZE, largest)
    ops = {REPAIRED: largest, LITERAL: largest}
    ours, all_ = ops | {KERNEL: sizes[-1]}, ops | {DECOMPOSITION: largest, KERNEL: largest}
    return (
        Course("Fig. 8 (a), (e)", [USUAL_CLASSES], sizes, ours, models, events),
        Course("Fig. 8 (b)", [USUAL_CLASSES], few, all_, models, MORE_EVENTS * events),
        Course("Fig. 8 (c), (d), (f)", CLASSES, [usual], ours, models, events),
        Course("what is lost", LOST_CLASSES, [less], ours, MORE_MODELS * models, MANY_EVENTS * events, calls=1),
    )


def _points(course: Course, seed: int, progress: Progress) -> list[Point]:
    found: defaultdict[tuple[int, int], list[Sample]] = defaultdict(list)
    for model, classes in product(range(course.models), course.classes):
        here = bed(classes, course.sizes[-1], course.events, seed + model)
        said = f"{course.title}, concept model {model + 1} of {course.models}, {classes} classes"
        for size, more in samples(here, course.sizes, course.largest, partial(_tell, progress, said), course.calls):
            found[classes, size] += more
    return [Point(classes, size, each) for (classes, size), each in found.items()]


def _tell(progress: Progress, where: str, size: int) -> None:
    progress(f"{where}, {size:,} subscriptions")
