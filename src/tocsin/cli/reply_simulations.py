"""`reply simulate`: a publication with replies over a full tree, by the machines that nodes run."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tocsin.cli import options
from tocsin.cli.output import WRONG_USE, console, counted, fail, give, say, show_whole, table
from tocsin.routing.reply.trees import FullTree
from tocsin.sim.harvest import ALL_VALUES, Harvest, Setting, harvest

if TYPE_CHECKING:
    from rich.table import Table

MOST_RECEIVERS = 10_000_000  # of a simulation: some ten minutes
MOST_BARS, BAR_WIDTH = 20, 40
Branching = Annotated[int, typer.Option(min=1, max=10**7, help="How many nodes, or receivers, are behind each node.")]
Height = Annotated[int, typer.Option(min=1, max=200, help="Edges from the root to a receiver, its own among them.")]


class AlgorithmName(StrEnum):
    DISPATCHER = "dispatcher"
    MESSAGE = "message"
    MIXED = "mixed"


PARTS = {AlgorithmName.DISPATCHER: 0.0, AlgorithmName.MESSAGE: 1.0, AlgorithmName.MIXED: 0.5}


def simulate(
    branching: Branching,
    height: Height,
    values: Annotated[int, typer.Option(min=1, max=10**9, help="How many different replies there are.")],
    algorithm: Annotated[AlgorithmName, typer.Option(help="Who merges replies: every node, the root alone, or some.")],
    stateless: Annotated[
        float | None, typer.Option(min=0, max=1, metavar="FRACTION", help="Of mixed: the part that merges nothing.")
    ] = None,
    most: Annotated[
        int, typer.Option(min=0, help="Values that a histogram keeps, as nodes keep 1000; 0 is all of them.")
    ] = 0,
    look: Annotated[
        bool, typer.Option("--look", help="Ask how many replies are outstanding, as mixed always does.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the replies, and of who merges nothing.")] = 1,
    json: options.Json = False,
) -> None:
    """Publish once over a full tree, have every receiver reply, and count."""
    tree = FullTree(branching, height)
    _check(tree, algorithm, stateless)
    part = PARTS[algorithm] if stateless is None else stateless
    setting = Setting(tree, values, part, seed, most or ALL_VALUES, look=look or algorithm is AlgorithmName.MIXED)
    begun = time.perf_counter()
    with _progress(tree.receivers, quiet=json) as told:
        found = harvest(setting, told)
    ms = 1000 * (time.perf_counter() - begun)
    if json:
        give(_document(found, algorithm, ms))
    else:
        _show(found, algorithm, ms)


def _check(tree: FullTree, algorithm: AlgorithmName, stateless: float | None) -> None:
    if tree.receivers > MOST_RECEIVERS:
        fail(
            f"{tree.branching}^{tree.height} receivers are more than {MOST_RECEIVERS:,}; take a smaller --height, or"
            " `tocsin reply plan`, which works out what they cost",
            WRONG_USE,
        )
    if stateless is not None and algorithm is not AlgorithmName.MIXED:
        fail("--stateless is for --algorithm mixed: with the others every node merges, or the root alone", WRONG_USE)


@contextmanager
def _progress(receivers: int, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    screen = console()
    if quiet or not screen.is_terminal:
        yield lambda replied: None  # noqa: ARG005
        return
    with screen.status("", spinner="dots") as status:
        yield lambda replied: status.update(f"{replied:,} of {receivers:,} have replied")


def _document(found: Harvest, algorithm: AlgorithmName, ms: float) -> dict[str, Any]:
    histogram = found.view.histogram
    return {
        "algorithm": algorithm,
        "receivers": found.tree.receivers,
        "publication_messages": found.publication_messages,
        "publication_bytes": sum(each.publication_bytes for each in found.by_depth),
        "reply_messages": found.reply_messages,
        "reply_bytes": found.reply_bytes,
        "look_messages": found.look_messages,
        "look_bytes": found.look_bytes,
        "state_entries": found.state_entries,
        "outstanding": found.view.outstanding,
        "exact": found.view.exact,
        "histogram": dict(sorted(histogram.counts.items(), key=lambda each: int(each[0]))),
        "rest": histogram.rest,
        "by_depth": [
            {
                "depth": each.depth,
                "nodes": each.nodes,
                "reply_messages": each.reply_messages,
                "reply_bytes": each.reply_bytes,
                "look_messages": each.look_messages,
                "look_bytes": each.look_bytes,
                "state_entries": {"mean": each.state_mean, "max": each.state_max},
                "publication_bytes": each.publication_bytes,
            }
            for each in found.by_depth
        ],
        "ms": ms,
    }


def _show(found: Harvest, algorithm: AlgorithmName, ms: float) -> None:
    tree, view = found.tree, found.view
    say(
        f"{algorithm}: {counted(tree.receivers, 'receiver')} behind {counted(tree.dispatchers, 'node')};"
        f" {counted(found.reply_messages, 'reply message')} of {found.reply_bytes:,} bytes;"
        f" {counted(found.state_entries, 'entry', 'entries')} at most at a node; {view.outstanding:,} outstanding"
        f"{'' if view.exact else ', as far as the root knows'}; {ms:,.0f} ms"
    )
    show_whole(_by_depth(found))
    say("Messages and bytes are those over all edges from that depth to the one before; asked for is what the")
    say("publication is longer by. State: entries of histograms, and addresses of the path where nothing is merged.")
    if found.look_messages:
        say(
            f"By {counted(found.look_messages, 'message')} more ({found.look_bytes:,} bytes, without any reply) those"
            " that merge learn how many receivers are behind those that do not."
        )
    _show_histogram(view.histogram.counts, view.histogram.rest)


def _by_depth(found: Harvest) -> "Table":
    titles = ("depth", "nodes", "messages", "bytes", "a node's bytes", "state, mean", "state, most", "asked for, bytes")
    rows = (
        (
            f"{each.depth}",
            f"{each.nodes:,}",
            f"{each.reply_messages:,}",
            f"{each.reply_bytes:,}",
            f"{each.reply_bytes / each.nodes:,.1f}",
            f"{each.state_mean:,.1f}",
            f"{each.state_max:,}",
            f"{each.publication_bytes:,}",
        )
        for each in found.by_depth
    )
    return table(titles, rows, right=range(len(titles)))


def _show_histogram(counts: Mapping[str, int], rest: int) -> None:
    ranked = sorted(counts.items(), key=lambda each: (-each[1], int(each[0])))[:MOST_BARS]
    largest = ranked[0][1]
    rows = (
        (value, f"{count:,}", "█" * max(1, round(BAR_WIDTH * count / largest)))
        for value, count in sorted(ranked, key=lambda each: int(each[0]))
    )
    show_whole(table(("reply", "receivers", ""), rows, right=(0, 1)))
    left = len(counts) - len(ranked)
    if left or rest:
        others = f"{left:,} more values; " if left else ""
        cut = f"{rest:,} receivers gave others, which the histogram does not keep; " if rest else ""
        say(f"... {others}{cut}--json has all that is known")
