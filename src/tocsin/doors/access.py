"""Whether callers must say who they are, who is known, and the end of what was subscribed by who is not any more."""

import asyncio
import contextlib
import ssl
import sys
import time
from collections.abc import AsyncIterator, Callable

from tocsin.broker.node import Node
from tocsin.broker.settings import Settings
from tocsin.doors.gate import Gate, OpenToAll, Policy
from tocsin.matching.rights import may_subscribe
from tocsin.model.access import Accounts
from tocsin.model.filters import ForNotifier
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription
from tocsin.store.database import Store
from tocsin.store.errors import DatabaseFailed
from tocsin.store.users import Users
from tocsin.wire.addresses import LOOPBACK
from tocsin.wire.tls import Identity, server_context

LOOK_SECONDS = 0.5
WHAT_TO_DO = (
    "add a user with `tocsin users add NAME`, or say that everybody may do everything here with --set access-open=true"
)


def is_closed(settings: Settings) -> bool:
    """Callers from this machine need not say who they are unless told so; all others must, unless told otherwise."""
    if settings.access.open:
        return False
    return settings.access.on or settings.listen.host not in LOOPBACK


def require_users(settings: Settings) -> None:
    """Refuses to begin what nobody could use, or everybody."""
    if is_closed(settings) and not _has_users(settings):
        why = "access.on is set" if settings.access.on else f"{settings.listen.host} is not this machine alone"
        raise OpenToAll(f"{why}, and the data directory {settings.data} knows no users: {WHAT_TO_DO}")


def _has_users(settings: Settings) -> bool:
    path = settings.places.accounts
    if not path.exists():
        return False
    store = Store.open(path)
    try:
        return bool(store.users.all())
    finally:
        store.close()


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    tls = settings.tls
    if tls.certificate is None:
        return None
    return server_context(Identity(tls.certificate, tls.key, tls.client_ca, tls.require_client))


class Directory:
    """Who is known, at most half a second ago: the commands change it while the node runs. One that joins a ring hears
    of its users there, and knows nobody until it `has_joined`."""

    def __init__(self, users: Users, has_joined: Callable[[], bool]) -> None:
        self._users, self._has_joined = users, has_joined
        self._looked = self._version = -1.0
        self._accounts = Accounts()

    def __call__(self) -> Accounts:
        now = time.monotonic()
        if now >= self._looked + LOOK_SECONDS:
            self._look()
            self._looked = now
        if not self._accounts.by_name and not self._has_joined():
            self._looked = -1.0
            raise Refusal("overloaded", "this node has not joined its ring yet; try again a little later")
        return self._accounts

    def _look(self) -> None:
        try:
            version = self._users.version()
            if version != self._version:
                self._accounts, self._version = self._users.accounts(), version
        except DatabaseFailed as problem:
            raise Refusal("overloaded", f"the users cannot be read: {problem}") from None


@contextlib.asynccontextmanager
async def gate_of(node: Node) -> AsyncIterator[Gate]:
    """The gate before a node, and while it is closed an eye on those who lost their rights."""
    if not is_closed(node.settings):
        yield Gate(node)
        return
    ring, asked = node.ring, node.settings.access
    directory = Directory(node.store.users, lambda: ring is None or ring.circle.is_ready)
    watch = asyncio.create_task(_watch(node, directory))
    try:
        yield Gate(node, directory, Policy(asked.clock_skew, asked.clear_text))
    finally:
        watch.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watch


async def _watch(node: Node, directory: Directory) -> None:
    seen: Accounts | None = None
    while True:
        with contextlib.suppress(Refusal):
            if (accounts := directory()) is not seen:
                await end_unentitled(node, accounts)
                seen = accounts
        await asyncio.sleep(LOOK_SECONDS)


async def end_unentitled(node: Node, accounts: Accounts) -> None:
    """What nobody owns was subscribed while the gate stood open, and stays."""
    for each in node.standing.page("", sys.maxsize, lambda each: not _is_entitled(each, accounts)):
        await node.standing.cancel(each.id, "SourceCancelling", f"{each.owner} may no longer subscribe to this")


def _is_entitled(subscription: Subscription, accounts: Accounts) -> bool:
    """A notifier's service is told as long as there is the notifier, which others than its owner may depend on."""
    if subscription.owner is None or any(isinstance(each, ForNotifier) for each in subscription.filters):
        return True
    account = accounts.by_name.get(subscription.owner)
    return account is not None and may_subscribe(account.principal, subscription.filters)
