"""The parts of an explanation, and how a whole's verdict follows from its parts."""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Generic, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from tocsin.matching.explain.wording import shortened

MOST_PARTS = 200  # of one explanation
Verdict = Literal["yes", "no", "undecided", "does not apply"]
_NO: AbstractSet[Verdict] = {"no", "does not apply"}
_YES: AbstractSet[Verdict] = {"yes"}
_OPPOSITE: dict[Verdict, Verdict] = {"yes": "no", "no": "yes", "does not apply": "yes", "undecided": "undecided"}
T = TypeVar("T")


class Part(Struct, frozen=True):
    """One part of an explanation: `what` was asked, as the subscriber wrote it, the verdict, and why.

    `decides` marks the part that decided the whole; `more` counts parts that were left out. What does not apply matches
    nothing.
    """

    what: str
    verdict: Verdict
    why: str
    parts: tuple["Part", ...] = ()
    decides: bool = False
    more: int = 0

    def said(self) -> str:
        return f"{shortened(self.what)}: {self.why}"


def leaf(what: str, holds: bool, why: str) -> Part:
    return Part(what, "yes" if holds else "no", why)


def count(part: Part) -> int:
    return 1 + sum(map(count, part.parts))


class PartBudget:
    """How many parts an explanation may still have. Parts of one level take from it before those within them."""

    __slots__ = ("_left",)

    def __init__(self, most: int = MOST_PARTS) -> None:
        self._left = most

    def take(self, most: int) -> int:
        taken = min(most, self._left)
        self._left -= taken
        return taken


class Composer(Generic[T]):
    """Explains conjunctions, disjunctions and negations of things: `part` explains one, `verdict` only decides it,
    which is much quicker."""

    def __init__(self, room: PartBudget, part: Callable[[T], Part], verdict: Callable[[T], Verdict]) -> None:
        self._room, self._part, self._verdict = room, part, verdict

    def all_of(self, what: str, asked: Sequence[T]) -> Part:
        """The first that does not hold decides, or else the first that could not be evaluated."""
        why = "all of these hold" if asked else "it asks for nothing"
        return self._whole(asked, _NO, Part(what, "yes", why))

    def any_of(self, what: str, asked: Sequence[T]) -> Part:
        """The first that holds decides, or else the first that could not be evaluated."""
        why = "none of these holds" if asked else "it has no alternatives"
        return self._whole(asked, _YES, Part(what, "no", why))

    def _whole(self, asked: Sequence[T], decisive: AbstractSet[Verdict], undisputed: Part) -> Part:
        """Told are the first that there is room for, and the one that decides; without any room only its reason."""
        fits = self._room.take(len(asked))
        parts = [self._part(each) for each in asked[:fits]]
        if (late := self._late(asked[fits:], decisive, parts)) is not None:
            parts.append(self._part(late))
        marked, decider = _marked(parts, decisive)
        shown = marked if fits else ()
        whole = replace(undisputed, parts=shown, more=len(asked) - len(shown))
        return whole if decider is None else replace(whole, verdict=_plain(decider), why=decider.said())

    def _late(self, rest: Sequence[T], decisive: AbstractSet[Verdict], parts: Sequence[Part]) -> T | None:
        """The one that decides, where none of those before it does."""
        before = {each.verdict for each in parts}
        if before & decisive:
            return None
        unclear: T | None = None
        for each in rest:
            verdict = self._verdict(each)
            if verdict in decisive:
                return each
            if verdict == "undecided" and unclear is None:
                unclear = each
        return None if "undecided" in before else unclear

    def negation(self, what: str, asked: T) -> Part:
        """What does not apply is not so, and its negation holds."""
        fits = self._room.take(1)
        negated = self._part(asked)
        so = {"yes": "it is so", "undecided": "it could not be told"}.get(negated.verdict, "it is not so")
        shown = (replace(negated, decides=True),) if fits else ()
        return Part(what, _OPPOSITE[negated.verdict], f"{so}: {negated.why}", shown, more=1 - fits)


def _plain(decider: Part) -> Verdict:
    return "no" if decider.verdict in _NO else decider.verdict


def _marked(parts: Iterable[Part], decisive: AbstractSet[Verdict]) -> tuple[tuple[Part, ...], Part | None]:
    every = list(parts)
    at = next((at for at, part in enumerate(every) if part.verdict in decisive), None)
    if at is None:
        at = next((at for at, part in enumerate(every) if part.verdict == "undecided"), None)
    if at is None:
        return tuple(every), None
    every[at] = replace(every[at], decides=True)
    return tuple(every), every[at]
