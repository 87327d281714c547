"""Harvesters over whole trees: whatever the order, the histogram is that of the replies, and nobody counts twice."""

from collections import Counter
from collections.abc import Callable
from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace
from tests.effort import examples

from tocsin.model.identity import SECOND, Instant
from tocsin.model.replies import ReplyRequest
from tocsin.routing.machine import Send
from tocsin.routing.reply.harvester import GRACE, Harvester
from tocsin.routing.reply.messages import (
    Counted,
    Declined,
    Dropped,
    Look,
    Opened,
    Passed,
    Reached,
    Reported,
    Single,
    harvester_of,
    relay_of,
)
from tocsin.sim.network import between
from tocsin.sim.reply import DAY, ReplyNetwork, Tree

VIEW, ROOT = "v", "n0"
VALUES = ("yes", "no", "unknown")


class Counting(ReplyNetwork):
    """Who sent which message over which edge."""

    def __init__(self, tree: Tree, seed: int = 0) -> None:
        super().__init__(tree, send=between(seed, 1, 50))
        self.upward: Counter[tuple[str, str, str]] = Counter()

    def sent(self, send: Send) -> None:
        said = send.message.message if isinstance(send.message, Passed) else send.message
        if isinstance(said, Reported | Single):
            kind = "final" if isinstance(said, Reported) and said.report.final else type(said).__name__
            self.upward[kind, self._sender, send.to.partition("@")[2]] += 1


class Case(Struct):
    tree: Tree
    replies: list[tuple[str, str, str, int]]  # node, receiver, value, when
    silent: int
    seed: int


@st.composite
def cases(draw: st.DrawFn, *, mixed: bool = False, silent: bool = True) -> Case:
    parents = draw(st.lists(st.integers(0, 20), max_size=9))
    children: dict[str, list[str]] = {}
    for number, parent in enumerate(parents, 1):
        children.setdefault(f"n{parent % number}", []).append(f"n{number}")
    nodes = [f"n{number}" for number in range(len(parents) + 1)]
    receivers = {node: draw(st.integers(0, 3)) for node in nodes}
    stateless = draw(st.sets(st.sampled_from(nodes))) if mixed else set()
    who = [(node, f"{node}-r{number}") for node in nodes for number in range(receivers[node])]
    says = [draw(st.sampled_from((*VALUES, None) if silent else VALUES)) for _ in who]
    # Nobody can reply before it was told: the longest way takes nine steps of at most 50.
    replies = [
        (node, name, value, draw(st.integers(500, 2000)))
        for (node, name), value in zip(who, says, strict=True)
        if value
    ]
    return Case(
        Tree(children, receivers, frozenset(stateless)), replies, len(who) - len(replies), draw(st.integers(0, 99))
    )


def run(case: Case, during: Callable[[Counting], None] = lambda _: None) -> Counting:
    network = Counting(case.tree, case.seed)
    network.publish(VIEW, ROOT)
    for node, receiver, value, when in case.replies:
        network.clock.after(when, partial(network.reply, VIEW, node, receiver, value))
    during(network)
    until(network, 10_000)
    return network


def until(network: ReplyNetwork, when: int) -> None:
    stop: list[int] = []
    network.clock.after(when - network.clock.now, partial(stop.append, 1))
    while not stop:
        network.clock.step()


def truth(case: Case) -> dict[str, int]:
    return dict(Counter(value for _, _, value, _ in case.replies))


@given(cases(silent=False))
@settings(max_examples=examples(200))
def test_when_all_reply_the_root_has_all_and_each_edge_carried_one_final(case: Case) -> None:
    network = run(case)
    view = network.view(VIEW, ROOT)
    assert view.histogram.counts == truth(case)
    assert view.exact and view.complete and view.receivers == view.replied == len(case.replies)
    edges = [("final", child, parent) for parent, below in case.tree.children.items() for child in below]
    assert network.upward == Counter(edges)
    assert [name for name in network.machines if not name.startswith("relay")] == [harvester_of(VIEW, ROOT)]


@given(cases(mixed=True), st.lists(st.integers(100, 3000), max_size=4))
@settings(max_examples=examples(300))
def test_a_look_knows_all_there_is_to_know_whatever_nodes_merge(case: Case, looks: list[int]) -> None:
    def look(network: Counting) -> None:
        for number, when in enumerate(sorted(looks)):
            network.clock.after(when, partial(network.look, VIEW, ROOT, number))

    network = run(case, look)
    network.look(VIEW, ROOT, 100)
    until(network, network.clock.now + 10_000)
    view = network.view(VIEW, ROOT)
    assert view.histogram.counts == truth(case)
    assert view.exact
    assert (view.receivers, view.replied) == (len(case.replies) + case.silent, len(case.replies))
    assert view.outstanding == case.silent


