"""What is only counted is what happens in the network that keeps everything."""

import pytest

from tocsin.routing.machine import Send
from tocsin.semantics.interest.changes import PutCategory, PutEdge, PutService, PutTopic
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.semantics.interest.world import World
from tocsin.sim.implicit import NotifierNetwork, Tally

TELLS = {"A": "BCD", "B": "CE", "C": "EA", "D": "CE", "E": "FB", "F": ""}


def world() -> World:
    made = World.of([PutTopic("T"), *map(PutCategory, TELLS)])
    for name, told in TELLS.items():
        made.apply(PutService(Service(name, (name,))))
        for other in told:
            made.apply(PutEdge(Edge(name, "T", other)))
    return made


class Headers(NotifierNetwork):
    """Keeps how long the longest was."""

    largest_header = 0

    def sent(self, send: Send) -> None:
        self.largest_header = max(self.largest_header, sum(map(len, send.message.notified)))


@pytest.mark.parametrize("protocol", ["bin", "cin", "din", "hin", "hin-din", "dht-cin"])
def test_it_counts_what_happens(protocol: str) -> None:
    tally, kept = Tally(world(), lambda names: sum(map(len, names))), Headers(world(), most_names=None)
    for network in (tally, kept):
        message = network.publish("A", "T", protocol, limit=3)
        network.clock.run()
    found = kept.result(message)
    assert (tally.notifications, tally.reached) == (found.notifications, set(found.receivers))
    assert (tally.repetitions, tally.hops) == (found.repetitions, found.hops)
    assert (tally.withheld, tally.clock.now) == (found.withheld, kept.clock.now)
    assert tally.dropped == sum(each.dropped for each in kept.handled)
    assert tally.largest_header == kept.largest_header
    assert (tally.header_bytes > 0) == protocol.startswith("hin")
    assert not tally.handled and not tally.told
