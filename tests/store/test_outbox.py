import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tocsin.model.delivery import Delivery
from tocsin.model.identity import SubscriptionId
from tocsin.store.blocks import BLOCK_ROWS, in_blocks
from tocsin.store.codec import encode
from tocsin.store.outbox import _SCHEMA, UNFILED, Outbox

MakeDelivery = Callable[[str, int], Delivery]
A, B = SubscriptionId("a"), SubscriptionId("b")


def test_a_batch_and_its_rows_come_together(tmp_path: Path, delivery: MakeDelivery) -> None:
    outbox, sent = Outbox.open(tmp_path / "outbox.db"), [delivery("a", 1), delivery("b", 1), delivery("a", 2)]
    assert outbox.publish(0, in_blocks(sent), rows=2, end='{"log": 3}')
    assert outbox.pending(0, 10) == list(enumerate(sent, 1))
    batch = outbox.batches()[0]
    assert (batch.id, batch.rows, batch.deliveries, batch.end) == (0, 2, 3, '{"log": 3}')
    assert batch.when > 0
    assert outbox.committed() == {0}


def test_a_repeated_batch_writes_nothing(tmp_path: Path, delivery: MakeDelivery) -> None:
    outbox = Outbox.open(tmp_path / "outbox.db")
    assert outbox.publish(7, in_blocks([delivery("a", 1)]), rows=1, end="{}")
    assert not outbox.publish(7, in_blocks([delivery("a", 1), delivery("a", 2)]), rows=2, end="other")
    assert len(outbox.pending(0, 10)) == 1
    outbox.settle([1])
    assert not outbox.publish(7, in_blocks([delivery("a", 1)]), rows=1, end="{}")
    assert outbox.pending(0, 10) == []


def test_a_batch_may_have_no_deliveries(tmp_path: Path) -> None:
    outbox = Outbox.open(tmp_path / "outbox.db")
    assert outbox.publish(0, [], rows=0, end="{}")
    assert outbox.batches()[0].deliveries == 0


def test_a_batch_that_fails_halfway_leaves_nothing(tmp_path: Path, delivery: MakeDelivery) -> None:
    outbox = Outbox.open(tmp_path / "outbox.db")

    def failing() -> Iterator[Delivery]:
        yield delivery("a", 1)
        raise RuntimeError("halfway")

    with pytest.raises(RuntimeError, match="halfway"):
        outbox.publish(0, in_blocks(failing()), rows=1, end="{}")
    assert (outbox.pending(0, 10), outbox.committed()) == ([], set())
    assert outbox.publish(0, in_blocks([delivery("a", 1)]), rows=1, end="{}")


@pytest.mark.kills
def test_a_process_killed_inside_the_transaction_leaves_nothing(tmp_path: Path, delivery: MakeDelivery) -> None:
    script = """
import sys
from pathlib import Path
from tocsin.store.blocks import Block
from tocsin.store.outbox import Outbox

def deliveries():
    for _ in range(5000):
        yield Block('["a"]', 1, 0, bytes.fromhex(sys.argv[2]))
    print("inside", flush=True)
    sys.stdin.read()

Outbox.open(Path(sys.argv[1])).publish(3, deliveries(), rows=1, end="{}")
"""
    path = tmp_path / "outbox.db"
    command = [sys.executable, "-c", script, str(path), encode(delivery("a", 1)).hex()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"inside\n"
        child.kill()
    outbox = Outbox.open(path)
    assert (outbox.pending(0, 10), outbox.committed()) == ([], set())
    assert outbox.publish(3, in_blocks([delivery("a", 1)]), rows=1, end="{}")
    assert len(outbox.pending(0, 10)) == 1


def test_the_backlog_of_a_subscription_is_in_the_order_of_publishing(tmp_path: Path, delivery: MakeDelivery) -> None:
    outbox = Outbox.open(tmp_path / "outbox.db")
    outbox.publish(0, in_blocks([delivery("a", 1), delivery("b", 1), delivery("a", 2)]), rows=2, end="{}")
    outbox.publish(1, in_blocks([delivery("b", 3), delivery("a", 3)]), rows=1, end="{}")
    assert [(row, each.at.offset) for row, each in outbox.backlog(A, 0, 10)] == [(1, 1), (3, 2), (5, 3)]
    assert [row for row, _ in outbox.backlog(A, 1, 1)] == [3]
    assert [row for row, _ in outbox.backlog(B, 2, 10)] == [4]
    assert [row for row, _ in outbox.pending(2, 2)] == [3, 4]


def test_row_ids_are_never_given_twice(tmp_path: Path, delivery: MakeDelivery) -> None:
    path = tmp_path / "outbox.db"
    outbox = Outbox.open(path)
    outbox.publish(0, in_blocks([delivery("a", 1), delivery("a", 2)]), rows=2, end="{}")
    outbox.settle([1, 2])
    outbox.close()
    again = Outbox.open(path)
    again.publish(1, in_blocks([delivery("a", 3)]), rows=1, end="{}")
    assert [row for row, _ in again.pending(0, 10)] == [3]


def test_only_what_others_do_is_news(tmp_path: Path, delivery: MakeDelivery) -> None:
    path = tmp_path / "outbox.db"
    node, driver = Outbox.open(path), Outbox.open(path)
    assert node.changed()
    assert not node.changed()
    driver.publish(0, in_blocks([delivery("a", 1)]), rows=1, end="{}")
    assert node.changed()
    assert not node.changed()
    node.settle([1])
    assert not node.changed()
    assert not driver.publish(0, [], rows=0, end="{}")
    assert not node.changed()


def test_several_may_open_a_new_outbox_at_once(tmp_path: Path) -> None:
    script = "import sys; from pathlib import Path; from tocsin.store.outbox import Outbox\n"
    script += "sys.stdin.read(); print(Outbox.open(Path(sys.argv[1])).publish(int(sys.argv[2]), [], rows=0, end=''))"
    path = tmp_path / "outbox.db"
    children = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(path), str(number)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for number in range(4)
    ]
    with ThreadPoolExecutor(4) as pool:
        outputs = list(pool.map(lambda child: child.communicate(timeout=60)[0], children))
    assert outputs == [b"True\n"] * 4
    assert Outbox.open(path, read_only=True).committed() == {0, 1, 2, 3}


