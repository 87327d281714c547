"""All that a node does by a log that several share."""

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from tocsin.broker.journal import Journal
from tocsin.broker.shared.following import Following
from tocsin.broker.shared.forwarding import Forwarding
from tocsin.broker.shared.inbox import Inbox
from tocsin.broker.shared.proposals import Proposals
from tocsin.model.identity import Node
from tocsin.store.outbox import Outbox
from tocsin.store.past import Past
from tocsin.store.places import Places
from tocsin.store.shared.address import SharedLog
from tocsin.store.shared.kafka import make_topics


class Sharing:
    """Changes are proposed to all nodes, what is accepted here is forwarded, and what Spark decided comes back."""

    def __init__(
        self,
        shared: SharedLog,
        node: Node,
        places: Places,
        past: Past,
        *,
        partitions: int,
        base_url: str,
        filter_seconds: float,
        report: Callable[[str], None],
    ) -> None:
        make_topics(shared, partitions)
        self._shared, self._past, self._report = shared, past, report
        self.proposals = Proposals(shared, node, base_url, filter_seconds)
        self.forwarding = Forwarding(shared, node, places, past, report)

    @asynccontextmanager
    async def running(self, journal: Journal, outbox: Outbox) -> AsyncIterator[None]:
        """From when the node knows all changes by now; doors open after that."""
        following = Following(self._shared, self.proposals, journal, self._past, self._report)
        inbox = Inbox(self._shared, outbox, self._report)
        async with AsyncExitStack() as stack:
            for each in (self.forwarding, following, inbox):
                stack.push_async_callback(each.close)
            await self.proposals.start()
            stack.push_async_callback(self.proposals.close)
            await following.start()
            self.forwarding.start()
            inbox.start()
            yield
