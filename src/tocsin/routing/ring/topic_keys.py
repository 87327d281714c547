"""Topics on the circle: 32 bits for the root topic, 16 for the one below it, 16 for all that is below that.

So the topics below another are an arc. Names are hashed, for many begin alike and few nodes would have them all; two
that have the same hash share a key, which costs a look at a subscription that does not match.
"""

from collections.abc import Iterable
from functools import lru_cache
from itertools import takewhile

from tocsin.model.filters import ANY, TopicIs
from tocsin.model.names import QName, Topic
from tocsin.routing.ring.identifiers import BITS, identifier_of
from tocsin.routing.ring.spans import EVERYWHERE, Arcs, Keys, Span, union

ROOT, SECOND, REST = 32, 16, 16  # bits
MOST_REMEMBERED = 1_024  # topics; each may be long


@lru_cache(MOST_REMEMBERED)
def key_of_topic(topic: Topic) -> int:
    return _key(topic.steps)


def span_of_topics(asked: TopicIs) -> Span:
    """It has the keys of all topics that match."""
    return union(map(_span, asked.alternatives))


def _span(path: tuple[QName | str, ...]) -> Span:
    """What comes after the first wildcard does not narrow it: `//` takes up any number of topics."""
    names = [each for each in takewhile(_is_name, path) if isinstance(each, QName)]
    if len(names) == len(path):
        return Keys((_key(names),))
    if not names:
        return EVERYWHERE
    first = _key(names[:2])
    below = SECOND + REST if len(names) == 1 else REST
    return Arcs(((first, first | (1 << below) - 1),))


def _is_name(step: QName | str) -> bool:
    return isinstance(step, QName) and step.local != ANY


def _key(names: Iterable[QName]) -> int:
    """What is absent is zero, so that a topic comes before those below it."""
    steps = list(map(str, names))
    root, second, rest = "".join(steps[:1]), "".join(steps[1:2]), "/".join(steps[2:])
    return _hashed(root, ROOT) << SECOND + REST | _hashed(second, SECOND) << REST | _hashed(rest, REST)


def _hashed(text: str, bits: int) -> int:
    return identifier_of(text) >> BITS - bits if text else 0
