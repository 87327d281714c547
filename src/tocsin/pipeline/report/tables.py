"""A report as sections of tables, for terminals and for the page alike."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from tocsin.pipeline.report.values import Asking, Bar, Deliveries, Latency, NodeRates, Rates, Report, Share, Spread

NOTHING_YET = "There is nothing yet: the tables have no rows for this."
UNSAID = "(none)"
PASSED_ON = "What nodes pass on to each other counts at each of them; `published` is what was accepted there first."
_PERCENTILES = ("p50", "p90", "p99", "longest")
_TIMES = (
    "An attempt's time is when its answer came, or that none came.",
    "When a pair was matched is not in the tables; it is within the first of these times.",
)


@dataclass(frozen=True)
class Grid:
    """The first `names` columns are words, the others numbers."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    names: int = 1


@dataclass(frozen=True)
class Section:
    """`plots` are the names of figures that belong to it, where there are some."""

    title: str
    grids: tuple[Grid, ...]
    notes: tuple[str, ...] = ()
    plots: tuple[str, ...] = ()


def sections(found: Report) -> list[Section]:
    made = (_rates(found), _fan_out(found), _latencies(found), _deliveries(found), _replies(found), _dead(found))
    return [each for each in (*made, _quarantine(found), _costs(found)) if each is not None]


