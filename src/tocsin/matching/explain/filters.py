"""Explains a subscription's answer: which part of which filter decided."""

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import assert_never

from msgspec import Struct
from msgspec.structs import replace

from tocsin.markup.conditions import ExpressionError
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.evidence import Evidence
from tocsin.matching.explain.content import content_part, graph_part
from tocsin.matching.explain.explanation import MOST_PARTS, Composer, Part, PartBudget, Verdict, leaf
from tocsin.matching.explain.wording import coordinate_text, filter_text, listed, shortened, side_text
from tocsin.matching.filters import satisfies
from tocsin.matching.index.topics import topic_matches
from tocsin.matching.judge import Judge, Undecided
from tocsin.mediation.times import timestamp
from tocsin.model.areas import meets, spaces_in
from tocsin.model.filters import (
    DESCEND,
    ActionIs,
    AllOf,
    AnyOf,
    AttributeIs,
    Content,
    Filter,
    ForNotifier,
    Graph,
    InBox,
    Not,
    ProducerIs,
    TopicIs,
    TypeIs,
)
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, came_by
from tocsin.model.space import Coordinate, Dimension, Side, overlap
from tocsin.model.subscription import Subscription, neighbour_of
from tocsin.model.topics import written_path


class Explanation(Struct, frozen=True):
    """`wanted` is None when a filter could not be evaluated; `because` is one sentence; `more` parts are left out."""

    wanted: bool | None
    because: str
    parts: tuple[Part, ...]
    more: int = 0


def explain(
    subscription: Subscription,
    notification: Notification,
    catalogue: Catalogue,
    judge: Judge | None = None,
    base_url: str = "",
    most: int = MOST_PARTS,
) -> Explanation:
    """The subscription as the notification met it; filters behind the one that decided are looked at, too, while there
    is room for them."""
    explaining = _Explainer(Evidence(notification, catalogue, judge, base_url), subscription, PartBudget(most))
    whole = explaining.whole((*_frame(subscription, notification), *subscription.filters))
    return Explanation(_WANTED[whole.verdict], _because(whole), whole.parts, whole.more)


_WANTED: dict[str, bool | None] = {"yes": True, "no": False, "undecided": None}


def _because(whole: Part) -> str:
    if whole.verdict != "yes":
        return whole.why
    match whole.parts:
        case ():
            return "it asks for everything"
        case (only,) if not whole.more:
            return only.said()
    return f"all of its {len(whole.parts) + whole.more} filters hold"


def _frame(subscription: Subscription, notification: Notification) -> Iterable[Part]:
    """What keeps a subscription from being asked at all."""
    services = [each for each in subscription.filters if isinstance(each, ForNotifier)]
    if notification.addressee and not services:
        yield leaf("what is for everybody", False, f"it is for the service of {notification.addressee} alone")
    if (by := came_by(notification)) is not None and by == neighbour_of(subscription):
        yield leaf("what others passed on or published here", False, f"it came from there: the node {by} passed it on")
    if subscription.state != "active":
        reason = f": {subscription.reason}" if subscription.reason else ""
        yield leaf("an active subscription", False, f"the subscription was {subscription.state} then{reason}")
    since, at = subscription.since.offset, notification.at.offset
    if at < since:
        yield leaf(f"from record {since} on", False, f"it began after this, which is record {at}")
    if subscription.expires is not None and subscription.expires <= notification.when:
        accepted = f"and this was accepted at {timestamp(notification.when)}"
        yield leaf(f"until {timestamp(subscription.expires)}", False, f"the subscription had expired, {accepted}")


class _Explainer:
    def __init__(self, evidence: Evidence, subscription: Subscription, room: PartBudget) -> None:
        self._evidence, self._subscription, self._room = evidence, subscription, room
        self._telling = Composer[Filter | Part](room, self._part, self._verdict)

    def whole(self, asked: Sequence[Filter | Part]) -> Part:
        return self._telling.all_of("", asked)

    def _part(self, asked: Filter | Part) -> Part:
        match asked:
            case Part():
                return asked
            case AllOf((only,)) | AnyOf((only,)):
                return self._part(only)
            case AllOf(filters):
                return self._telling.all_of(self._text(asked), filters)
            case AnyOf(filters):
                return self._telling.any_of(self._text(asked), filters)
            case Not(negated):
                return self._telling.negation(self._text(asked), negated)
            case Content():
                return content_part(self._evidence, asked, self._subscription, self._room)
            case InBox():
                return _box(self._evidence, asked, self._room)
            case Graph():
                return graph_part(self._evidence, asked)
            case _:
                holds = satisfies(self._evidence, asked, self._subscription)
                return leaf(self._text(asked), holds, _reason(self._evidence, asked))

    def _verdict(self, asked: Filter | Part) -> Verdict:
        if isinstance(asked, Part):
            return asked.verdict
        try:
            return "yes" if satisfies(self._evidence, asked, self._subscription) else "no"
        except (ExpressionError, Undecided):
            return "undecided"

    def _text(self, asked: Filter) -> str:
        return filter_text(asked, self._evidence.catalogue.spaces)


Plain = TopicIs | TypeIs | ProducerIs | ActionIs | AttributeIs | ForNotifier