def test_the_last_batch_is_the_last_of_the_stream(tmp_path: Path) -> None:
    outbox = Outbox.open(tmp_path / "outbox.db")
    assert outbox.last() is None
    outbox.publish(-7, (), rows=1, end="{}")
    assert outbox.last() is None
    for batch in (0, 1):
        outbox.publish(batch, (), rows=1, end="{}")
    last = outbox.last()
    assert last is not None
    assert last.id == 1


def test_how_much_waits_is_counted_not_guessed(tmp_path: Path, delivery: MakeDelivery) -> None:
    """One row that nobody takes lies far behind the others, and they are few."""
    outbox = Outbox.open(tmp_path / "outbox.db")
    assert not outbox.holds_more_than(0)
    outbox.publish(0, in_blocks([delivery("a", each) for each in range(10)]), rows=10, end="{}")
    assert outbox.holds_more_than(9) and not outbox.holds_more_than(10)
    outbox.settle(range(2, 10))
    assert outbox.holds_more_than(1) and not outbox.holds_more_than(2)


def test_a_page_ends_by_its_bytes_but_has_one_at_least(tmp_path: Path, delivery: MakeDelivery) -> None:
    outbox, sent = Outbox.open(tmp_path / "outbox.db"), [delivery("a", n) for n in range(1, 6)]
    outbox.publish(0, in_blocks(sent), rows=5, end="{}")
    two = len(sent[0].body) + 1
    assert [row for row, _ in outbox.pending(0, 10, two)] == [1, 2]
    assert [row for row, _ in outbox.backlog(A, 2, 10, two)] == [3, 4]
    assert [row for row, _ in outbox.pending(4, 10, 1)] == [5]
    assert outbox.pending(5, 10, 1) == []


def test_a_block_is_gone_when_all_its_deliveries_are(tmp_path: Path, delivery: MakeDelivery) -> None:
    path, many = tmp_path / "outbox.db", BLOCK_ROWS + 2
    outbox = Outbox.open(path)
    for batch in range(2):
        outbox.publish(batch, in_blocks([delivery("a", each) for each in range(many)]), rows=1, end="{}")

    def blocks() -> list[int]:
        with closing(sqlite3.connect(path)) as asked:
            return [row[0] for row in asked.execute("SELECT first FROM block ORDER BY first")]

    assert blocks() == [1, BLOCK_ROWS + 1, many + 1, many + BLOCK_ROWS + 1]
    outbox.settle([row for row in range(1, many + 3) if row != 7])
    assert blocks() == [1, many + 1, many + BLOCK_ROWS + 1]
    assert [row for row, _ in outbox.pending(0, 2)] == [7, many + 3]
    assert outbox.pending(0, 1)[0][1].at.offset == 6
    outbox.settle([7])
    assert blocks() == [many + 1, many + BLOCK_ROWS + 1]


