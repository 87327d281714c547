"""An edge of the graph of interests, and when it counts.

`source -topic-> target`: services under `source` share messages of `topic` with services under `target` (paper 000
s3.1). People propose edges, confirm and dispute them; what was learned from history carries how well it is supported.
"""

import math

from msgspec import Struct
from msgspec.structs import replace

from tocsin.model.identity import Instant
from tocsin.model.refusal import Refusal

QUORUM = 3
MOST_VOTES = 10_000
Key = tuple[str, str, str]


class Vote(Struct, frozen=True):
    by: str
    agrees: bool
    when: Instant = Instant(0)
    note: str = ""


class Edge(Struct, frozen=True):
    """Nobody proposed what came with the world as it was first written."""

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
        learned = (self.support, self.confidence, self.lift)
        if not all(math.isfinite(figure) for figure in learned if figure is not None):
            raise Refusal("bad-world", f"support, confidence and lift of {self} must be numbers")

    def __str__(self) -> str:
        return f"{self.source} -{self.topic}-> {self.target}"


def voted(edge: Edge, vote: Vote) -> Edge:
    """Each has one vote; the last one counts."""
    others = tuple(each for each in edge.votes if each.by != vote.by)
    return replace(edge, votes=(*others, vote))


def counts(edge: Edge, owner: str | None, quorum: int = QUORUM) -> bool:
    """The owner of the source category decides; until then what an owner or operator proposed stands unless a quorum
    disputes it, and what others proposed, or was learned, waits until a quorum confirms it."""
    if owner is not None:
        for vote in edge.votes:
            if vote.by == owner:
                return vote.agrees
    score = sum(1 if vote.agrees else -1 for vote in edge.votes)
    if not edge.learned and edge.proposed_by in ("", owner):
        return score > -quorum
    proposed = not edge.learned and all(vote.by != edge.proposed_by for vote in edge.votes)
    return score + proposed >= quorum  # to propose is to agree, until one votes
