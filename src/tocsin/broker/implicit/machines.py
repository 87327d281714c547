"""The machines of this node, as the store has them: its notifiers, and the central history where it is here."""

from collections import defaultdict
from collections.abc import Callable
from functools import partial

import msgspec
from msgspec import Struct

from tocsin.broker.implicit.registry import Registry
from tocsin.model.identity import Instant, MessageId
from tocsin.routing.implicit.history import CentralHistory, Told
from tocsin.routing.implicit.messages import Copy, Publish
from tocsin.routing.implicit.notifier import Notifier
from tocsin.store.implicit import CopyRow, ImplicitTables, Residing

Cause = Copy | Publish  # what a notifier is handling
decode_copy: Callable[[bytes], Copy] = msgspec.msgpack.Decoder(Copy).decode
_decode_publish: Callable[[bytes], Publish] = msgspec.msgpack.Decoder(Publish).decode


class Again(Struct, frozen=True):
    """A copy or publication that the store has and that is not done; of one that was `told` the service knows."""

    cause: Cause
    told: bool = False


class Asking(Struct, frozen=True):
    """What waits for the central history. Also a notifier that left uses what it is granted: nobody else will."""

    cause: Cause
    notifier: Notifier


class Machines:
    def __init__(self, registry: Registry, *, central: bool) -> None:
        self._registry = registry
        self.residing: dict[str, Residing] = {}
        self.notifiers: dict[str, Notifier] = {}
        self.history = CentralHistory() if central else None
        self.asking: dict[tuple[MessageId, str], Asking] = {}

    def join(self, residing: Residing, history: list[tuple[MessageId, Instant]] | None = None) -> None:
        """Its neighbours are asked for anew with each message: edges and services come and go."""
        name = residing.service.name
        self.residing[name] = residing
        if name not in self.notifiers:  # else it is the same with another address
            self.notifiers[name] = Notifier(name, partial(self._registry.neighbours, name), history or ())

    def leave(self, name: str) -> None:
        self.residing.pop(name, None)
        self.notifiers.pop(name, None)

    def forget(self, before: Instant) -> None:
        for notifier in self.notifiers.values():
            notifier.forget(before)
        if self.history is not None:
            self.history.forget(before)


def load(tables: ImplicitTables, registry: Registry, *, central: bool) -> tuple[Machines, list[Again]]:
    """As they were when the store was last written, and what they had not done; claims among that are made anew."""
    tables.outbox.drop_claims()
    tables.outbox.count()
    machines, histories = Machines(registry, central=central), defaultdict[str, list[tuple[MessageId, Instant]]](list)
    for notifier, message, when in tables.histories():
        histories[notifier].append((message, when))
    for each in tables.notifiers():
        machines.join(each, histories[each.service.name])
    if central:
        machines.history = CentralHistory(
            (Told(message, name, copy), when) for message, name, copy, when in tables.told()
        )
    return machines, list(map(_again, tables.open_copies()))


def _again(row: CopyRow) -> Again:
    cause: Cause = _decode_publish(row.body) if row.kind == "publication" else decode_copy(row.body)
    return Again(cause, row.state == "told")
