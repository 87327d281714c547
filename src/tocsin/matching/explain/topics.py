"""Where a topic leaves the way of an expression."""

from collections.abc import Set as AbstractSet

from tocsin.matching.explain.wording import listed, topic_path_text
from tocsin.matching.index.topics import topic_matches
from tocsin.model.filters import DESCEND, TopicIs
from tocsin.model.names import QName, Topic

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
    return f"none of {len(ways):,} alternatives is {topic}; the nearest is {topic_path_text(path)}: {why}"


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
