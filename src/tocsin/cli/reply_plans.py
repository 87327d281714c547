"""`reply plan`: what to reserve for publications with replies, and whether a tree keeps to it (paper 001 s4.5)."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from tocsin.cli import options
from tocsin.cli.output import WRONG_USE, counted, fail, give, say, show_whole, table
from tocsin.cli.reply_simulations import Branching, Height
from tocsin.model.refusal import Refusal
from tocsin.routing.reply.costs import (
    ALGORITHMS,
    Algorithm,
    Load,
    Need,
    Plan,
    address_bytes,
    entry_bytes,
    plan,
)
from tocsin.routing.reply.trees import Fit, FullTree, fit, fit_of_full

MOST_NAMED = 10
MOST_RECEIVERS = 10**18
TITLES: dict[Algorithm, str] = {"dispatcher": "dispatcher", "message": "message"}
WHAT = {"mean": "mean", "peak": "own peak", "total": "to reserve"}
Plans = Mapping[Algorithm, Plan]
_DIMENSIONS = re.compile(r"(\d{1,9})x(\d{1,3})")


def show_plan(
    branching: Branching,
    height: Height,
    publications: Annotated[int, typer.Option(min=1, help="So many wait for replies at the same time (n).")],
    per_publisher: Annotated[int, typer.Option(min=1, help="At most so many of them are of one publisher (m).")],
    values: Annotated[int, typer.Option(min=1, help="How many different replies there are (|P|).")],
    tree: Annotated[
        str | None,
        typer.Option(metavar="FILE|BxH", help='A tree to compare: JSON {"node": ["child", ...]}, or its dimensions.'),
    ] = None,
    json: options.Json = False,
) -> None:
    """Tell what replies need of links, nodes and memory, and whether a tree keeps to it."""
    reserved, load = FullTree(branching, height), Load(publications, min(per_publisher, publications), values)
    if reserved.receivers > MOST_RECEIVERS:
        fail(f"nobody has {branching}^{height} receivers; take a smaller --height", WRONG_USE)
    plans = {name: plan(name, reserved, load) for name in ALGORITHMS}
    compared = None if tree is None else _compared(tree, reserved)
    if json:
        give(_document(reserved, load, plans, compared))
        return
    _show(reserved, load, plans)
    if compared is not None:
        _show_fit(compared, reserved)


def _compared(named: str, reserved: FullTree) -> Fit:
    if found := _DIMENSIONS.fullmatch(named):
        return fit_of_full(FullTree(int(found[1]), int(found[2])), reserved)
    try:
        return fit(msgspec.json.decode(Path(named).read_bytes(), type=dict[str, list[str]]), reserved)
    except OSError as error:
        fail(f"{named}: {error.strerror}", WRONG_USE)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        fail(f'{named}: not a tree as JSON, {{"node": ["child", ...]}}: {error}', WRONG_USE)
    except Refusal as refusal:
        fail(f"{named}: {refusal.text}", WRONG_USE)


def _document(reserved: FullTree, load: Load, plans: Plans, compared: Fit | None) -> dict[str, Any]:
    return {
        "branching": reserved.branching,
        "height": reserved.height,
        "receivers": reserved.receivers,
        "publications": load.publications,
        "per_publisher": load.per_publisher,
        "values": load.values,
        "entry_bytes": entry_bytes(load.values, reserved.receivers),
        "address_bytes": address_bytes(),
        "algorithms": {name: _needs(each) for name, each in plans.items()},
        "tree": None if compared is None else _fit_document(compared),
    }


def _needs(found: Plan) -> dict[str, Any]:
    return {
        "traffic": {"edge": msgspec.to_builtins(found.edge), "node": msgspec.to_builtins(found.node)},
        "storage": {"entries": found.stored_entries, "bytes": found.stored_bytes},
    }


def _fit_document(found: Fit) -> dict[str, Any]:
    class_ = "preserving" if found.preserving else "degrading"
    return {"class": class_, **msgspec.to_builtins(found)}


def _show(reserved: FullTree, load: Load, plans: Plans) -> None:
    say(
        f"{counted(load.publications, 'publication')} at once, at most {load.per_publisher:,} of one publisher,"
        f" {counted(load.values, 'value')} to reply with; {counted(reserved.receivers, 'receiver')}, {reserved.height}"
        f" edges from the publisher's node, {reserved.branching:,} behind each node. All of them reply."
    )
    titles = ["", *(f"{title}, {what}" for title in TITLES.values() for what in WHAT.values())]
    show_whole(table(titles, _rows(plans), right=range(1, len(titles))))
    for line in _words(reserved, load):
        say(line)


def _rows(plans: Plans) -> Iterator[list[str]]:
    def row(name: str, of: Mapping[Algorithm, Need]) -> list[str]:
        return [name, *(_number(getattr(need, what)) for need in of.values() for what in WHAT)]

    for place, title in (("edge", "over a link"), ("node", "into a node")):
        for unit in ("messages", "entries", "bytes"):
            yield row(f"{title}: {unit}", {name: getattr(getattr(each, place), unit) for name, each in plans.items()})
    yield row("kept at a node: entries", {name: each.stored_entries for name, each in plans.items()})
    yield row("kept at a node: bytes", {name: each.stored_bytes for name, each in plans.items()})


def _words(reserved: FullTree, load: Load) -> Iterator[str]:
    yield "dispatcher: every node merges replies, and keeps state; message: none but the publisher's does."
    yield "mean: of all links and nodes, for all publications. own peak: at the node of one publisher, for its own."
    yield "to reserve: at such a node for its own and for what others publish; at any other the mean is enough."
    yield (
        f"An entry is a value with its count ({entry_bytes(load.values, reserved.receivers):.1f} bytes here), or an"
        f" address of a path ({address_bytes()} bytes). With each receiver's reply the last node keeps who it was."
    )
    yield "Grows with: dispatcher-stateful n min(log |P|, log |R|) in the mean, m min(b |P|, |R|) at the peak;"
    yield "message-stateful n log² |R| and m |R|, however few values there are."


def _number(value: float) -> str:
    if value >= 1e15:
        return f"{value:.3g}"
    return f"{value:,.0f}" if value >= 100 or value == int(value) else f"{value:,.2f}"


def _show_fit(found: Fit, reserved: FullTree) -> None:
    dimensions = f"at most {found.branching:,} behind a node, {found.height} edges deep, {found.receivers:,} receivers"
    if found.preserving:
        say(f"The tree ({dimensions}) is Reply-performance preserving: what is reserved is enough.")
        return
    say(
        f"The tree ({dimensions}) is Reply-performance degrading: it is no part of a full tree with"
        f" {reserved.branching:,} behind each node and {reserved.height} edges deep."
    )
    for each in found.excess[:MOST_NAMED]:
        say(f"  depth {each.depth}, {each.node}: {each.why}")
    if len(found.excess) > MOST_NAMED:
        say(f"  ... and {len(found.excess) - MOST_NAMED:,} more; --json has all of them")
    for load in found.overloads[:MOST_NAMED]:
        say(
            f"  depth {load.depth}, {load.node}: {load.receivers:,} receivers behind it, reserved for {load.reserved:,}"
        )
    if not found.overloads:
        say("  Nowhere are more receivers than are reserved for: it is felt at those nodes alone, not on the way back.")
