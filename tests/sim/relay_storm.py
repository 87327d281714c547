"""All that can happen to a ring, in any order: by numbers that a seed or Hypothesis gives."""

from collections.abc import Callable
from random import Random

from msgspec.structs import replace

from tocsin.routing.ring.demand import DemandSettings
from tocsin.routing.ring.relay import RelaySettings
from tocsin.sim.network import MILLISECOND
from tocsin.sim.relay_nodes import Links, Machines
from tocsin.sim.relay_roster import Membership

NAMES = tuple(f"n{number}" for number in range(5))
TOPICS = tuple("abc")
SUBSCRIPTIONS = tuple(f"s{number}" for number in range(200))
LEASE = 4.0
CALM = Links()
SHORT = Machines(
    relay_settings=RelaySettings(lease=LEASE, refresh=6.0, patience=1.0, caches=32, near=8),
    demand_settings=DemandSettings(lease=LEASE, held=8.0, again=0.2, registrations=32, most=2),
)
NARROW = replace(
    SHORT,
    relay_settings=replace(SHORT.relay_settings, caches=2, near=1),
    demand_settings=replace(SHORT.demand_settings, registrations=3, most=1),
)
# how often each thing happens, beside the others
WEIGHTS = {"notify": 70, "subscribe": 10, "renew": 4, "pause": 2, "unsubscribe": 20, "heal": 4, "restart": 4}
CRASHES = {"crash": 6, "leave": 1}
CUTS = {"cut": 6, "leave": 2}
MOVES = {"join": 12, "leave": 6}


def rough(random: Random) -> Links:
    """From links that only differ in time to such as seldom let anything through in it."""
    most = random.choice([5, 100, 600, 2_500]) * MILLISECOND
    lost, twice = random.choice([0.0, 0.05, 0.2]), random.choice([0.0, 0.1])
    return Links(MILLISECOND, most, lost, twice, skew=7200.0, drift=0.04)


class Storm:
    def __init__(
        self,
        seed: int,
        links: Links,
        machines: Machines = SHORT,
        nodes: int = 3,
        ring: Callable[..., Membership] = Membership,
    ) -> None:
        self.members = ring(seed, links, machines).start(NAMES[:nodes])
        self.ring, self.nodes = self.members.ring, self.members.nodes.named

    def act(self, what: str, node: int, topic: int, subscription: int, seconds: float | None = None) -> None:
        """What cannot be done is left. Who is down or cut off is more often the one that leaves or comes back."""
        name, of = NAMES[node], SUBSCRIPTIONS[subscription]
        away = [each.name for each in self.nodes.values() if each.cut or not each.up]
        if away and what in ("restart", "heal", "leave"):
            name = away[node % len(away)]
        if what == "join":
            self.members.join(name)
        if name not in self.nodes:
            return
        if self.nodes[name].up:
            self._do(what, name, topic, of, seconds)
        elif what == "restart":
            self.members.restart(name)
        elif what == "leave":
            self.members.leave(name)

    def _do(self, what: str, name: str, topic: int, subscription: str, seconds: float | None) -> None:
        match what:
            case "notify":
                self.ring.notify(name, TOPICS[topic])
            case "subscribe" | "renew" if (what == "renew") == (subscription in self.ring.asked):
                wanted = {TOPICS[topic], TOPICS[(topic + len(subscription)) % len(TOPICS)]}
                self.ring.subscribe(name, subscription, sorted(wanted), seconds)
            case "pause":
                self.ring.pause(subscription)
            case "unsubscribe":
                self.ring.unsubscribe(name, subscription)
            case "crash":
                self.nodes[name].up = False
            case "cut" | "heal":
                self.nodes[name].cut = what == "cut"
            case "leave":
                self.members.leave(name)

    def calm(self) -> None:
        """All are there again, and nothing is lost any more: what is still to be done is done."""
        self.members.nodes.links = CALM
        for name, node in self.nodes.items():
            node.cut = False
            self.members.restart(name)
        self.ring.run_for(10 * LEASE)


def blow(
    seed: int,
    steps: int,
    machines: Machines = SHORT,
    links: Links | None = None,
    ring: Callable[..., Membership] = Membership,
) -> Storm:
    random = Random(seed)
    storm = Storm(seed, links or rough(random), machines, ring=ring)
    weights = WEIGHTS | random.choice([{}, CRASHES, CUTS, MOVES, CRASHES | CUTS | MOVES])
    for what in random.choices(list(weights), list(weights.values()), k=steps):
        made = len(storm.ring.asked)
        subscription = made if what == "subscribe" else random.randrange(max(0, made - 4), max(1, made))
        node, topic = random.randrange(len(NAMES)), random.randrange(len(TOPICS))
        storm.act(what, node, topic, subscription, random.choice([None, random.uniform(0.2, 8)]))
        storm.ring.run_for(random.choice([0.0, 0.01, 0.1, 0.3]))
    return storm
