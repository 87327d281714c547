"""Pull points that get another home, because a node came: what waits in them goes there."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from tocsin.broker.journal import Journal
from tocsin.broker.pull_points.mailboxes import Mailboxes
from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import Circle, number_of
from tocsin.broker.ring.messages import Post
from tocsin.broker.ring.placing import Placing, is_of_ring
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.mediation.between_nodes import frame_of, framed
from tocsin.mediation.operations import Held
from tocsin.model.identity import SubscriptionId
from tocsin.routing.ring.identifiers import place_of_name
from tocsin.routing.ring.roster import Roster

TOGETHER = 200  # messages


class HandingOver:
    def __init__(
        self,
        circle: Circle,
        asking: Asking,
        journal: Journal,
        placing: Placing,
        standing: StandingSubscriptions,
        mailboxes: Mailboxes,
    ) -> None:
        self._circle, self._asking, self._journal, self._placing = circle, asking, journal, placing
        self._standing, self._mailboxes = standing, mailboxes

    async def run(self) -> None:
        """All that waits is on disk at their homes when it returns; what it was before is left to the next roster."""
        for name in list(self._leaving()):
            await self._empty(name)
            known = self._standing.by_id.get(SubscriptionId(name))
            if known is not None and known.consumer is None:
                await self._journal.stored(self._standing.change_here(self._placing.localised(known)))
                await self._empty(name)  # what came before that was on disk
            self._mailboxes.drop(name)

    def _leaving(self) -> Iterator[str]:
        for name in self._mailboxes.names():
            known = self._standing.by_id.get(SubscriptionId(name))
            if known is not None and is_of_ring(known) and not self._circle.is_mine(place_of_name(name)):
                yield name

    async def _empty(self, name: str) -> None:
        while (state := self._mailboxes.state(name)).waiting:
            held = await self._mailboxes.held(name, state.handed_to, TOGETHER)
            if not held:
                return
            for subscription, some in groupby(held, key=lambda each: each.subscription):
                await self._post(name, subscription, list(some))
            await self._mailboxes.hand_out(name, held[-1].number)

    async def _post(self, name: str, subscription: str, held: Sequence[Held]) -> None:
        """Its number is given once at this node: what is posted again has the same name."""
        frames, moved = framed(frame_of(each.notification) for each in held), f"{self._circle.me} {held[0].number}"

        async def attempt(roster: Roster) -> None:
            home = roster.owner(place_of_name(name))
            await self._asking.tell(home, Post(number_of(roster), name, subscription, frames, moved))

        await self._circle.agreed(attempt)
