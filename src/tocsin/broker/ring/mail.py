"""What waits in pull points that have their home at another node by now: it is sent after them, for nobody fetches it
here any more."""

from collections.abc import Sequence

from tocsin.broker.pull_points.mailboxes import Mailboxes
from tocsin.broker.ring.asking import Asking
from tocsin.broker.ring.circle import Circle, Unreachable
from tocsin.broker.ring.messages import Post
from tocsin.mediation.between_nodes import frame_of, framed
from tocsin.model.refusal import Refusal
from tocsin.routing.ring.identifiers import place_of_name
from tocsin.routing.ring.roster import Member, Roster

TOGETHER = 500  # messages in one request


class Mail:
    def __init__(self, circle: Circle, asking: Asking, mailboxes: Mailboxes) -> None:
        self._circle, self._asking, self._mailboxes = circle, asking, mailboxes

    def waiting(self) -> set[str]:
        """The pull points here that hold something."""
        return set(self._mailboxes.waiting())

    async def forward(self, roster: Roster, number: int) -> int:
        """How many messages; what was sent counts as handed out here. After a crash between the two it comes twice."""
        count = 0
        for name in self._mailboxes.waiting():
            home = roster.owner(place_of_name(name))
            if home.name != self._circle.me:
                count += await self._send(name, (home,), number)
        return count

    async def leave(self, roster: Roster) -> None:
        """All of it, as who is not in the ring any more: that may have changed since."""
        for name in self._mailboxes.waiting():
            home = roster.owner(place_of_name(name))
            await self._send(name, (home, *roster.behind(home)), 0)

    async def _send(self, name: str, homes: Sequence[Member], number: int) -> int:
        """To the first of them that takes it."""
        count = 0
        while self._mailboxes.has(name):
            held = await self._mailboxes.held(name, self._mailboxes.state(name).handed_to, TOGETHER)
            if not held:
                break
            frames = framed(frame_of(each.notification) for each in held)
            await self._post(homes, Post(number, name, frames, moved=True))
            await self._mailboxes.hand_out(name, held[-1].number)
            count += len(held)
        return count

    async def _post(self, homes: Sequence[Member], post: Post) -> None:
        for each in homes[:-1]:
            try:
                await self._asking.tell(each, post)
                return
            except (Refusal, Unreachable):
                continue
        await self._asking.tell(homes[-1], post)
