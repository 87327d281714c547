"""The interaction taxonomy (paper 000 s2.1): eight patterns by name, and who is told by each."""

from collections.abc import Callable, Collection, Iterable, Mapping
from heapq import nsmallest
from typing import Literal

from msgspec import Struct

from tocsin.model.refusal import Refusal
from tocsin.model.request import Choice, Preference, Profile, Request, Scored
from tocsin.semantics.service import Service
from tocsin.semantics.world import World

MOST_SCORED = 100


class Pattern(Struct, frozen=True):
    """`figure` is the paper's; the captions of its Fig. 3 say Pull where Push is meant."""

    name: str
    mode: Literal["push", "pull"]
    cardinality: Literal["1:1", "1:n"]
    strategy: Literal["explicit", "implicit"]
    figure: str
    says: str

    @property
    def asked(self) -> bool:
        """Whether a consumer begins it: by a request, or by subscribing."""
        return self.mode == "pull" or self.strategy == "explicit"

    @property
    def standing(self) -> bool:
        """Whether what was asked for is a subscription."""
        return self.mode == "push" and self.strategy == "explicit"

    @property
    def lasting(self) -> bool:
        """Whether answers may come again and again: the chosen producer's events, until the consumer ends it."""
        return self.name == "pull-1:1-implicit"


def _pattern(name: str, figure: str, says: str) -> Pattern:
    mode, cardinality, strategy = name.split("-")
    return Pattern(name, mode, cardinality, strategy, figure, says)  # type: ignore[arg-type]


PATTERNS: Mapping[str, Pattern] = {
    each.name: each
    for each in (
        _pattern("pull-1:1-explicit", "2a", "one asks one producer, which answers it"),
        _pattern("pull-1:n-explicit", "2b", "several ask one producer, which answers all of them at once"),
        _pattern("pull-1:1-implicit", "2c", "one asks, the broker picks the producer, whose events follow"),
        _pattern("pull-1:n-implicit", "2d", "one asks, and the answer also goes to others who can use it"),
        _pattern("push-1:1-explicit", "3a", "one subscribes at one producer, which has no other subscriber"),
        _pattern("push-1:n-explicit", "3b", "any number subscribe at a producer: publish/subscribe"),
        _pattern("push-1:1-implicit", "3c", "a producer tells the one service that its own rule names"),
        _pattern("push-1:n-implicit", "3d", "a producer tells all that the graph of interests names, and they others"),
    )
}


def pattern(name: str) -> Pattern:
    found = PATTERNS.get(name.lower())
    if found is None:
        raise Refusal("malformed", f"{name[:80]!r} is no pattern of interaction; there are: {', '.join(PATTERNS)}")
    return found


def together(request: Request, others: Iterable[Request]) -> tuple[Request, ...]:
    """The requests that one answer closes: its own, and with pull-1:n-explicit all that ask for the same."""
    if request.pattern != "pull-1:n-explicit":
        return (request,)
    same = (each for each in others if each.state == "open" and _same(each, request) and each.id != request.id)
    return (request, *same)


def _same(one: Request, other: Request) -> bool:
    return (one.pattern, one.producer, one.topic) == (other.pattern, other.producer, other.topic)


def answer_goes_to(request: Request, others: Iterable[Request], world: World) -> tuple[str, ...]:
    """The services that the producer's answer is for, each once, who asked first."""
    names = [each.asker for each in together(request, others)]
    if request.also == "interests":
        names += world.neighbours(request.producer, request.topic)
    return tuple(dict.fromkeys(name for name in names if name != request.producer))


def told_by_rule(producer: Service, topic: str) -> str:
    """Of Push-1:1-Implicit: the service that the producer's own rule names for the topic."""
    found = producer.tells.get(topic)
    if found is None:
        known = ", ".join(f"{each} -> {told}" for each, told in sorted(producer.tells.items())) or "none"
        raise Refusal("unknown-name", f"service {producer.name!r} has no rule for {topic!r}; its rules are: {known}")
    return found


