"""The world and its notifiers as one principal sees them.

Everybody who is known reads the world, proposes edges and votes, in the own name; the owner of a category maintains the
edges that leave it. All else is for who manages everything.
"""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from tocsin.documents.ports.implicit_port import Changes, ImplicitPort, Published, Running
from tocsin.matching import rights
from tocsin.model.access import Principal
from tocsin.model.identity import MessageId
from tocsin.model.names import Topic
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.messages import Copy
from tocsin.routing.implicit.result import Dissemination
from tocsin.semantics.interest.changes import CastVote, Change, Changing, PutEdge, RemoveEdge
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.semantics.interest.world import World

Known = Callable[[str], Principal | None]


class GuardedImplicit:
    """Implements `ImplicitPort`. `by` is always the principal, whatever name was given; `known` tells who else is."""

    def __init__(self, implicit: ImplicitPort, principal: Principal, known: Known = lambda _: None) -> None:
        self._implicit, self._principal, self._known = implicit, principal, known

    def world(self) -> World:
        return self._implicit.world()

    def topic(self, label: str) -> Topic:
        return self._implicit.topic(label)

    async def change_world(self, changes: Changes, by: str) -> int:
        del by

        def allowed(world: World) -> Sequence[Change]:
            asked = changes(world) if callable(changes) else changes
            if not rights.may_manage_everything(self._principal):
                asked = [self._allowed(change) for change in asked]
            return [self._signed(each) for each in asked]

        return await self._implicit.change_world(allowed, self._principal.name)

    async def world_history(self, after: int, limit: int) -> Sequence[Changing]:
        return await self._implicit.world_history(after, limit)

    async def create_notifier(self, service: Service, by: str, owner: str = "") -> Running:
        del by
        self._must_manage("create notifiers")
        if owner and self._known(owner) is None:
            raise Refusal("unknown-name", f"there is no user {owner[:80]!r} to own it; `tocsin users add` makes one")
        return await self._implicit.create_notifier(service, self._principal.name, owner)

    async def remove_notifier(self, name: str, by: str) -> None:
        del by
        self._must_manage("remove notifiers")
        await self._implicit.remove_notifier(name, self._principal.name)

    def notifier(self, name: str) -> Running:
        return self._implicit.notifier(name)

    def notifiers(self) -> Sequence[Running]:
        return self._implicit.notifiers()

    async def publish_through(self, notifier: str, asked: Published) -> MessageId:
        self._must_publish(asked.topic)
        return await self._implicit.publish_through(notifier, asked)

    async def notify(self, copy: Copy) -> None:
        self._must_publish(copy.message.topic)
        await self._implicit.notify(copy)

    async def pass_on(self, copies: Sequence[Copy]) -> None:
        self._must_manage("pass on what others say")
        await self._implicit.pass_on(copies)

    def proof(self, copy: Copy) -> str:
        self._must_manage("sign for the nodes of this world")
        return self._implicit.proof(copy)

    async def dissemination(self, message: str, seconds: float = 0.0) -> Dissemination:
        await self.publication(message)
        return await self._implicit.dissemination(message, seconds)

    async def publication(self, message: str) -> tuple[MessageId, str, str, str]:
        """Who may publish under a topic may know what became of it."""
        found = await self._implicit.publication(message)
        if not self._may_know(found[2]):
            raise self._may_not(f"know what became of messages of the topic {found[2]!r}")
        return found

    async def disseminations(self, limit: int) -> Sequence[tuple[MessageId, str, str, str]]:
        return [row for row in await self._implicit.disseminations(limit) if self._may_know(row[2])]

    def _allowed(self, change: Change) -> Change:
        """As a proposal where it is one; raises where more was asked than that."""
        match change:
            case CastVote():
                return change
            case PutEdge(edge) if self._owns(edge.source):
                before = self.world().edges.get(edge.key, Edge(*edge.key, proposed_by=self._principal.name))
                return PutEdge(replace(edge, proposed_by=before.proposed_by, votes=before.votes))
            case PutEdge(edge) if edge.key not in self.world().edges:
                return PutEdge(Edge(*edge.key, proposed_by=self._principal.name, when=edge.when, note=edge.note))
            case RemoveEdge(source, topic, target) if self._owns(source) or self._proposed((source, topic, target)):
                return change
            case PutEdge() | RemoveEdge():
                raise self._may_not("change an edge that leaves the category of another; vote on it instead")
        raise self._may_not("change the world; propose an edge, or vote on one")

    def _signed(self, change: Change) -> Change:
        match change:
            case CastVote(vote=vote):
                return replace(change, vote=replace(vote, by=self._principal.name))
            case PutEdge(edge) if edge.proposed_by and edge.key not in self.world().edges:
                return PutEdge(replace(edge, proposed_by=self._principal.name))
        return change

    def _owns(self, category: str) -> bool:
        return self.world().owners.get(category) == self._principal.name

    def _proposed(self, key: tuple[str, str, str]) -> bool:
        """What one proposed can be taken back until somebody else has said something to it."""
        edge = self.world().edges.get(key)
        return edge is not None and edge.proposed_by == self._principal.name and not edge.votes

    def _must_publish(self, label: str) -> None:
        topic = self.topic(label)
        if not rights.may_publish(self._principal, topic):
            raise self._may_not(f"publish under the topic {topic}")

    def _may_know(self, label: str) -> bool:
        """A topic that was taken out of the world is known to who manages everything."""
        if rights.may_manage_everything(self._principal):
            return True
        try:
            return rights.may_publish(self._principal, self.topic(label))
        except Refusal:
            return False

    def _must_manage(self, what: str) -> None:
        if not rights.may_manage_everything(self._principal):
            raise self._may_not(what)

    def _may_not(self, what: str) -> Refusal:
        return Refusal("not-allowed", f"{self._principal.name} may not {what}; `tocsin users grant` gives rights")
