"""From counted rules to proposals: generalised along the taxonomy, without what is known or voted down. No Spark."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import permutations

from tocsin.semantics.interest.changes import Changing, PutEdge, RemoveEdge
from tocsin.semantics.interest.ino import Key
from tocsin.semantics.interest.world import World

MIN_SUPPORT, MIN_CONFIDENCE = 0.00005, 0.6
MOST = 0.75  # of the parts of a category; when so many are told, the category is
LEAST_TOLD, LEAST_PUBLISHED = 3, 2  # fewer are chance, however large their share
# They end names that are no category's. As a target: services of the category itself, not of one below it. As a source:
# services that are of other categories as well, and may have published as such.
OWN = SHARED = "\x1f"


@dataclass(frozen=True)
class Rule:
    """`source` and `topic` imply `target`, as counted.

    `published` are the publications of the source's services on the topic, `chances` how often one of them could have
    told a service under the target, `told` how often it did. `told_at_all` and `chances_at_all` are the same of the
    target whoever publishes whatever, `tellings` are all there are.
    """

    source: str
    topic: str
    target: str
    told: int
    chances: int
    published: int
    tellings: int
    told_at_all: int
    chances_at_all: int

    @property
    def key(self) -> Key:
        return self.source, self.topic, self.target

    @property
    def support(self) -> float:
        """The share of all tellings that it accounts for."""
        return self.told / self.tellings

    @property
    def confidence(self) -> float:
        """How likely a service under the target is told when the source publishes on the topic."""
        return min(1.0, self.told / self.chances) if self.chances else 0.0

    @property
    def lift(self) -> float:
        """How much likelier than when anybody publishes anything."""
        return self.confidence * self.chances_at_all / self.told_at_all if self.told_at_all else 0.0


@dataclass(frozen=True)
class Thresholds:
    support: float = MIN_SUPPORT
    confidence: float = MIN_CONFIDENCE

    def hold(self, rule: Rule) -> bool:
        often = rule.told >= LEAST_TOLD and rule.published >= LEAST_PUBLISHED and rule.support >= self.support
        return often and rule.confidence >= self.confidence


DEFAULT = Thresholds()


@dataclass(frozen=True)
class Example:
    """A telling that speaks for an edge."""

    notification: str
    producer: str
    topic: str
    consumer: str


@dataclass(frozen=True)
class Proposal:
    """An edge to be confirmed by people. `told` of `chances` are its evidence, in `published` publications."""

    source: str
    topic: str
    target: str
    support: float
    confidence: float
    lift: float
    told: int
    chances: int
    published: int
    examples: tuple[Example, ...] = ()

    @property
    def key(self) -> Key:
        return self.source, self.topic, self.target

    @classmethod
    def of(cls, rule: Rule, examples: Iterable[Example] = ()) -> "Proposal":
        counts = (rule.told, rule.chances, rule.published)
        return cls(*rule.key, rule.support, rule.confidence, rule.lift, *counts, tuple(examples))


@dataclass(frozen=True)
class Unused:
    """An edge along which nobody was told, though its source published so often."""

    source: str
    topic: str
    target: str
    published: int

    @property
    def key(self) -> Key:
        return self.source, self.topic, self.target

    @property
    def why(self) -> str:
        if not self.published:
            return f"no service of {self.source} published on it"
        return f"{self.published:,} published, nobody under {self.target} told"


def proposed(
    rules: Iterable[Rule],
    published: Mapping[tuple[str, str], int],
    world: World,
    removed: Collection[Key],
    least: Thresholds,
) -> list[Rule]:
    """The rules to propose, the surest first: as few as say it all, and none that the world has or had.

    `published` counts the publications of each source on each topic, also those of which nobody was told.
    """
    refused = voted_down(world) | {*removed}
    keys = [key for key, edge in world.edges.items() if world.counts(edge)]
    others, found = _sharing(world), list[Rule]()
    for (source, topic), group in sorted(_groups(rules, published, world).items(), key=lambda each: each[1].rank):
        senders = (source,) if group.sure else (source, *others[source])
        leading = [key[2] for key in keys if any(_leads(world, key, each, topic) for each in senders)]
        settled = {below for target in leading for below in world.categories.below(target)}
        against = {target for one, about, target in refused if (one, about) == (source, topic)}
        fresh = Generaliser(world, group.targets, settled, against, least).rules()
        found += fresh
        keys += [rule.key for rule in fresh]
    for rule in found:  # what came later may be the narrower
        if any(key != rule.key and _implies(world, key, rule.key) for key in keys):
            keys.remove(rule.key)
    waiting = [rule for rule in found if rule.key in keys and _is_open(world, rule.key)]
    return sorted(waiting, key=lambda rule: (-rule.confidence, -rule.told, rule.key))


@dataclass(frozen=True)
class _Group:
    """The rules of one source and topic, by target. `sure` are those of producers that are of no other category.

    By rank, what is sure explains what is not, and of several categories the one of which more was published. An edge
    on a topic takes the messages of those above it, too: what the narrow one explains, the broad one need not.
    """

    targets: Mapping[str, Rule]
    sure: bool
    rank: tuple[object, ...]


def _groups(
    rules: Iterable[Rule], published: Mapping[tuple[str, str], int], world: World
) -> dict[tuple[str, str], _Group]:
    by_source: defaultdict[tuple[str, str], dict[str, Rule]] = defaultdict(dict)
    for rule in rules:
        by_source[rule.source, rule.topic][rule.target] = rule
    found = {}
    for source, topic in {(source.removesuffix(SHARED), topic) for source, topic in by_source}:
        alone, shared = (source, topic), (f"{source}{SHARED}", topic)
        sure, count = published.get(alone, 0) >= LEAST_PUBLISHED, published.get(alone, 0) + published.get(shared, 0)
        targets = by_source[alone] if sure else _sum(world, published, by_source, alone, shared)
        found[alone] = _Group(targets, sure, (not sure, -len(world.topics.above(topic)), -count, source, topic))
    return found


def _sum(
    world: World,
    published: Mapping[tuple[str, str], int],
    by_source: Mapping[tuple[str, str], Mapping[str, Rule]],
    *sources: tuple[str, str],
) -> dict[str, Rule]:
    """Where few publications are sure, all are counted."""
    parts = [(by_source.get(each, {}), published.get(each, 0)) for each in sources]
    found = {}
    for target, rule in {target: rule for targets, _ in parts for target, rule in targets.items()}.items():
        told = sum(targets[target].told for targets, _ in parts if target in targets)
        own = world.interests.own_members if target.endswith(OWN) else world.interests.members
        size = len(own(target.removesuffix(OWN)))
        chances = sum(targets[target].chances if target in targets else count * size for targets, count in parts)
        count = sum(count for _, count in parts)
        found[target] = replace(rule, source=sources[0][0], told=told, chances=chances, published=count)
    return found


def _sharing(world: World) -> defaultdict[str, set[str]]:
    """With which other categories each has services in common."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for service in world.services.values():
        for one, other in permutations(service.categories, 2):
            found[one].add(other)
    return found


