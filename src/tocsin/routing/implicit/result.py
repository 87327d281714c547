"""What became of a message: who was told, by whom, at which hop; the same from the simulator and from real nodes."""

from collections.abc import Iterable

from msgspec import Struct

from tocsin.model.identity import Instant
from tocsin.routing.implicit.messages import PUBLICATION, Handled


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
    """`receivers` never has the root; `waiting` are those of whom nothing has been heard (at first the root itself),
    `gone` those who left."""

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
    """In the order in which copies were handled, whatever the order of the reports; each copy counts once however
    often it is reported."""
    reports = {each.copy: each for each in sorted(handled, key=_order)}
    arrived = list(filter(_arrived, reports.values()))
    sent = {copy: to for each in reports.values() for copy, to in each.forwarded}
    sent |= {each.copy: each.at for each in reports.values() if each.copy != PUBLICATION}
    unheard = [to for copy, to in sent.items() if copy not in reports]
    seen, steps = {root}, list[Step]()
    for each in arrived:
        steps.append(Step(each.sender, each.at, each.hop, each.at in seen, _ms(each.when - begun)))
        seen.add(each.at)
    withheld = sum(len(each.withheld) for each in reports.values())
    return Dissemination(
        protocol,
        len(sent),
        sum(step.repeated for step in steps),
        tuple(dict.fromkeys(step.to for step in steps if step.to != root)),
        tuple(steps),
        "limit" if withheld else None,
        tuple(Kept(each.at, one.to, one.why) for each in reports.values() for one in each.suppressed),
        withheld,
        tuple(sorted(unheard if PUBLICATION in reports else [root, *unheard])),
        tuple(sorted(each.at for each in reports.values() if each.gone)),
        max((step.hop for step in steps if not step.repeated), default=0),
        max((step.ms for step in steps if not step.repeated), default=0.0),
    )


def _order(report: Handled) -> tuple[Instant, bool, int, str, str, str]:
    """Of what was handled at one instant, what was new comes before what the notifier knew."""
    return report.when, report.dropped, report.hop, report.sender, report.at, report.copy


def _arrived(report: Handled) -> bool:
    return report.copy != PUBLICATION and not report.gone


def _ms(nanoseconds: int) -> float:
    return round(nanoseconds / 1e6, 3)
