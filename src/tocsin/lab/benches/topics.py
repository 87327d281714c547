"""Topic expressions with wildcards, against one look-up of the topic in a dictionary.

Every notification has a topic of its own, just read from its text: neither side finds a hash that was worked out
before. The look-up of the very object which is the key, its hash at hand, is told beside it.
"""

from collections.abc import Iterable, Iterator
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from tocsin.lab.bench import Result, at_most, benchmark, compared, race
from tocsin.lab.benches._matching import ONE_BY_ONE, Work, check, engine_of, matches, once, over, up_to
from tocsin.lab.workloads.files import drawn_subscriptions, notification
from tocsin.lab.workloads.texts import (
    AREAS,
    EVENTS,
    HAZARDS,
    ROOTS,
    TOPICS,
    NotificationText,
    notifications,
    topic_text,
)
from tocsin.matching.engine import Engine
from tocsin.matching.index.topics import topic_matches
from tocsin.model.filters import ANY, DESCEND, TopicIs
from tocsin.model.identity import SubscriptionId
from tocsin.model.names import Topic, topic
from tocsin.model.notification import Notification
from tocsin.model.subscription import Subscription

LOOK_UP, IDENTICAL = "a dict look-up of the topic", "a dict look-up of the same object"
MOST = 50  # times the look-up
CHECKED = 5
ONE_BY_ONE_AT = 1_000
NOTES = {
    "seen before": "the engine's whole answer, as subscriptions in the order of their ids",
    "never seen": "each notification has a topic of a name that no other had",
    "after a change": "before each a subscription with a wildcard is inserted or removed, which is not in the time",
}


class Sizes(Struct, frozen=True):
    largest: int = 100_000
    topics: int = 200
    rounds: int = 20
    calls: int = 200


@benchmark("topics", "topic expressions with wildcards, against a look-up in a dictionary", choices=Sizes)
def measure(seed: int, sizes: Sizes) -> Iterator[Result]:
    for count in up_to(sizes.largest):
        yield from expressions(seed, count, sizes)


def expressions(seed: int, count: int, sizes: Sizes) -> Iterator[Result]:
    known, asking = drawn_subscriptions(TOPICS, count, seed)
    engines = {name: engine_of(known, asking) for name in NOTES}
    texts = list(notifications(TOPICS, sizes.topics, seed))
    check(engines["seen before"], asking, _fresh(texts[:CHECKED]), known)
    calls = sizes.rounds * sizes.calls
    again = (texts * (1 + calls // len(texts)))[:calls]
    works: dict[str, Work] = {
        "seen before": once(engines["seen before"].match, list(_fresh(again))),
        "never seen": once(engines["never seen"].match, list(_fresh(_new(calls, seed)))),
        "after a change": once(engines["after a change"].match, list(_fresh(again))),
        LOOK_UP: once(_directory().get, [each.topic for each in _fresh(again)]),
        IDENTICAL: _identical(again),
    }
    found = matches(engines["seen before"], list(_fresh(texts)))
    change = {"after a change": _change(engines["after a change"], asking[0])}
    timings = race(works, rounds=sizes.rounds, calls=sizes.calls, before=change)
    details = {"expressions": count, "matches": found, "topics": len(_directory())}
    for case, note in NOTES.items():
        title = f"{count:,} expressions, topics {case}"
        yield compared(title, timings, case, LOOK_UP, target=at_most(MOST), sizes=details, note=note)
    case = f"{count:,} expressions, topics seen before"
    yield compared(case, timings, "seen before", IDENTICAL, sizes=details)
    if count <= ONE_BY_ONE_AT:
        yield _evaluated(case, engines["seen before"], asking, list(_fresh(texts)), details)


def _evaluated(
    case: str, engine: Engine, asking: list[Subscription], events: list[Notification], details: dict[str, int]
) -> Result:
    pairs = [(each, asked) for each in asking for asked in each.filters if isinstance(asked, TopicIs)]

    def evaluate(event: Notification) -> list[Subscription]:
        return [each for each, asked in pairs if topic_matches(asked, event.topic)]

    timings = race({"ours": over(engine.match, events), ONE_BY_ONE: over(evaluate, events)}, rounds=5, calls=10)
    return compared(case, timings, "ours", ONE_BY_ONE, sizes=details)


def _fresh(texts: Iterable[NotificationText]) -> Iterator[Notification]:
    return (notification(each, number) for number, each in enumerate(texts))


def _new(count: int, seed: int) -> Iterator[NotificationText]:
    random = Random(seed)
    (like,) = notifications(TOPICS, 1, seed)
    return (replace(like, topic=topic_text(random, f"new{number}")) for number in range(count))


def _change(engine: Engine, like: Subscription) -> Work:
    changing = replace(like, id=SubscriptionId("changing"), filters=(TopicIs(((ANY, DESCEND),)),))
    return lambda: engine.remove(changing.id) if changing.id in engine else engine.apply(changing)


def _identical(texts: list[NotificationText]) -> Work:
    keys = {str(each): each for each in _directory()}
    return over(_directory().get, [keys[each.topic] for each in texts])


def _directory() -> dict[Topic, int]:
    """All topics there are, by themselves."""
    if not _all_topics:
        paths = (f"{{{HAZARDS}}}{root}/{area}/{event}" for root in ROOTS for area in AREAS for event in EVENTS)
        _all_topics.update({each: number for number, each in enumerate(map(topic, paths)) if each is not None})
    return _all_topics


_all_topics: dict[Topic, int] = {}