def printable(text: str | None) -> str:
    """What others named may hold anything."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text or UNSAID)


def span(found: Report) -> str:
    start, stop = (None if each is None else told(each) for each in (found.start, found.stop))
    if start is None and stop is None:
        return "all that is in the tables"
    return (
        f"accepted {f'from {start}' if start else ''}{' ' if start and stop else ''}{f'up to {stop}' if stop else ''}"
    )


def told(time: datetime) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC")


def bounds(bar: Bar) -> str:
    if bar.high is None:
        return f"{bar.low:,} or more"
    return f"{bar.low:,}" if bar.low == bar.high else f"{bar.low:,} to {bar.high:,}"


def _rates(found: Report) -> Section | None:
    rates = found.rates
    if rates is None:
        return None
    figures = {
        "notifications": f"{rates.notifications:,}",
        "matches": f"{rates.matches:,}",
        "first accepted": told(rates.first),
        "last accepted": told(rates.last),
        "notifications a minute": f"{rates.per_minute:,.1f}",
        "notifications an hour": f"{rates.per_hour:,.0f}",
        f"busiest minute, {told(rates.busiest_minute.time)}": f"{rates.busiest_minute.count:,}",
        f"busiest hour, {told(rates.busiest_hour.time)}": f"{rates.busiest_hour.count:,}",
    }
    by = (("dialect", rates.by_dialect), ("topic", rates.by_topic), ("producer", rates.by_producer))
    grids = (_figures("All", figures), *(_shared(f"By {name}", name, shares, rates) for name, shares in by))
    nodes = (_by_node(rates.by_node),) if rates.by_node else ()
    return Section("Rates", (*grids, *nodes), (PASSED_ON,) if nodes else (), plots=("rates", "names"))


def _by_node(found: Sequence[NodeRates]) -> Grid:
    counts = ("notifications", "published", "received", "hops", "matches", "delivered", "retry", "dead")
    rows = [(printable(each.node), *(f"{getattr(each, name):,}" for name in counts)) for each in found]
    return Grid("By node", ("node", *counts), rows)


def _shared(title: str, name: str, shares: Sequence[Share], rates: Rates) -> Grid:
    rows = [
        (printable(each.name), *_share(each.count, rates.notifications), f"{each.count / rates.minutes:,.1f}")
        for each in shares
    ]
    return Grid(title, (name, "notifications", "%", "a minute"), rows)


def _fan_out(found: Report) -> Section | None:
    if found.fan_out is None:
        return None
    grids = _spread("Matches a notification", "matches", "notifications", found.fan_out)
    return Section("Fan-out", grids, plots=("fan_out",))


def _latencies(found: Report) -> Section | None:
    if not found.latencies:
        return None
    rows = [_latency(each) for each in found.latencies]
    grid = Grid("Seconds", ("stage", "deliveries", *_PERCENTILES), rows)
    return Section("Latencies", (grid,), _TIMES, ("latencies",))


def _latency(found: Latency) -> tuple[str, ...]:
    return found.stage, f"{found.count:,}", *(f"{each:,.3f}" for each in (found.p50, found.p90, found.p99, found.max))


def _deliveries(found: Report) -> Section | None:
    given = found.deliveries
    if given is None:
        return None
    tried = _spread("Attempts a delivery", "attempts", "deliveries", given.attempts) if given.attempts else ()
    return Section("Repetitions", (_figures("Deliveries", _counts(given)), *tried), plots=("attempts",))


def _counts(given: Deliveries) -> dict[str, str]:
    words = {
        "deliveries (a notification for a subscription)": given.count,
        "delivered": given.delivered,
        "dead": given.dead,
        "dropped, for their subscription ended": given.dropped,
        "never tried": given.untried,
        "delivered more than once": given.repeated,
        "times beyond the first": given.extra,
    }
    return {name: f"{count:,}" for name, count in words.items()}


def _replies(found: Report) -> Section | None:
    given = found.replies
    if given is None:
        return None
    counts = {
        "publications that asked": given.publications,
        "with a reply": given.answered,
        "receivers": given.receivers,
        "replied": given.replied,
        "not reached": given.not_reached,
        "outstanding": given.outstanding,
    }
    figures = {name: f"{count:,}" for name, count in counts.items()}
    figures["replies of 100 receivers"] = _of_hundred(given.replied, given.receivers)
    times = Grid("Seconds", ("from", "publications", *_PERCENTILES), [_latency(each) for each in given.times])
    topics = Grid(
        "By topic", ("topic", "publications", "receivers", "replied", "%"), [_asked(e) for e in given.by_topic]
    )
    grids = (_figures("All", figures), *((times,) if given.times else ()), topics)
    return Section("Replies", grids, plots=("reply_rates", "reply_times"))


def _asked(each: Asking) -> tuple[str, ...]:
    counts = (f"{count:,}" for count in (each.publications, each.receivers, each.replied))
    return printable(each.topic), *counts, _of_hundred(each.replied, each.receivers)


def _of_hundred(count: int, total: int) -> str:
    return f"{100 * count / total:.1f}" if total else ""


def _dead(found: Report) -> Section | None:
    dead = found.dead_letters
    if dead is None:
        return None
    by = (("reason", dead.by_reason), ("consumer", dead.by_consumer))
    grids = tuple(_reasons(f"By {name}", name, shares, dead.count) for name, shares in by)
    return Section("Dead letters", (_figures("All", {"dead letters": f"{dead.count:,}"}), *grids), plots=("dead",))


def _quarantine(found: Report) -> Section | None:
    kept = found.quarantine
    if kept is None:
        return None
    note = "By when it was found. `tocsin pipeline replay --quarantine` tries it again."
    return Section("Quarantine", (_reasons("By reason", "reason", kept.by_reason, kept.count),), (note,))


def _costs(found: Report) -> Section | None:
    costs = found.costs
    if costs is None:
        return None
    rows = [
        (
            printable(each.subscription),
            printable(each.consumer),
            *(f"{count:,}" for count in (each.matches, each.attempts, each.delivered, each.dead, each.bytes)),
        )
        for each in costs.top
    ]
    titles = ("subscription", "consumer", "matches", "attempts", "delivered", "dead", "payload bytes")
    note = f"The first {len(rows):,} of {costs.subscriptions:,}. Bytes are those of the payload, for each attempt."
    return Section("Cost by subscription", (Grid("By bytes", titles, rows, 2),), (note,), ("costs",))


def _spread(title: str, value: str, counted: str, found: Spread) -> tuple[Grid, ...]:
    figures = {"mean": f"{found.mean:,.2f}", "p50": f"{found.p50:,}", "p99": f"{found.p99:,}", "most": f"{found.max:,}"}
    total = sum(each.count for each in found.histogram)
    rows = [(bounds(each), *_share(each.count, total)) for each in found.histogram]
    return _figures(title, figures), Grid("Histogram", (value, counted, "%"), rows)


def _reasons(title: str, name: str, shares: Iterable[Share], total: int) -> Grid:
    return Grid(title, (name, "count", "%"), [(printable(each.name), *_share(each.count, total)) for each in shares])


def _figures(title: str, figures: dict[str, str]) -> Grid:
    return Grid(title, ("", ""), list(figures.items()))


def _share(count: int, total: int) -> tuple[str, str]:
    return f"{count:,}", f"{100 * count / total:.1f}"
