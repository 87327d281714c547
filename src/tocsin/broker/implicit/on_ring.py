"""What implicit notification asks of a ring of nodes: every notifier and history is where the key of its name lies."""

from typing import Any, Protocol

from tocsin.routing.implicit.messages import Publication
from tocsin.routing.implicit.result import Dissemination
from tocsin.runtime.family import Place

LETTERS_ON_RING, REPORTS_ON_RING = "ring letters", "ring reports"  # the lanes to whoever has a key


class OnRing(Protocol):
    def holds(self, name: str) -> bool:
        """Whether the machine or the message of that name is this node's, with all there is of it."""
        ...

    def place(self, name: str, lane: str) -> Place: ...

    def check(self, name: str) -> None:
        """Refused while it is not this node's."""
        ...

    async def ask(self, of: str, question: Any) -> Any:
        """However long it takes."""
        ...

    async def announce(self, publication: Publication) -> None:
        """Where its results are gathered, before there are any."""
        ...

    async def outcome(self, message: str, seconds: float) -> Dissemination: ...
