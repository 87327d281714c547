"""What a replay found, for eyes; and a replay of a log that nodes share, by what was typed."""

from collections.abc import Mapping

from rich.table import Table

from tocsin.cli.output import WRONG_USE, console, fail, say
from tocsin.cli.progress import spark_bar
from tocsin.mediation.times import instant
from tocsin.model.refusal import Refusal
from tocsin.pipeline.replay import Replayed, ReplaySettings
from tocsin.pipeline.shared.replay import SharedReplay, replay_shared
from tocsin.pipeline.status import NodeStatus
from tocsin.store.shared.address import SharedLog


def run_shared_replay(
    asked: ReplaySettings,
    shared: SharedLog,
    words: tuple[str | None, str | None, str | None],
    *,
    current: bool,
) -> Replayed:
    """By times: each partition of a shared log has offsets of its own. Changes are numbered, for all of them."""
    start, stop, as_of = words
    try:
        since, until = (None if text is None else instant(text) for text in (start, stop))
    except Refusal as problem:
        fail(f"a shared log is replayed between times such as 2026-03-01T12:00:00Z: {problem}", WRONG_USE)
    if as_of is not None and not as_of.isdecimal():
        fail(f"--as-of {as_of!r} is no number of changes; with a shared log subscriptions are known by that", WRONG_USE)
    then = -1 if current else None if as_of is None else int(as_of)
    with spark_bar("matching") as bar:
        return replay_shared(asked, SharedReplay(shared, since, until, then), bar.tell)


def show_replayed(found: Replayed) -> None:
    for name, each in (found.nodes or {"": found}).items():
        where = f"{name}, " if name else ""
        say(
            f"{where}offsets {each.start:,} to {each.stop:,}: {each.records:,} records,"
            f" {each.notifications:,} notifications"
        )
    show_counts("matches", found.by_subscription, "subscription")
    if found.diff is not None:
        for title, side in (
            ("would be matched, was not", found.diff.new),
            ("was matched, would not be", found.diff.gone),
        ):
            if side.count:
                show_counts(title, side.by_subscription, "subscription")
        say(f"{found.diff.new.count:,} new pairs, {found.diff.gone.count:,} gone")
    if found.published is None:
        say(f"{found.matches:,} would be delivered; nothing was. Say --deliver to do it.")
    elif found.published:
        say(f"{found.deliveries:,} are in the outbox and will be sent")
    else:
        say("this replay was delivered before; --again 1 does it once more")


def show_nodes(nodes: Mapping[str, NodeStatus]) -> None:
    drawn = Table("node", "log", "outcomes", "behind", "data")
    for name, each in nodes.items():
        behind = f"{sum(each.lag.values()):,}"
        where = each.data or "named no more, or not there"
        drawn.add_row(name, f"{each.end['log']:,}", f"{each.end['outcomes']:,}", behind, where)
    console().print(drawn)


def show_counts(title: str, counts: Mapping[str, int], name: str) -> None:
    drawn = Table(name, title)
    drawn.columns[1].justify = "right"
    for each, count in sorted(counts.items()):
        drawn.add_row(each, f"{count:,}")
    console().print(drawn)
