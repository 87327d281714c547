"""The protocols of paper 000 as what each remembers, and where: one machine runs them all."""

from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from tocsin.model.refusal import Refusal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Passes = TypeVar("Passes", int, "NDArray[np.int64]")


class Protocol(Struct, frozen=True):
    """`central`: one history for all, asked before sending; `keyed`: there is one for each message, at the node that
    has the key of it. `local`: each notifier knows what it has had. `header`: the message names who was notified.
    `ends`: who receives it passes it on to nobody. What has neither history may come back without end, so that a
    notifier passes the same message on so often only (`bounded`)."""

    name: str
    title: str
    central: bool = False
    local: bool = False
    header: bool = False
    ends: bool = False
    keyed: bool = False

    @property
    def bounded(self) -> bool:
        return not (self.central or self.local or self.ends)

    def bound(self, most: int) -> int | None:
        """How often one notifier passes the same message on; None where nothing has to end it."""
        return most if self.bounded else None

    def drops(self, had: bool) -> bool:
        """Whether a copy goes no further because the notifier has had the message."""
        return self.local and had


PROTOCOLS = {
    each.name: each
    for each in (
        Protocol("bin", "basic (s3.3): sends to every neighbour, and can loop"),
        Protocol("cin", "centralised (s4.1): one history, each service is told once", central=True),
        Protocol("din", "distributed (s4.2): each notifier passes a message on once", local=True),
        Protocol("hin", "header-based (s4.3): the message names who was notified", header=True),
        Protocol("hin-din", "header-based with local histories (s4.3)", header=True, local=True),
        Protocol("dht-cin", "centralised (s4.1), with a history for each message on a ring", central=True, keyed=True),
    )
}
DEFAULT = "hin-din"
DIRECT = Protocol("direct", "to those named by the sender's own rule, and no further", ends=True)


def protocol(name: str) -> Protocol:
    found = DIRECT if name == DIRECT.name else PROTOCOLS.get(name)
    if found is None:
        raise Refusal("malformed", f"{name[:80]!r} is no protocol; there are: {', '.join(PROTOCOLS)}")
    return found


def room(passes: Passes, most: int) -> Passes:
    """How many more copies a notifier passes on that has passed on so many: a number, or one for each of many."""
    return most - passes