def subscribed(producer: str, topic: str, requests: Iterable[Request], world: World) -> tuple[str, ...]:
    """The services that asked to be pushed what this producer says about the topic, or what is above it."""
    above = set(world.topics.above(topic))
    found = (each.asker for each in requests if each.producer == producer and each.topic in above)
    return tuple(dict.fromkeys(found))


Condition = tuple[str, Callable[[Service], bool]]


def choose(world: World, topic: str, asker: str, category: str, profile: Profile) -> tuple[Service, Choice]:
    """The producer that fits a profile best; of equals the first by name. Refused with what excluded how many."""
    fitting = [world.services[name] for name in sorted(world.services)]
    excluded: dict[str, int] = {}
    for words, holds in _conditions(world, asker, category, profile):
        kept = [each for each in fitting if holds(each)]
        if len(kept) < len(fitting):
            excluded[words] = len(fitting) - len(kept)
        fitting = kept
    if not fitting:
        raise _nobody(topic, len(world.services), excluded)
    scored = _scored(fitting, profile.qualities)
    return world.services[scored[0].service], Choice(scored, excluded)


def _conditions(world: World, asker: str, category: str, profile: Profile) -> list[Condition]:
    found: list[Condition] = []
    if category:
        names = {each.name for each in world.members(category)}
        found.append((f"not under the category {category!r}", lambda service: service.name in names))
    found.append(("asks itself", lambda service: service.name != asker))
    found.append(("has no notifier", lambda service: bool(service.notifier)))
    found += [_promises(each) for each in profile.policies]
    for name, asked in profile.qualities.items():
        found += _bounds(name, asked)
    return found


def _promises(policy: str) -> Condition:
    return f"without the policy {policy!r}", lambda service: policy in service.policies


def _bounds(name: str, asked: Preference) -> list[Condition]:
    """What a service does not tell of itself is not believed to be within bounds."""
    least, most = asked.at_least, asked.at_most
    found: list[Condition] = []
    if least is not None:
        found.append((f"{name} not known to be at least {least:g}", lambda each: _within(each, name, least, None)))
    if most is not None:
        found.append((f"{name} not known to be at most {most:g}", lambda each: _within(each, name, None, most)))
    return found


def _within(service: Service, quality: str, least: float | None, most: float | None) -> bool:
    value = service.qualities.get(quality)
    return value is not None and (least is None or value >= least) and (most is None or value <= most)


def _scored(services: Collection[Service], qualities: Mapping[str, Preference]) -> tuple[Scored, ...]:
    """The best, the first by name among equals; no more than people read."""
    weight = sum(each.weight for each in qualities.values()) or 1.0
    parts = {name: _parts(services, name, asked) for name, asked in qualities.items()}
    scores = {
        each.name: round(sum(asked.weight * parts[name][each.name] for name, asked in qualities.items()) / weight, 6)
        for each in services
    }
    best = nsmallest(MOST_SCORED, scores, key=lambda name: (-scores[name], name))
    return tuple(Scored(each, scores[each], {name: round(parts[name][each], 6) for name in parts}) for each in best)


def _parts(services: Collection[Service], name: str, asked: Preference) -> dict[str, float]:
    """Each from 0, the worst that is offered or not told, to 1, the best."""
    told = [service.qualities[name] for service in services if name in service.qualities]
    low, high = min(told, default=0.0), max(told, default=0.0)
    return {each.name: _part(each.qualities.get(name), low, high, asked) for each in services}


def _part(value: float | None, low: float, high: float, asked: Preference) -> float:
    if value is None:
        return 0.0
    if low == high:
        return 1.0
    share = (value - low) / (high - low)
    return 1.0 - share if asked.better == "lower" else share


def _nobody(topic: str, known: int, excluded: Mapping[str, int]) -> Refusal:
    why = ", ".join(f"{count} {words}" for words, count in excluded.items()) or "there is no service at all"
    return Refusal(
        "unknown-name",
        f"no producer fits for {topic!r}: of {known} services were excluded {why}; ask for less, or name one with `of`",
    )
