"""What every protocol is: a machine that takes a message and says what is to be done.

A machine owns its state. It does no I/O and asks for no time, id or randomness: these come with its messages. All it
asks of the world are the effects below; `tocsin.runtime` does them between processes and on disk, `tocsin.sim` on a
clock of its own, and neither knows which protocol it runs.
"""

from typing import Any, Protocol, TypeVar

from msgspec import Struct

from tocsin.model.identity import Instant

# What any machine may hear besides its own messages


class Started(Struct, frozen=True):
    """It runs, for the first time or again, with all it remembered: what it waited for must be asked for anew."""


class Woken(Struct, frozen=True):
    """Its timer."""


class Unanswered(Struct, frozen=True):
    """Nobody answers what it asked."""

    question: Any
    why: str = ""


class Expire(Struct, frozen=True):
    """What is older than that need not be remembered."""

    before: Instant


# What it may ask of the world


class Send(Struct, frozen=True):
    """To the machine of that name, wherever it runs, and kept until it is taken there: once, however often it comes.

    `id` is the message's own; without one it is given one.
    """

    to: str
    message: Any
    id: str = ""


class Ask(Struct, frozen=True):
    """Of a machine, a consumer, a publisher: the answer is a message to who asked. It is not kept: who is started again
    asks again."""

    of: str
    question: Any


class Answer(Struct, frozen=True):
    """To whoever sent the message that is being handled, and waits for it."""

    message: Any


class Deliver(Struct, frozen=True):
    """To the service or consumer that the machine is the agent of; done before anything of the step is written."""

    message: Any


class Remember(Struct, frozen=True):
    """A row, in place of the one that has this key."""

    key: str
    row: Any


class Forget(Struct, frozen=True):
    """The row with this key; without one all of them, and the machine is no more."""

    key: str | None = None


class SetTimer(Struct, frozen=True):
    """In place of the one that was set before. None: none any more."""

    when: Instant | None


class Report(Struct, frozen=True):
    """What became of something, for whoever gathers that: at this node, or at the one that is named."""

    what: Any
    to: str = ""


Effect = Send | Ask | Answer | Deliver | Remember | Forget | SetTimer | Report

In = TypeVar("In", contravariant=True)


class Machine(Protocol[In]):
    """Deterministic: the same messages at the same times give the same effects.

    What must outlast a crash is in the rows it remembers, and it can be made anew from them at any time.
    """

    def step(self, message: In, now: Instant) -> list[Effect]: ...
