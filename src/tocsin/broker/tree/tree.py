"""This node in its tree: what is asked of it goes up, what its neighbours pass on comes in, and an operator looks."""

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from tocsin.broker.caller import Caller
from tocsin.broker.declarations.declarations import Declarations
from tocsin.broker.engines.settlement import Settlement
from tocsin.broker.publishing.publishing import Publishing
from tocsin.broker.settings import Settings
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.broker.tree import family
from tocsin.broker.tree.neighbours import Neighbours
from tocsin.mediation.between_nodes import neighbour_at
from tocsin.model.declarations import Hierarchy
from tocsin.model.filters import Filter, TypeIs, leaves
from tocsin.model.identity import Instant, SubscriptionId
from tocsin.model.records import Changed, Declared
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import neighbour_of
from tocsin.routing.tree.interest import Interest
from tocsin.routing.tree.messages import Own, Remove
from tocsin.routing.tree.node import Alternatives, Position, TreeNode
from tocsin.routing.tree.widening import widened
from tocsin.runtime.peers import Link
from tocsin.runtime.runtime import Runtime
from tocsin.store.database import Store
from tocsin.store.machines import Letter
from tocsin.wire.addresses import WireError


class BadParent(WireError):
    """A node that cannot be this one's parent."""


class Neighbour(Struct, frozen=True):
    """`asks` is how many filters it asks for, None for everything; `since` when it joined, None if it has not; `heard`
    when a child said something last; `waiting` and `delivered` count what goes to it; `trouble` is why it is not as it
    should be."""

    node: str
    asks: int | None
    since: Instant | None = None
    heard: Instant | None = None
    waiting: int = 0
    delivered: int = 0
    trouble: str = ""


class View(Struct, frozen=True):
    """`asks` is how many filters this node asks its parent for, None for everything; `too_much` that these were so many
    that it does; `told` that the parent knows; `above` are the nodes from the parent up; `leaving` are former parents
    that were not reached yet."""

    node: str
    parent: Neighbour | None
    asks: int | None
    too_much: bool
    told: bool
    above: tuple[str, ...]
    children: tuple[Neighbour, ...]
    most: int
    leaving: tuple[str, ...]


class Tree:
    """Of other nodes `runtime` takes what they ask, and `pass_on` what they pass on."""

    def __init__(
        self,
        base_url: str,
        settings: Settings,
        store: Store,
        link: Link,
        neighbours: Neighbours,
        report: Callable[[str], None],
        *,
        name: str,
        standing: StandingSubscriptions,
        declarations: Declarations,
        publishing: Publishing,
        settlement: Settlement,
    ) -> None:
        self._standing, self._declarations, self._publishing = standing, declarations, publishing
        self._settlement, self._neighbours = settlement, neighbours
        self._own: dict[str, Alternatives] = {}
        self._at = at = _position(base_url, name, settings)
        session = link.now()
        made = family.Tree(at, session, self._asked, neighbours, link, report)
        self.runtime = Runtime(made, family.tables_of(store), link.now, report)

    def start(self) -> None:
        self.runtime.start()

    async def close(self) -> None:
        await self.runtime.close()

    def neighbours(self) -> Sequence[str]:
        """The base URLs of the parent, if there is one, and of the children."""
        return self._machine.neighbours()

    # What is asked for here

    def changed(self, change: Changed) -> None:
        """Of a subscription; who has no parent asks nobody."""
        subscription = change.subscription
        if not self._at.parent or neighbour_of(subscription) is not None:
            return
        asked = () if subscription.state == "ended" else self._widened(subscription.filters)
        if asked != self._own.get(subscription.id, ()):
            self._tell(subscription.id, asked)

    def declared(self, declared: Declared) -> None:
        """Of types: other nodes know those that are below a type by their names alone."""
        if not self._at.parent or not isinstance(declared.what, Hierarchy):
            return
        for each in list(self._standing.by_id.values()):
            if each.id in self._own and any(isinstance(leaf, TypeIs) for leaf in leaves(each.filters)):
                self._tell(each.id, self._widened(each.filters))

    def _tell(self, subscription: str, asked: Alternatives) -> None:
        if asked:
            self._own[subscription] = asked
        else:
            self._own.pop(subscription, None)
        self.runtime.post(family.MACHINE, Own(subscription, asked))

    def _asked(self) -> Mapping[str, Alternatives]:
        """By those that stand, also by those that are paused: they may go on at any time."""
        if not self._at.parent:
            return {}
        mine = ((each.id, each.filters) for each in list(self._standing.by_id.values()) if neighbour_of(each) is None)
        self._own = {name: asked for name, filters in mine if (asked := self._widened(filters))}
        return self._own

    def _widened(self, filters: tuple[Filter, ...]) -> Alternatives:
        return widened(filters, self._declarations.known)

    # What others do

    async def pass_on(self, door: str, body: bytes) -> None:
        """What a neighbour passes on; returns when it is on disk."""
        by = neighbour_at(door)
        if not self._machine.takes_from(by):
            raise Refusal("not-here", f"{by[:200]!r} is no neighbour of {self._at.node}; it joins first")
        await self._publishing.pass_on(door, body)

    # What an operator does

    def view(self, caller: Caller) -> View:
        caller.anybody()
        machine, waiting = self._machine, self._settlement.waiting()
        parent = None
        if self._at.parent:
            parent = self._shown(self._at.parent, None, waiting, machine.joined, trouble=machine.trouble)
        children = (
            self._shown(each.node, _count(each.interest), waiting, each.since, machine.heard.get(each.node))
            for each in machine.present()
        )
        return View(
            self._at.node,
            parent,
            _count(machine.interest) if self._at.parent else 0,
            machine.is_too_much,
            machine.is_heard and not self.runtime.waits,
            machine.above,
            tuple(children),
            self._at.most,
            tuple(machine.formers()),
        )

    async def remove(self, caller: Caller, neighbour: str) -> None:
        """A child that does not come back: nothing waits for it any more. Or a former parent that does not."""
        caller.must_manage_everything("remove nodes from the tree")
        await self.runtime.take([Letter(family.MACHINE, Remove(neighbour))])

    def _shown(
        self,
        node: str,
        asks: int | None,
        waiting: Mapping[SubscriptionId, int],
        since: Instant | None,
        heard: Instant | None = None,
        trouble: str = "",
    ) -> Neighbour:
        known = self._neighbours.of(node)
        counts = (0, 0) if known is None else (waiting.get(known.id, 0), self._settlement.delivered.get(known.id, 0))
        return Neighbour(node, asks, since, heard, *counts, trouble)

    @property
    def _machine(self) -> TreeNode:
        return self.runtime.machines[family.MACHINE]


def _count(interest: Interest) -> int | None:
    return None if interest.is_everything else len(interest.alternatives)


def _position(base_url: str, name: str, settings: Settings) -> Position:
    asked = settings.tree
    if asked.parent == base_url:
        raise BadParent(f"tree.parent {asked.parent} is this node itself; name the node that is to be above it")
    shares = "a node that shares its log with others takes no children yet: join one that has its own"
    return Position(base_url, name, asked.parent or "", asked.children, "" if settings.log.shared is None else shares)