class Generaliser:
    """Of one source and topic: from the top of the taxonomy down, a category whose parts are mostly told stands for all
    of them. `settled` categories are told along other edges; one `against` which people voted stands for nothing, and
    what it is under is no more than its other parts."""

    def __init__(
        self,
        world: World,
        targets: Mapping[str, Rule],
        settled: Collection[str],
        against: Collection[str],
        least: Thresholds,
    ) -> None:
        self._world, self._targets, self._least = world, targets, least
        self._settled, self._against = settled, against

    def rules(self) -> list[Rule]:
        categories, found = self._world.categories, list[Rule]()
        waiting = [name for name, parent in categories.items() if parent is None]
        while waiting:
            name = waiting.pop()
            rule = self._targets.get(name)
            if rule is None or self._is_settled(name):  # without a rule nobody below it was told, or too few
                continue
            if self._stands_for_all(name, rule):
                found.append(rule)
            else:
                waiting += categories.children(name)
        return found

    def _stands_for_all(self, name: str, rule: Rule) -> bool:
        if not self._least.hold(rule) or any(each in self._against for each in self._world.categories.below(name)):
            return False
        parts = [part for part in parts_of(self._world, name) if not self._is_settled(part)]
        told = sum(part in self._targets and self._targets[part].confidence >= self._least.confidence for part in parts)
        return told >= MOST * len(parts)

    def _is_settled(self, part: str) -> bool:
        own = part.removesuffix(OWN)
        if own in self._settled or own != part:
            return own in self._settled
        parts = parts_of(self._world, part) if self._settled else []
        return bool(parts) and all(map(self._is_settled, parts))


def parts_of(world: World, category: str) -> list[str]:
    """The categories under it that have services, and its own services, where it has any beside those."""
    found = [each for each in world.categories.children(category) if world.interests.members(each)]
    return [*found, f"{category}{OWN}"] if found and world.interests.own_members(category) else found


def _leads(world: World, key: Key, source: str, topic: str) -> bool:
    """Whether messages of the source on the topic go along the edge (paper 000, Table 1, and the rules)."""
    sources = world.categories.above(source) if world.rules.inherit_categories else (source,)
    broader = key[1] in world.topics.above(topic) and world.rules.inherit_topics
    return key[0] in sources and (topic in world.topics.above(key[1]) or broader)


def _implies(world: World, one: Key, other: Key) -> bool:
    return _leads(world, one, *other[:2]) and one[2] in world.categories.above(other[2])


def voted_down(world: World) -> set[Key]:
    """Edges that do not count because the owner or more people than not dispute them."""
    found = set()
    for key, edge in world.edges.items():
        against = [vote.by for vote in edge.votes if not vote.agrees]
        decided = world.owners.get(edge.source) in against or 2 * len(against) > len(edge.votes)
        if decided and not world.counts(edge):
            found.add(key)
    return found


def removed_by_people(history: Iterable[Changing]) -> set[Key]:
    """Edges that were taken out of the world, and not put there again."""
    gone: set[Key] = set()
    for each in history:
        match each.change:
            case RemoveEdge(source, topic, target):
                gone.add((source, topic, target))
            case PutEdge(edge):
                gone.discard(edge.key)
    return gone


def _is_open(world: World, key: Key) -> bool:
    """Not in the world, or learned before and still waiting: it is proposed again with what is known by now."""
    edge = world.edges.get(key)
    return edge is None or (edge.learned and not world.counts(edge))
