"""What a client is given, and what it gives: the same whatever the dialect."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal, TypedDict, get_args

from msgspec import Struct

from tocsin.client.errors import ClientError
from tocsin.mediation import times
from tocsin.mediation.expressions import producer_word
from tocsin.mediation.graph_forms import SYNTAXES
from tocsin.mediation.topics import DIALECTS, space_topic
from tocsin.model import names
from tocsin.model.areas import BETWEEN
from tocsin.model.identity import SECOND, Instant, Pairs
from tocsin.model.names import NO_TOPIC, Topic
from tocsin.model.refusal import Refusal

# A duration such as PT1H or a timedelta, a time such as 2030-01-31T12:00:00Z or a datetime; empty is up to the broker.
Expires = str | timedelta | datetime
# An offset of the log, or a time.
Start = int | str | datetime
Namespaces = Mapping[str, str] | Pairs
Mode = Literal["", "wrapped", "raw", "structured", "binary", "batched"]


class Lease(Struct, frozen=True):
    """A subscription as its owner holds it: where it is managed, and until when it stands.

    `expires` is a time, empty when there is no end or the dialect does not tell; `seconds` is how long that was when it
    was granted. `reference` is what the manager wants to be shown again (WS-Addressing reference parameters).
    """

    address: str
    expires: str = ""
    seconds: float | None = None
    reference: bytes = b""

    @property
    def id(self) -> str:
        return self.address.rstrip("/").rpartition("/")[2]


class PullPoint(Lease, frozen=True):
    """Where messages wait until they are pulled; `feed` is the subscription that fills it, where that is another."""

    feed: Lease | None = None


class Status(Struct, frozen=True):
    """`state` is empty in dialects that have no word for it; `reason` is why it is suspended, where that is told."""

    expires: str
    state: str = ""
    reason: str = ""


class Registration(Struct, frozen=True):
    """A publisher as the broker knows it; `consumer` is where it wants to be sent notifications, if it said."""

    address: str
    consumer: str = ""
    reference: bytes = b""

    @property
    def id(self) -> str:
        return self.address.rstrip("/").rpartition("/")[2]


class Ended(Struct, frozen=True):
    """Told when a subscription ends that its subscriber did not end."""

    dialect: str
    subscription: str
    status: str
    reason: str


class About(TypedDict, total=False):
    """What a subscription or a pull point is about, and when."""

    topic: str | None
    topic_dialect: str
    namespaces: Namespaces
    content: str | None
    content_language: str
    types: Sequence[str]
    producers: Sequence[str]
    box: str | None
    pattern: str | None
    sparql: str | None
    plain: bool
    deliver_as: str
    bindings: bool
    expires: Expires
    start: Start | None


class Options(About, total=False):
    """What `Client.subscribe` takes besides the consumer."""

    mode: Mode
    together: int
    max_latency: str | timedelta
    secret: str
    consent: bool
    end_to: str
    thin: bool


class Terms(Struct, frozen=True):
    """What a subscription asks for; `consumer` is empty for a pull point."""

    consumer: str = ""
    topic: str = ""
    topic_dialect: str = "full"
    namespaces: Pairs = ()
    content: str = ""
    content_language: str = "xpath"
    types: tuple[str, ...] = ()
    producers: tuple[str, ...] = ()
    box: str = ""
    pattern: str = ""
    sparql: str = ""
    plain: bool = False
    deliver_as: str = ""
    bindings: bool = False
    expires: str = ""
    mode: Mode = ""
    together: int = 1
    start: int | str | None = None
    secret: str = ""
    consent: bool = False
    end_to: str = ""
    thin: bool = False
    max_latency: str = ""

    @property
    def raw(self) -> bool | None:
        """None when it was not said which."""
        return None if not self.mode else self.mode in ("raw", "binary")


def terms_of(consumer: str, options: Options) -> Terms:
    given = dict(options)
    for name in ("topic", "content", "box", "pattern", "sparql"):
        given[name] = _filter(given.get(name), name)
    if (dialect := options.get("topic_dialect", "full")) not in DIALECTS.values():
        known = ", ".join(DIALECTS.values())
        raise ClientError(f"the topic dialect {dialect!r} is not known; choose one of {known}")
    if (syntax := options.get("deliver_as", "")) and syntax not in SYNTAXES:
        raise ClientError(f"event graphs are not delivered as {syntax!r}; choose one of {', '.join(SYNTAXES)}")
    if options.get("plain", False) and not given["sparql"]:
        raise ClientError(
            "plain is about sparql: it asks for SPARQL's own meaning, where two variables may be one thing"
        )
    given["namespaces"] = pairs_of(options.get("namespaces", ()))
    given["types"] = _several(options.get("types", ()), "types")
    given["producers"] = _several(options.get("producers", ()), "producers", producer_word)
    given["expires"] = expires_text(options.get("expires", ""))
    given["start"] = start_text(options.get("start"))
    given["max_latency"] = expires_text(options.get("max_latency", ""))
    mode = options.get("mode", "")
    if mode not in get_args(Mode):
        raise ClientError(f"the mode {mode!r} is not known; choose one of {', '.join(get_args(Mode)[1:])}")
    return Terms(consumer, **given)  # type: ignore[arg-type]


def _filter(said: object, what: str) -> str:
    """Only what was not said asks for everything: an empty text is a mistake of the caller's."""
    if said is None:
        return ""
    if not isinstance(said, str) or not said.strip():
        raise ClientError(
            f"the {what} filter is {'empty' if isinstance(said, str) else 'no text'}; leave it out for none"
        )
    return said


