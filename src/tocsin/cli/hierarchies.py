"""Hierarchies as trees: types, and categories of producers."""

from collections.abc import Mapping, Sequence

from rich.text import Text
from rich.tree import Tree

MOST = 2_000  # branches: what has several parents stands below each of them


def drawn(parents: Mapping[str, Sequence[str]]) -> Tree:
    children: dict[str, list[str]] = {}
    for name, above in parents.items():
        for each in above:
            children.setdefault(each, []).append(name)
    root, room = Tree("", hide_root=True), [MOST]
    for name in sorted(name for name in children if not parents.get(name)):
        _grow(root, name, children, room)
    return root


def _grow(above: Tree, name: str, children: Mapping[str, Sequence[str]], room: list[int]) -> None:
    waiting = [(above, name)]
    while waiting:
        place, here = waiting.pop()
        room[0] -= 1
        if room[0] < 0:
            place.add(Text("..."))
            return
        branch = place.add(Text(here))
        waiting += [(branch, each) for each in sorted(children.get(here, ()), reverse=True)]
