"""Notifiers and the central history as nodes run them, one thing at a time and in whatever order a script says.

What a node writes down survives here, and nothing else does: what a notifier remembers, which copies it took in and
which it has done with, the rows of the central history. What is on its way may come late, twice, or after a crash.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from itertools import cycle
from typing import Any

from hypothesis import strategies as st
from tests.routing.worlds import NAMES, Graph, Sketch, group, reached, sketches, triple

from tocsin.model.identity import Instant, MessageId
from tocsin.model.notification import Payload
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.history import CentralHistory, MessageHistory
from tocsin.routing.implicit.messages import (
    HISTORY,
    Claim,
    Copy,
    Granted,
    Handled,
    Message,
    Publish,
    gone,
    history_of,
    is_history,
)
from tocsin.routing.implicit.notifier import HAD, Notifier
from tocsin.routing.implicit.protocols import protocol as protocol_named
from tocsin.routing.implicit.result import Dissemination, dissemination
from tocsin.routing.machine import Answer, Ask, Deliver, Effect, Expire, Forget, Remember, Report, Send, Started
from tocsin.semantics.interest.changes import (
    Change,
    PutCategory,
    PutEdge,
    PutService,
    PutTopic,
    RemoveEdge,
    RemoveService,
)
from tocsin.semantics.interest.ino import Edge, Service

ENOUGH = 5_000  # steps; what does more than that does not end


class Luck(Enum):
    FINE = "it is handled"
    TWICE = "it is handled, and will come again"
    CRASH_BEFORE = "who is to handle it starts anew, then handles it"
    CRASH_WITHIN = "who handles it is killed before anything is written down"
    CRASH_AFTER = "it is handled and written down; then who handled it starts anew"


Turn = tuple[Luck, int]  # what happens, and to which of those that are on their way
Script = list[Turn | Change]
OnItsWay = Copy | Claim | Granted


@dataclass
class Disk:
    """Of one machine: its rows, and the ids of the copies that it handled."""

    rows: dict[str, Any] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)


class Stage:
    def __init__(self, sketch: Sketch, most_names: int | None = None) -> None:
        self.sketch, self.world = sketch.again(), sketch.world()
        self.now = Instant(0)
        self.on_its_way: list[OnItsWay] = []
        self.sent: dict[str, Copy] = {}
        self.told: dict[tuple[str, str], Copy] = {}  # the service and the copy's id: a node tells it once of each
        self.handled: list[Handled] = []
        self.messages: dict[MessageId, Message] = {}
        self.graphs: dict[str, list[Graph]] = {topic: [sketch.graph(topic)] for topic in sketch.topics}
        self._histories: dict[str, CentralHistory] = {}
        self._disks: dict[str, Disk] = defaultdict(Disk)
        self._machines: dict[str, Notifier] = {}
        self._most_names = most_names

    def publish(
        self,
        protocol: str,
        limit: int = 3,
        root: str | None = None,
        topic: str | None = None,
        only: tuple[str, ...] | None = None,
    ) -> MessageId:
        number = MessageId(f"m{len(self.messages)}")
        root, topic = root or self.sketch.root, topic or self.sketch.topic
        self.messages[number] = Message(number, protocol, root, topic, Payload("text/plain", b""), self.now)
        self._step(root, Publish(self.messages[number], limit, only))
        return number

    def run(self, script: Script) -> None:
        """Then what is still on its way arrives, in the order that the script keeps to."""
        self.run_only(script)
        places = cycle([each[1] for each in script if isinstance(each, tuple)] or [0])
        for _ in range(ENOUGH):
            if not self.on_its_way:
                return
            self.turn(Luck.FINE, next(places))
        raise AssertionError("it does not end")

    def run_only(self, script: Script) -> None:
        for each in script:
            self.turn(*each) if isinstance(each, tuple) else self.change(each)

    def turn(self, luck: Luck, place: int) -> None:
        if not self.on_its_way:
            return
        self.now = Instant(self.now + 1)
        at = place % len(self.on_its_way)
        thing = self.on_its_way[at] if luck in (Luck.TWICE, Luck.CRASH_WITHIN) else self.on_its_way.pop(at)
        if luck is Luck.CRASH_BEFORE:
            self._start_anew(thing)
        if luck is Luck.CRASH_WITHIN:
            self._try(thing)
        else:
            self._handle(thing)
        if luck in (Luck.CRASH_WITHIN, Luck.CRASH_AFTER):
            self._start_anew(thing)

    def change(self, change: Change) -> None:
        """One that the world refuses changes nothing, here too."""
        try:
            self.world.apply(change)
        except Refusal:
            return
        self.sketch.apply(change)
        for topic, graphs in self.graphs.items():
            graphs.append(self.sketch.graph(topic))

    def forget(self) -> None:
        """Every history, wherever it is kept, loses what is older than now."""
        expire = Expire(Instant(self.now + 1))
        for name, disk in list(self._disks.items()):
            machine = self._history(name) if is_history(name) else self._machine(name)
            for effect in machine.step(expire, self.now):
                self._do(name, effect)
            assert not any(is_history(name) or key.startswith(HAD) for key in disk.rows)

    def result(self, message: MessageId) -> Dissemination:
        said = self.messages[message]
        reports = [each for each in self.handled if each.message == message]
        return dissemination(said.protocol, said.root, said.when, reports)

    def copies(self, message: MessageId) -> list[Copy]:
        return [copy for copy in self.sent.values() if copy.message.id == message]

    def stayed_connected(self, message: MessageId) -> set[str]:
        """Those to whom a way from the root led all the time, the same services over links that always stood."""
        said = self.messages[message]
        first, *others = self.graphs[said.topic]
        common = {name: first[name].intersection(*(graph.get(name, ()) for graph in others)) for name in first}
        return reached(common, said.root)

    def ever_connected(self, message: MessageId) -> set[str]:
        said = self.messages[message]
        union: Graph = defaultdict(set)
        for graph in self.graphs[said.topic]:
            for name, neighbours in graph.items():
                union[name] |= neighbours
        return reached(union, said.root)

    def _handle(self, thing: OnItsWay) -> None:
        match thing:
            case Copy():
                self._arrive(thing)
            case Claim():
                self._claim(thing)
            case Granted():
                self._step(thing.by, thing)

    def _try(self, thing: OnItsWay) -> None:
        """All that comes of it is lost, apart from what the central history wrote down before it answered."""
        match thing:
            case Copy() if not self._is_known(thing) and thing.to in self.world.services:
                self._machine(thing.to).step(thing, self.now)
            case Granted():
                self._machine(thing.by).step(thing, self.now)
            case Claim():
                self._claim(thing)
                self.on_its_way.pop()

    def _arrive(self, copy: Copy) -> None:
        if self._is_known(copy):
            return
        if copy.to in self.world.services:
            self._step(copy.to, copy)
        else:
            self._disks[copy.to].done.add(copy.id)
            self.handled.append(gone(copy, self.now))

    def _is_known(self, copy: Copy) -> bool:
        return copy.id in self._disks[copy.to].done

    def _claim(self, claim: Claim) -> None:
        name = self._asked(claim)
        for effect in self._history(name).step(claim, self.now):
            self._do(name, effect)

    def _asked(self, claim: Claim) -> str:
        keyed = protocol_named(self.messages[claim.message].protocol).keyed
        return history_of(claim.message) if keyed else HISTORY

    def _history(self, name: str) -> CentralHistory:
        if name not in self._histories:
            make = CentralHistory if name == HISTORY else MessageHistory
            self._histories[name] = make(self._disks[name].rows.values())
        return self._histories[name]

    def _step(self, name: str, incoming: Publish | Copy | Granted | Started) -> None:
        if isinstance(incoming, Copy):
            self._disks[name].done.add(incoming.id)
        for effect in self._machine(name).step(incoming, self.now):
            self._do(name, effect)

    def _do(self, name: str, effect: Effect) -> None:
        disk = self._disks[name]
        match effect:
            case Send(_, Copy() as copy):
                assert copy.id not in self.sent, "two copies have one id"
                self.sent[copy.id] = copy
                self.on_its_way.append(copy)
            case Deliver(copy):
                self.told[name, copy.id] = copy
            case Remember(key, row):
                disk.rows[key] = row
            case Forget(None):
                disk.rows.clear()
                self._histories.pop(name, None)
            case Forget(str(key)):
                del disk.rows[key]
            case Ask(of, question):
                assert of == self._asked(question)
                self.on_its_way.append(question)
            case Answer(answer):
                self.on_its_way.append(answer)
            case Report(Handled() as handled):
                self.handled.append(handled)

    def _machine(self, name: str) -> Notifier:
        if name not in self._machines:
            neighbours = partial(self._neighbours, name)
            self._machines[name] = Notifier(name, neighbours, self._disks[name].rows, self._most_names)
        return self._machines[name]

    def _neighbours(self, name: str, topic: str) -> tuple[str, ...]:
        """Who has left finishes what it had taken in."""
        return self.world.neighbours(name, topic) if name in self.world.services else ()

    def _start_anew(self, thing: OnItsWay) -> None:
        """Claims whose answers it waited for are made again; the central history is read again from its rows."""
        if isinstance(thing, Claim):
            self._histories.pop(self._asked(thing), None)
            return
        name = thing.to if isinstance(thing, Copy) else thing.by
        self._machines.pop(name, None)
        self._step(name, Started())


_LUCK = list(Luck)
_PLACES = 40


def _turn(number: int) -> Turn:
    place, luck = divmod(number, len(_LUCK))
    return _LUCK[luck], place


def scripts() -> st.SearchStrategy[Script]:
    """Long enough that order matters: most worlds need some tens of turns."""
    turns = st.lists(st.integers(0, _PLACES * len(_LUCK) - 1), min_size=15, max_size=60)
    return turns.map(lambda numbers: [_turn(number) for number in numbers])


def in_any_order() -> st.SearchStrategy[Script]:
    places = st.lists(st.integers(0, _PLACES), min_size=15, max_size=60)
    return places.map(lambda numbers: [(Luck.FINE, place) for place in numbers])


def _change(sketch: Sketch, number: int) -> Change:
    """Services come, go and change their categories, links come and go, taxonomies are rearranged."""
    number, kind = divmod(number, 8)
    number, which = divmod(number, len(NAMES))
    link = triple(sketch.topics, sketch.categories, which, number)
    match kind:
        case 0 | 1:
            return RemoveService(NAMES[which])
        case 2 | 3:
            return PutService(Service(NAMES[which], group(sketch.categories, which, number)))
        case 4 | 5:
            return PutEdge(Edge(*link)) if link not in sketch.edges else RemoveEdge(*link)
        case 6:
            return PutTopic(link[1], (None, *sketch.topics)[which % (1 + len(sketch.topics))])
        case _:
            return PutCategory(link[0], (None, *sketch.categories)[which % (1 + len(sketch.categories))])


def _play(drawn: tuple[Sketch, Script, list[tuple[int, int]]]) -> tuple[Sketch, Script]:
    sketch, turns, changes = drawn
    script: Script = [*turns]
    for place, number in changes:
        script.insert(place % len(turns), _change(sketch, number))
    return sketch, script


def plays() -> st.SearchStrategy[tuple[Sketch, Script]]:
    """A world that changes while messages travel, with crashes and repeated deliveries."""
    changes = st.lists(st.tuples(st.integers(0, 59), st.integers(0, 8 * 9 * 147 - 1)), max_size=8)
    return st.tuples(sketches(), scripts(), changes).map(_play)
