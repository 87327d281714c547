"""Views that other nodes of the ring have: what this node tells them of its receivers, and what it asks of them."""

from collections.abc import Awaitable
from typing import Protocol

from tocsin.model.identity import Instant
from tocsin.model.notification import EVERY_PLANE, Notification
from tocsin.routing.reply.messages import Forwarded, NotReached, Reached
from tocsin.store.machines import Writing

PART = "part"  # the source of forwarding that is the matching of another node of the ring
Told = Forwarded | NotReached | Reached
Question = tuple[str, str, Instant]  # the type of the reply, the topic, and until when


class Elsewhere(Protocol):
    async def tell(self, view: str, until: Instant, message: Told, *, again: bool = False) -> bool:
        """Whether the view has it on disk: it is tried again until it can count no more. What is said `again` changes
        nothing that was told before."""
        ...

    async def reply(self, token: str, said: object) -> bool:
        """Whether there is such a view anywhere; refused as it would be there."""
        ...

    async def question(self, token: str) -> Question | None: ...


class KeptElsewhere(Protocol):
    """Copies of this node's views at others."""

    def wrote(self, writing: Writing) -> None: ...

    def kept(self) -> Awaitable[None] | None:
        """Done when all that is on disk here is there too; None where it is."""
        ...


def awaited(notification: Notification) -> tuple[str, ...]:
    """What came for the subscriptions of one plane alone is matched in another by another node."""
    way = notification.way
    return (PART,) if way is not None and way.plane not in ("", EVERY_PLANE) else ()
