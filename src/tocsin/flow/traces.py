"""What is known of one notification: who wanted it and why, and what became of it."""

from typing import Literal

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


class Logged(Struct, frozen=True):
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

    items: tuple[tuple[Logged, Account], ...]
    cut: bool
