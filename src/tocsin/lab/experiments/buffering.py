"""Paper 004 s5.A, Fig. 4 and 5: how long notifications wait to be grouped, and what of the overhead that saves."""

from collections.abc import Sequence
from functools import partial
from random import Random

from msgspec import Struct

from tocsin.lab.experiment import Cell, Figure, Findings, Outcome, Progress, UnknownChoice, experiment
from tocsin.lab.experiments._buffering_figures import draw_courses, draw_flows
from tocsin.lab.experiments._buffering_flows import (
    BATCH,
    MAX_LATENCY,
    PAPER,
    PAYLOADS,
    WSN,
    Cost,
    Counting,
    Course,
    Point,
    Sparse,
    bursts,
    cost_of,
    costs,
    course,
    many_producers,
    measured,
)
from tocsin.routing.ring.buffering import BURST, OVERHEAD, WINDOW, BufferManager, period_of

SHOWN = (1, 2, 5, 10, 20)  # of the rates, in the table
LARGEST, FASTEST = 10_000, 20
PRINTED = 373  # milliseconds, as we read it
_KILOBIT = 1000 / 8  # bytes


class Choices(Struct, frozen=True):
    """Virtual `seconds` of each regular flow and `course` of the irregular one; a flow for each `step` of the rate."""

    seconds: float = 120.0
    course: float = 300.0
    step: float = 0.5
    producers: int = 32


@experiment("buffering", "how long notifications wait to be grouped, and what that saves (Fig. 4, 5)", choices=Choices)
def buffering(seed: int, progress: Progress, choices: Choices) -> Outcome:
    if not (choices.seconds > 0 and choices.course > 0 and 0 < choices.step <= FASTEST and choices.producers > 0):
        raise UnknownChoice("seconds, course and producers are above zero, and step is, up to 20")
    compared = (PAPER, cost_of(WSN), cost_of(BATCH))
    flows = [each for cost in compared for each in _flows(cost, choices, progress)]
    progress(f"{choices.producers} producers")
    arrivals = many_producers(Random(seed), choices.producers, choices.course)
    courses = [course(cost, arrivals) for cost in compared]
    tables = (
        *(_fig_4(cost, flows) for cost in compared),
        _printed(flows),
        _fig_5(courses, choices),
        _bursts(choices.course),
        _overheads(),
    )
    return Outcome(
        tables,
        (Figure("flows", partial(draw_flows, flows=flows)), Figure("course", partial(draw_courses, courses=courses))),
    )


def _flows(cost: Cost, choices: Choices, progress: Progress) -> list[Point]:
    count = round(FASTEST / choices.step)
    rates = sorted({*(choices.step * (1 + number) for number in range(count)), *map(float, SHOWN)})
    progress(f"{len(rates) * len(PAYLOADS)} flows with an overhead of {cost.once} bytes")
    return [measured(cost, rate, payload, choices.seconds) for payload in PAYLOADS for rate in rates]


def _fig_4(cost: Cost, flows: Sequence[Point]) -> Findings:
    here = [each for each in flows if each.cost == cost and each.rate in SHOWN]
    title = f"Fig. 4, overhead {cost.once:,} bytes a message ({cost.name})"
    fastest = [each for each in here if each.rate == FASTEST]
    low, high = (_saving(each) for each in (max(fastest, key=_payload), min(fastest, key=_payload)))
    note = f"At {FASTEST}/s grouping saves {low:.0f} to {high:.0f} % of the overhead, most for the smallest payloads."
    return Findings.of(
        f"{title}: at most {MAX_LATENCY:g} s of latency",
        here,
        {
            "payload B": "payload",
            "rate /s": lambda each: int(each.rate),
            "period ms, least": lambda each: _ms(1 / each.rate if each.period else 0.0),
            "by the equations": lambda each: _ms(each.formula),
            "measured": lambda each: _ms(each.period),
            "most": lambda _: _ms(MAX_LATENCY),
            "in a group": lambda each: round(each.together, 1),
            "overhead kbit/s, least": lambda each: _kbits(each.least),
            "measured ": lambda each: _kbits(each.overhead),
            "most ": lambda each: _kbits(each.most),
            "saved %": lambda each: round(_saving(each)),
            "mean wait ms": lambda each: _ms(each.mean_wait),
        },
        note,
        "The period may be off the equations' by less than one message: it changes only when that groups one more or "
        "less.",
    )