def _several(names: Sequence[str], what: str, word: Callable[[str], str] = str) -> tuple[str, ...]:
    """A text by itself is no list of names."""
    words = () if isinstance(names, str) else tuple(map(word, names))
    if not isinstance(names, str) and not all(each.strip() for each in words):
        raise ClientError(f"the {what.removesuffix('s')} filter is empty; leave it out for none")
    if isinstance(names, str) or any(not each or each.split() != [each] for each in words):
        raise ClientError(f"{what} is a list of names, each without white space")
    return words


def pairs_of(namespaces: Namespaces) -> Pairs:
    return tuple(namespaces.items()) if isinstance(namespaces, Mapping) else tuple(namespaces)


def expires_text(expires: Expires) -> str:
    if isinstance(expires, timedelta):
        return times.lasting(round(expires.total_seconds() * SECOND))
    return _time_text(expires) if isinstance(expires, datetime) else expires


def start_text(start: Start | None) -> int | str | None:
    """Digits are an offset, also as text."""
    if isinstance(start, datetime):
        return _time_text(start)
    return int(start) if isinstance(start, str) and start.isascii() and start.isdecimal() else start


def _time_text(when: datetime) -> str:
    """A time without an offset is the caller's own, as everywhere in Python."""
    return times.timestamp(Instant(round(when.astimezone(UTC).timestamp() * SECOND)))


def as_time(expires: str, now: Instant) -> str:
    """A duration as the time it ends at, for dialects that know no durations."""
    if not times.is_duration(expires):
        return expires
    try:
        return times.timestamp(Instant(now + times.duration(expires)))
    except Refusal as refusal:
        raise ClientError(refusal.text) from None


def lease(address: str, expires: str, now: Instant, told_now: str = "", reference: bytes = b"") -> Lease:
    """From what a broker says; by its own clock where it tells that, and ours may be wrong."""
    try:
        if not expires:
            return Lease(address, reference=reference)
        if times.is_duration(expires):
            lasting = times.duration(expires)
            until = times.timestamp(Instant(now + lasting)) if lasting else ""
            return Lease(address, until, lasting / SECOND if lasting else None, reference)
        until_, since = times.instant(expires), times.instant(told_now) if told_now else now
        return Lease(address, expires, max(0.0, (until_ - since) / SECOND), reference)
    except Refusal:
        return Lease(address, expires, reference=reference)


def topic_of(topic: Topic | str) -> Topic:
    """`a/b` or `{namespace}a/b`; none at all is the reserved one."""
    found = topic if isinstance(topic, Topic) else names.topic(topic) if topic else NO_TOPIC
    if found is None:
        raise ClientError(f"{topic!r} is not a topic such as a/b or {{urn:x}}a/b")
    return found


def joined_topics(content_topics: str | Sequence[str]) -> str:
    """As a message says several of them."""
    return content_topics if isinstance(content_topics, str) else f" {BETWEEN} ".join(content_topics)


def topic_of_space(content_topic: str) -> Topic:
    try:
        return space_topic(content_topic)
    except Refusal as refusal:
        raise ClientError(refusal.text) from None
