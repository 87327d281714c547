"""What the doors ask of the node about one notification: who wanted it and why, and what became of it."""

from collections.abc import Callable
from typing import Literal, Protocol

from msgspec import Struct

from tocsin.matching.explain.filters import Explanation
from tocsin.model.notification import Notification
from tocsin.model.subscription import Subscription

Outcome = Literal["", "not matched yet", "waiting", "delivered", "handed out", "overflowed", "dead letter", "not known"]


class Sought(Struct, frozen=True):
    """By its message id or cause, or by the record that holds it; `index` is which of the record's, the first unless
    told."""

    message: str = ""
    offset: int | None = None
    index: int | None = None


class Found(Struct, frozen=True):
    """A notification as the log has it, one of `of` that came together; `pull_point` has those sent to it alone."""

    notification: Notification
    door: str
    of: int
    pull_point: str | None

    @property
    def private(self) -> bool:
        return self.pull_point is not None or bool(self.notification.addressee)


class Account(Struct, frozen=True):
    """One subscription as the notification met it. `outcome` is of what was wanted; `remark` is on the subscription."""

    subscription: Subscription
    explanation: Explanation
    outcome: Outcome = ""
    detail: str = ""
    remark: str = ""


class Accounts(Struct, frozen=True):
    """`next` is behind which subscription to go on, None at the end: a page looks at so many, and may have none."""

    items: tuple[Account, ...]
    next: str | None


class Newest(Struct, frozen=True):
    """Newest first; `cut` tells that time or room was up before as many were told as were asked for."""

    items: tuple[tuple[Found, Account], ...]
    cut: bool


SeenSubscription = Callable[[Subscription], bool]
Heard = Callable[[Found], bool]


class TracesPort(Protocol):
    async def find(self, sought: Sought, heard: Heard | None = None) -> Found:
        """The newest such notification that is kept; refused when there is none within reach.

        What is not `heard` is as if it were not there; that is asked in a thread.
        """
        ...

    async def known_subscription(self, subscription: str) -> Subscription:
        """As it is now or ended; refused when there never was one of that id."""
        ...

    async def account(self, found: Found, subscription: str) -> Account:
        """Also of a subscription that has ended since."""
        ...

    async def accounts(
        self, found: Found, after: str, limit: int, *, every: bool, seen: SeenSubscription | None = None
    ) -> Accounts:
        """Of those that stand: those that wanted it or could not tell, or with `every` all of them."""
        ...

    async def newest(self, subscription: str, most: int) -> Newest:
        """The newest notifications of the log before one subscription, newest first."""
        ...
