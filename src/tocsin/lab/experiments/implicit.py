"""Medjahed's figures 17 and 19 over ten disasters of our own, who wins where, and what becomes of it as worlds grow."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from statistics import fmean

from msgspec import Struct

from tocsin.lab.experiment import (
    Columns,
    Figure,
    Findings,
    Outcome,
    Panel,
    Progress,
    Rows,
    bars,
    experiment,
    log_log,
    word_map,
)
from tocsin.lab.experiments import _dissemination as _notifiers
from tocsin.lab.experiments import _world_growth as _growth
from tocsin.lab.experiments._disasters import SCENARIOS
from tocsin.lab.experiments._dissemination import (
    COMPARED,
    OURS,
    PAPER,
    TITLES,
    Cell,
    Links,
    Sent,
    all_counted,
    best,
    mapped,
    scenario_ms,
)
from tocsin.lab.experiments._world_growth import Grown, Rung
from tocsin.sim.implicit import LIMIT

SWEEP = (0.0, 1.0, 5.0, 20.0)
SIZES = (100, 1_000, 10_000, 100_000)
Times = dict[int, dict[str, float]]


class Choices(Struct, frozen=True):
    """Milliseconds of the simulated ways; the most services; how often each scenario is run between real notifiers,
    zero for not at all."""

    history_ms: float = 5.0
    message_ms: float = 1.0
    handling_ms: float = 0.2
    services: int = SIZES[-1]
    measured: int = 0

    @property
    def links(self) -> Links:
        return Links(self.history_ms, self.message_ms, self.handling_ms)


@experiment("implicit", "Medjahed Fig. 17 and 19: CIN, DIN and HIN compared; which wins where; growth", choices=Choices)
def implicit(seed: int, progress: Progress, choices: Choices) -> Outcome:
    progress("Fig. 17: ten scenarios, six protocols")
    counts = all_counted()
    times = _simulated(choices.links, seed, progress)
    progress("who wins where: shapes, fan-outs, delays of the history")
    cells = list(mapped(SWEEP, choices.links, seed))
    rungs = list(_growth.ladders(progress))
    grown = list(_growth.grown(_sizes(choices.services), seed, progress))
    real = _notifiers.measured_times(choices.measured, SWEEP, progress) if choices.measured else []
    return Outcome(
        (
            _figure_17(counts),
            _figure_19(times[choices.history_ms], choices.links),
            _sweep(times),
            *(_notifiers.measured_findings(real) if real else ()),
            _who_wins(counts, times[choices.history_ms], cells),
            _map(cells),
            _ladder(rungs),
            _growing(grown),
        ),
        (
            Figure("17", lambda path: _draw_17(path, counts)),
            Figure("19", lambda path: _draw_19(path, times[choices.history_ms], choices.links)),
            Figure("map", lambda path: _draw_map(path, cells)),
            Figure("growth", lambda path: _draw_growth(path, grown)),
            *([Figure("19-measured", lambda path: _notifiers.draw_measured(path, real))] if real else []),
        ),
    )


def _sizes(most: int) -> tuple[int, ...]:
    return (*(size for size in SIZES if size < most), most)


def _simulated(links: Links, seed: int, progress: Progress) -> dict[float, Times]:
    """By the delay of the history, by the number of the scenario, by protocol."""
    found: dict[float, Times] = {}
    for history in sorted({*SWEEP, links.history}):
        progress(f"Fig. 19: simulated, the history {history:g} ms away")
        here = Links(history, links.message, links.handling)
        found[history] = {each.number: scenario_ms(each, here, seed) for each in SCENARIOS}
    return found


def _figure_17(counts: Sequence[Sent]) -> Findings:
    columns = ("scenario", *(TITLES[name] for name in PAPER + OURS), "order")
    rows = tuple((str(each.scenario), *_sent(each), each.falls) for each in counts)
    notes = (
        "The paper: CIN < DIN in all ten; HIN as few as CIN in 1, 4, 6, 9; DIN below HIN in 3, 10; HIN between in 2, 7,"
        " 8; HIN and DIN alike in 5. Where it compares HIN with DIN only, HIN sends more than CIN here.",
        f"BIN ends in none of them by itself: here each notifier passes the message on {LIMIT} times and no more.",
        "HIN+DIN, which the paper suggests and does not measure, sends at most as many as either.",
        "DHT-CIN sends what CIN does: its history is the same, but of each message at another node of a ring.",
    )
    return Findings("Fig. 17: number of notifications", columns, rows, notes)


def _sent(counts: Sent) -> Iterable[int | str]:
    for name in PAPER + OURS:
        yield f"{counts.sent[name]:,}, stopped" if name in counts.endless else counts.sent[name]


def _figure_19(times: Times, links: Links) -> Findings:
    columns = ("scenario", *(f"{TITLES[name]} ms" for name in COMPARED), "fastest")
    rows: Rows = tuple((str(each), *times[each.number].values(), _fastest(times[each.number])) for each in SCENARIOS)
    notes = (
        f"Simulated: the history is {links.history:g} ms away, there and back; a message takes {links.message:g} ms,"
        f" half as long to half as long again; one machine runs all notifiers and needs {links.handling:g} ms for each"
        " message it sends. Until the last service has it; medians over ways.",
        "As in the paper, CIN waits for its history at each hop; HIN gains on DIN where it sends fewer.",
    )
    return Findings("Fig. 19: notification time, simulated", columns, rows, notes)


def _fastest(ms: dict[str, float]) -> str:
    least = min(ms.values())
    return ", ".join(TITLES[name] for name, each in ms.items() if each <= 1.01 * least)


def _sweep(times: dict[float, Times]) -> Findings:
    columns = ("history ms", *(f"{TITLES[name]} ms" for name in COMPARED), "CIN / HIN+DIN", "scenarios CIN wins")
    rows = []
    for history, found in times.items():
        means = [fmean(each[name] for each in found.values()) for name in COMPARED]
        won = sum(each["cin"] <= min(each.values()) for each in found.values())
        rows.append((history, *means, means[0] / means[-1], won))
    notes = ("Means over the ten scenarios. Only CIN asks a history that is not its own.",)
    return Findings("Fig. 19, swept over the delay of the remote history", columns, tuple(rows), notes)


def _who_wins(counts: Sequence[Sent], times: Times, cells: Sequence[Cell]) -> Findings:
    near, far = min(SWEEP), max(SWEEP)
    widest = max(each.fan_out for each in cells)
    found = {(each.shape, each.history): each for each in cells if each.fan_out == widest}

    def row(where: str, shape: str, history: float, because: str) -> tuple[str, str, str, str]:
        cell = found[shape, history]
        sent = ", ".join(f"{TITLES[name]} {sent:,}" for name, sent in cell.sent.items())
        return where, _titles(cell.fewest), _titles(cell.fastest), f"{because} (sent: {sent})"

    rows = (
        row("everybody can be reached by one way only", "tree", far, "CIN asks, and learns nothing"),
        row("loops: those who know are told back", "back-talk", far, "the header names them all"),
        row("many tell the same", "in common", far, "the copies that CIN saves are those nobody waits for"),
        row("they relay it, history near", "relayed", near, "the senders are busy with repetitions"),
        row("they relay it, history far", "relayed", far, "asking at each hop costs more than repetitions do"),
        (
            "the ten scenarios",
            _titles(best({name: sum(each.sent[name] for each in counts) for name in COMPARED})),
            _titles(best({name: fmean(each[name] for each in times.values()) for name in COMPARED})),
            "most loops lead back to those in the header",
        ),
    )
    notes = (
        "Without knowing the graph: HIN+DIN, which sends no more than DIN or HIN and needs no node that all depend on."
        " CIN where a copy costs more than a question: wide graphs with much in common and a history close by. DIN"
        " where services may not learn each other's names, or headers would be long. HIN alone only where a graph is"
        " shallow and known; BIN nowhere.",
    )
    return Findings("Which protocol wins where", ("where", "fewest messages", "fastest", "because"), rows, notes)


def _titles(names: Iterable[str]) -> str:
    """Of the best; where all are, there is nothing to choose."""
    found = [TITLES[name] for name in names]
    return "all alike" if len(found) == len(COMPARED) else ", ".join(found)


def _map(cells: Sequence[Cell]) -> Findings:
    columns = ("shape", "fan-out", "history ms", "fewest", "fastest", *(f"{TITLES[name]} ms" for name in COMPARED))
    rows: Rows = tuple(
        (each.shape, each.fan_out, each.history, _titles(each.fewest), _titles(each.fastest), *each.ms.values())
        for each in cells
    )
    notes = (
        "tree: everybody is told by one; back-talk: a tree whose services also tell the one who told them, and each"
        " other; in common: all of the first row tell the same; relayed: and those all tell the same again.",
    )
    return Findings("Fewest messages and fastest, by shape, fan-out and delay of the history", columns, rows, notes)


def _ladder(rungs: Sequence[Rung]) -> Findings:
    columns = ("layers of two", *(TITLES[name] for name in COMPARED), "HIN without a limit")
    rows = []
    for layers, group in groupby(rungs, key=lambda each: each.layers):
        sent = (f"{each.notifications:,}, stopped" if each.stopped else each.notifications for each in group)
        rows.append((layers, *sent, _growth.ways(layers)))
    notes = ("Each of a layer tells both of the next. Plain HIN doubles with every layer, so that it needs a limit.",)
    return Findings("A ladder: why HIN alone is not enough", columns, tuple(rows), notes)


def _growing(grown: Sequence[Grown]) -> Findings:
    columns: Columns = {
        "world": "world", "services": "services", "protocol": lambda each: TITLES[each.protocol], "reached": "reached",
        "messages": lambda each: f"{each.notifications:,}{', stopped' if each.stopped else ''}",
        "largest header B": "largest_header", "all headers B": "header_bytes", "central rows": "central_rows",
        "central B": "central_bytes", "local rows": "local_rows", "local B": "local_bytes", "s": "seconds",
        "without a limit": "unlimited",
    }  # fmt: skip
    return Findings.of(
        "Growth, simulated",
        grown,
        columns,
        "One message. layered: layers twice as wide each, a service tells its own two and a third; random: each tells"
        f" {_growth.DEGREE} others; taxonomy: services in one to three leaves of a tree of categories, edges to"
        " leaves and to whole branches, on subtopics of what is published.",
        f"With plain HIN a notifier passes the message on {_growth.HIN_PASSES} times and no more, so that it is"
        " stopped where it would double at every step; nobody is left out. Headers are unlimited here; a node sends at"
        " most 500 names.",
        "Header bytes: the names in MessagePack. History bytes: rows in memory, with their names.",
    )


def _draw_17(path: Path, counts: Sequence[Sent]) -> None:
    groups = {TITLES[name]: [float(each.sent[name]) for each in counts] for name in COMPARED}  # BIN has no end
    title = "Number of notifications (Medjahed Fig. 17)"
    bars(path, title, [str(each.scenario) for each in counts], groups, "notifications", stacked=False)


def _draw_19(path: Path, times: Times, links: Links) -> None:
    groups = {TITLES[name]: [times[each.number][name] for each in SCENARIOS] for name in COMPARED}
    title = f"Notification time, the history {links.history:g} ms away (Medjahed Fig. 19, simulated)"
    bars(path, title, list(map(str, SCENARIOS)), groups, "ms until the last service has it", stacked=False)


def _draw_map(path: Path, cells: Sequence[Cell]) -> None:
    places = list(dict.fromkeys((each.shape, each.fan_out) for each in cells))
    found = {(each.shape, each.fan_out, each.history): each for each in cells}
    columns = [f"{shape}\nto {fan_out} each" for shape, fan_out in places]
    fewest = [_word(found[*place, SWEEP[0]].fewest) for place in places]
    fastest = [[_word(found[*place, history].fastest) for place in places] for history in SWEEP]
    rows = ["fewest messages", *(f"fastest, history {history:g} ms away" for history in SWEEP)]
    word_map(path, "Which protocol wins where", rows, columns, [fewest, *fastest])


def _word(names: tuple[str, ...]) -> tuple[str, str]:
    """What stands in a cell, and what kind of winner that is."""
    kinds = {True: "CIN alone", False: "those without a central history"}
    if len(names) == len(COMPARED):
        return "all alike", "no matter"
    shown = "\n".join(TITLES[name] for name in names)
    if "cin" in names and len(names) > 1:
        return shown, "CIN and headers alike"
    return shown, kinds[names == ("cin",)]


def _draw_growth(path: Path, grown: Sequence[Grown]) -> None:
    log_log(path, "Growth (one message, simulated)", [_panels(grown, name) for name in _growth.WORLDS])


def _panels(grown: Sequence[Grown], world: str) -> list[Panel]:
    def line(value: str, protocol: str) -> list[tuple[float, float]]:
        here = (each for each in grown if (each.world, each.protocol) == (world, protocol))
        return [(each.services, getattr(each, value)) for each in here]

    messages = {TITLES[name]: line("notifications", name) for name in COMPARED}
    messages["HIN (to its limit)"] = messages.pop("HIN")
    if world == "layered":
        messages["HIN without a limit"] = line("unlimited", "hin")
    sums = {f"{TITLES[name]}, all": line("header_bytes", name) for name in ("hin", "hin-din")}
    largest = {f"{TITLES[name]}, the largest": line("largest_header", name) for name in ("hin", "hin-din")}
    histories = {"central (CIN)": line("central_bytes", "cin"), "local, all (DIN)": line("local_bytes", "din")}
    headers = sums | largest
    return [
        Panel(f"{world}: messages", "services", "messages", messages, _colours(messages)),
        Panel(f"{world}: headers", "services", "bytes", headers, _colours(headers)),
        Panel(f"{world}: histories", "services", "bytes", histories, {"central (CIN)": 0, "local, all (DIN)": 1}),
    ]


def _colours(names: Iterable[str]) -> dict[str, int]:
    """One a protocol in all pictures, whatever is said of it after its title."""
    titles = [TITLES[name] for name in COMPARED]
    known = {name: next((t for t in titles if re.match(rf"{re.escape(t)}(?![+\w])", name)), "") for name in names}
    return {name: titles.index(title) if "without" not in name else len(titles) for name, title in known.items()}
