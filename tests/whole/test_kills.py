"""After `kill -9`, again and again under load: nothing acknowledged is missing, nothing is doubled, order is kept."""

import os
import subprocess
import sys
from collections import Counter

import pytest
from tests.effort import examples
from tests.pipeline.stage import rows_of
from tests.whole.kills import Left, first_receipts, killed_run, path_of
from tests.whole.shell import environment

from tocsin.pipeline.tables.schemas import MATCHES, NOTIFICATIONS
from tocsin.store.database import Store

pytestmark = [pytest.mark.broker, pytest.mark.kills]
KILLS = examples(20)


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Left:
    seed = int(os.environ.get("SEED", "20"))
    print(f"SEED={seed}")  # shown with a failure, to run it again
    found = killed_run(tmp_path_factory.mktemp("kills") / "data", seed, KILLS)
    print(
        f"{found.kills} kills, {sum(map(len, found.published.values()))} published,"
        f" {sum(map(len, found.received.values()))} received,"
        f" {len(found.subscribed)} subscribed, {len(found.ended)} ended"
    )
    return found


def test_there_was_something_to_lose(left: Left) -> None:
    assert left.kills == KILLS
    assert all(len(names) > 2 * KILLS for names in left.published.values())
    assert len(left.ended) > KILLS // 4


def test_what_was_acknowledged_is_in_the_log_once(left: Left) -> None:
    logged = Counter(str(found.id) for found, _ in left.notifications())
    published = [name for names in left.published.values() for name in names]
    assert [name for name in published if logged[name] != 1] == []
    assert [name for name, times in logged.items() if times > 1] == []


def test_the_log_has_each_producers_order(left: Left) -> None:
    for producer, names in left.published.items():
        assert [str(found.id) for found, _ in left.notifications() if found.producer == producer][: len(names)] == names


def test_what_was_subscribed_stands_and_what_was_ended_does_not(left: Left) -> None:
    store = Store.open(left.data / "tocsin.db", read_only=True)
    standing = {str(each.id) for each in store.past.subscriptions()}
    store.close()
    assert left.subscribed.keys() - left.ended <= standing
    assert not left.ended & standing
    assert standing == {name for name, each in left.latest().items() if each.state != "ended"}


def test_who_stayed_got_everything_in_order(left: Left) -> None:
    staying = [name for name in left.subscribed if left.subscribed[name].startswith("stays")]
    assert len(staying) == 12
    for name in staying:
        received = first_receipts(left.received[left.subscribed[name]])
        for producer in left.published:
            own = [each for each in received if each.startswith(f"{producer}:")]
            assert own == sorted(own, key=lambda each: int(each.rpartition(":")[2]))


def test_the_pairs_are_those_of_a_plain_loop_over_the_log(left: Left) -> None:
    expected = left.pairs()
    received = {(name, path) for path, names in left.received.items() for name in names}
    assert received - expected == set(), "nobody got what it did not ask for"
    ended = {path_of(each) for each in left.latest().values() if each.state == "ended"}
    missing = {pair for pair in expected - received if pair[1] not in ended}
    assert missing == set(), "who did not leave got all of it"
    assert len(expected & received) > 50 * KILLS


@pytest.mark.long
@pytest.mark.spark
def test_no_row_of_the_tables_is_doubled(left: Left) -> None:
    words = [sys.executable, "-m", "tocsin", "pipeline", "run", "--once", "--data", str(left.data)]
    found = subprocess.run(words, env=environment(), cwd=left.data.parent, capture_output=True, text=True, timeout=280)
    assert found.returncode == 0, found.stderr
    rows = Counter(row["id"] for row in rows_of(left.data, NOTIFICATIONS))
    assert rows == Counter(str(found.id) for found, _ in left.notifications())
    matches = Counter((row["notification"], row["subscription"]) for row in rows_of(left.data, MATCHES))
    assert matches == Counter(
        (str(found.id), str(each.id)) for found, wanted in left.notifications() for each in wanted
    )
