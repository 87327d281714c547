from hypothesis import given
from hypothesis import strategies as st

from tocsin.delivery.lane import Entry, Lane, Place
from tocsin.model.identity import SubscriptionId

NAME = SubscriptionId("s")
PLENTY = 1 << 30


def entry(offset: int, index: int = 0, weight: int = 0) -> Entry:
    return Entry(NAME, (offset, index), None, weight)


def places(queue: Lane) -> list[Place]:
    return [one.place for one in queue.window]


def test_the_window_is_bounded_and_then_it_is_behind() -> None:
    queue = Lane(NAME, (0, 0), 2, PLENTY)
    assert [queue.offer(entry(n)) for n in (1, 2, 3, 4)] == [True, True, False, False]
    assert places(queue) == [(1, 0), (2, 0)]
    assert queue.behind


def test_what_is_known_is_passed_over() -> None:
    queue = Lane(NAME, (0, 0), 9, PLENTY)
    assert queue.offer(entry(5, 1))
    assert not queue.offer(entry(5, 1))
    assert not queue.offer(entry(5, 0))
    assert queue.offer(entry(5, 2))


def test_it_asks_when_half_of_the_window_is_free() -> None:
    queue = Lane(NAME, (0, 0), 4, PLENTY)
    for n in range(1, 7):
        queue.offer(entry(n))
    queue.advance()
    assert not queue.wants()
    queue.advance()
    assert queue.wants()
    assert queue.ask() == ((4, 0), 2)
    assert not queue.wants()


def test_what_is_put_off_is_asked_of_the_backlog_and_nothing_before_it() -> None:
    queue = Lane(NAME, (0, 0), 4, PLENTY)
    queue.offer(entry(1))
    queue.put_off((7, 1))
    assert not queue.offer(entry(8))
    assert queue.settled == (0, 0)
    assert queue.ask() == ((7, 0), 3)
    queue.refill([entry(7, 1), entry(8)])
    assert places(queue) == [(1, 0), (7, 1), (8, 0)]
    queue.ask()
    queue.refill([])
    assert not queue.behind


def test_one_that_has_nothing_and_puts_something_off_has_all_settled_before_it() -> None:
    queue = Lane(NAME, (0, 0), 4, PLENTY)
    queue.put_off((7, 0))
    queue.put_off((9, 0))
    assert queue.settled == (7, -1)
    assert queue.ask() == ((7, -1), 4)
    queue.refill([])
    assert (queue.behind, queue.settled) == (False, (9, 0))
    queue.put_off((8, 0))
    assert not queue.behind, "it is known already"


def test_an_offer_after_the_backlog_was_asked_is_asked_for_again() -> None:
    queue = Lane(NAME, (0, 0), 4, PLENTY, behind=True)
    queue.ask()
    queue.offer(entry(7))
    queue.refill([])
    assert queue.behind
    assert queue.ask() == ((0, 0), 4)
    queue.refill([entry(7)])
    queue.ask()
    queue.refill([])
    assert not queue.behind
    assert places(queue) == [(7, 0)]


def test_what_the_backlog_no_longer_has_does_not_keep_it_behind() -> None:
    queue = Lane(NAME, (0, 0), 4, PLENTY, behind=True)
    queue.offer(entry(7))
    queue.ask()
    queue.refill([])
    assert not queue.behind
    assert queue.settled == (7, 0)


def test_a_backlog_that_repeats_itself_neither_doubles_nor_loops() -> None:
    queue = Lane(NAME, (0, 0), 4, PLENTY, behind=True)
    queue.ask()
    queue.refill([entry(1), entry(2)])
    queue.ask()
    queue.refill([entry(1), entry(2)])
    assert places(queue) == [(1, 0), (2, 0)]
    assert not queue.behind


def test_ended_it_keeps_only_what_is_in_flight() -> None:
    queue = Lane(NAME, (0, 0), 4, PLENTY)
    for n in range(1, 7):
        queue.offer(entry(n))
    assert [one.place[0] for one in queue.drop(1)] == [2, 3, 4]
    assert places(queue) == [(1, 0)]
    assert not queue.behind