def _printed(flows: Sequence[Point]) -> Findings:
    (found,) = (each for each in flows if (each.cost, each.rate, each.payload) == (PAPER, FASTEST, LARGEST))
    needed = _overhead_for(PRINTED / 1000)
    rows: list[tuple[Cell, ...]] = [
        (overhead, _ms(period_of(FASTEST, LARGEST, overhead, MAX_LATENCY)), None)
        for overhead in (3500, OVERHEAD, needed)
    ]
    rows[1] = (*rows[1][:2], _ms(found.period))
    return Findings(
        f"The lowest period of Fig. 4 ({FASTEST}/s, {LARGEST:,} B)",
        ("overhead B", "by the equations ms", "measured ms"),
        tuple(rows),
        (
            f'"373 seconds" is milliseconds; with 3.5 KB the formula gives about {round(_ms(found.formula), -1)} ms.',
            f"373 ms need an overhead of {needed:,} bytes.",
        ),
    )


def _overhead_for(period: float) -> int:
    """Equations 1 to 3, the other way round."""
    weight = (MAX_LATENCY - period) / (MAX_LATENCY - 1 / FASTEST)
    return round(LARGEST * (1 - weight) / weight)


def _fig_5(courses: Sequence[Course], choices: Choices) -> Findings:
    rate = len(courses[0].arrivals) / choices.course
    mean = sum(each.rate for each in courses[0].changes) / len(courses[0].changes)
    return Findings.of(
        f"Fig. 5: {choices.producers} producers, each after 0 to 5 s, 10 to 500 bytes, {choices.course:g} s",
        courses,
        {
            "overhead B": lambda each: each.cost.once,
            "of": lambda each: each.cost.name,
            "messages": lambda each: len(each.arrivals),
            "groups": lambda each: len(each.groups),
            "saved %": lambda each: round(100 * (1 - len(each.groups) / len(each.arrivals))),
            "period ms, last": lambda each: _ms(each.changes[-1].period),
            "by the equations": lambda each: _ms(each.changes[-1].wanted),
            "changes": lambda each: each.times_changed(),
            "without threshold": lambda each: each.times_changed("wanted"),
            "longest wait ms": lambda each: _ms(max(one.went - one.came[0] for one in each.groups)),
        },
        f"They make {rate:.1f} messages a second, estimated as {mean:.1f} in the mean, from zero on.",
        "The threshold of one message keeps the period still: without it, it would change with nearly each message.",
        "With the paper's overhead it is set once: for payloads below 500 bytes the equations stay within 12 % of the "
        "maximum, and to group one message more or less takes a change of about 80 ms.",
    )


def _bursts(seconds: float) -> Findings:
    lasting = max(seconds, 120.0)
    found = [
        bursts("as in production: a burst counts by its length", BufferManager(MAX_LATENCY), lasting),
        bursts("each message counts", Counting(MAX_LATENCY), lasting),
    ]
    ours, counting = found
    return Findings.of(
        "One notification each 2 s; with each thirtieth come two hundred more within 10 ms",
        found,
        {"estimator": "estimator", "alone": "alone", "held in vain": "held", "for s, in all": _waited},
        f"The rate is a mean over {WINDOW:g} maximum latencies, older ones counting for less. What comes faster than "
        f"{BURST:g} times the mean counts for less than one.",
        f"Else {counting.held} of {counting.alone} that came alone would wait for nothing; {ours.held} do.",
    )


def _waited(each: Sparse) -> float:
    return round(each.waited, 1)


def _overheads() -> Findings:
    return Findings.of(
        "Bytes of a message besides a payload of 100 bytes: head of the request, body",
        costs(),
        {
            "form": lambda each: each[0].name,
            "in all": lambda each: each[0].alone,
            "once a message": lambda each: each[0].once,
            "with each notification": lambda each: each[0].each,
            "takes several": lambda each: "yes" if each[1] else "no",
        },
        f"The paper's had {OVERHEAD:,} bytes, XML and JXTA. The engine takes what is sent once a message for the "
        "overhead, and what comes with each for payload: grouping saves no more.",
    )


def _payload(each: Point) -> int:
    return each.payload


def _saving(each: Point) -> float:
    return 100 * (1 - each.overhead / each.most)


def _ms(seconds: float) -> int:
    return round(seconds * 1000)


def _kbits(bytes_a_second: float) -> float:
    return round(bytes_a_second / _KILOBIT, 1)
