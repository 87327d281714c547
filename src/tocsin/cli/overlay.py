"""`overlay simulate`: subscriptions and notifications that meet in a ring, by the tables that nodes route with."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from tocsin.cli import options
from tocsin.cli.options import group
from tocsin.cli.output import console, counted, give, say, show_whole, table
from tocsin.sim.overlay import TOUCHED_BOUND, Meeting, Setting, meeting
from tocsin.sim.ring_costs import Balance, Costs, balance, costs

application = group("Simulations of a ring of nodes.", "tocsin overlay simulate --nodes 1000 --dimensions 3")
MOST_NODES = 100_000


@application.callback(epilog="Example: tocsin overlay simulate --nodes 1000 --json")
def overlay() -> None:
    """Simulations of a ring of nodes."""


@application.command(
    epilog="Example: tocsin overlay simulate --nodes 1000 --dimensions 3 --subscriptions 500 --notifications 500"
)
def simulate(
    nodes: Annotated[int, typer.Option(min=1, max=MOST_NODES, help="How many are in the ring.")] = 1_000,
    dimensions: Annotated[int, typer.Option(min=1, max=16, help="Of the information space.")] = 3,
    subscriptions: Annotated[int, typer.Option(min=0, max=10**6, help="Points, boxes, and words by a prefix.")] = 500,
    notifications: Annotated[int, typer.Option(min=0, max=10**6, help="Each a point, published at any node.")] = 500,
    seed: Annotated[int, typer.Option(help="Of all that is drawn.")] = 1,
    json: options.Json = False,
) -> None:
    """Subscribe and publish in a ring at rest, and compare what is delivered with what should be."""
    setting = Setting(nodes, dimensions, subscriptions, notifications, seed)
    begun = time.perf_counter()
    with _progress(quiet=json) as told:
        found = meeting(setting, told)
        told("nodes whose load is measured", 0, min(nodes, 1_000))
        even = balance(nodes, dimensions, seed)
        told("joins and crashes", 0, 4)
        needed = costs(nodes, seed)
    ms = 1000 * (time.perf_counter() - begun)
    if json:
        give(_document(found, even, needed, ms))
    else:
        _show(found, even, needed, ms)


@contextmanager
def _progress(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    screen = console()
    if quiet or not screen.is_terminal:
        yield lambda what, done, of: None  # noqa: ARG005
        return
    with screen.status("", spinner="dots") as status:
        yield lambda what, done, of: status.update(f"{done:,} of {of:,} {what}")


def _document(found: Meeting, even: Balance, needed: Costs, ms: float) -> dict[str, Any]:
    setting = found.setting
    return {
        "nodes": setting.nodes,
        "dimensions": setting.dimensions,
        "subscriptions": setting.subscriptions,
        "notifications": setting.notifications,
        "seed": setting.seed,
        "hops_mean": found.hops_mean,
        "hops_p99": found.hops_at(0.99),
        "hops_max": max(found.hops, default=0),
        "hops_bound": found.hops_bound,
        "owners_mean": found.owners_mean,
        "touched_over_owners": found.touched_over_owners,
        "all_touched_over_owners": found.all_touched_over_owners,
        "depth_mean": found.depth_mean,
        "messages_per_notification": found.messages_per_notification,
        "matches": found.expected,
        "recall": found.recall,
        "wrong": found.wrong,
        "duplicates": found.repeated,
        "balance": {
            "nodes": even.nodes,
            "max_over_mean": even.hashed,
            "max_over_mean_by_load": even.by_load,
            "max_over_mean_moved": even.moved,
            "moves": even.moves,
        },
        "messages": {"nodes": needed.nodes, "join": needed.join, "crash": needed.crash},
        "ms": ms,
    }


def _show(found: Meeting, even: Balance, needed: Costs, ms: float) -> None:
    setting = found.setting
    say(
        f"{counted(setting.nodes, 'node')}, {counted(setting.dimensions, 'dimension')};"
        f" {counted(setting.subscriptions, 'subscription')}, {counted(setting.notifications, 'notification')},"
        f" {counted(found.expected, 'match', 'matches')}; {ms / 1000:,.1f} s"
    )
    show_whole(table(("", "measured", "to reach"), _rows(found, even, needed), right=(1, 2)))
    say("A notification is looked for by its topic and by its content: hops are of each way, messages of both. The way")
    say("of a subscription is a lookup until it is first kept or divided; nodes that it passes from there are touched.")
    say(
        f"Balance: keys at the node that has most, over the mean of {counted(even.nodes, 'node')}. Joins and crashes:\n"
        f"questions that are asked because of one, in a ring of {counted(needed.nodes, 'node')}."
    )


def _rows(found: Meeting, even: Balance, needed: Costs) -> Iterator[tuple[str, str, str]]:
    yield "hops, mean", f"{found.hops_mean:.2f}", f"<= {found.hops_bound:.2f}"
    yield "hops, 99 of 100", f"{found.hops_at(0.99)}", ""
    yield "owners of a subscription, mean", f"{found.owners_mean:,.1f}", ""
    yield "touched over owners", f"{found.touched_over_owners:.3f}", f"<= {TOUCHED_BOUND}"
    yield "the same of all, with their ways", f"{found.all_touched_over_owners:.3f}", ""
    yield "nodes one after the other to the last owner", f"{found.depth_mean:.1f}", ""
    yield "messages a notification", f"{found.messages_per_notification:.2f}", ""
    yield "recall", f"{found.recall:.6g}", "1"
    yield "delivered wrongly", f"{found.wrong:,}", "0"
    yield "duplicates", f"{found.repeated:,}", "0"
    yield "balance, places by chance", f"{even.hashed:.1f}", ""
    yield "balance, places by load", f"{even.by_load:.1f}", ""
    yield f"balance, by chance and {counted(even.moves, 'move')}", f"{even.moved:.1f}", ""
    yield "messages of a join", f"{needed.join:.0f}", ""
    yield "messages of a crash", f"{needed.crash:.0f}", ""