def test_large_ones_fill_the_window_by_their_bytes() -> None:
    queue = Lane(NAME, (0, 0), 100, 10)
    assert [queue.offer(entry(n, weight=4)) for n in (1, 2, 3, 4)] == [True, True, True, False]
    assert queue.bytes == 12
    assert queue.behind


def test_one_that_is_larger_than_the_window_may_have_is_alone_in_it() -> None:
    queue = Lane(NAME, (0, 0), 100, 10, behind=True)
    queue.ask()
    queue.refill([entry(1, weight=50), entry(2, weight=50), entry(3)])
    assert places(queue) == [(1, 0)]
    assert not queue.wants()
    queue.advance()
    assert queue.wants()
    assert queue.ask() == ((1, 0), 100)


def test_small_ones_join_beside_large_ones() -> None:
    queue = Lane(NAME, (0, 0), 100, 10)
    assert [queue.offer(entry(n, weight=w)) for n, w in ((1, 10), (2, 0), (3, 0))] == [True, True, True]


def test_it_asks_when_half_of_the_bytes_are_free() -> None:
    queue = Lane(NAME, (0, 0), 100, 12)
    for n in range(1, 7):
        queue.offer(entry(n, weight=4))
    queue.advance()
    assert not queue.wants()
    queue.advance()
    assert queue.wants()


def test_ended_it_counts_only_the_bytes_in_flight() -> None:
    queue = Lane(NAME, (0, 0), 100, 10)
    for n in (1, 2, 3):
        queue.offer(entry(n, weight=n))
    queue.drop(1)
    assert queue.bytes == 1


MOST_BYTES, LARGEST = 10, 15


def heavy(offset: int) -> Entry:
    """Small ones, large ones, and some that are larger than all the window may have."""
    return entry(offset, weight=offset * 7 % 4 * 5)


class Model:
    """A queue, the truth it should deliver, and a backlog whose reply is as old as its question."""

    def __init__(self, size: int, waiting: int) -> None:
        self.truth = [(n, 0) for n in range(1, waiting + 1)]
        self.queue = Lane(NAME, (0, 0), size, MOST_BYTES, behind=waiting > 0)
        self.reply: list[Entry] | None = None
        self.done: list[Place] = []

    def step(self, action: str, amount: int) -> None:
        {"offer": self.offer, "settle": self.settle, "ask": self.ask, "reply": self.answer}[action](amount)

    def offer(self, amount: int) -> None:
        for _ in range(amount):
            self.truth.append((len(self.truth) + 1, 0))
            self.queue.offer(heavy(len(self.truth)))

    def settle(self, amount: int) -> None:
        for _ in range(min(amount, len(self.queue.window))):
            self.done.append(self.queue.window[0].place)
            self.queue.advance()

    def ask(self, amount: int) -> None:
        """The backlog may give fewer than were asked for, but none only at its end."""
        if self.queue.wants():
            after, most = self.queue.ask()
            following = [heavy(offset) for offset, _ in self.truth if (offset, 0) > after]
            self.reply = following[: max(1, min(most, amount))]

    def answer(self, amount: int) -> None:
        if self.reply is not None:
            self.queue.refill(self.reply)
            self.reply = None


STEPS = st.lists(st.tuples(st.sampled_from(["offer", "settle", "ask", "reply"]), st.integers(1, 6)), max_size=80)


@given(STEPS, st.integers(1, 5), st.integers(0, 12))
def test_nothing_is_lost_doubled_or_out_of_order(steps: list[tuple[str, int]], size: int, waiting: int) -> None:
    model = Model(size, waiting)
    for action, amount in steps:
        model.step(action, amount)
        assert len(model.queue.window) <= size
        assert model.queue.bytes == sum(each.weight for each in model.queue.window) < MOST_BYTES + LARGEST
        settled = len(model.done)
        assert model.queue.settled <= (settled, 0) or model.queue.settled == (len(model.truth), 0)
    while model.queue.window or model.queue.behind:
        for action in ("reply", "settle", "ask"):
            model.step(action, 3)
    assert model.done == model.truth
    assert model.queue.settled == model.queue.last