def _reason(evidence: Evidence, asked: Plain) -> str:
    notification = evidence.notification
    match asked:
        case TopicIs():
            return topic_reason(asked, notification.topic)
        case TypeIs():
            return _type_reason(evidence)
        case ProducerIs():
            return _producer_reason(evidence)
        case ActionIs():
            return f"its action is {evidence.action}"
        case AttributeIs():
            return _attribute_reason(evidence, asked)
        case ForNotifier():
            to = notification.addressee
            return f"it is for the service of {to}" if to else "it is for everybody, not for one service"
        case _:
            assert_never(asked)


def _type_reason(evidence: Evidence) -> str:
    kind = evidence.notification.type
    if kind is None:
        return "it has no type"
    above = sorted(evidence.types - {str(kind)})
    return f"its type is {kind}, " + (f"a subtype of {listed(above)}" if above else "declared as a subtype of nothing")


def _producer_reason(evidence: Evidence) -> str:
    address = evidence.notification.producer
    if not address:
        return "it names no producer"
    if evidence.producer is None:
        return f"its producer is {address}, of which nothing is declared"
    if not evidence.categories:
        return f"its producer is {address}, which is declared without categories"
    return f"its producer is {address}, of the categories {listed(sorted(evidence.categories))}"


def _attribute_reason(evidence: Evidence, asked: AttributeIs) -> str:
    value = evidence.context.get(asked.name)
    return f"it has no attribute {asked.name}" if value is None else f"{asked.name} is {shortened(value)!r}"


def _box(evidence: Evidence, asked: InBox, room: PartBudget) -> Part:
    space, areas = evidence.catalogue.spaces.get(asked.space), evidence.areas(asked.space)
    what = filter_text(asked, evidence.catalogue.spaces)
    if space is None or not areas:
        return Part(what, "does not apply", _nowhere(evidence, asked.space))
    met = next((each for each in areas if meets(each, asked.sides)), None)
    area = areas[0] if met is None else met
    sides = zip(space.dimensions, area.sides if isinstance(area, InBox) else area, asked.sides, strict=True)
    telling = Composer[_Side](room, lambda each: _side(*each), lambda each: "yes" if _is_met(*each[1:]) else "no")
    found = telling.all_of(what, list(sides))
    if met is not None or len(areas) == 1:
        return found
    return replace(found, why=f"none of its {len(areas)} content topics in {space.name} is; of the first, {found.why}")


_Side = tuple[Dimension, Coordinate | Side, Side]


def _is_met(told: Coordinate | Side, side: Side) -> bool:
    return told in side if isinstance(told, str | float) else overlap(side, told)


def _side(dimension: Dimension, told: Coordinate | Side, side: Side) -> Part:
    asked, inside = side_text(side, dimension), _is_met(told, side)
    shown = coordinate_text(told, dimension) if isinstance(told, str | float) else side_text(told, dimension)
    return leaf(f"{dimension.name} {asked}", inside, f"{dimension.name} is {shown}{'' if inside else f', not {asked}'}")


def _nowhere(evidence: Evidence, space: str) -> str:
    text = evidence.content_topic
    if space not in evidence.catalogue.spaces:
        return f"no space {space} is declared"
    if text is None:
        return "it has no content topic"
    named = spaces_in(text)
    if space not in named:
        return f"its content topic is in the space {shortened(' and '.join(named))}"
    return f"its content topic {shortened(text)} is no point of {space}"


Step = QName | str


def topic_reason(asked: TopicIs, topic: Topic) -> str:
    """What it matches by, or of the alternative that came furthest the step that fails."""
    for path in asked.alternatives:
        if topic_matches(TopicIs((path,)), topic):
            return f"the topic is {topic}"
    ways = [(*_stuck(path, topic.steps), path) for path in asked.alternatives]
    if not ways:
        return "it names no topic at all"
    _, why, path = max(ways, key=lambda way: way[0])
    if len(ways) == 1:
        return why
    return f"none of {len(ways):,} alternatives is {topic}; the nearest is {written_path(path)}: {why}"


def _stuck(path: tuple[Step, ...], steps: tuple[QName, ...]) -> tuple[int, str]:
    """How many steps of the path were taken, and why no more; `reached` are the topic's steps taken up with them."""
    reached: AbstractSet[int] = {0}
    for at, wanted in enumerate(path):
        after = _after(reached, wanted, steps)
        if not after:
            return at, _expected(wanted, reached, steps, deep=path[at - 1 : at] == (DESCEND,))
        reached = after
    return len(path), f"the topic goes on with {'/'.join(map(str, steps[max(reached) :]))}"


def _after(reached: AbstractSet[int], wanted: Step, steps: tuple[QName, ...]) -> AbstractSet[int]:
    if wanted == DESCEND:
        return set(range(min(reached), len(steps) + 1))
    return {at + 1 for at in reached if at < len(steps) and _takes(wanted, steps[at])}


def _expected(wanted: Step, reached: AbstractSet[int], steps: tuple[QName, ...], deep: bool) -> str:
    here = [steps[at] for at in sorted(reached) if at < len(steps)]
    if not here:
        return f"the topic ends before {wanted}"
    if deep:
        return f"expected {wanted} somewhere, the topic has {listed(map(str, here))}"
    return f"expected {wanted}, the topic has {here[-1]}"


def _takes(wanted: Step, step: QName) -> bool:
    return topic_matches(TopicIs(((wanted,),)), Topic((step,)))