@given(cases(mixed=True), st.integers(100, 3000))
@settings(max_examples=examples(200))
def test_what_is_seen_on_the_way_is_never_more_than_was_said(case: Case, when: int) -> None:
    def look(network: Counting) -> None:
        network.clock.after(when, partial(network.look, VIEW, ROOT, 1))
        network.clock.after(when + 500, partial(seen, network))

    def seen(network: Counting) -> None:
        view, said = network.view(VIEW, ROOT), truth(case)
        assert all(count <= said.get(value, 0) for value, count in view.histogram.counts.items())
        assert view.replied <= len(case.replies)

    run(case, look)


@given(cases(), st.lists(st.tuples(st.integers(0, 9), st.integers(500, 3000)), max_size=5))
@settings(max_examples=examples(200))
def test_a_node_that_crashes_resumes_the_views_it_had(case: Case, crashes: list[tuple[int, int]]) -> None:
    def crash(network: Counting) -> None:
        for node, when in crashes:
            network.clock.after(when, partial(restart, network, harvester_of(VIEW, f"n{node}")))

    def restart(network: Counting, name: str) -> None:
        if name in network.machines:
            network.crash(name)

    network = run(case, crash)
    network.look(VIEW, ROOT, 7)
    until(network, network.clock.now + 10_000)
    view = network.view(VIEW, ROOT)
    assert view.histogram.counts == truth(case) and view.outstanding == case.silent and view.exact


@given(cases(mixed=True), st.integers(500, 2500))
@settings(max_examples=examples(200))
def test_a_terminated_view_has_what_was_said_before_and_counts_what_comes_late(case: Case, when: int) -> None:
    network = run(case, lambda each: each.clock.after(when, partial(each.terminate, VIEW, ROOT, 5000)))
    view = network.view(VIEW, ROOT)
    assert view.ended == "terminated"
    before = Counter(value for _, _, value, said in case.replies if said < when)
    in_grace = Counter(value for _, _, value, said in case.replies if said < when + 5000)
    counted = Counter(view.histogram.counts)
    assert before <= counted <= in_grace
    until(network, network.clock.now + 2 * DAY)
    assert [name for name in network.machines if not name.startswith("relay")] == []


def test_a_view_ends_at_its_time_with_what_those_behind_have() -> None:
    network = Counting(Tree({"n0": ["n1"], "n1": ["n2"]}, {"n2": 3}))
    network.publish(VIEW, ROOT, until=10 * SECOND)
    until(network, SECOND)
    assert network.reply(VIEW, "n2", "a", "yes") == [Counted()]
    assert network.reply(VIEW, "n2", "a", "no") == [Dropped("second")]
    assert not network.view(VIEW, ROOT).exact, "nobody has said how many there are behind"
    until(network, 10 * SECOND + GRACE + 1)
    view = network.view(VIEW, ROOT)
    assert (view.ended, view.histogram.counts, view.outstanding, view.exact) == ("expired", {"yes": 1}, 2, True)


def test_a_late_reply_is_dropped_and_counted() -> None:
    network = Counting(Tree({}, {"n0": 2}))
    network.publish(VIEW, ROOT)
    network.terminate(VIEW, ROOT, 0)
    assert network.reply(VIEW, "n0", "a", "yes") == [Dropped("ended")]
    view = network.view(VIEW, ROOT)
    assert (view.late, view.replied, view.ended) == (1, 0, "terminated")


def test_who_was_not_reached_is_not_outstanding_and_may_still_reply() -> None:
    network = Counting(Tree({"n0": ["n1"]}, {"n1": 2}))
    network.publish(VIEW, ROOT)
    until(network, 1000)
    network.miss(VIEW, "n1", "a")
    network.miss(VIEW, "n1", "a")
    network.reply(VIEW, "n1", "b", "yes")
    until(network, 2000)
    view = network.view(VIEW, ROOT)
    assert (view.receivers, view.replied, view.unreached, view.outstanding, view.exact) == (2, 1, 1, 0, True)
    network = Counting(Tree({}, {"n0": 2}))
    network.publish(VIEW, ROOT)
    network.miss(VIEW, "n0", "a")
    assert network.reply(VIEW, "n0", "a", "no") == [Counted()]
    assert (network.view(VIEW, ROOT).unreached, network.view(VIEW, ROOT).replied) == (0, 1)


