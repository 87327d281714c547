"""What became of a message, for eyes: a line of figures, and who told whom as a tree."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from tocsin.cli.output import console, counted
from tocsin.documents.notifiers import DisseminationDocument
from tocsin.routing.implicit import result

Dissemination = result.Dissemination | DisseminationDocument
MOST_LINES = 300
GUIDE = 4  # columns that a level of a tree takes
WHY = {"header": "the header names it", "history": "the central history has it"}
Line = tuple[str, Text]  # what is said under a service; of a service that it was the first to tell, with its name


def show_result(found: Dissemination, root: str, topic: str) -> None:
    console().print(figures(found), soft_wrap=True)
    _room_for(found).print(told_tree(found, root, topic))
    for line in _remarks(found, root):
        console().print(Text(line), soft_wrap=True)


def figures(found: Dissemination) -> Text:
    parts = (
        f"{counted(len(found.receivers), 'service')} told",
        counted(found.notifications, "notification"),
        counted(found.repetitions, "repetition"),
        f"{len(found.suppressed):,} suppressed",
        counted(found.hops, "hop"),
        f"{found.ms:,.1f} ms",
    )
    return Text.assemble((found.protocol, "bold"), f"  {', '.join(parts)}")


def compared(results: Iterable[Dissemination]) -> Table:
    names = ("sent", "repetitions", "told", "suppressed", "hops", "ms")
    table = Table("protocol", *names, "stopped", box=None, pad_edge=False, header_style="bold")
    for column in table.columns[1:-1]:
        column.justify = "right"
    for each in results:
        numbers = (each.notifications, each.repetitions, len(each.receivers), len(each.suppressed), each.hops)
        table.add_row(each.protocol, *(f"{number:,}" for number in numbers), f"{each.ms:,.1f}", each.stopped or "")
    return table


def told_tree(found: Dissemination, root: str, topic: str) -> Tree:
    """Each service under the one that told it first; what was told again, or was not, dimmed beside that."""
    tree = Tree(Text.assemble((root, "bold"), f"  publishes {topic}"))
    lines, places = _lines(found), {root: tree}
    left = _grow(places, [root], lines, MOST_LINES)
    for name in lines:
        if left and name not in places:
            places[name] = tree.add(Text(f"{name}  has passed it on, but not said so yet", style="dim"))
            left = _grow(places, [name], lines, left)
    if not left:
        tree.add(Text("... and more; --json has all of it", style="dim"))
    return tree


def _room_for(found: Dissemination) -> Console:
    """A terminal cuts what is deeper than it is wide; lines that it breaks can still be read."""
    deepest = GUIDE * max((step.hop for step in found.trace), default=0)
    screen = console()
    roomy = 2 * deepest < screen.width
    return screen if roomy else Console(stderr=True, highlight=False, width=screen.width + deepest)


def _grow(places: dict[str, Tree], waiting: list[str], lines: dict[str, list[Line]], left: int) -> int:
    """As far as there is room; says how much is left."""
    for at in waiting:
        for name, label in lines.get(at, ())[:left]:
            left -= 1
            branch = places[at].add(label)
            if name and name not in places:
                places[name] = branch
                waiting.append(name)
    return left


def _lines(found: Dissemination) -> dict[str, list[Line]]:
    """What is said under each: those it told first, those it told again, those it did not tell."""
    lines: dict[str, list[Line]] = {}
    for step in found.trace:
        if not step.repeated:
            label = Text.assemble(step.to, (f"  hop {step.hop}, {step.ms:,.1f} ms", "dim"))
            lines.setdefault(step.sender, []).append((step.to, label))
    again = Counter((step.sender, f"{step.to} again: a repetition") for step in found.trace if step.repeated)
    kept = Counter((each.at, f"{each.to} not again: {WHY.get(each.why, each.why)}") for each in found.suppressed)
    for (at, said), times in (again + kept).items():
        label = Text(f"{said}{f', {times:,} times' if times > 1 else ''}", style="dim")
        lines.setdefault(at, []).append(("", label))
    return lines


def _remarks(found: Dissemination, root: str) -> Iterator[str]:
    if found.stopped:
        kept = f"{counted(found.withheld, 'more notification')} {'was' if found.withheld == 1 else 'were'}"
        yield f"stopped by the {found.stopped} on what a notifier passes on: {kept} not sent, all of them repetitions"
    if found.waiting == (root,) and not found.notifications:
        yield _not_begun(found.protocol, root)
    elif found.waiting:
        yield f"nothing heard yet of {_some(found.waiting)}"
    if found.gone:
        yield f"could not be told, gone or without a notifier: {_some(found.gone)}"
    if not found.notifications and not found.waiting:
        yield "nobody is told: no edge on this topic or one below it leaves the categories of the root"


def _not_begun(protocol: str, root: str) -> str:
    """With CIN a root asks the central history before it tells anybody."""
    if protocol == "cin":
        where = "the node that implicit.history names, or else the one that keeps the world"
        return f"{root} waits for the central history to answer, at {where}"
    if protocol == "dht-cin":
        return f"{root} waits for the history of the message to answer, at the node that has the key of its id"
    return f"{root} has not passed it on yet"


def _some(names: Sequence[str], most: int = 10) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
