"""Ontologies and liftings: what they are declared to, and which subscriptions stand and fall with them."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from tocsin.broker.declarations.checks import check_among, check_together, formed, graphs_in, is_known
from tocsin.broker.declarations.declarations import Declaring
from tocsin.broker.engines.sending import Sending
from tocsin.broker.kernels import warmed
from tocsin.broker.publishing.event_checks import check_event_graph, takes_long
from tocsin.broker.pull_points.pull_points import PullPoints
from tocsin.broker.settings import Settings
from tocsin.broker.subscriptions.suspension import tell_suspended
from tocsin.markup.conditions import ExpressionError
from tocsin.markup.graphs.queries import query_of
from tocsin.matching.catalogue import Catalogue
from tocsin.model.declarations import Declaration, Lifting, Ontology, Withdrawn
from tocsin.model.filters import Filter, Graph
from tocsin.model.identity import SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.concepts.pattern_checks import check_query
from tocsin.semantics.events.lifting import check_lifting

AT_ONCE = 256  # are suspended in one write
Broken = tuple[SubscriptionId, str]
_STANDING = ("active", "paused")


def is_of_meaning(what: Declaration) -> bool:
    return isinstance(what, Ontology | Lifting) or (
        isinstance(what, Withdrawn) and what.what in ("ontology", "lifting")
    )


class Meaning(Declaring):
    """A base of `Node`, which has these."""

    base_url: str
    settings: Settings
    sending: Sending
    pulling: PullPoints

    def __init__(self, known: Catalogue) -> None:
        super().__init__(known)
        self._meaning = asyncio.Lock()  # one change is looked through at a time
        self._looked = False  # at all that stand, since the last change
        self._meanwhile: dict[SubscriptionId, Subscription] | None = None  # changed while it is

    def subscription(self, subscription: str) -> Subscription:
        raise NotImplementedError

    async def suspend(self, subscription: str, reason: str) -> Subscription:
        raise NotImplementedError

    async def declare(self, what: Declaration) -> None:
        if is_of_meaning(what):
            await self.declare_meaning(what)
        else:
            await super().declare(what)

    async def ready_for(self, filters: Iterable[Filter]) -> None:
        """Graph patterns may ask for what RDF itself has, without any ontology."""
        if any(True for _ in graphs_in(filters)):
            await warmed(self.report)

    def check_may_declare(self) -> None:
        """Everybody who gets here may."""

    async def declare_meaning(self, what: Declaration, *, dry_run: bool = False) -> Sequence[Broken]:
        """What becomes of standing subscriptions: those that ask for what is no more are suspended, each with why."""
        async with self._meaning:
            what = await asyncio.to_thread(formed, what)
            check_among(what, self._ahead)
            if isinstance(what, Ontology) and not self._ahead.ontologies:
                await warmed(self.report)  # from now on there may be patterns
            if is_known(what, self._ahead):
                if self._last is not None:
                    await self._stored(self._last)
                return ()
            after = self._ahead.copy()
            after.declare(what)
            broken = await self._looked_through(after)
            if not dry_run:
                self._looked = False  # should this end before its time, those that are left are suspended later
                await self._declare_all((what,))
                await self._suspend_all(broken)
                self._looked = True
            return broken

    async def read_ontologies(self) -> None:
        """Before anybody publishes: a large model takes a while. One that is refused today can still be withdrawn."""
        try:
            await asyncio.to_thread(lambda: self.known.concepts)
        except Refusal as refusal:
            self.report(f"the ontologies cannot be used: {refusal.text}")

    async def suspend_broken(self) -> None:
        """After a start, and a call that failed: the change may be on disk when those it breaks are not yet."""
        if self._looked:
            return
        async with self._meaning:
            await self._suspend_all(await self._looked_through(self._ahead.copy()))
            self._looked = True

    async def _looked_through(self, after: Catalogue) -> list[Broken]:
        """In a thread, for there may be many; what was asked for meanwhile is few, and looked at last."""
        standing, self._meanwhile = list((self._subscriptions | self._changing).values()), {}
        try:
            broken = await asyncio.to_thread(_checked, after, standing)
            unchanged = [each for each in broken if each[0] not in self._meanwhile]
            return unchanged + list(broken_by(after.concepts, self._meanwhile.values()))
        finally:
            self._meanwhile = None

    async def check_event_graphs(self, notifications: Sequence[Notification]) -> bool:
        """Whoever publishes what the ontologies do not allow is told at once, with the vertex.

        Whether others may have published meanwhile: what is long is read beside the loop.
        """
        known = self._ahead
        if not known.ontologies and not known.liftings:
            return False
        check, unknown = partial(_check_all, notifications, known), self.settings.meaning.unknown_properties
        if any(takes_long(each, known) for each in notifications):
            await asyncio.to_thread(check, unknown)
            return True
        check(unknown)
        return False

    def _note_change(self, subscription: Subscription) -> None:
        if self._meanwhile is not None:
            self._meanwhile[subscription.id] = subscription

    async def _suspend_all(self, broken: Sequence[Broken]) -> None:
        for begin in range(0, len(broken), AT_ONCE):
            await asyncio.gather(*(self._suspend(*each) for each in broken[begin : begin + AT_ONCE]))

    async def _suspend(self, name: SubscriptionId, reason: str) -> None:
        try:
            if self.subscription(name).state in _STANDING:
                tell_suspended(self, await self.suspend(name, reason))
        except Refusal as refusal:
            if refusal.reason != "unknown-subscription":  # else it ended meanwhile
                raise


def _check_all(notifications: Sequence[Notification], known: Catalogue, unknown_properties: bool) -> None:
    for each in notifications:
        try:
            check_event_graph(each, known, unknown_properties)
        except Refusal as refusal:
            where = f"message {each.index} (they count from 0): " if len(notifications) > 1 else ""
            raise Refusal(refusal.reason, f"{where}{refusal.text}", refusal.about) from None


def _checked(after: Catalogue, standing: Iterable[Subscription]) -> list[Broken]:
    """Also whether the ontologies are right together, and all liftings with them."""
    check_together(after.ontologies.values())
    for each in after.liftings.values():
        check_lifting(each, after.concepts)
    return list(broken_by(after.concepts, standing))


def broken_by(model: ConceptModel, standing: Iterable[Subscription]) -> Iterator[Broken]:
    """Many ask for the same: each filter is looked at once."""
    known: dict[Graph, str | None] = {}
    for each in standing:
        if each.state not in _STANDING:
            continue
        for asked in graphs_in(each.filters):
            if asked not in known:
                known[asked] = problem_of(asked, model)
            if (problem := known[asked]) is not None:
                yield each.id, problem
                break


def problem_of(asked: Graph, model: ConceptModel) -> str | None:
    try:
        check_query(query_of(asked), model)
    except Refusal as refusal:
        return f"the ontologies changed: {refusal.text}"
    except ExpressionError as problem:
        return f"the ontologies changed: {problem}"
    return None
