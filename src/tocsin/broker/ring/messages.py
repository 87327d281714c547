"""What the nodes of a ring ask of each other, besides what their machines say: one tagged union, in MessagePack.

`number` is that of the roster by which the one who asks goes: two nodes with the same roster agree on who has what.
`now` is on the clock of who says it, which another may be far from: times travel beside it.
"""

from msgspec import Raw, Struct

from tocsin.model.declarations import Declaration
from tocsin.model.identity import Instant
from tocsin.model.subscription import Subscription


class Machine(Struct, frozen=True, tag="m", array_like=True):
    """A question for a machine of that family."""

    family: str
    question: Raw


class Relay(Struct, frozen=True, tag="r", array_like=True):
    """Notifications for the one who has their keys, in frames; `plane` says for which subscriptions alone."""

    number: int
    principal: str | None
    plane: str
    frames: bytes


class Change(Struct, frozen=True, tag="c", array_like=True):
    """A subscription as it is to be, for the node that has it at home."""

    number: int
    now: Instant
    subscription: Subscription


class Put(Struct, frozen=True, tag="p", array_like=True):
    """Subscriptions as they are by now, for one whose keys they ask for."""

    number: int
    now: Instant
    subscriptions: tuple[Subscription, ...]


class Gather(Struct, frozen=True, tag="g", array_like=True):
    """All subscriptions that ask for keys in (after, upto], with ids behind `behind`, from one who had that arc."""

    number: int
    after: int
    upto: int
    behind: str = ""


class Gathered(Struct, frozen=True, array_like=True):
    """`orphans` are those whose log is kept there and who are not in the ring any more."""

    now: Instant
    subscriptions: tuple[Subscription, ...]
    more: bool = False
    orphans: tuple[str, ...] = ()


class Declare(Struct, frozen=True, tag="d", array_like=True):
    """In force at all nodes when it is answered. To the node that orders declarations, or from it to the others."""

    number: int
    declarations: tuple[Declaration, ...]
    ordered: bool = False


class Known(Struct, frozen=True, tag="k", array_like=True):
    """What is declared?"""

    number: int


class Keep(Struct, frozen=True, tag="K", array_like=True):
    """Records of the log of `origin`, from `first` on, for one that keeps a copy. The copies of one `generation` begin
    with the subscriptions that stood, as records too, until `begun`."""

    number: int
    origin: str
    generation: int
    first: int
    payloads: tuple[bytes, ...]
    begun: bool = True
    settled: bytes = b""


class Kept(Struct, frozen=True, array_like=True):
    """On disk up to there; another generation than was asked for has to be begun."""

    generation: int
    next: int


class Copies(Struct, frozen=True, tag="C", array_like=True):
    """What do you keep of that node's log? Its records from `first` on, if any are asked for."""

    number: int
    origin: str
    first: int = -1


class Copy(Struct, frozen=True, array_like=True):
    """The last place of which there is a record, -1 for none; what of it was settled; and records."""

    last: int
    settled: bytes = b""
    payloads: tuple[bytes, ...] = ()
    more: bool = False


class Adopted(Struct, frozen=True, tag="a", array_like=True):
    """Somebody goes on for that node: copies of its log are not needed any more."""

    number: int
    origin: str


class Forward(Struct, frozen=True, tag="f", array_like=True):
    """A request of a client, as it came."""

    method: str
    path: str
    query: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    client: str
    scheme: str


class Forwarded(Struct, frozen=True, array_like=True):
    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


class Post(Struct, frozen=True, tag="P", array_like=True):
    """Notifications for a pull point, to the node that has it at home. Those that were in it before, at another node,
    are `moved`: they may have been at this one too, and come back. Who has left knows no `number`, and says 0."""

    number: int
    pull_point: str
    frames: bytes
    moved: bool = False


class Load(Struct, frozen=True, tag="l", array_like=True):
    """How much lies on you?"""


class Loaded(Struct, frozen=True, array_like=True):
    """Where it is reached, subscriptions that stand there, and what was taken, relayed and sent since it began;
    `keepers` have copies of its log."""

    url: str
    subscriptions: int
    accepted: int
    relayed: int
    delivered: int
    keepers: tuple[str, ...] = ()
    ready: bool = True


Request = Machine | Relay | Change | Put | Gather | Declare | Known | Keep | Copies | Adopted | Forward | Post | Load