def test_deliveries_of_an_earlier_format_are_still_sent(tmp_path: Path, delivery: MakeDelivery) -> None:
    path, sent = tmp_path / "outbox.db", [delivery("a", 1), delivery("b", 2)]
    with closing(sqlite3.connect(path, isolation_level=None)) as before:
        for statement in ";".join(_SCHEMA[:2]).split(";"):
            before.execute(statement)
        rows = [(each.match.subscription, encode(each)) for each in sent]
        before.executemany("INSERT INTO outbox (batch, subscription, delivery) VALUES (0, ?, ?)", rows)
        before.execute("DELETE FROM outbox WHERE id = 1")
        before.execute("PRAGMA user_version=2")
    outbox = Outbox.open(path)
    assert outbox.publish(1, in_blocks([delivery("b", 3)]), rows=1, end="{}")
    assert [(row, each.at.offset) for row, each in outbox.backlog(B, 0, 9)] == [(2, 2), (3, 3)]
    outbox.settle([2, 3])
    assert outbox.pending(0, 9) == []


@pytest.mark.parametrize("seed", range(4))
def test_the_backlog_is_what_waits_filed_or_not(
    tmp_path: Path, delivery: MakeDelivery, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Against a list: published, asked for and settled in any order."""
    monkeypatch.setattr("tocsin.store.outbox.UNFILED", 5)
    outbox, chance, waiting = Outbox.open(tmp_path / "outbox.db"), random.Random(seed), list[tuple[int, str]]()
    numbers = iter(range(1, 10_000))
    for batch in range(60):
        names = [chance.choice("abc") for _ in range(chance.randrange(8))]
        outbox.publish(batch, in_blocks([delivery(name, batch) for name in names]), rows=1, end="{}")
        waiting += [(next(numbers), name) for name in names]
        for name in chance.sample("abc", chance.randrange(3)):
            after, limit = chance.randrange(200), chance.randrange(1, 30)
            asked = [row for row, _ in outbox.backlog(SubscriptionId(name), after, limit)]
            assert asked == [row for row, of in waiting if of == name and row > after][:limit]
        settled = {row for row, _ in chance.sample(waiting, chance.randrange(len(waiting) + 1) * chance.randrange(2))}
        outbox.settle(sorted(settled))
        waiting = [each for each in waiting if each[0] not in settled]
    outbox.settle([row for row, _ in waiting])
    with closing(sqlite3.connect(tmp_path / "outbox.db")) as left:
        assert not [row for of in ("filed", "outbox", "block") for row in left.execute(f"SELECT * FROM {of}")]


def test_rows_are_filed_by_who_asks_where_many_came(tmp_path: Path, delivery: MakeDelivery) -> None:
    path, many = tmp_path / "outbox.db", UNFILED + 1
    outbox, reader = Outbox.open(path), Outbox.open(path, read_only=True)

    def filed() -> int:
        with closing(sqlite3.connect(path)) as asked:
            return int(asked.execute("SELECT count(*) FROM filed").fetchone()[0])

    outbox.publish(0, in_blocks([delivery("ab"[each % 2], each) for each in range(many)]), rows=1, end="{}")
    assert [row for row, _ in reader.backlog(B, many - 3, 9)] == [many - 1]
    assert filed() == 0
    assert [row for row, _ in outbox.backlog(B, many - 3, 9)] == [many - 1]
    assert filed() == many
    outbox.publish(1, in_blocks([delivery("b", many)]), rows=1, end="{}")
    outbox.settle([2])
    assert [row for row, _ in outbox.backlog(B, 0, 1)] == [4]
    assert [row for row, _ in reader.backlog(B, many - 3, 9)] == [many - 1, many + 1]
    assert filed() == many - 1


def test_what_waits_in_an_outbox_with_an_index_is_found(tmp_path: Path, delivery: MakeDelivery) -> None:
    path, block = tmp_path / "outbox.db", next(in_blocks([delivery("a", 1), delivery("b", 2), delivery("b", 3)]))
    with closing(sqlite3.connect(path, isolation_level=None)) as before:
        for statement in ";".join(_SCHEMA[:4]).split(";"):
            before.execute(statement)
        before.execute("INSERT INTO block VALUES (7, 9, ?, ?)", (block.size, block.data))
        before.executemany("INSERT INTO outbox VALUES (?, ?)", [(7, "a"), (8, "b"), (9, "b")])
        before.execute("PRAGMA user_version=4")
    outbox = Outbox.open(path)
    assert [(row, each.at.offset) for row, each in outbox.backlog(B, 0, 9)] == [(8, 2), (9, 3)]
    outbox.settle([7, 8, 9])
    assert (outbox.backlog(B, 0, 9), outbox.pending(0, 9)) == ([], [])
