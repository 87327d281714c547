"""XPath filters over the payload, against lxml's compiled XPath one after the other.

Parsing the payload is counted on both sides, and told by itself. All times are of the processor.
"""

from collections.abc import Callable, Iterator, Sequence

from lxml import etree
from msgspec import Struct

from tocsin.lab.bench import Result, alone, at_most, benchmark, compared
from tocsin.lab.benches._matching import Work, engine_of, matches, over, race_by_cpu, up_to, wanted
from tocsin.lab.workloads.files import drawn_notifications, drawn_subscriptions
from tocsin.lab.workloads.texts import CONTENT
from tocsin.markup import xml
from tocsin.matching.engine import Engine
from tocsin.model.filters import Content
from tocsin.model.notification import Notification
from tocsin.model.subscription import Subscription

LXML = "lxml, compiled XPath one by one"
PARSE = "parsing alone"
FASTER, GROWTH = 200, 5
CHECKED = 5
NOTE = "parsing the payload is counted on both sides"


class Sizes(Struct, frozen=True):
    filters: int = 10_000
    more: int = 100_000
    notifications: int = 400
    rounds: int = 15


@benchmark("content", "XPath filters in one index, against lxml's XPath one by one", rivals=("lxml",), choices=Sizes)
def measure(seed: int, sizes: Sizes) -> Iterator[Result]:
    events = drawn_notifications(CONTENT, sizes.notifications, seed)
    known, asking = drawn_subscriptions(CONTENT, sizes.more, seed)
    engines = {count: engine_of(known, asking[:count]) for count in (*up_to(sizes.filters), sizes.more)}
    rival = _one_by_one(asking[: sizes.filters])
    for each in events[:CHECKED]:
        assert wanted(engines[sizes.filters], each) == sorted(rival(each))
    assert wanted(engines[sizes.more], events[0]) == sorted(_at_once(asking, events[0]))
    works: dict[str, Work] = {f"{count:,}": over(engine.match, events) for count, engine in engines.items()}
    works |= {LXML: over(rival, events), PARSE: over(lambda event: xml.parse(event.payload.data), events)}
    timings = race_by_cpu(works, rounds=sizes.rounds, slice_ms=40)
    details = {count: _details(asking[:count], engine, events) for count, engine in engines.items()}
    few, many = f"{sizes.filters:,}", f"{sizes.more:,}"
    yield compared(f"{few} filters", timings, few, LXML, target=FASTER, sizes=details[sizes.filters], note=NOTE)
    yield compared(
        f"{many} filters", timings, many, few, f"ours with {few}",
        target=at_most(GROWTH), sizes=details[sizes.more], note="one document was compared with lxml",
    )  # fmt: skip
    for count in engines:
        timing = timings[f"{count:,}"]
        yield alone(f"{count:,} filters, cost", timing.median, "µs", sizes=details[count], timing=timing)
    yield alone(PARSE, timings[PARSE].median, "µs", timing=timings[PARSE], note="of the payload, by the safe parser")


def _details(asking: Sequence[Subscription], engine: Engine, events: Sequence[Notification]) -> dict[str, int]:
    return {
        "filters": len(asking),
        "distinct": len({each.filters for each in asking}),
        "matches": matches(engine, events),
        "bytes": sum(len(each.payload.data) for each in events) // len(events),
    }


def _one_by_one(asking: Sequence[Subscription]) -> Callable[[Notification], list[str]]:
    compiled = [(each.id, _xpath(each)) for each in asking]

    def evaluate(event: Notification) -> list[str]:
        document = xml.parse(event.payload.data)
        return [name for name, holds in compiled if holds(document)]

    return evaluate


def _at_once(asking: Sequence[Subscription], event: Notification) -> list[str]:
    """So many compiled expressions would not be kept."""
    document = xml.parse(event.payload.data)
    return [each.id for each in asking if _xpath(each)(document)]


def _xpath(subscription: Subscription) -> etree.XPath:
    (asked,) = subscription.filters
    assert isinstance(asked, Content)
    return etree.XPath(asked.text, namespaces=dict(asked.namespaces), regexp=False, smart_strings=False)
