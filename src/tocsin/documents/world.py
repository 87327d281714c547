"""The JSON documents of the world."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import replace

from tocsin.documents import filled
from tocsin.mediation import times
from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.semantics.interest import changes as c
from tocsin.semantics.interest.ino import Edge, Key, Service, Vote
from tocsin.semantics.interest.taxonomy import Taxonomy
from tocsin.semantics.interest.world import World

WORLD = "/api/world"

Value = TypeVar("Value")
Share = Annotated[float, Meta(ge=0.0, le=1.0)]


class TopicRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """`by` says who asks where nobody has to show it; in all of these."""

    parent: str | None = None
    by: str = ""


class CategoryRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """What is left out stays as it is; null takes it away."""

    parent: str | UnsetType | None = UNSET
    owner: str | UnsetType | None = UNSET
    by: str = ""

    def change(self, world: World, name: str) -> c.PutCategory:
        known = name in world.categories
        parent = (world.categories.parent(name) if known else None) if self.parent is UNSET else self.parent
        owner = world.owners.get(name) if self.owner is UNSET else self.owner
        return c.PutCategory(name, parent, owner or None)


class ServiceRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A service whose notifier is somebody else's: `notifier` is where it takes Notify in SOAP."""

    categories: list[str]
    qualities: dict[str, float] = {}
    policies: list[str] = []
    tells: dict[str, str] = {}
    notifier: str = ""
    address: str = ""
    dialect: str = ""
    by: str = ""

    def service(self, name: str) -> Service:
        for field in ("notifier", "address"):
            url: str = getattr(self, field)
            if url and not url.startswith(("http://", "https://")):
                raise Refusal("malformed", f"{field} {url[:200]!r} does not begin with http:// or https://")
        given = msgspec.structs.asdict(self)
        del given["by"]
        given |= {"categories": tuple(dict.fromkeys(self.categories)), "policies": tuple(self.policies)}
        return Service(name, **given)


class ServicePatch(Struct, frozen=True, forbid_unknown_fields=True):
    """What is not named stays, as in RFC 7396: in `qualities` and `tells` null takes one away."""

    categories: list[str] | UnsetType = UNSET
    qualities: dict[str, float | None] = {}
    policies: list[str] | UnsetType = UNSET
    tells: dict[str, str | None] = {}
    by: str = ""

    def changes(self, world: World, name: str) -> Sequence[c.Change]:
        before = world.service(name)
        for topic in self.tells:
            world.topics.check(topic)
        after = replace(
            before,
            categories=before.categories if self.categories is UNSET else tuple(dict.fromkeys(self.categories)),
            qualities=_patched(before.qualities, self.qualities),
            policies=before.policies if self.policies is UNSET else tuple(self.policies),
            tells=_patched(before.tells, self.tells),
        )
        return [] if after == before else [c.PutService(after)]


class EdgeRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """Services under `source` share messages of `topic` with services under `target`."""

    source: str
    topic: str
    target: str
    note: str = ""
    support: Share | None = None
    confidence: Share | None = None
    lift: Annotated[float, Meta(ge=0.0)] | None = None
    by: str = ""

    @property
    def key(self) -> Key:
        return self.source, self.topic, self.target


