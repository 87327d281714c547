"""The table of subscriptions of several nodes: each once, the same in whatever order its changes are told."""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.effort import examples

from tocsin.model.filters import TopicIs
from tocsin.model.identity import SECOND, Instant, Node, SubscriptionId
from tocsin.model.names import QName
from tocsin.model.records import Changed
from tocsin.model.subscription import Endpoint, Form, Position, State, Subscription
from tocsin.pipeline.tables import reading
from tocsin.pipeline.tables.storage import Storage
from tocsin.pipeline.tables.subscriptions import SubscriptionTable, rank_of
from tocsin.store.outbox import Outbox

STATES: tuple[State, ...] = ("active", "paused", "suspended", "ended")
STEP = st.tuples(st.sampled_from("xyz"), st.sampled_from(STATES), st.sampled_from((0, 1, SECOND, 90_000 * SECOND)))
NAMES = {"log": Node("a"), "log/b": Node("b")}


def changed(node: Node, offset: int, name: str, state: State, when: int) -> Changed:
    at, to = Position(node, offset), Endpoint(f"http://{node}/{offset}")
    filters, form = (TopicIs(((QName("", "flood"),),)),), Form("cloudevents")
    made = Subscription(SubscriptionId(name), None, to, None, form, filters, at, None, state, f"as of {offset}")
    return Changed(at, Instant(when), made)


def log_of(node: Node, steps: Sequence[tuple[str, State, int]]) -> list[Changed]:
    when, found = 1_700_000_000 * SECOND, []
    for offset, (name, state, later) in enumerate(steps):
        when += later
        found.append(changed(node, offset, name, state, when))
    return found


class Past:
    def __init__(self, log: list[Changed]) -> None:
        self.log = log

    def changes(self, since: int, before: int) -> Iterator[Changed]:
        return iter(self.log[since:before])


def found_in(storage: Storage) -> dict[str, tuple[str, int, str, str]]:
    rows = reading.scan(storage, "subscriptions").to_pylist()
    assert len({row["subscription"] for row in rows}) == len(rows)
    assert all(row["day"] == row["time"].date() and row["filters"] == ["topic flood"] for row in rows)
    return {row["subscription"]: (row["node"], row["log_offset"], row["state"], row["reason"]) for row in rows}


def expected(changes: Sequence[Changed]) -> dict[str, tuple[str, int, str, str]]:
    last = {each.subscription.id: each for each in sorted(changes, key=rank_of)}
    return {
        name: (each.at.node, each.at.offset, each.subscription.state, each.subscription.reason)
        for name, each in last.items()
    }


@settings(max_examples=examples(12))
@given(
    logs=st.tuples(*(st.lists(STEP, max_size=6) for _ in NAMES)),
    batches=st.lists(st.tuples(*(st.integers(0, 3) for _ in NAMES)), max_size=3),
)
def test_the_last_change_of_all_logs_stands(
    logs: tuple[list[tuple[str, State, int]], ...], batches: list[tuple[int, ...]]
) -> None:
    pasts = {name: Past(log_of(node, steps)) for (name, node), steps in zip(NAMES.items(), logs, strict=True)}
    end = dict.fromkeys(NAMES, 0)
    with TemporaryDirectory() as folder, closing(Outbox.open(Path(folder) / "outbox.db")) as outbox:
        storage = Storage.at(Path(folder) / "tables")
        for number, more in enumerate((*batches, (6, 6))):
            end = {name: min(end[name] + step, len(pasts[name].log)) for name, step in zip(NAMES, more, strict=True)}
            outbox.publish(number, (), rows=0, end=json.dumps(end))
            SubscriptionTable(storage, outbox, lambda: pasts).keep_up()
            read = [change for name, past in pasts.items() for change in past.log[: end[name]]]
            assert found_in(storage) == expected(read)


def test_told_again_nothing_is_written_and_in_other_tables_all_of_it(tmp_path: Path) -> None:
    pasts = {"log": Past(log_of(Node("a"), [("x", "active", 1), ("x", "paused", 1)]))}
    with closing(Outbox.open(tmp_path / "outbox.db")) as outbox:
        outbox.publish(0, (), rows=2, end='{"log": 2, "outcomes": 0}')
        places = [Storage.at(tmp_path / name) for name in ("tables", "elsewhere")]
        for storage in places:
            SubscriptionTable(storage, outbox, lambda: pasts).keep_up()
        versions = [storage.opened("subscriptions").version() for storage in places]
        SubscriptionTable(places[1], outbox, lambda: pasts).keep_up()
        assert [storage.opened("subscriptions").version() for storage in places] == versions
        assert [found_in(storage) for storage in places] == [{"x": ("a", 1, "paused", "as of 1")}] * 2


def test_of_two_at_one_time_the_one_that_ended_it_is_the_last() -> None:
    at_once = [
        changed(Node("a"), 9, "x", "ended", 5_000),
        changed(Node("b"), 1, "x", "active", 5_999),
        changed(Node("b"), 2, "x", "active", 5_000),
    ]
    assert sorted(at_once, key=rank_of) == [at_once[1], at_once[2], at_once[0]]
