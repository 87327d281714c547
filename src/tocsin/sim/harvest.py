"""One publication over a full tree to which every receiver replies, by the harvesters and relays that nodes run: what
goes over each edge, and what each node keeps (paper 001 s4).

There is no clock. Branches of a tree know nothing of each other until they meet, so each is driven to its end before
the next begins, and only the nodes between the root and the present one are kept: an order in which messages may come,
and what one node sends another comes in its order. A million receivers take a minute.
"""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from msgspec import Struct

from tocsin.model.identity import SECOND, Instant
from tocsin.model.replies import ReplyRequest
from tocsin.routing.machine import Effect, Forget, Send
from tocsin.routing.reply.harvester import Harvester
from tocsin.routing.reply.messages import (
    Forwarded,
    Look,
    Opened,
    Passed,
    Replied,
    Reported,
    Single,
    Through,
    View,
    harvester_of,
    relay_of,
)
from tocsin.routing.reply.relay import Relay
from tocsin.routing.reply.trees import FullTree
from tocsin.routing.reply.weights import VIEW, letter_bytes, node_name, receiver_name, request_bytes, token_bytes

NOW, UNTIL, WAIT = Instant(0), Instant(86_400 * SECOND), 600 * SECOND
ALL_VALUES = 2**62  # of a histogram that is never cut
TOLD_EVERY = 10_000  # receivers


class Depth(Struct):
    """All nodes that are so far from the root. Messages are those over the edges to the nodes before them."""

    depth: int
    nodes: int
    reply_messages: int = 0
    reply_bytes: int = 0
    look_messages: int = 0
    look_bytes: int = 0
    publication_bytes: int = 0
    state_sum: int = 0
    state_max: int = 0

    @property
    def state_mean(self) -> float:
        return self.state_sum / self.nodes

    def keep(self, entries: int) -> None:
        self.state_sum += entries
        self.state_max = max(self.state_max, entries)


class Harvest(Struct):
    """`look_messages` are those by which nodes that merge learn how many receivers those behind them have that do not;
    they carry no reply."""

    tree: FullTree
    view: View
    by_depth: list[Depth]

    @property
    def publication_messages(self) -> int:
        return self.tree.edges

    @property
    def reply_messages(self) -> int:
        return sum(each.reply_messages for each in self.by_depth)

    @property
    def reply_bytes(self) -> int:
        return sum(each.reply_bytes for each in self.by_depth)

    @property
    def look_messages(self) -> int:
        return sum(each.look_messages for each in self.by_depth)

    @property
    def look_bytes(self) -> int:
        return sum(each.look_bytes for each in self.by_depth)

    @property
    def state_entries(self) -> int:
        return max(each.state_max for each in self.by_depth)


class Setting(Struct, frozen=True):
    """`stateless` is the part of the nodes behind the root that merge nothing: none of them is
    Dispatcher-Stateful-Reply, all of them Message-Stateful-Reply. `most` values are kept in a histogram.

    A relay's step depends on the path alone, and names are of one length: so the first of all messages of a kind that
    have as far to go and are as long goes by relays, and the others as it went. `each_relay`: all of them go by relays.
    """

    tree: FullTree
    values: int
    stateless: float = 0.0
    seed: int = 1
    most: int = ALL_VALUES
    each_relay: bool = False
    look: bool | None = None  # None: where some nodes merge and others do not

    @property
    def looks(self) -> bool:
        return 0 < self.stateless < 1 if self.look is None else self.look


def harvest(setting: Setting, told: Callable[[int], None] = lambda _: None) -> Harvest:
    """`told` hears how many receivers have replied, now and then."""
    return _Harvesting(setting, told).run()


