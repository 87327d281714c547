"""The JSON documents of the world; `openapi` is made from these."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from tocsin.mediation import times
from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal
from tocsin.semantics.interest import changes as c
from tocsin.semantics.interest.ino import Edge, Service, Vote
from tocsin.semantics.interest.world import World

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


class VoteRequest(Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    topic: str
    target: str
    agrees: bool
    note: str = ""
    by: str = ""


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
        return cls(rules.inherit_topics, rules.inherit_categories, rules.quorum)


class WorldTopicDocument(Struct, frozen=True):
    name: str
    parent: str | None
    children: list[str]


class CategoryDocument(Struct, frozen=True):
    """`services` are those of the category itself, not of those below it."""

    name: str
    parent: str | None
    owner: str | None
    children: list[str]
    services: list[str]


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
        return cls(
            *edge.key,
            verdict.counts,
            verdict.why,
            world.owners.get(edge.source),
            edge.proposed_by,
            _time(edge.when),
            agree,
            len(edge.votes) - agree,
            world.rules.quorum,
            list(map(VoteDocument.of, edge.votes)),
            edge.support,
            edge.confidence,
            edge.lift,
            edge.note,
            verdict.brief,
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


KINDS = (
    TopicRequest,
    CategoryRequest,
    ServiceRequest,
    EdgeRequest,
    VoteRequest,
    RulesRequest,
    RulesDocument,
    WorldTopicDocument,
    CategoryDocument,
    EdgeDocument,
    NeighbourDocument,
    ChangingDocument,
    WorldDocument,
    Service,
)
