"""What a runtime needs to know of the machines it runs: how they are made, and what their effects act upon."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.routing.machine import Effect, Machine, Report
from tocsin.store.machines import Letter, Writing

M = TypeVar("M", bound=Machine[Any])


class Place(NamedTuple):
    """Where a message for a machine goes: to this node, or to a peer by one of the lanes there. A peer without an
    address must be looked up first."""

    peer: str = ""
    lane: str = ""


HERE = Place()
NOWHERE = ""  # as a peer
LETTERS, REPORTS = "letters", "reports"  # the lanes to other nodes


class Family(ABC, Generic[M]):
    """All machines of one protocol at this node. What a protocol has no use for stays as it is.

    `title` is for an operator; messages of the kinds in `begins` bring a machine into being; `always` are there
    without.
    """

    title: str
    begins: tuple[type, ...] = ()
    always: tuple[str, ...] = ()

    @abstractmethod
    def make(self, name: str, rows: Mapping[str, Any]) -> M | None:
        """As it was when these rows were written; None where it has no business any more."""

    def resident(self, machine: M) -> bool:
        """Whether it takes messages; else it only ends what it has begun."""
        del machine
        return True

    def holds(self, name: str) -> bool:
        """Whether a machine of that name is asked at this node, if there is one."""
        del name
        return True

    def admit(self, letter: Letter) -> None:
        """Of one that nobody keeps: refused if its machine is another node's by now."""

    def place(self, letter: Letter, machine: M | None) -> Place | None:
        """Where it is to go, given the machine of that name at this node; None if there is none anywhere."""
        return HERE if machine is not None or isinstance(letter.message, self.begins) else None

    def absent(self, letter: Letter, now: Instant) -> Iterable[Effect]:
        """What becomes of a message that nobody can take."""
        del letter, now
        return ()

    def report_place(self, report: Report) -> Place:
        """Where one goes that is not for this node."""
        return Place(report.to, REPORTS)

    def gathers(self, report: Report) -> bool:
        """Whether it is for this node."""
        return not report.to

    def not_here(self, machine: str) -> str:
        """What another node hears that asks a machine which this node has not."""
        return f"there is no {machine!r} of {self.title} at this node"

    def wrote(self, writing: Writing) -> None:
        """It is on disk, before anything else is said of it."""
        del writing

    def reported(self, what: Any) -> None:
        """It is on disk."""
        del what

    def ended(self, name: str) -> None:
        """The machine is no more, and nothing of it is on disk."""
        del name

    async def deliver(self, name: str, message: Any) -> None:
        """Raises if it may succeed later: then nothing of the step happened, and it is repeated."""
        del name, message

    async def ask(self, name: str, of: str, question: Any) -> Any:
        """The answer, a message to the machine `name`. Whatever is raised, it hears that nobody answered."""
        raise LookupError(f"{name} asks {of} {question!r}, and nobody answers here")

    async def look_up(self, names: Iterable[str]) -> Mapping[str, Place]:
        """Where these are by now; who is not among them is nowhere. Refused while that cannot be told."""
        raise Refusal("not-here", f"nobody knows where else {', '.join(names)} might be")
