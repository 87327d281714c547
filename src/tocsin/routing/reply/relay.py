"""The relay of a node: passes on what is for the harvesters of others, and keeps nothing (paper 001 s3.2.2)."""

from collections.abc import Callable, Sequence
from typing import Any

from tocsin.model.identity import Instant
from tocsin.routing.machine import Effect, Send
from tocsin.routing.reply.harvester import Harvester
from tocsin.routing.reply.messages import Declined, Look, Passed, Through, Told, harvester_of, relay_of, upward

Knows = Callable[[str], Harvester | None]


class Relay:
    """`knows` gives the harvester of a view at this node, and `neighbours` the nodes that publications may go to."""

    def __init__(self, node: str, knows: Knows, neighbours: Callable[[], Sequence[str]], *, merging: bool) -> None:
        self._node, self._knows, self._neighbours, self._merging = node, knows, neighbours, merging

    def step(self, message: Any, now: Instant) -> list[Effect]:
        del now
        match message:
            case Passed(view, path, said):
                return [upward(view, path, said)]
            case Through(view, path, asked):
                return self._through(view, path, asked)
        return []

    def _through(self, view: str, path: tuple[str, ...], asked: Any) -> list[Effect]:
        """A node that merges sees to those behind it itself; that it has nothing, it never had or has sent before."""
        found = self._knows(view)
        here: list[Effect] = [] if found is None else [Send(harvester_of(view, self._node), asked)]
        if found is not None and found.merges:
            return here
        if self._merging:
            return [upward(view, path, Declined(self._node))] if isinstance(asked, Look) else []
        others = tuple(each for each in self._neighbours() if each != path[-1])
        onward: list[Effect] = [Send(relay_of(each), Through(view, (*path, self._node), asked)) for each in others]
        if not isinstance(asked, Look):
            return here + onward
        receivers, complete = (0, True) if found is None else (found.receivers, found.is_forwarded)
        return [*onward, upward(view, path, Told(self._node, asked.number, receivers, others, complete))]
