"""A node: one process, a whole broker, composed of its services."""

import time
from collections import Counter
from collections.abc import Callable
from typing import Any, cast

import msgspec

from tocsin.broker.caller import Caller
from tocsin.broker.consumers.consumers import Consumers
from tocsin.broker.dead_letters import DeadLetters
from tocsin.broker.declarations.declarations import Declarations
from tocsin.broker.declarations.semantics import Semantics
from tocsin.broker.engines.embedded import EmbeddedEngine
from tocsin.broker.engines.outbox import OutboxEngine
from tocsin.broker.engines.settlement import Settlement
from tocsin.broker.implicit.implicit import Implicit
from tocsin.broker.interactions.interactions import Interactions
from tocsin.broker.journal import Journal
from tocsin.broker.publishing.current_messages import CurrentMessages
from tocsin.broker.publishing.publishing import Publishing
from tocsin.broker.pull_points.mailboxes import Mailboxes
from tocsin.broker.pull_points.pull_points import PullPoints
from tocsin.broker.resource_properties import ResourceProperties
from tocsin.broker.settings import Settings
from tocsin.broker.subscriptions.standing import StandingSubscriptions
from tocsin.broker.subscriptions.subscriptions import Subscriptions
from tocsin.broker.subscriptions.synchronisation import Synchronisation
from tocsin.broker.topics.registrations import Registrations
from tocsin.broker.topics.topics import Topics
from tocsin.broker.tracing.tracing import Traces
from tocsin.matching.index.combination import MANY as MANY_TERMS
from tocsin.model.identity import Instant
from tocsin.store.database import Store
from tocsin.store.judge.judge import Judges

now = cast(Callable[[], Instant], time.time_ns)


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """Made by `lifecycle.open_node`, inside the running loop. Doors ask its services, and name the caller."""

    settings: Settings
    base_url: str
    store: Store
    journal: Journal
    engine: EmbeddedEngine | OutboxEngine
    settlement: Settlement
    mailboxes: Mailboxes
    standing: StandingSubscriptions
    judges: Judges

    subscriptions: Subscriptions
    synchronisation: Synchronisation
    pull_points: PullPoints
    publishing: Publishing
    current_messages: CurrentMessages
    topics: Topics
    registrations: Registrations
    properties: ResourceProperties
    declarations: Declarations
    semantics: Semantics
    consumers: Consumers
    dead_letters: DeadLetters
    traces: Traces
    interactions: Interactions
    implicit: Implicit

    @property
    def body_limit(self) -> int:
        return self.settings.limits.body_bytes

    def now(self) -> Instant:
        return now()

    def problem(self) -> str | None:
        """Why nothing is accepted any more; None while all is well."""
        return self.journal.log.refusal

    def closing(self) -> bool:
        """Whether the node is about to end: then nobody waits any more."""
        return self.mailboxes.closing

    def stop_waiting(self) -> None:
        """Those who wait at a door are answered with what there is, before it is shut."""
        self.mailboxes.stop_waiting()
        self.implicit.stop_waiting()

    def needs_kernels(self) -> bool:
        """Where boxes or graph patterns may be asked for, and well before subscriptions are so many that they are
        combined by a kernel."""
        known = self.declarations.known
        return len(self.standing.by_id) >= MANY_TERMS // 2 or bool(known.spaces or known.ontologies)

    def figures(self, caller: Caller) -> dict[str, Any]:
        caller.anybody()
        return {
            "node": self.journal.node,
            "engine": self.settings.engine,
            "offset": self.journal.log.durable,
            "subscriptions": len(self.standing.by_id),
            "accepted": dict(self.publishing.accepted),
            "repeated": self.publishing.repeated,
            "matched": self.engine.matched,
            "delivery": msgspec.structs.asdict(self.engine.deliverer.figures()),
            "pull_points": self.mailboxes.figures(),
            "dead_letters": self.store.count_dead_letters(),
            "implicit": self.implicit.figures(),
        }

    def delivered_by_dialect(self) -> dict[str, int]:
        found: Counter[str] = Counter()
        for name, count in self.settlement.delivered.items():
            found[self.standing.dialects.get(name, "unknown")] += count
        return dict(found)
