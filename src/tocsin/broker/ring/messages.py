"""What the nodes of a ring ask of each other, besides what their machines say: one tagged union, in MessagePack.

`number` is that of the roster by which the one who asks goes: two nodes with the same roster agree on who has what.
`now` is on the clock of who says it, which another may be far from: times travel beside it.
"""

from msgspec import Raw, Struct

from tocsin.model.declarations import Declaration
from tocsin.model.identity import Instant
from tocsin.model.names import Topic
from tocsin.model.subscription import Subscription
from tocsin.routing.ring import relay_messages
from tocsin.semantics.interest.changes import Change as WorldChange
from tocsin.semantics.interest.changes import Changing
from tocsin.store.machines import Piece
from tocsin.store.pull_points import PointState


class Machine(Struct, frozen=True, tag="m", array_like=True):
    """A question for a machine of that family."""

    family: str
    question: Raw


class Relay(Struct, frozen=True, tag="r", array_like=True):
    """Notifications for the one who has their keys, in frames; `plane` says for which subscriptions alone. Where it is
    asked who wants such, that is what it is answered with."""

    number: int
    principal: str | None
    plane: str
    frames: bytes
    arcs: tuple[tuple[int, int], ...] = ()  # of those that lie at keys of several: for which it is
    questions: tuple[relay_messages.Question, ...] = ()


class Demanded(Struct, frozen=True, tag="rd", array_like=True):
    """To one that asked who wants something: somebody does by now, or nobody any more."""

    what: relay_messages.Tell | relay_messages.Unwanted


class Begun(Struct, frozen=True, tag="rb", array_like=True):
    """Whatever I said that nobody wants, before I was started: I know nothing of it."""


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
    """A request of a client, as it came; with a roster's `number`, for what is at home there."""

    method: str
    path: str
    query: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes
    client: str
    scheme: str
    number: int = 0
    ticket: str = ""


class Forwarded(Struct, frozen=True, array_like=True):
    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes


class Post(Struct, frozen=True, tag="P", array_like=True):
    """Notifications for a pull point, to the node that has it at home, by the subscription that asks for them. What
    waited in it at another home is told by the name of that move."""

    number: int
    pull_point: str
    subscription: str
    frames: bytes
    moved: str = ""


class ChangeWorld(Struct, frozen=True, tag="wc", array_like=True):
    """Of the world as it was at that version, to the node that orders its changes; answered with the version by then,
    and with 0 where it was another. What has a nonce that was heard before is done."""

    number: int
    nonce: str
    version: int
    changes: tuple[WorldChange, ...]
    by: str


class PutWorld(Struct, frozen=True, tag="wp", array_like=True):
    """From there to all others; answered with the version that they have. `done` are the last that were asked for, by
    their nonces."""

    number: int
    changes: tuple[Changing, ...]
    done: dict[str, int]


class WorldAfter(Struct, frozen=True, tag="wa", array_like=True):
    """Which changes are there after that version? A page of them."""

    number: int
    after: int


class WorldPage(Struct, frozen=True, array_like=True):
    changes: tuple[Changing, ...]
    done: dict[str, int]


class Letters(Struct, frozen=True, tag="il", array_like=True):
    """For machines of implicit notification that the other has, and questions to them."""

    number: int
    batch: bytes


class Outcome(Struct, frozen=True, tag="io", array_like=True):
    """What became of a message by now, or in so many seconds, whichever ends it?"""

    number: int
    message: str
    seconds: float


class KeepMachines(Struct, frozen=True, tag="ik", array_like=True):
    """What the machines of `origin` remember, for one that keeps a copy: what follows on `before`, or begins it anew
    with -1. With `seq` it is whole up to there."""

    number: int
    origin: str
    before: int
    seq: int
    pieces: tuple[Piece, ...]


class MachinesOf(Struct, frozen=True, tag="im", array_like=True):
    """What do you keep of that node's machines? A page of it, if one is asked for."""

    number: int
    origin: str
    page: int = -1


class MachinesKept(Struct, frozen=True, array_like=True):
    """`last` is 0 where there is no whole copy."""

    last: int
    pieces: tuple[Piece, ...] = ()
    more: bool = False


class GatherMachines(Struct, frozen=True, tag="ig", array_like=True):
    """A page of what the machines remember that lie in (after, upto], from one who had that arc; or of the `copies`
    there of those that another had who is not in the ring any more, and for whom nobody goes on yet."""

    number: int
    after: int
    upto: int
    page: int
    copies: bool


class TookMachines(Struct, frozen=True, tag="it", array_like=True):
    """They need not be kept any more by who had them."""

    number: int
    after: int
    upto: int


class Find(Struct, frozen=True, tag="i", array_like=True):
    """A subscription that is at home there, and how its pull point stands if it is one."""

    number: int
    name: str


