"""The relay of a node: passes on what is for the harvesters of others, and keeps nothing (paper 001 s3.2.2)."""

from collections.abc import Callable, Sequence
from typing import Any

from tocsin.model.identity import Instant
from tocsin.routing.machine import Effect, Send
from tocsin.routing.reply.harvester import Harvester
from tocsin.routing.reply.messages import (
    Declined,
    Look,
    Passed,
    Terminate,
    Through,
    Told,
    harvester_of,
    relay_of,
    upward,
)

Knows = Callable[[str], Harvester | None]


class Relay:
    """`knows` gives the harvester of a view at this node. One that keeps none for what it only passes on asks all its
    `neighbours` to look; without them it says nothing of what it does not know: that may be on its way here."""

    def __init__(
        self, node: str, knows: Knows, neighbours: Callable[[], Sequence[str]] | None = None, *, merging: bool
    ) -> None:
        self._node, self._knows, self._neighbours, self._merging = node, knows, neighbours, merging

    def step(self, message: Any, now: Instant) -> list[Effect]:
        del now
        match message:
            case Passed(view, path, said):
                return [upward(view, path, said)]
            case Through(view, path, asked):
                found = self._knows(view)
                return self._unknown(view, path, asked) if found is None else self._through(found, view, path, asked)
        return []

    def _through(self, found: Harvester, view: str, path: tuple[str, ...], asked: Look | Terminate) -> list[Effect]:
        """A node that merges sees to those behind it itself."""
        here = Send(harvester_of(view, self._node), asked)
        if found.merges:
            return [here]
        others = tuple(each for each in found.forwarded_to() if each != path[-1])
        onward = self._onward(view, path, others, asked)
        if isinstance(asked, Terminate):
            return [here, *onward]
        told = Told(self._node, asked.number, found.receivers, others, found.is_forwarded)
        return [*onward, upward(view, path, told)]

    def _unknown(self, view: str, path: tuple[str, ...], asked: Look | Terminate) -> list[Effect]:
        """What a node that merges does not know it never had, or has sent before."""
        if self._neighbours is None:
            return []
        if self._merging:
            return [upward(view, path, Declined(self._node))] if isinstance(asked, Look) else []
        others = tuple(each for each in self._neighbours() if each != path[-1])
        onward = self._onward(view, path, others, asked)
        if isinstance(asked, Terminate):
            return onward
        return [*onward, upward(view, path, Told(self._node, asked.number, 0, others, True))]

    def _onward(self, view: str, path: tuple[str, ...], others: Sequence[str], asked: Look | Terminate) -> list[Effect]:
        return [Send(relay_of(each), Through(view, (*path, self._node), asked)) for each in others]
