"""A repeated message id from one producer is answered like the first and makes no second record."""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence

from tocsin.mediation.ce import cloudevents
from tocsin.model.identity import Instant, after
from tocsin.model.notification import Notification

Key = tuple[str | None, str, str, int]
REMEMBERED_SECONDS = 600.0


class Duplicates:
    """Bounded by number and age; an id whose record failed counts for nothing, so that the caller can try again."""

    def __init__(self, window: int) -> None:
        self._window = window
        # Not a dict: to find its first key, it passes all that were deleted before it.
        self._seen: OrderedDict[Key, tuple[Instant, asyncio.Future[int]]] = OrderedDict()

    def first(self, key: Key, now: Instant) -> "asyncio.Future[int] | None":
        """What to wait for when the same was accepted before; None for a new one."""
        found = self._seen.get(key)
        return None if found is None or _failed(found[1]) or after(found[0], REMEMBERED_SECONDS) < now else found[1]

    def remember(self, key: Key, when: Instant, future: "asyncio.Future[int]") -> None:
        seen = self._seen
        seen.pop(key, None)
        while len(seen) >= self._window:
            seen.popitem(last=False)
        seen[key] = (when, future)


def _failed(future: "asyncio.Future[int]") -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)


def key_of(notification: Notification, pull_point: str | None = None, principal: str | None = None) -> Key | None:
    """None for an id that was made here: it cannot come twice. To each pull point or service it may come once.

    Nobody can speak for another by using up its ids: the same from somebody else is another message.

    Producers that do not name themselves may number their messages alike, so there the content counts too.
    """
    if notification.id.startswith(f"urn:uuid:{notification.cause}"):
        return None
    to = pull_point or notification.addressee
    name = f"{notification.id} {to}" if to else notification.id
    content = 0 if notification.producer else hash(notification.payload.data)
    return principal, notification.producer, name, content


def key_of_all(
    notifications: Sequence[Notification], pull_point: str | None = None, principal: str | None = None
) -> Key | None:
    """Of one record. In a batch each event has an id of its own: one that came before does not stand for the rest."""
    key = key_of(notifications[0], pull_point, principal)
    if key is None or len(notifications) == 1 or notifications[0].dialect != cloudevents.NAME:
        return key
    return *key[:3], hash(tuple((each.producer, each.id, each.payload.data) for each in notifications))
