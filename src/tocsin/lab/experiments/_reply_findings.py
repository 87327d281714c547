"""The tables of the experiment on replies (paper 001), and what to see in them."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from tocsin.lab.experiment import Cell, Columns, Findings, Rows
from tocsin.lab.experiments._reply_points import BRANCHINGS, Point
from tocsin.lab.experiments._reply_processes import Measured
from tocsin.lab.experiments._reply_trees import Classed
from tocsin.routing.reply import costs
from tocsin.routing.reply.trees import FullTree
from tocsin.sim.reply_time import Paces, ReplyTimes


class Timed(Struct, frozen=True):
    """`besides`: microseconds that a node needs for each message besides reading, step and writing."""

    tree: FullTree
    besides: float
    times: ReplyTimes


class Largest(Struct, frozen=True):
    """Of the highest tree with so many behind each node; message and mixed have few values too."""

    few: Point
    many: Point
    message: Point
    mixed: Point

    @property
    def tree(self) -> FullTree:
        return self.few.tree


def largest(found: Sequence[Point], branching: int) -> Largest:
    height = max(each.tree.height for each in found if each.tree.branching == branching)
    here = {(each.algorithm, each.task.many): each for each in found if each.tree == FullTree(branching, height)}
    kinds = ("dispatcher", False), ("dispatcher", True), ("message", False), ("mixed", False)
    return Largest(*(here[kind] for kind in kinds))


def totals(found: Sequence[Point]) -> Findings:
    columns: Columns = {
        "b": "tree.branching", "h": "tree.height", "|R|": "tree.receivers", "|P|": "task.values",
        "algorithm": "algorithm", "reply messages": "messages", "formula": _formula,
        "reply MB": lambda each: each.bytes / 1e6, "bytes a message": lambda each: each.bytes / each.messages,
        "asked for, MB": lambda each: each.publication_bytes / 1e6, "look messages": "look_messages",
        "most state": "state", "outstanding": lambda each: each.outstanding if each.exact else "?", "CPU s": "seconds",
    }  # fmt: skip
    ordered = sorted(found, key=lambda each: (each.tree.branching, each.tree.height, each.algorithm, each.task.values))
    most = largest(found, BRANCHINGS[0])
    times, bytes_ = (getattr(most.message, name) / getattr(most.few, name) for name in ("messages", "bytes"))
    return Findings.of(
        "Replies of everybody, over whole trees",
        ordered,
        columns,
        "Dispatcher-stateful sends one reply message over each edge, message-stateful |R| h: exactly, in every tree."
        f" For b = {BRANCHINGS[0]} and h = {most.tree.height} that is {times:.1f} times as many, and {bytes_:.1f} times"
        " the bytes.",
        "mixed: half of the nodes merge nothing. Those that merge learn by a look how many receivers are behind the"
        " others, else they could not know when they have all; look messages carry no reply. A ? stands where the root"
        " does not know how many are outstanding: message-stateful, as long as nobody looks.",
        "asked for: what publications are longer by. It grows with the path where nothing is merged.",
    )


def _formula(point: Point) -> int | None:
    tree = point.tree
    return {"dispatcher": tree.edges, "message": tree.receivers * tree.height}.get(point.algorithm)


def table_1(found: Sequence[Point], branching: int) -> tuple[Findings, Findings]:
    """What a node at each depth sends, and what it keeps."""
    here = largest(found, branching)
    tree = here.tree
    title = f"Table 1, b = {branching}, h = {tree.height}, |R| = {tree.receivers:,}"
    depths = list(zip(here.few.by_depth, here.many.by_depth, here.message.by_depth, here.mixed.by_depth, strict=True))
    first = branching == BRANCHINGS[0]
    sent: list[tuple[Cell, ...]] = [
        (
            few.depth,
            few.nodes,
            *(each.reply_messages / each.nodes for each in (few, passing, mixed)),
            *(each.reply_bytes / each.nodes for each in (few, many, passing, mixed)),
        )
        for few, many, passing, mixed in depths
    ]
    kept: list[tuple[Cell, ...]] = [
        (
            few.depth,
            few.state_mean,
            costs.cost("dispatcher", tree, here.few.task.values, few.depth).stored_entries,
            many.state_mean,
            costs.cost("dispatcher", tree, here.many.task.values, few.depth).stored_entries,
            passing.state_mean,
            costs.cost("message", tree, here.message.task.values, few.depth).stored_entries,
            mixed.state_mean,
            few.publication_bytes / few.nodes,
            passing.publication_bytes / passing.nodes,
        )
        for few, many, passing, mixed in depths
    ]
    return (
        Findings(
            f"{title}: what a node sends to the one before it",
            (
                "depth", "nodes", "messages: disp.", "mess.", "mixed", "bytes: disp., few", "disp., many", "mess. ",
                "mixed ",
            ),
            tuple(sent),
            _notes_on_sending(here) if first else (),
        ),
        Findings(
            f"{title}: entries that it keeps, and bytes that it was asked with",
            (
                "depth", "disp., few", "formula", "disp., many", "formula ", "mess.", "formula  ", "mixed",
                "asked: disp.", "mess. ",
            ),
            tuple(kept),
            _notes_on_keeping(here) if first else (),
        ),
    )  # fmt: skip


def _notes_on_sending(here: Largest) -> tuple[str, ...]:
    return (
        f"few: |P| = {here.few.task.values}; many: |P| = {here.many.task.values:,}, ten times |R|; message-stateful and"
        " mixed with few.",
        "The paper's column of sending costs has what a node receives for dispatcher-stateful, min(|P| b, |R| b^-d),"
        " but what it sends for message-stateful, |R| d b^-d. A node that merges sends min(|P|, |R| b^-d) entries: less"
        " by b where |P| is small.",
        f"A reply that is passed on is longer by {costs.address_bytes()} bytes for each address of the path; but the"
        f" rest of its letter has {costs.passed_bytes('0', 2) - costs.address_bytes()} bytes, so that O(d) is hardly"
        " seen. Here nodes are called http://n00000001:8080.",
    )


def _notes_on_keeping(here: Largest) -> tuple[str, ...]:
    different = costs.distinct(here.many.task.values, here.tree.receivers) / here.tree.receivers
    return (
        "Entries of histograms; with message-stateful also the path, which the last node before receivers keeps. Each"
        " of those remembers besides who has replied, with either algorithm, which Table 1 leaves out.",
        "Values that are drawn come twice: there are fewer than the formula has where about as many replies as values"
        f" are behind a node. With ten times as many values as receivers {different:.1%} of all replies are different.",
    )


def averages(found: Sequence[Point]) -> Findings:
    trees = sorted({each.tree for each in found}, key=lambda tree: (tree.branching, tree.height))
    of = {(each.tree, each.algorithm, each.task.many): each for each in found}
    rows: list[tuple[Cell, ...]] = []
    for tree in trees:
        many, few, passing = (
            of[tree, *kind] for kind in (("dispatcher", True), ("dispatcher", False), ("message", False))
        )
        rows.append(
            (
                tree.branching, tree.height, tree.receivers, many.mean_entries, costs.mean_linear(tree),
                costs.mean_as_printed(tree), few.mean_entries, passing.mean_entries, costs.mean_quadratic(tree),
                *(each.bytes / tree.edges for each in (many, few, passing)),
            )
        )  # fmt: skip
    columns = (
        "b", "h", "|R|", "disp., many", "corrected", "as printed", "disp., few", "mess.", "corrected ",
        "bytes: disp., many", "disp., few ", "mess. ",
    )  # fmt: skip
    notes = (
        "Entries over an edge, in the mean. Section 4.4's middle term lacks the factor b-1: as printed it is right for"
        " b = 2 alone, where b-1 is 1, and a quarter of the truth for b = 5; the term after it has the factor.",
        "With few values the mean of dispatcher-stateful stays where it is however many receivers there are:"
        " O(min(log |P|, log |R|)). That of message-stateful grows with log² |R| whatever |P| is; section 4.5 bounds it"
        " with min(log² |P|, log² |R|), which would need merging.",
        "mess. is below its formula, which counts a whole path for the receivers' own edges too: they carry a value.",
    )
    return Findings("Averages over all edges (s4.4)", columns, tuple(rows), notes)


def times(timed: Sequence[Timed], link_ms: float) -> Findings:
    def ratio(name: str) -> Callable[[Timed], float]:
        return lambda each: getattr(each.times, name) / each.times.told

    def ms(name: str) -> Callable[[Timed], float]:
        return lambda each: getattr(each.times, name) / 1e6

    columns: Columns = {
        "besides µs": "besides", "|R|": "tree.receivers", "told ms": ms("told"), "dispatcher ms": ms("dispatcher"),
        "message ms": ms("message"), "naive ms": ms("naive"), "dispatcher / told": ratio("dispatcher"),
        "message / told": ratio("message"), "naive / told": ratio("naive"),
    }  # fmt: skip
    return Findings.of(
        "Reply time: until the publisher's node has every reply, over the time until the last receiver is told",
        timed,
        columns,
        f"{timed[0].tree.branching} behind each node, {link_ms:g} ms between two; a node does one thing after the"
        " other; receivers reply as soon as they are told. Both times are since the publication. besides: what a node"
        " needs for a message more than reading, step and writing, such as HTTP and disk.",
        "naive: every receiver replies straight to the publisher's node.",
        "Merged on the way, replies take about as long as the publication did, whatever |R| is. Sent straight to the"
        " publisher, or passed on unmerged, they all wait at its node: the time grows with |R|.",
        "Message-stateful is no remedy for that: it spreads replies over links, but all of them end at one node.",
        _where_straight_is_quicker(timed),
    )


def _where_straight_is_quicker(timed: Sequence[Timed]) -> str:
    quicker = {each.besides: 0 for each in timed}
    for each in timed:
        if each.times.naive < each.times.dispatcher:
            quicker[each.besides] = max(quicker[each.besides], each.tree.receivers)
    said = (f"{count:,} with {besides:g} µs besides" for besides, count in quicker.items() if count)
    return f"Few replies are quicker straight, by one way instead of h: up to {', '.join(said) or 'none'} here."


def real_times(found: Sequence[Measured]) -> Findings:
    columns: Columns = {
        "|R|": "receivers", "replies go": "way", "told ms": "told", "replied ms": "replied", "replied / told": "ratio",
    }  # fmt: skip
    return Findings.of(
        "Reply time over processes: seven nodes in a binary tree, published at a leaf",
        found,
        columns,
        "Receivers are one process, the publisher's own server too where replies go straight to it; all nodes share"
        " this machine, so that what one saves another can use. Merged replies are on disk at each node they pass.",
    )


def constants(paces: Paces) -> Findings:
    what = {
        "forward": "forwards a copy of the publication", "reply": "counts a receiver's reply",
        "merge": "takes a report in", "finish": "makes its own of all it has",
        "relay": "passes a reply on", "single": "counts a reply that was passed on (the root)",
    }  # fmt: skip
    rows: Rows = tuple(
        (says, getattr(paces, name).message / 1000, getattr(paces, name).byte) for name, says in what.items()
    )
    notes = (
        "Reading, the machine's step and writing, by the processor's clock, from messages of two lengths. That of a"
        " report is in its values: hardly anything is left for the message itself.",
    )
    return Findings("The constants of the reply time, measured", ("a node", "µs a message", "ns a byte"), rows, notes)


def classes(kinds: Sequence[Classed]) -> Findings:
    columns: Columns = {
        "trees": "kind", "reserved b": "reserved.branching", "reserved h": "reserved.height", "of": "trees",
        "preserving": "preserving", "too wide": "too_wide", "too deep": "too_deep", "largest overload": "overload",
    }  # fmt: skip
    return Findings.of(
        "Trees that keep to a reservation (s4.5)",
        kinds,
        columns,
        "A hierarchy whose dimensions were reserved for has preserving trees alone, as the paper says. A mesh whose"
        " nodes have at most b connections has none here: that holds the branching, but not the height, which was"
        " reserved for as if the tree were full. The paper takes no notice of the height; it has to be reserved for.",
        "overload: how many times as many receivers as reserved for are behind some node.",
    )
