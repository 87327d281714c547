"""The parts of an explanation, and how the verdict on a whole follows from theirs."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tocsin.matching.wording import shortened

Verdict = Literal["yes", "no", "undecided", "does not apply"]


class Part(Struct, frozen=True):
    """`what` was asked, as its subscriber wrote it; what does not apply matches nothing.

    `decides` is true of the one that alone decided what it is a part of.
    """

    what: str
    verdict: Verdict
    why: str
    parts: tuple["Part", ...] = ()
    decides: bool = False

    def said(self) -> str:
        return f"{shortened(self.what)}: {self.why}"


def leaf(what: str, holds: bool, why: str) -> Part:
    return Part(what, "yes" if holds else "no", why)


def is_no(part: Part) -> bool:
    return part.verdict in ("no", "does not apply")


def is_yes(part: Part) -> bool:
    return part.verdict == "yes"


def all_of(what: str, parts: Sequence[Part]) -> Part:
    """The first that does not hold decides, or else the first that could not be evaluated."""
    marked, decider = _marked(parts, is_no)
    if decider is None:
        return Part(what, "yes", "all of these hold" if parts else "it asks for nothing", marked)
    return Part(what, _plain(decider), decider.said(), marked)


def any_of(what: str, parts: Sequence[Part]) -> Part:
    """The first that holds decides, or else the first that could not be evaluated."""
    marked, decider = _marked(parts, is_yes)
    if decider is None:
        return Part(what, "no", "none of these holds" if parts else "it has no alternatives", marked)
    return Part(what, _plain(decider), decider.said(), marked)


_OPPOSITE: dict[Verdict, Verdict] = {"yes": "no", "no": "yes", "does not apply": "yes", "undecided": "undecided"}


def negation(what: str, negated: Part) -> Part:
    """What does not apply is not so, and its negation holds."""
    so = {"yes": "it is so", "undecided": "it could not be told"}.get(negated.verdict, "it is not so")
    return Part(what, _OPPOSITE[negated.verdict], f"{so}: {negated.why}", (replace(negated, decides=True),))


def _plain(decider: Part) -> Verdict:
    return "no" if is_no(decider) else decider.verdict


def _marked(parts: Iterable[Part], decides: Callable[[Part], bool]) -> tuple[tuple[Part, ...], Part | None]:
    every = list(parts)
    at = next((at for at, part in enumerate(every) if decides(part)), None)
    if at is None:
        at = next((at for at, part in enumerate(every) if part.verdict == "undecided"), None)
    if at is None:
        return tuple(every), None
    every[at] = replace(every[at], decides=True)
    return tuple(every), every[at]