class Looked(Struct, frozen=True, array_like=True):
    subscription: Subscription | None
    point: PointState | None = None


class Pull(Struct, frozen=True, tag="u", array_like=True):
    """What waits in a pull point that is at home there; `ticket` is by what `Gone` calls who waits for it."""

    number: int
    pull_point: str
    most: int | None
    seconds: float
    ticket: str


class Read(Struct, frozen=True, tag="v", array_like=True):
    """What has a higher number, handed out or not."""

    number: int
    pull_point: str
    after: int
    limit: int
    seconds: float
    ticket: str


class HandOut(Struct, frozen=True, tag="h", array_like=True):
    number: int
    pull_point: str
    upto: int


class Gone(Struct, frozen=True, tag="x", array_like=True):
    """Nobody waits for that answer any more."""

    ticket: str


class Common(Struct, frozen=True, tag="o", array_like=True):
    """What all nodes have alike; None for what is no more."""

    number: int
    kind: str
    name: str
    value: bytes | None


class Wants(Struct, frozen=True, tag="w", array_like=True):
    """Whether somebody at the node that says so wants what a publisher has that is registered there."""

    number: int
    registration: str
    wanted: bool


class AllCommon(Struct, frozen=True, tag="O", array_like=True):
    """What do all nodes have alike?"""

    number: int


class Current(Struct, frozen=True, tag="n", array_like=True):
    """The last notification on that topic, if you have one?"""

    topic: Topic


class Seen(Struct, frozen=True, tag="t", array_like=True):
    """On which topics was anything published?"""


class Asks(Struct, frozen=True, tag="ra", array_like=True):
    """A notification that asks for replies, for the node that is to have their view; answered with the request that is
    made of it there."""

    number: int
    now: Instant
    principal: str | None
    plane: str
    frame: bytes


class Has(Struct, frozen=True, tag="rh", array_like=True):
    """Do you have that view?"""

    number: int
    view: str
    ready: bool = False


class Tell(Struct, frozen=True, tag="rt", array_like=True):
    """What became of receivers, to the node that has the view: a message for its harvester. What is said `again`, by
    one that goes on for another node, changes nothing that was told by that."""

    view: str
    message: bytes
    again: bool = False


class Replied(Struct, frozen=True, tag="rr", array_like=True):
    """What a receiver said, in JSON, to the node that has the view."""

    token: str
    said: bytes


class Question(Struct, frozen=True, tag="rq", array_like=True):
    """What is asked for with that token?"""

    token: str


class Answered(Struct, frozen=True, array_like=True):
    """Whether the view is there."""

    there: bool
    question: tuple[str, str, Instant] | None = None


class OfViews(Struct, frozen=True, tag="rv", array_like=True):
    """The same of what is kept of another node's views of replies, instead of its log."""

    request: Keep | Copies


class Load(Struct, frozen=True, tag="l", array_like=True):
    """How much lies on you?"""


class Loaded(Struct, frozen=True, array_like=True):
    """Where it is reached, subscriptions that stand there, and what was taken, relayed and sent since it began, and
    `left` as nobody wanted it; `keepers` have copies of its log. `weight` is how much it has to do a second, by what
    came lately."""

    url: str
    subscriptions: int
    accepted: int
    relayed: int
    delivered: int
    keepers: tuple[str, ...] = ()
    ready: bool = True
    left: int = 0
    weight: float = 0.0


class Weigh(Struct, frozen=True, tag="lw", array_like=True):
    """For which keys do you have how much to do?"""

    number: int


class Weighed(Struct, frozen=True, array_like=True):
    """In the order of its arc; `moving`: it is about to leave that."""

    marks: tuple[tuple[int, float], ...]
    moving: bool = False


class Where(Struct, frozen=True, tag="lp", array_like=True):
    """At which place of the circle would one more help most? From one that is in no ring yet."""


class Move(Struct, frozen=True, tag="lm", array_like=True):
    """Leave, and enter at that place, to relieve the node that has so many times the mean."""

    number: int
    place: int
    relieved: str
    times: float


class Relieved(Struct, frozen=True, tag="lr", array_like=True):
    """A part of what the other had is with who says so, which has moved for that."""


Request = (
    Machine
    | Relay
    | Demanded
    | Begun
    | Change
    | Put
    | Gather
    | Declare
    | Known
    | Keep
    | Copies
    | Adopted
    | Forward
    | Post
    | ChangeWorld
    | PutWorld
    | WorldAfter
    | Letters
    | Outcome
    | KeepMachines
    | MachinesOf
    | GatherMachines
    | TookMachines
    | Find
    | Pull
    | Read
    | HandOut
    | Gone
    | Common
    | AllCommon
    | Wants
    | Current
    | Seen
    | Asks
    | Has
    | Tell
    | Replied
    | Question
    | OfViews
    | Load
    | Weigh
    | Where
    | Move
    | Relieved
)
