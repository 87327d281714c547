"""Ontologies and liftings: what they are declared to, and which subscriptions stand and fall with them."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from tocsin.broker.caller import Caller
from tocsin.broker.declarations.checks import check_among, check_together, formed, graphs_in
from tocsin.broker.declarations.declarations import Declarations
from tocsin.broker.publishing.event_checks import check_event_graph, takes_long
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.broker.subscriptions.suspension import Suspension
from tocsin.markup.conditions import ExpressionError
from tocsin.markup.graphs.queries import query_of
from tocsin.matching.catalogue import Catalogue
from tocsin.model.declarations import Declaration, Ontology
from tocsin.model.filters import Graph
from tocsin.model.identity import SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.concepts.pattern_checks import check_query
from tocsin.semantics.events.lifting import check_lifting

AT_ONCE = 256  # are suspended in one write
Broken = tuple[SubscriptionId, str]


class Semantics:
    """`unknown_properties`: whether events may state what no ontology has."""

    def __init__(
        self,
        declarations: Declarations,
        standing: StandingSubscriptions,
        suspension: Suspension,
        report: Callable[[str], None],
        *,
        unknown_properties: bool,
    ) -> None:
        self._declarations, self._standing, self._suspension = declarations, standing, suspension
        self._report, self._unknown_properties = report, unknown_properties
        self._changing = asyncio.Lock()  # one change is looked through at a time
        self._looked = False  # at all that stand, since the last change

    def check_may_declare(self, caller: Caller) -> None:
        """Refuses who may not, before what it sent is read: that may take long."""
        caller.must_manage_everything("declare ontologies or liftings")

    async def declare(self, caller: Caller, what: Declaration, *, dry_run: bool = False) -> Sequence[Broken]:
        """What becomes of standing subscriptions: those that ask for what is no more are suspended, each with why."""
        self.check_may_declare(caller)
        declarations = self._declarations
        async with self._changing:
            what = await asyncio.to_thread(formed, what)
            check_among(what, declarations.ahead)
            if isinstance(what, Ontology) and not declarations.ahead.ontologies:
                await declarations.warm()  # from now on there may be patterns
            if await declarations.has(what):
                return ()
            after = declarations.ahead.copy()
            after.declare(what)
            broken = await self._looked_through(after)
            if not dry_run:
                self._looked = False  # should this end before its time, those that are left are suspended later
                await declarations.append((what,))
                await self._suspend_all(broken)
                self._looked = True
            return broken

    async def read_ontologies(self) -> None:
        """Before anybody publishes: a large model takes a while. One that is refused today can still be withdrawn."""
        try:
            await asyncio.to_thread(lambda: self._declarations.known.concepts)
        except Refusal as refusal:
            self._report(f"the ontologies cannot be used: {refusal.text}")

    async def suspend_broken(self) -> None:
        """After a start, and a call that failed: the change may be on disk when those it breaks are not yet."""
        if self._looked:
            return
        async with self._changing:
            await self._suspend_all(await self._looked_through(self._declarations.ahead.copy()))
            self._looked = True

    async def check_event_graphs(self, notifications: Sequence[Notification]) -> bool:
        """Whoever publishes what the ontologies do not allow is told at once, with the vertex.

        Whether others may have published meanwhile: what is long is read beside the loop.
        """
        known = self._declarations.ahead
        check = partial(_check_all, notifications, known, self._unknown_properties)
        if any(takes_long(each, known) for each in notifications):
            await asyncio.to_thread(check)
            return True
        check()
        return False

    async def _looked_through(self, after: Catalogue) -> list[Broken]:
        """In a thread, for there may be many; what was asked for meanwhile is few, and looked at last."""
        with self._standing.watched() as meanwhile:
            broken = await asyncio.to_thread(_checked, after, self._standing.all())
            unchanged = [each for each in broken if each[0] not in meanwhile]
            return unchanged + list(broken_by(after.concepts, meanwhile.values()))

    async def _suspend_all(self, broken: Sequence[Broken]) -> None:
        for begin in range(0, len(broken), AT_ONCE):
            some = broken[begin : begin + AT_ONCE]
            await asyncio.gather(*(self._suspension.suspend(name, reason, _STANDING) for name, reason in some))


_STANDING = ("active", "paused")


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
