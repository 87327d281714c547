"""What became of a message: who was told, by whom, at which hop; the same from the simulator and from real nodes."""

from collections.abc import Iterable

from msgspec import Struct

from tocsin.model.identity import Instant
from tocsin.routing.implicit.messages import Handled


class Step(Struct, frozen=True, rename={"sender": "from"}):
    """One notification; `ms` is since the publication."""

    sender: str
    to: str
    hop: int
    repeated: bool = False
    ms: float = 0.0


class Kept(Struct, frozen=True):
    """Somebody who was not told again: by whom, and from what it was known."""

    at: str
    to: str
    why: str


class Dissemination(Struct, frozen=True):
    """`receivers` never has the root; `waiting` are those of whom nothing has been heard, `gone` those who left."""

    protocol: str
    notifications: int
    repetitions: int
    receivers: tuple[str, ...]
    trace: tuple[Step, ...]
    stopped: str | None
    suppressed: tuple[Kept, ...] = ()
    withheld: int = 0
    waiting: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    hops: int = 0
    ms: float = 0.0

    @property
    def complete(self) -> bool:
        return not self.waiting


def dissemination(protocol: str, root: str, begun: Instant, handled: Iterable[Handled]) -> Dissemination:
    """In the order in which copies were handled; each copy counts once however often it is reported."""
    reports = {each.copy: each for each in handled}
    arrived = sorted(filter(_arrived, reports.values()), key=lambda each: (each.when, each.hop))
    sent = {copy: to for each in reports.values() for copy, to in each.forwarded}
    seen, steps = {root}, list[Step]()
    for each in arrived:
        steps.append(Step(each.sender, each.at, each.hop, each.at in seen, _ms(each.when - begun)))
        seen.add(each.at)
    withheld = sum(len(each.withheld) for each in reports.values())
    return Dissemination(
        protocol,
        len(sent.keys() | {each.copy for each in arrived}),
        sum(step.repeated for step in steps),
        tuple(dict.fromkeys(step.to for step in steps if step.to != root)),
        tuple(steps),
        "limit" if withheld else None,
        tuple(Kept(each.at, one.to, one.why) for each in reports.values() for one in each.suppressed),
        withheld,
        tuple(sorted(to for copy, to in sent.items() if copy not in reports)),
        tuple(sorted(each.at for each in reports.values() if each.gone)),
        max((step.hop for step in steps), default=0),
        max((step.ms for step in steps if not step.repeated), default=0.0),
    )


def _arrived(report: Handled) -> bool:
    return bool(report.copy) and not report.gone


def _ms(nanoseconds: int) -> float:
    return round(nanoseconds / 1e6, 3)
