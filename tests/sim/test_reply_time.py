"""Times that are worked out for a depth at once are those of the machines on a clock, one message after the other."""

from functools import partial
from typing import Any

import pytest

from tocsin.model.replies import ReplyRequest
from tocsin.routing.machine import Send
from tocsin.routing.reply.messages import Forwarded, Opened, Passed, Replied, Reported, harvester_of
from tocsin.routing.reply.trees import FullTree
from tocsin.routing.reply.weights import VIEW, letter_bytes, node_name, receiver_name
from tocsin.sim.network import constant
from tocsin.sim.reply import DAY, ReplyNetwork, Tree
from tocsin.sim.reply_time import Pace, Paces, reply_times

PACES = Paces(1000, Pace(30, 0.1), Pace(7, 0.5), Pace(20, 0.25), Pace(11, 0.75), Pace(13, 0.5), Pace(17, 0.25))
PUBLICATION = 500


class Busy(ReplyNetwork):
    """A node does one thing after the other. With one value to reply with, all reports of a depth are as long."""

    def __init__(self, tree: FullTree, *, merging: bool) -> None:
        inner = tree.dispatchers - tree.nodes(tree.height - 1)
        b = tree.branching
        children = {node_name(n): [node_name(b * n + 1 + at) for at in range(b)] for n in range(inner)}
        receivers = {node_name(number): b for number in range(inner, tree.dispatchers)}
        stateless = frozenset() if merging else frozenset(map(node_name, range(1, tree.dispatchers)))
        super().__init__(Tree(children, receivers, stateless), send=constant(PACES.link))
        self.free: dict[str, int] = {}
        self.last_told = self.full = self._receivers = 0

    def _spread(self, request: ReplyRequest, node: str, sender: str) -> None:
        self.open(node, Opened(request))
        own, children = self.tree.receivers.get(node, 0), tuple(self.tree.children.get(node, ()))
        self.take(harvester_of(VIEW, node), Forwarded(own, children))
        path = (node,) if node not in self.tree.stateless else (*request.path, node)
        onward = ReplyRequest(VIEW, request.type, request.until, "", path)
        forward = PACES.forward.of(PUBLICATION)
        for number, child in enumerate(children, 1):
            self.clock.after(number * forward + PACES.link, partial(self._spread, onward, child, node))
        for number in range(1, own + 1):
            self.clock.after(number * forward + PACES.link, partial(self._reached, node))
        self.free[node] = self.clock.now + (own + len(children)) * forward

    def _reached(self, node: str) -> None:
        self.last_told = self.clock.now
        self._receivers += 1
        reply = Replied(receiver_name(self._receivers), "0")
        self.clock.after(PACES.link, partial(self._arrive, Send(harvester_of(VIEW, node), reply)))

    def _arrive(self, send: Send) -> None:
        node = send.to.partition("@")[2]
        done = max(self.clock.now, self.free[node]) + self._service(send)
        self.free[node] = done
        self.clock.after(done - self.clock.now, partial(self.handle, send))

    def handle(self, send: Send) -> None:
        self.take(send.to, send.message)
        if send.to == harvester_of(VIEW, node_name(0)):
            self.full = self.clock.now

    def _service(self, send: Send) -> int:
        size = letter_bytes(send.to, send.message)
        match send.message:
            case Replied():
                return PACES.reply.of(size)
            case Reported():
                return PACES.merge.of(size)
            case Passed():
                return PACES.relay.of(size)
        return PACES.single.of(size)

    def deliver_later(self, send: Send) -> None:
        message: Any = send.message
        more = PACES.finish.of(letter_bytes(send.to, message)) if isinstance(message, Reported) else 0
        self.clock.after(more + PACES.link, partial(self._arrive, send))


@pytest.mark.parametrize("tree", [FullTree(2, 6), FullTree(3, 4), FullTree(5, 2), FullTree(4, 1)], ids=str)
def test_it_takes_as_long_as_on_a_clock(tree: FullTree) -> None:
    found = reply_times(tree, 1, PUBLICATION, PACES)
    for merging, expected in ((True, found.dispatcher), (False, found.message)):
        network = Busy(tree, merging=merging)
        network.publish(VIEW, node_name(0))
        while network.clock.now < DAY // 2 and network.clock.step():
            if network.view(VIEW, node_name(0)).replied == tree.receivers:
                break
        assert network.view(VIEW, node_name(0)).replied == tree.receivers
        assert (network.last_told, network.full) == (found.told, expected)


def test_replies_that_go_straight_to_the_root_wait_for_each_other() -> None:
    tree = FullTree(4, 5)
    found = reply_times(tree, 1, PUBLICATION, PACES)
    each = PACES.reply.of(letter_bytes(harvester_of(VIEW, node_name(0)), Replied(receiver_name(0), "0")))
    assert found.naive >= tree.receivers * each
    quick = reply_times(tree, 1, PUBLICATION, Paces(1000, *[Pace(0)] * 6))
    assert quick.told == 5 * 1000 and quick.naive == 6 * 1000
    assert quick.dispatcher == quick.message == 10 * 1000


def test_merging_takes_as_long_as_telling_however_many_there_are() -> None:
    """And what merges nothing, as long as the root counts."""
    few, many = (reply_times(FullTree(4, height), 10, PUBLICATION, PACES) for height in (4, 8))
    assert many.dispatcher / many.told < 1.5 * few.dispatcher / few.told
    assert many.message / many.told > 10 * few.message / few.told
    assert many.naive / many.told > 10 * few.naive / few.told
