"""Several workers behind one port against one of them."""

import math
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from tocsin.lab.bench import Result, against_floor, alone, timing
from tocsin.lab.benches._messages import LENGTH
from tocsin.lab.benches._overlay_case import PER_SECOND, Case, Contest
from tocsin.lab.benches._overlay_load import Broker
from tocsin.lab.benches._overlay_stage import any_topics, broker_at, has_workers, served

TARGET, LATENCY_TARGET = 1.6, 1.0


def workers(case: Case) -> Iterator[Result]:
    many, free = case.sizes.workers, case.cores.brokers
    if not has_workers():
        note = "this `tocsin serve` has no --workers: nothing was measured"
        yield alone(f"--workers {many}: not available", math.nan, PER_SECOND, note=note)
        return
    one_folder, many_folder = case.folder / "one", case.folder / "many"
    with (
        served(one_folder, free, "--workers", "1") as one,
        served(many_folder, free, "--workers", str(many)) as several,
    ):
        contestants = [broker_at([each], any_topics()) for each in (several, one)]
        yield from _compared(case, contestants, "nobody subscribed", 0)
        for each in (several, one):
            case.subscribe(each, range(1))
        yield from _latency(case, contestants)
        for each in (several, one):
            case.subscribe(each, range(1, case.sizes.fan_out))
        yield from _compared(case, contestants, f"fan-out {case.sizes.fan_out}", case.sizes.fan_out)


def _compared(case: Case, contestants: Sequence[Broker], what: str, fan_out: int) -> Iterator[Result]:
    many = case.sizes.workers
    count = max(case.sizes.messages // max(fan_out // 2, 1), 1)
    ours, theirs = case.floods(contestants, fan_out, count)
    contest = Contest(f"--workers {many}, {what}", "--workers 1", count, fan_out, ours, theirs)
    yield contest.per_second(f"{case.cores}; {contest.spent()}", TARGET)
    per_cpu = contest.per_cpu()
    most = many * (per_cpu.ratio or 0.0)
    note = f"if all who are at work had cores of their own, {most:.2f} times as many a second at the most"
    yield replace(per_cpu, note=note)


def _latency(case: Case, contestants: Sequence[Broker]) -> Iterator[Result]:
    sizes = case.sizes
    case.delays(contestants)  # a warm-up
    ours, theirs = (timing(each) for each in case.delays(contestants))
    name = f"--workers {sizes.workers}, latency at {sizes.per_second}/s, one subscriber"
    details = {"messages": ours.calls, "bytes": LENGTH}
    note = f"from the start of the POST until the consumer has it; --workers 1: p99 {theirs.p99:,.0f} µs; {case.cores}"
    yield against_floor(
        f"{name}, p99", ours.p99, "µs", "--workers 1", theirs.p99,
        target=LATENCY_TARGET, sizes=details, timing=ours, note=note,
    )  # fmt: skip
    yield against_floor(f"{name}, median", ours.median, "µs", "--workers 1", theirs.median, sizes=details, timing=ours)
