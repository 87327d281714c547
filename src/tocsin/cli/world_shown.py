"""The world for eyes: its categories as a tree with what leaves them, its services and edges as tables."""

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from tocsin.semantics.service import Service
from tocsin.wire.world_documents import CategoryDocument, EdgeDocument

MOST_SERVICES = 8  # named under one category


def graph(categories: Sequence[CategoryDocument], edges: Sequence[EdgeDocument]) -> Tree:
    leaving: dict[str, list[EdgeDocument]] = {}
    for edge in edges:
        leaving.setdefault(edge.source, []).append(edge)
    by_name = {each.name: each for each in categories}
    tree = Tree("world", hide_root=True)
    waiting = [(tree, each) for each in categories if each.parent is None]
    while waiting:
        above, category = waiting.pop(0)
        branch = above.add(_category(category))
        for edge in leaving.get(category.name, ()):
            branch.add(_edge(edge))
        waiting += [(branch, by_name[name]) for name in sorted(category.children) if name in by_name]
    return tree


def edges_table(edges: Sequence[EdgeDocument]) -> Table:
    table = Table("from", "topic", "to", "counts", "for", "against", "why", box=None, pad_edge=False)
    table.columns[4].justify = table.columns[5].justify = "right"
    for each in edges:
        style = "" if each.counts else "dim"
        parts = (each.source, each.topic, each.target, "yes" if each.counts else "no")
        votes = (str(each.agree or ""), str(each.disagree or ""))
        table.add_row(*(Text(part, style=style) for part in (*parts, *votes, each.why)))
    return table


def services_table(services: Sequence[Service]) -> Table:
    table = Table("service", "categories", "notifier", "told at", "qualities", "policies", box=None, pad_edge=False)
    for each in services:
        told = f"{each.address} {each.dialect}".strip()
        qualities = ", ".join(f"{name} {value:g}" for name, value in each.qualities.items())
        parts = (each.name, ", ".join(each.categories), each.notifier, told, qualities, ", ".join(each.policies))
        table.add_row(*(Text(part, overflow="fold") for part in parts))
    return table


def _category(category: CategoryDocument) -> Text:
    label = Text(category.name, style="bold")
    if category.owner:
        label.append(f"  owned by {category.owner}", style="not bold dim")
    if category.services:
        more = len(category.services) - MOST_SERVICES
        named = ", ".join(sorted(category.services)[:MOST_SERVICES])
        label.append(f"  {named}{f' and {more:,} more' if more > 0 else ''}", style="not bold")
    return label


def _edge(edge: EdgeDocument) -> Text:
    label = Text(f"-{edge.topic}-> {edge.target}", style="" if edge.counts else "dim")
    return label if edge.counts else label.append(f"  does not count: {edge.why}", style="dim")
