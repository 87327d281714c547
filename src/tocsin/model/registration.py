"""A publisher that made itself known to the broker (WS-BrokeredNotification 1.3 s4)."""

from msgspec import Struct

from tocsin.model.identity import Instant
from tocsin.model.names import Topic
from tocsin.model.subscription import Endpoint, Form


class Registration(Struct, frozen=True):
    """With `demand` the broker subscribes at the publisher, and pauses that while nobody wants its topics."""

    id: str
    owner: str | None
    publisher: Endpoint | None
    topics: tuple[Topic, ...]
    demand: bool
    form: Form
    created: Instant
    expires: Instant | None