class VoteRequest(Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    topic: str
    target: str
    agrees: bool
    note: str = ""
    by: str = ""

    @property
    def key(self) -> Key:
        return self.source, self.topic, self.target


class RulesRequest(Struct, frozen=True, forbid_unknown_fields=True):
    inherit_topics: bool = False
    inherit_categories: bool = False
    quorum: int = 3
    by: str = ""


class RulesDocument(Struct, frozen=True):
    """Inheritance that the paper does not have, and how many votes make a quorum."""

    inherit_topics: bool
    inherit_categories: bool
    quorum: int

    @classmethod
    def of(cls, rules: c.PutRules) -> "RulesDocument":
        return filled(cls, rules)


class WorldTopicDocument(Struct, frozen=True):
    name: str
    parent: str | None
    children: list[str]

    @classmethod
    def each(cls, world: World) -> "Callable[[str], WorldTopicDocument]":
        """Of a topic by its name."""
        children = _children(world.topics)
        return lambda name: cls(name, world.topics.parent(name), children.get(name, []))


class CategoryDocument(Struct, frozen=True):
    """`services` are those of the category itself, not of those below it."""

    name: str
    parent: str | None
    owner: str | None
    children: list[str]
    services: list[str]

    @classmethod
    def each(cls, world: World) -> "Callable[[str], CategoryDocument]":
        """Of a category by its name."""
        children, members = _children(world.categories), dict[str, list[str]]()
        for service in world.services.values():
            for category in service.categories:
                members.setdefault(category, []).append(service.name)

        def shown(name: str) -> CategoryDocument:
            owner, parent = world.owners.get(name), world.categories.parent(name)
            return cls(name, parent, owner, children.get(name, []), members.get(name, []))

        return shown


class VoteDocument(Struct, frozen=True):
    by: str
    agrees: bool
    when: str | None
    note: str

    @classmethod
    def of(cls, vote: Vote) -> "VoteDocument":
        return cls(vote.by, vote.agrees, _time(vote.when), vote.note)


class EdgeDocument(Struct, frozen=True):
    """`counts` says whether messages go along it, `why` in words, `brief` in one or two."""

    source: str
    topic: str
    target: str
    counts: bool
    why: str
    owner: str | None
    proposed_by: str
    when: str | None
    agree: int
    disagree: int
    quorum: int
    votes: list[VoteDocument]
    support: float | None
    confidence: float | None
    lift: float | None
    note: str
    brief: str = ""

    @classmethod
    def of(cls, world: World, edge: Edge) -> "EdgeDocument":
        verdict = world.verdict(edge)
        agree = sum(vote.agrees for vote in edge.votes)
        return filled(
            cls,
            edge,
            verdict,
            world.rules,
            owner=world.owners.get(edge.source),
            when=_time(edge.when),
            agree=agree,
            disagree=len(edge.votes) - agree,
            votes=list(map(VoteDocument.of, edge.votes)),
        )


class NeighbourDocument(Struct, frozen=True):
    """A service that is told, and along which edges."""

    name: str
    categories: list[str]
    edges: list[str]


class ChangingDocument(Struct, frozen=True):
    """`said` is the change in words; `change` as it is kept."""

    version: int
    when: str | None
    by: str
    said: str
    change: dict[str, Any]

    @classmethod
    def of(cls, changing: c.Changing) -> "ChangingDocument":
        change = msgspec.to_builtins(changing.change)
        return cls(changing.version, _time(changing.when), changing.by, said(changing.change), change)


class WorldDocument(Struct, frozen=True):
    """How much there is; what there is, is told by the forms of the whole."""

    version: int
    topics: int
    categories: int
    services: int
    edges: int
    changed: int = 0

    @classmethod
    def of(cls, world: World, version: int, changed: int) -> "WorldDocument":
        sizes = (len(world.topics), len(world.categories), len(world.services), len(world.edges))
        return cls(version, *sizes, changed)


def said(change: c.Change) -> str:
    match change:
        case c.PutTopic(name, parent):
            return f"topic {name}{_under(parent)}"
        case c.RemoveTopic(name):
            return f"topic {name} removed"
        case c.PutCategory(name, parent, owner):
            return f"category {name}{_under(parent)}{f', owned by {owner}' if owner else ''}"
        case c.RemoveCategory(name):
            return f"category {name} removed"
        case c.PutService(service):
            return f"service {service.name} in {', '.join(service.categories)}"
        case c.RemoveService(name):
            return f"service {name} removed"
        case c.PutEdge(edge):
            return f"edge {edge}{' learned' if edge.learned else ''}"
        case c.RemoveEdge(source, topic, target):
            return f"edge {source} -{topic}-> {target} removed"
        case c.CastVote(source, topic, target, vote):
            note = f": {vote.note}" if vote.note else ""
            return f"{vote.by} {'confirms' if vote.agrees else 'disputes'} {source} -{topic}-> {target}{note}"
        case c.PutRules(topics, categories, quorum):
            inherited = [name for name, on in (("topics", topics), ("categories", categories)) if on]
            return f"rules: a quorum of {quorum}, {' and '.join(inherited) or 'nothing'} inherited"


def _under(parent: str | None) -> str:
    return "" if parent is None else f" under {parent}"


def _time(when: Instant) -> str | None:
    return times.timestamp(when) if when else None


def _patched(before: Mapping[str, Value], said: Mapping[str, Value | None]) -> dict[str, Value]:
    return {name: value for name, value in ({**before, **said}).items() if value is not None}


def _children(taxonomy: Taxonomy) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, parent in taxonomy.items():
        if parent is not None:
            found.setdefault(parent, []).append(name)
    return found
