"""The elements of the interest graph (INO): services, edges with their votes, and labels as topics."""

import math
import re
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from tocsin.model.identity import Instant
from tocsin.model.names import NCNAME, QName, Topic
from tocsin.model.refusal import Refusal
from tocsin.semantics.interest.taxonomy import Taxonomy, checked_name

MOST_CATEGORIES = 64


class Service(Struct, frozen=True):
    """Its notifier has the same name.

    `notifier` is the address where the notifier takes Publish and Notify, `node` the node that runs it (empty: it is
    somebody else's, and is spoken to in SOAP). `address` is where the service itself is told, in `dialect`; without one
    it fetches. `qualities` are numbers such as price or availability, `policies` what it promises or demands.
    `tells` is the producer's own rule: topic to the one service that is told (the paper's Push-1:1-Implicit).
    """

    name: str
    categories: tuple[str, ...]
    qualities: Mapping[str, float] = {}
    policies: tuple[str, ...] = ()
    tells: Mapping[str, str] = {}
    notifier: str = ""
    node: str = ""
    address: str = ""
    dialect: str = ""

    def check(self) -> None:
        checked_name("service", self.name)
        if "/" in self.name:
            raise Refusal(
                "bad-world", f"service {self.name!r}: a slash cannot stand in a name, which is part of an address"
            )
        if self.name in (".", ".."):
            raise Refusal("bad-world", f"{self.name!r} cannot be the name of a service: in an address it is no name")
        if not self.categories:
            raise Refusal("bad-world", f"service {self.name!r} has no category; name at least one")
        if len(self.categories) > MOST_CATEGORIES:
            raise Refusal("bad-world", f"service {self.name!r} has more than {MOST_CATEGORIES} categories")
        if not all(map(math.isfinite, self.qualities.values())):
            raise Refusal("bad-world", f"service {self.name!r}: each of its qualities must be a number")


QUORUM = 3
MOST_VOTES = 10_000
FIRST, LAST = Instant(-(2**63)), Instant(2**63 - 1)  # of the times that can be kept
Key = tuple[str, str, str]


class Vote(Struct, frozen=True):
    by: str
    agrees: bool
    when: Instant = Instant(0)
    note: str = ""


class Edge(Struct, frozen=True):
    """`source -topic-> target`: services under `source` tell services under `target` of the topic (paper 000 s3).

    An edge without `proposed_by` came with the world as it was first written.
    """

    source: str
    topic: str
    target: str
    proposed_by: str = ""
    when: Instant = Instant(0)
    votes: tuple[Vote, ...] = ()
    support: float | None = None
    confidence: float | None = None
    lift: float | None = None
    note: str = ""

    @property
    def key(self) -> Key:
        return self.source, self.topic, self.target

    @property
    def learned(self) -> bool:
        return self.support is not None or self.confidence is not None

    def check(self) -> None:
        voters = {vote.by for vote in self.votes}
        if "" in voters:
            raise Refusal("bad-world", "a vote needs a name: say who confirms or disputes the edge")
        if len(voters) < len(self.votes):
            raise Refusal("bad-world", f"somebody voted twice on {self}; keep the last vote of each")
        if len(voters) > MOST_VOTES:
            raise Refusal("bad-world", f"an edge takes {MOST_VOTES} votes")
        if not all(FIRST <= when <= LAST for when in (self.when, *(vote.when for vote in self.votes))):
            raise Refusal("bad-world", f"a time of {self} or of its votes is not between the years 1677 and 2262")
        learned = (self.support, self.confidence, self.lift)
        if not all(math.isfinite(figure) for figure in learned if figure is not None):
            raise Refusal("bad-world", f"support, confidence and lift of {self} must be numbers")

    def __str__(self) -> str:
        return f"{self.source} -{self.topic}-> {self.target}"


def voted(edge: Edge, vote: Vote) -> Edge:
    """Each has one vote; the last one counts."""
    others = tuple(each for each in edge.votes if each.by != vote.by)
    return replace(edge, votes=(*others, vote))


class Verdict(Struct, frozen=True):
    """Whether messages go along an edge; `why` says it in a sentence, `brief` in a word or two."""

    counts: bool
    why: str
    brief: str


def verdict(edge: Edge, owner: str | None, quorum: int = QUORUM) -> Verdict:
    """The owner of the source category decides; until then what an owner or operator proposed stands unless a quorum
    disputes it, and what others proposed, or was learned, waits until a quorum confirms it."""
    for vote in edge.votes:
        if vote.by == owner:
            done = "confirmed" if vote.agrees else "disputed"
            return Verdict(vote.agrees, f"{owner}, who owns {edge.source}, {done} it", f"owner {done}")
    score = sum(1 if vote.agrees else -1 for vote in edge.votes)
    if not edge.learned and edge.proposed_by in ("", owner):
        given = not edge.proposed_by
        if score <= -quorum:
            return Verdict(False, f"a quorum of {quorum} disputes it", f"{-score} of {quorum} dispute")
        whose = "it was given with the world" if given else f"{edge.proposed_by}, who owns {edge.source}, proposed it"
        return Verdict(True, f"{whose}, and no quorum of {quorum} disputes it", "given" if given else "owner")
    proposed = not edge.learned and all(vote.by != edge.proposed_by for vote in edge.votes)
    return _if_confirmed(edge, score + proposed, quorum)  # to propose is to agree, until one votes


def _if_confirmed(edge: Edge, score: int, quorum: int) -> Verdict:
    whose = "it was learned" if edge.learned else f"{edge.proposed_by} proposed it"
    brief = f"{'learned' if edge.learned else edge.proposed_by}, {max(score, 0)} of {quorum}"
    if score >= quorum:
        return Verdict(True, f"{whose}, and a quorum of {quorum} confirms it", brief)
    wanted = f"{quorum - score} more to confirm it, or for the owner of {edge.source}"
    return Verdict(False, f"{whose}, and it waits for {wanted}", brief)


_FOREIGN = re.compile(r"[^\w.\-]+")


def topic_of(topics: Taxonomy, label: str) -> Topic:
    """`Disaster Info` under nothing is `Disaster-Info`; a topic under it is `Disaster-Info/Earthquake`."""
    return topic_of_path(topics.path(label))


def topic_of_path(path: tuple[str, ...]) -> Topic:
    return Topic(tuple(QName("", _ncname(label)) for label in path))


def _ncname(label: str) -> str:
    name = _FOREIGN.sub("-", label).strip("-") or "topic"
    return name if NCNAME.fullmatch(name) else f"_{name}" if NCNAME.fullmatch(f"_{name}") else "topic"
