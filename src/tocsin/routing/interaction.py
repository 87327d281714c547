"""The interaction taxonomy (paper 000 s2.1): eight patterns by name, and who is told by each."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from heapq import nsmallest
from typing import Literal

from msgspec import Struct

from tocsin.model.interactions import Choice, Preference, Profile, Request, Scored
from tocsin.model.refusal import Refusal
from tocsin.semantics.interest.ino import Service
from tocsin.semantics.interest.world import World

Mode = Literal["push", "pull"]
Cardinality = Literal["1:1", "1:n"]
Strategy = Literal["explicit", "implicit"]
MOST_SCORED = 100
MOST_NAMED = 20  # qualities, in a refusal


class Pattern(Struct, frozen=True):
    """`figure` is the paper's; the captions of its Fig. 3 say Pull where Push is meant."""

    name: str
    mode: Mode
    cardinality: Cardinality
    strategy: Strategy
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
        return self.chooses

    @property
    def chooses(self) -> bool:
        """Whether the broker picks the producer."""
        return self._is("pull", "1:1", "implicit")

    @property
    def joint(self) -> bool:
        """Whether one answer is for all who asked the same."""
        return self._is("pull", "1:n", "explicit")

    @property
    def shared(self) -> bool:
        """Whether the answer also goes to others than who asked."""
        return self._is("pull", "1:n", "implicit")

    @property
    def exclusive(self) -> bool:
        """Whether a subscriber is the only one."""
        return self._is("push", "1:1", "explicit")

    @property
    def ruled(self) -> bool:
        """Whether the producer's own rule names who is told."""
        return self._is("push", "1:1", "implicit")

    @property
    def spreads(self) -> bool:
        """Whether it is passed on over the graph of interests."""
        return self._is("push", "1:n", "implicit")

    def _is(self, mode: Mode, cardinality: Cardinality, strategy: Strategy) -> bool:
        return (self.mode, self.cardinality, self.strategy) == (mode, cardinality, strategy)


def _pattern(mode: Mode, cardinality: Cardinality, strategy: Strategy, figure: str, says: str) -> Pattern:
    return Pattern(f"{mode}-{cardinality}-{strategy}", mode, cardinality, strategy, figure, says)


PATTERNS: Mapping[str, Pattern] = {
    each.name: each
    for each in (
        _pattern("pull", "1:1", "explicit", "2a", "one asks one producer, which answers it"),
        _pattern("pull", "1:n", "explicit", "2b", "several ask one producer, which answers all of them at once"),
        _pattern("pull", "1:1", "implicit", "2c", "one asks, the broker picks the producer, whose events follow"),
        _pattern("pull", "1:n", "implicit", "2d", "one asks, and the answer also goes to others who can use it"),
        _pattern("push", "1:1", "explicit", "3a", "one subscribes at one producer, which has no other subscriber"),
        _pattern("push", "1:n", "explicit", "3b", "any number subscribe at a producer: publish/subscribe"),
        _pattern("push", "1:1", "implicit", "3c", "a producer tells the one service that its own rule names"),
        _pattern(
            "push", "1:n", "implicit", "3d", "a producer tells all that the graph of interests names, and they others"
        ),
    )
}


def pattern(name: str) -> Pattern:
    found = PATTERNS.get(name.lower())
    if found is None:
        raise Refusal("malformed", f"{name[:80]!r} is no pattern of interaction; there are: {', '.join(PATTERNS)}")
    return found


def together(request: Request, others: Iterable[Request]) -> tuple[Request, ...]:
    """The requests that one answer closes: its own, and with pull-1:n-explicit all that ask for the same."""
    if not pattern(request.pattern).joint:
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
    return choosing(world, topic, asker, category, profile)()


def choosing(
    world: World, topic: str, asker: str, category: str, profile: Profile
) -> Callable[[], tuple[Service, Choice]]:
    """The same with all that it needs of the world taken at once: the work can be done while the world changes."""
    services, conditions = tuple(world.services.values()), _conditions(world, asker, category, profile.policies)
    return lambda: _choose(services, conditions, topic, profile)


def _choose(
    services: Sequence[Service], conditions: Sequence[Condition], topic: str, profile: Profile
) -> tuple[Service, Choice]:
    excluded: dict[str, int] = {}
    fitting = _held(services, conditions, excluded)
    _check_declared(fitting, profile)
    bounds = [each for name, asked in profile.qualities.items() for each in _bounds(name, asked)]
    fitting = _held(fitting, bounds, excluded)
    _check_declared(fitting, profile)
    if not fitting:
        raise _nobody(topic, len(services), excluded)
    scored = _scored(fitting, profile.qualities)
    return next(each for each in fitting if each.name == scored[0].service), Choice(scored, excluded)


def _held(services: Sequence[Service], conditions: Iterable[Condition], excluded: dict[str, int]) -> Sequence[Service]:
    for words, holds in conditions:
        kept = [each for each in services if holds(each)]
        if len(kept) < len(services):
            excluded[words] = len(services) - len(kept)
        services = kept
    return services


def _check_declared(services: Sequence[Service], profile: Profile) -> None:
    """By a quality that none of them tells nobody is better than another, and a slip of the pen would pick anyone."""
    told = {name for each in services for name in each.qualities}
    missing = [name for name in profile.qualities if name not in told]
    if services and missing:
        known = ", ".join(sorted(told)[:MOST_NAMED]) or "none"
        text = f"no producer that fits otherwise has the quality {missing[0][:80]!r}; the qualities there are: {known}"
        raise Refusal("unknown-name", text)


def _conditions(world: World, asker: str, category: str, policies: Iterable[str]) -> list[Condition]:
    found: list[Condition] = []
    if category:
        world.categories.check(category)
        names = world.interests.members(category)
        found.append((f"not under the category {category!r}", lambda service: service.name in names))
    found.append(("asks itself", lambda service: service.name != asker))
    found.append(("has no notifier", lambda service: bool(service.notifier)))
    return [*found, *map(_promises, policies)]


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
    hint = "ask for less, or for another category; one that you name is asked with pull-1:1-explicit"
    text = f"no producer fits for {topic!r}: of {known} services were excluded {why}; {hint}"
    return Refusal("unknown-name", text)
