"""Where subscriptions and notifications meet on the circle: each in a plane, of the topics or of an information space.

Whatever matches a subscription has, in the plane of that, a key within its span. A notification that is about more than
a point has many keys, and then all nodes agree on one at which the two meet (meeting.py).
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache

from msgspec import Struct

from tocsin.model.areas import areas_in, spaces_in
from tocsin.model.content_topic import CONTENT_TOPIC
from tocsin.model.filters import TOPICS, AllOf, AnyOf, Filter, ForNotifier, InBox, TopicIs, boxes_of
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal, known_names
from tocsin.model.space import InformationSpace
from tocsin.routing.ring.curves import curve_through
from tocsin.routing.ring.identifiers import SIZE, identifier_of, place_of_name
from tocsin.routing.ring.spans import EVERYWHERE, NOWHERE, Arcs, Keys, Span, union
from tocsin.routing.ring.topic_keys import key_of_topic, span_of_topics

MOST_REMEMBERED = 1_024  # content topics; each may be long
Spaces = Mapping[str, InformationSpace]


class Place(Struct, frozen=True):
    """A plane, TOPICS or the name of an information space; and in it a span, of one key at least."""

    plane: str
    span: Span


def place_of(filters: Iterable[Filter], spaces: Spaces) -> Place:
    """Of a subscription that asks for all of these. It holds for the spaces as they are declared now. `Refusal` for a
    box by which it would be placed, of a space that is not declared."""
    asked = AllOf(tuple(filters))
    if boxes := boxes_of(asked):
        curve = curve_through(_declared(boxes[0].space, spaces))
        return _place(boxes[0].space, union(curve.span(each.sides) for each in boxes))
    return _place(TOPICS, _topics(asked))


def places_of(notification: Notification, spaces: Spaces) -> tuple[Place, ...]:
    """Each plane once, that of the topics first. What lies at one point, as nearly all does, has one key there."""
    first = Place(TOPICS, Keys((key_of_topic(notification.topic),)))
    text = notification.attribute(CONTENT_TOPIC)
    if text is None:
        return (first,)
    known = [space for name in spaces_in(text) if (space := spaces.get(name)) is not None]
    found = (Place(each.name, told_of(notification, each)) for each in known)
    return (first, *(each for each in found if each.span != NOWHERE))


def told_of(notification: Notification, space: InformationSpace) -> Span:
    """The keys of all that it is about in that space."""
    return _span_of(notification.attribute(CONTENT_TOPIC) or "", space)


@lru_cache(MOST_REMEMBERED)
def _span_of(text: str, space: InformationSpace) -> Span:
    curve, areas = curve_through(space), areas_in(space, text)
    if len(areas) == 1 and not isinstance(areas[0], InBox):
        return Keys((curve.key(areas[0]),))
    return union(curve.span(each.sides) if isinstance(each, InBox) else Keys((curve.key(each),)) for each in areas)


def _place(plane: str, span: Span) -> Place:
    """What can match nothing has a home all the same."""
    return Place(plane, Keys((identifier_of(plane),)) if span == NOWHERE else span)


def _declared(name: str, spaces: Spaces) -> InformationSpace:
    space = spaces.get(name)
    if space is None:
        listed = known_names(name, sorted(spaces))
        raise Refusal("unknown-topic", f"there is no information space {name[:80]!r}; {listed}")
    return space


def _topics(asked: Filter) -> Span:
    """Has the keys of the topics of whatever matches. Who asks for no topic, or for what is not so, asks for all."""
    match asked:
        case TopicIs():
            return span_of_topics(asked)
        case ForNotifier(name):  # it is told where its notifier is, of nothing else
            return Keys((place_of_name(name),))
        case AllOf(filters):
            return min(map(_topics, filters), key=_breadth, default=EVERYWHERE)
        case AnyOf(filters):
            return union(map(_topics, filters))
    return EVERYWHERE


def _breadth(span: Span) -> int:
    match span:
        case Keys(keys):
            return len(keys)
        case Arcs(arcs):
            return sum(last - first + 1 for first, last in arcs)
    return SIZE
