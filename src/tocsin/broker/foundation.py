"""What the services of a node stand on: its data directory, the network, and the judges of costly expressions."""

import uuid
from collections.abc import Callable, Collection
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, cast

from tocsin.broker.journal import Journal
from tocsin.broker.settings import Settings
from tocsin.delivery.settings import DeliverySettings
from tocsin.model.identity import Node as NodeName
from tocsin.model.records import Accepted, Changed, Declared
from tocsin.store.codec import decode, is_change, is_declaration
from tocsin.store.database import Store
from tocsin.store.errors import NoDirectory
from tocsin.store.judge.judge import FILTER_SECONDS, Judges
from tocsin.store.log.appender import BeforeMark
from tocsin.store.log.log import Log
from tocsin.store.log.reader import LogReader
from tocsin.store.places import RING_PLACE, Places
from tocsin.store.shared.address import SharedLog
from tocsin.wire.addresses import LOOPBACK, AddressGuard
from tocsin.wire.http_client import HttpClient, Poster
from tocsin.wire.tcp_client import TcpSender
from tocsin.wire.tls import Trust

if TYPE_CHECKING:
    from tocsin.broker.shared.sharing import Sharing

FIRST_COOL_DOWN = 1.0
PEER_SECONDS = 30.0
MOST_SHARED = 16 << 20  # of a request: what is made of it for a consumer may be larger
SHARED = "shared"  # in the store: which shared log the directory belongs to
PEER_BYTES = 64 << 20  # of an answer of another node: the part of the world that this one may know
Report = Callable[[str], None]


class Directory:
    """The data directory, opened and brought up to its log; what is opened here is closed by the stack."""

    def __init__(self, settings: Settings, base_url: str, report: Report, stack: AsyncExitStack) -> None:
        data, segment_bytes = settings.data, settings.log.segment_bytes
        try:
            data.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise NoDirectory(f"{data} cannot be the data directory: {problem.strerror}") from problem
        self.places = settings.places
        self.store = store = Store.open(self.places.database)
        stack.callback(store.close)
        store.claim_engine(settings.engine)
        # Before readers see a change in the log they can ask for it in the store.
        self.log = Log.open(
            self.places.log("log"),
            segment_bytes=segment_bytes,
            max_waiting=settings.limits.waiting_bytes,
            before_mark=cast(BeforeMark, store.apply),
        )
        stack.push_async_callback(self.log.close)
        self.outcomes = Log.open(self.places.log("outcomes"), segment_bytes=segment_bytes)
        stack.push_async_callback(self.outcomes.close)
        for each in (self.log.repaired, self.outcomes.repaired):
            if each:
                report(each)
        store.set_meta("base_url", base_url)
        store.set_meta(FILTER_SECONDS, str(settings.limits.filter_seconds))
        self.reader = LogReader(self.places.log("log"))
        _catch_up(store, self.reader)
        if (name := store.meta("node")) is None:
            asked = "" if settings.worker is None else settings.worker.name
            name = asked or f"node-{uuid.uuid4().hex[:8]}"
            store.set_meta("node", name)
            if settings.worker is not None and settings.worker.place is not None:
                store.set_meta(RING_PLACE, f"{settings.worker.place:016x}")
        self.sharing = _sharing(settings, NodeName(name), self.places, store, base_url, report)
        self.journal = Journal(NodeName(name), self.log, None if self.sharing is None else self.sharing.proposals)


class Network:
    """What goes out: to consumers, and by a client of its own to other nodes, which answer later, and more."""

    def __init__(self, settings: Settings, own: Collection[tuple[str, int]], stack: AsyncExitStack) -> None:
        asked = settings.delivery
        trust = Trust(asked.ca_file, asked.client_cert, asked.client_key)
        trust.check()
        self.guard = guard = AddressGuard(loopback_allowed=settings.listen.host in LOOPBACK, own=own)
        tcp = TcpSender(timeout=asked.timeout, guard=guard)
        self.schemes: dict[str, Poster] = {"tcp": tcp}
        self.http = HttpClient(timeout=asked.timeout, guard=guard, trust=trust, schemes=self.schemes)
        self.to_peers = HttpClient(timeout=PEER_SECONDS, guard=guard, trust=trust, max_body=PEER_BYTES)
        for each in (self.http, self.to_peers, tcp):
            stack.push_async_callback(each.close)
        self.patience = DeliverySettings(
            window=asked.queue,
            attempts=asked.attempts,
            first_delay=asked.first_backoff,
            longest_delay=asked.longest_backoff,
            failures_to_open=asked.breaker_failures,
            cool_down=min(FIRST_COOL_DOWN, asked.breaker_cooldown),
            longest_cool_down=asked.breaker_cooldown,
            longest_latency=asked.longest_latency,
        )


class Foundation:
    """`own` are the hosts and ports at which the node is reached: nothing is delivered to them."""

    def __init__(
        self,
        settings: Settings,
        base_url: str,
        report: Report,
        own: Collection[tuple[str, int]],
        stack: AsyncExitStack,
    ) -> None:
        self.settings, self.base_url, self.report, self.stack = settings, base_url, report, stack
        self.directory = Directory(settings, base_url, report, stack)
        self.network = Network(settings, own, stack)
        self.judges = Judges(settings.limits.filter_seconds)
        stack.callback(self.judges.close)


def _sharing(
    settings: Settings, node: NodeName, places: Places, store: Store, base_url: str, report: Report
) -> "Sharing | None":
    """None for a node that has its log for itself."""
    _check_shared(settings, store)
    if settings.log.shared is None:
        return None
    try:
        from tocsin.broker.shared.sharing import Sharing
    except ModuleNotFoundError as problem:
        raise NoDirectory(f"a shared log needs {problem.name}: pip install 'tocsin[kafka]'") from problem

    return Sharing(
        SharedLog.parse(settings.log.shared),
        node,
        places,
        store.past,
        partitions=settings.log.partitions,
        base_url=base_url,
        filter_seconds=settings.limits.filter_seconds,
        report=report,
    )


def _check_shared(settings: Settings, store: Store) -> None:
    """A directory shares its log with the same nodes from its first record on, or with nobody."""
    known, url = store.meta(SHARED), settings.log.shared
    shown = None if url is None else SharedLog.parse(url).shown
    if known is None and shown is not None and not store.past.shared() and store.past.end():
        raise NoDirectory(
            f"{settings.data} has subscriptions or declarations that {shown} does not know: start with an empty --data,"
            " and subscribe there again"
        )
    if known is not None and known != shown:
        raise NoDirectory(f"{settings.data} belongs to the shared log {known}: start with --log {known}")
    if shown is not None and settings.limits.body_bytes > MOST_SHARED:
        raise NoDirectory(f"with a shared log limits.body_bytes is at most {MOST_SHARED >> 20} MiB")
    if shown is not None:
        store.set_meta(SHARED, shown)


def _catch_up(store: Store, reader: LogReader) -> None:
    """Changes and declarations that were on disk in the log, but not yet in the store, when the process ended."""
    missing: list[Changed | Declared] = []
    for _, payload in reader.frames(max(store.applied(), reader.start()), reader.end()):
        if is_change(payload) or is_declaration(payload):
            record = decode(payload)
            missing += [record] if not isinstance(record, Accepted) else []
    store.apply(missing)