class Names(Sequence[str]):
    """Of values: numbers from zero, each made when it is drawn."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: Any) -> Any:
        return str(number)


class _Node(Struct):
    """`children` are the numbers of the nodes behind it; the last before the receivers has none."""

    number: int
    name: str
    depth: int
    request: ReplyRequest
    merges: bool
    children: range
    harvester: Harvester | None = None


class _Harvesting:
    def __init__(self, setting: Setting, told: Callable[[int], None]) -> None:
        self._setting, self._tree, self._told = setting, setting.tree, told
        self._random = Random(setting.seed)
        self._values = Names(setting.values)
        self._stateless = self._chosen()
        self._depths = [Depth(each, self._tree.nodes(each)) for each in range(self._tree.height + 1)]
        self._open: dict[str, _Node] = {}  # by harvester, from the root to the present one
        self._hops: dict[tuple[type, int, int], Sequence[int]] = {}
        self._asked: dict[int, int] = {}
        self._replied = 0

    def _chosen(self) -> frozenset[int]:
        others = range(1, self._tree.dispatchers)
        count = round(self._setting.stateless * len(others))
        return frozenset(others if count == len(others) else self._random.sample(others, count))

    def run(self) -> Harvest:
        request = ReplyRequest(VIEW, f"int:0..{self._setting.values - 1}", UNTIL)
        root = self._visit(0, 0, request, Look(1, WAIT) if self._setting.looks else None)
        assert root.harvester is not None
        self._depths[0].keep(root.harvester.entries)
        return Harvest(self._tree, root.harvester.view(), self._depths)

    # The way out

    def _visit(self, number: int, depth: int, request: ReplyRequest, asked: Look | Through | None) -> _Node:
        """The publication comes to a node, behind it perhaps a look. Both go on, and those behind it reply."""
        node = self._begin(number, depth, request)
        onward = {} if asked is None else self._ask(node, asked)
        path = (node.name,) if node.merges else (*request.path, node.name)
        behind = ReplyRequest(VIEW, request.type, UNTIL, "", path)
        for child in node.children:
            self._depths[depth + 1].publication_bytes += self._request_bytes(behind)
            self._visit(child, depth + 1, behind, onward.get(relay_of(node_name(child))))
        if not node.children:
            self._reply(node)
        if not node.merges and self._open.pop(harvester_of(VIEW, node.name), None) is not None:
            self._depths[depth].keep(len(request.path))  # all that it has, until the view ends
        return node

    def _begin(self, number: int, depth: int, request: ReplyRequest) -> _Node:
        """A node that merges nothing and has no receivers keeps nothing."""
        branching, is_last = self._tree.branching, depth == self._tree.height - 1
        first = branching * number + 1
        children = range(0) if is_last else range(first, first + branching)
        node = _Node(number, node_name(number), depth, request, number not in self._stateless, children)
        if node.merges or is_last:
            name = harvester_of(VIEW, node.name)
            node.harvester = Harvester(name, {}, merging=node.merges, most=self._setting.most)
            self._open[name] = node
            self._do(node, node.harvester.step(Opened(request), NOW))
            forwarded = Forwarded(branching if is_last else 0, tuple(map(node_name, children)))
            self._do(node, node.harvester.step(forwarded, NOW))
        return node

    def _ask(self, node: _Node, asked: Look | Through) -> dict[str, Through]:
        """What goes to those behind it, by their relays."""
        harvester, onward, waiting = node.harvester, dict[str, Through](), list[Effect]()
        if isinstance(asked, Look):
            assert harvester is not None
            waiting += harvester.step(asked, NOW)
        else:
            self._count(node.depth, asked, letter_bytes(relay_of(node.name), asked))
            neighbours = [node.request.path[-1], *map(node_name, node.children)]
            waiting += Relay(node.name, lambda _: harvester, lambda: neighbours, merging=node.merges).step(asked, NOW)
        for effect in waiting:
            match effect:
                case Send(to, Through() as message):
                    onward[to] = message
                case Send(_, Look() as message):
                    assert harvester is not None
                    waiting += harvester.step(message, NOW) if node.merges else []
                case _:
                    self._do(node, [effect])
        return onward

    def _request_bytes(self, request: ReplyRequest) -> int:
        length = len(request.path)
        if length not in self._asked:
            self._asked[length] = request_bytes(request)
        return self._asked[length]

    # The way back

    def _reply(self, node: _Node) -> None:
        harvester, name, last = node.harvester, harvester_of(VIEW, node.name), self._depths[-1]
        assert harvester is not None
        values = self._random.choices(self._values, k=self._tree.branching)
        for number, value in enumerate(values, self._replied):
            replied = Replied(receiver_name(number), value)
            last.reply_messages += 1
            last.reply_bytes += letter_bytes(name, replied)
            self._do(node, harvester.step(replied, NOW))
        last.publication_bytes += len(values) * token_bytes(node.request, receiver_name(0))
        self._replied += len(values)
        if self._replied % TOLD_EVERY < len(values):
            self._told(self._replied)

    def _do(self, node: _Node, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if type(effect) is Send:
                self._send(node.depth, effect)
            elif type(effect) is Forget and effect.key is None:
                assert node.harvester is not None
                self._depths[node.depth].keep(node.harvester.entries)
                del self._open[harvester_of(VIEW, node.name)]

    def _send(self, depth: int, send: Send) -> None:
        """From a node at that depth to the one before it, and on to the harvester that it is for."""
        to, said = send.to, send.message
        size = letter_bytes(to, said)
        if type(said) is Passed:
            to, said = self._pass(depth, send, size)
        else:
            self._count(depth, said, size)
        node = self._open[to]
        assert node.harvester is not None
        self._do(node, node.harvester.step(said, NOW))

    def _pass(self, depth: int, send: Send, size: int) -> tuple[str, object]:
        path, said = send.message.path, send.message.message
        kind = type(said), len(path), size
        sizes = self._hops.get(kind)
        if sizes is None or self._setting.each_relay:
            sizes = self._hops[kind] = _relayed(send)
        for at, each in enumerate(sizes):
            self._count(depth - at, said, each)
        return harvester_of(VIEW, path[0]), said

    def _count(self, depth: int, said: object, size: int) -> None:
        found = self._depths[depth]
        if isinstance(said, Single) or (isinstance(said, Reported) and said.report.final):
            found.reply_messages += 1
            found.reply_bytes += size
        else:
            found.look_messages += 1
            found.look_bytes += size


def _relayed(send: Send) -> list[int]:
    """The bytes over each edge, until it is with the harvester that it is for."""
    sizes = [letter_bytes(send.to, send.message)]
    while isinstance(send.message, Passed):
        node = send.to.partition("@")[2]
        (onward,) = Relay(node, lambda _: None, tuple, merging=False).step(send.message, NOW)
        assert isinstance(onward, Send)
        send = onward
        sizes.append(letter_bytes(send.to, send.message))
    return sizes