def test_what_comes_a_second_time_by_another_way_is_declined() -> None:
    network = Counting(Tree({"n0": ["n1", "n2"]}, {"n1": 1}))
    network.publish(VIEW, ROOT)
    until(network, 1000)
    found = network.machines[harvester_of(VIEW, "n1")]
    again = ReplyRequest(VIEW, "text", Instant(DAY), "", ("n9",))
    effects = found.step(Opened(again), network.clock.now)
    assert effects == [Send(harvester_of(VIEW, "n9"), Declined("n1"))]
    assert found.step(Opened(replace(again, path=("n0",))), network.clock.now) == []


def test_message_stateful_sends_each_reply_over_each_edge() -> None:
    network = Counting(Tree({"n0": ["n1"], "n1": ["n2"]}, {"n2": 4}, frozenset({"n1", "n2"})))
    network.publish(VIEW, ROOT)
    until(network, 1000)
    for number in range(4):
        network.reply(VIEW, "n2", f"r{number}", "yes")
    until(network, 2000)
    assert network.upward == {("Single", "n2", "n1"): 4, ("Single", "n1", "n0"): 4}
    view = network.view(VIEW, ROOT)
    assert view.histogram.counts == {"yes": 4} and not view.exact
    network.look(VIEW, ROOT, 1)
    until(network, 5000)
    assert network.view(VIEW, ROOT).exact and network.view(VIEW, ROOT).complete


def test_a_node_that_is_down_stays_outstanding() -> None:
    network = Counting(Tree({"n0": ["n1", "n2"]}, {"n1": 1, "n2": 2}))
    network.publish(VIEW, ROOT)
    until(network, 1000)
    network.look(VIEW, ROOT, 1)
    until(network, 2000)
    network.down.add("n2")
    for name in [each for each in network.machines if each.endswith("@n2")]:
        del network.machines[name]
    network.reply(VIEW, "n1", "a", "yes")
    network.look(VIEW, ROOT, 2, wait=500)
    until(network, 5000)
    view = network.view(VIEW, ROOT)
    assert (view.receivers, view.replied, view.outstanding) == (3, 1, 2)
    assert not view.complete


def test_a_second_look_goes_by_the_nodes_that_do_not_merge() -> None:
    """Sent to those behind them as if they were neighbours, it came back and was sent again, without an end."""
    network = Counting(Tree({"n0": ["n1"], "n1": ["n2"]}, {"n1": 1, "n2": 1}, frozenset({"n1", "n2"})))
    network.publish(VIEW, ROOT)
    until(network, 1000)
    for number in (1, 2):
        network.look(VIEW, ROOT, number)
        found = network.machines[harvester_of(VIEW, ROOT)].step(Look(10 * number, SECOND), network.clock.now)
        assert [each.to for each in found if isinstance(each, Send)] == [relay_of("n1")]
        until(network, network.clock.now + 1000)
    assert network.view(VIEW, ROOT).exact and network.view(VIEW, ROOT).outstanding == 2


def test_replies_that_came_for_good_are_one_histogram() -> None:
    """However many nodes they came from: a report that may change is kept apart, the last one is not."""
    children = [f"n{number}" for number in range(1, 9)]
    tree = Tree({"n0": children}, dict.fromkeys(children, 2), frozenset(children[:4]))
    network = Counting(tree)
    network.publish(VIEW, ROOT)
    until(network, 1000)
    root = network.machines[harvester_of(VIEW, ROOT)]
    assert isinstance(root, Harvester)
    for child in children:
        network.reply(VIEW, child, f"{child}-a", "yes")
    network.look(VIEW, ROOT, 1)
    until(network, 2000)
    assert (root.entries, root.report().histogram.counts) == (1 + 4, {"yes": 8})
    for child in children:
        network.reply(VIEW, child, f"{child}-b", "no")
    until(network, 3000)
    assert (root.entries, network.view(VIEW, ROOT).histogram.counts) == (2, {"yes": 8, "no": 8})
    assert network.view(VIEW, ROOT).complete
    network.crash(harvester_of(VIEW, ROOT))
    assert network.view(VIEW, ROOT).histogram.counts == {"yes": 8, "no": 8}


def test_who_was_given_up_and_reached_after_all_is_outstanding_again() -> None:
    network = Counting(Tree({}, {"n0": 2}))
    network.publish(VIEW, ROOT)
    network.miss(VIEW, "n0", "a")
    assert network.view(VIEW, ROOT).outstanding == 1
    network.take(harvester_of(VIEW, "n0"), Reached("a"))
    network.take(harvester_of(VIEW, "n0"), Reached("nobody"))
    assert (network.view(VIEW, ROOT).unreached, network.view(VIEW, ROOT).outstanding) == (0, 2)
    network.crash(harvester_of(VIEW, "n0"))
    assert network.view(VIEW, ROOT).outstanding == 2
