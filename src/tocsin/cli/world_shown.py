"""The world for eyes: its categories as a tree with what leaves them, its services and edges as tables."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from tocsin.cli.disseminations import GUIDE, counted
from tocsin.cli.listing import number, show_list
from tocsin.cli.output import say
from tocsin.documents.world import CategoryDocument, EdgeDocument
from tocsin.semantics.interest.ino import Service

MOST_SERVICES = 8  # named under one category
LINE = "\n"
Row = Sequence[str]


def graph(categories: Sequence[CategoryDocument], edges: Sequence[EdgeDocument], width: int) -> Tree:
    leaving: dict[str, list[EdgeDocument]] = {}
    for edge in edges:
        leaving.setdefault(edge.source, []).append(edge)
    by_name = {each.name: each for each in categories}
    tree = Tree("world", hide_root=True)
    waiting = [(tree, each, width) for each in categories if each.parent is None]
    while waiting:
        above, category, room = waiting.pop(0)
        branch = above.add(_category(category, room))
        for edge in leaving.get(category.name, ()):
            branch.add(_edge(edge))
        below = (by_name[name] for name in sorted(category.children) if name in by_name)
        waiting += [(branch, each, room - GUIDE) for each in below]
    return tree


def show_edges(edges: Sequence[EdgeDocument]) -> None:
    titles = ("from", "topic", "to", "counts", "for", "against", "why")
    rows = [
        (e.source, e.topic, e.target, "yes" if e.counts else "no", number(e.agree), number(e.disagree), e.brief)
        for e in edges
    ]
    _show(titles, rows, ["" if each.counts else "dim" for each in edges])


def show_services(services: Sequence[Service]) -> None:
    """Of a notifier the node that runs it, once if that is the same for all; the whole address of somebody else's."""
    titles = ("service", "categories", "runs at", "told at", "qualities", "policies")
    nodes = {each.node for each in services}
    together = len(nodes) == 1 and "" not in nodes
    _show(titles, [_service(each, placed=not together) for each in services], [""] * len(services))
    if together:
        say(f"all run at {nodes.pop()}")


def _service(service: Service, *, placed: bool) -> Row:
    told = f"{service.address} {service.dialect}".strip()
    qualities = ", ".join(f"{name} {value:g}" for name, value in service.qualities.items())
    place = (service.node or service.notifier) if placed else ""
    return service.name, "\n".join(service.categories), place, told, qualities, "\n".join(service.policies)


def _show(titles: Row, rows: Sequence[Row], styles: Sequence[str]) -> None:
    """Without the columns that are empty in every row."""
    used = [at for at, title in enumerate(titles) if at == 0 or any(row[at] for row in rows)]
    table = Table(*(titles[at] for at in used), box=None, pad_edge=False, header_style="bold")
    items: list[tuple[Text, Text]] = []
    for row, style in zip(rows, styles, strict=True):
        table.add_row(*(Text(row[at], style=style, overflow="fold") for at in used))
        items.append((Text(row[0], style=style), _rest(titles, row, style)))
    show_list(table, items)


def _rest(titles: Row, row: Row, style: str) -> Text:
    said = (f"{title}: {cell.replace(LINE, ', ')}" for title, cell in zip(titles[1:], row[1:], strict=True) if cell)
    return Text("  ".join(said), style=style)


def _category(category: CategoryDocument, room: int) -> Text:
    label = Text(category.name, style="bold")
    if category.owner:
        label.append(f"  owned by {category.owner}", style="not bold dim")
    if category.services:
        label.append(f"  {_some(sorted(category.services), room - label.cell_len - 2)}", style="not bold")
    return label


def _some(names: Sequence[str], room: int) -> str:
    """As many as there is room for in the line."""
    for most in range(min(len(names), MOST_SERVICES), 0, -1):
        more = f" and {len(names) - most:,} more" if len(names) > most else ""
        if cell_len(said := ", ".join(names[:most]) + more) <= room:
            return said
    return counted(len(names), "service")


def _edge(edge: EdgeDocument) -> Text:
    label = Text(f"-{edge.topic}-> {edge.target}", style="" if edge.counts else "dim")
    return label if edge.counts else label.append(f"  does not count: {edge.brief}", style="dim")
