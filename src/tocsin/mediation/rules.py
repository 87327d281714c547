"""The rules as data: for each dialect and message type a table of entries (WS-Messenger s4, the NPC model).

An entry ties a name in the normalised information set to a path in the message. One engine reads the tables: `notices`
and `templates` for notifications, `entries` for all else. The same table serves the side that writes a message and the
side that reads it.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import force_setattr

from tocsin.model.identity import Pairs
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.refusal import Reason
from tocsin.model.subscription import Subscription

if TYPE_CHECKING:
    from tocsin.mediation.operations import Described
    from tocsin.mediation.soap.entries import Value


class Name(Struct, frozen=True, cache_hash=True):
    """A name; a local part that begins with `@` is an attribute's.

    `clark` is how lxml writes it, `tag` how it stands in a message, `declaration` what declares its prefix there.
    """

    prefix: str
    namespace: str
    local: str
    clark: str = ""
    tag: bytes = b""
    declaration: bytes = b""

    def __post_init__(self) -> None:
        is_prefixed = self.prefix and not self.local.startswith("@")
        force_setattr(self, "clark", f"{{{self.namespace}}}{self.local}" if self.namespace else self.local)
        force_setattr(self, "tag", (f"{self.prefix}:{self.local}" if is_prefixed else self.local).encode())
        force_setattr(self, "declaration", f' xmlns:{self.prefix}="{self.namespace}"'.encode())

    def __str__(self) -> str:
        return self.tag.decode()


Path = tuple[Name, ...]


class Names:
    """The names of one namespace: `w("Delivery", "@Mode")` is a path."""

    def __init__(self, prefix: str, namespace: str) -> None:
        self.prefix, self.namespace = prefix, namespace

    def __call__(self, *locals_: str) -> Path:
        return tuple(Name(self.prefix, "" if each.startswith("@") else self.namespace, each) for each in locals_)

    def one(self, local: str) -> Name:
        return Name(self.prefix, self.namespace, local)


class Entry(Struct, frozen=True):
    """`name` is that of the normalised information set, `path` lies below the message's element, or among the headers.

    An empty path is the content of that element itself. `nil` is written as nil where there is no value. `also` is
    one more place where an entry is found, and never written. `missing` is why a message without it is refused.
    """

    name: str
    path: Path
    required: bool = False
    default: str | None = None
    header: bool = False
    nil: bool = False
    also: bool = False
    missing: Reason = "malformed"

    def __str__(self) -> str:
        return "/".join(map(str, self.path)) or "."


class Message(Struct, frozen=True, eq=False):
    """`operation` is the normalised one; `element` the first child of the body, None where that is the event itself.

    Without an `action` of its own a message has the action of its event. `holder` is repeated, once a notification.
    """

    operation: str
    element: Name | None
    action: str = ""
    entries: tuple[Entry, ...] = ()
    answer: "Message | None" = None
    holder: Name | None = None
    facts: Pairs = ()
    describe: "Callable[[Described], Mapping[str, Value]] | None" = None  # what is answered to a Describe

    def fact(self, name: str) -> str:
        return dict(self.facts).get(name, "")


class Faults(Struct, frozen=True, eq=False):
    """Which fault of the specification says what; `of` are those of one operation, or of what its fact `faults` names.

    With `base_fault` the detail is a WS-BaseFault, else the name goes where SOAP has a place for a code.
    """

    named: Mapping[Reason, Name]
    of: Mapping[tuple[str, Reason], Name] = {}
    base_fault: Name | None = None
    action: str = ""  # empty: WS-Addressing's own
    supported: Mapping[str, tuple[Name, tuple[str, ...]]] = {}
    names_at_fault: Mapping[str, Name] = {}
    minimum_time: Name | None = None


Read = Callable[[Accepted], tuple[Notification, ...]]
Write = Callable[[Notification, Subscription, str], tuple[Pairs, bytes]]


class Dialect(Struct, frozen=True, eq=False):
    """One specification in one version. A SOAP dialect is tables alone; another brings two functions of its own."""

    name: str
    title: str
    addressing: str | None = None  # the version it was written with, for those who do not say
    wrapped: Message | None = None  # the notification, as the wrapped form has it
    raw: Message | None = None
    requests: tuple[Message, ...] = ()
    end: Message | None = None
    faults: Faults | None = None
    identifier: Name | None = None  # of a subscription, among the reference parameters of its manager
    identifier_for: frozenset[str] = frozenset()  # the versions of WS-Addressing whose clients need it
    leases: Literal["time", "as asked"] = "time"
    endless: str = ""  # the duration that asks for a lease without an end
    durations: bool = True  # whether a lease can be asked for as one
    topic_dialects: tuple[str, str, str] = ("", "", "")  # the URIs for a topic of one step, of more, and for patterns
    topic_attribute: str = "Dialect"  # that names them
    read: Read | None = None
    write: Write | None = None
    media_types: tuple[str, ...] = ()  # of messages that are this dialect's, at the door for events
    entries: tuple[Entry, ...] = ()  # the notification of a dialect without SOAP, for those who look
    door: str = "/broker/publish"  # where a client without SOAP posts it
    room: str = ""  # what it has room for, see `losses`; its name where nothing is said
    losses: "Mapping[tuple[str, str], Mapping[str, Callable[[Notification], object]]]" = {}

    @property
    def is_soap(self) -> bool:
        return self.wrapped is not None or self.raw is not None
