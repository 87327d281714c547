"""A small run of the benchmark of replies: that all contestants do the same, not how fast they are."""

from random import Random

import pytest

from tocsin.broker.reply.family import MESSAGES as CODEC
from tocsin.lab.bench import BENCHES, run
from tocsin.lab.benches import _asking, reply
from tocsin.lab.benches._messages import ASKING, Messages
from tocsin.lab.benches.reply import PLAIN, PLAIN_PASSED, PLAIN_REPORTS, PLAIN_SINGLES, Batch
from tocsin.routing.reply.messages import Passed, Replied, Single

SMALL = {"replies": "50", "reports": "3", "entries": "20", "rounds": "2", "publications": "0", "receivers": "10"}


def test_it_is_listed() -> None:
    assert "reply" in BENCHES.entries()


def test_every_rival_has_a_row() -> None:
    found = run("reply", chosen=SMALL).results
    assert [each.rival for each in found] == [
        "what was asked for",
        PLAIN,
        PLAIN_REPORTS,
        PLAIN_SINGLES,
        PLAIN_PASSED,
        None,
        None,
    ]
    assert all(each.ours > 0 for each in found)
    assert all(each.ratio is not None and each.ratio > 0 for each in found[:5])
    assert [each.target for each in found] == [1.0, *[None] * 6]


def test_the_machine_and_the_dict_count_the_same() -> None:
    machine, take = reply.opened(receivers=10), reply.plain()
    for each in (Replied("a", "1"), Replied("b", "2"), Replied("b", "3"), Replied("c", "1")):
        machine.step(each, reply.NOW)
        assert take(each) == (each.value != "3")
    assert machine.report().histogram.counts == {"1": 2, "2": 1}


def test_reports_are_read_and_merged_alike() -> None:
    bodies = [CODEC.encode(reply.reported(number, 5, Random(number))) for number in (1, 2)]
    machine, take = reply.opened(children=3), reply.plain_merging()
    for body in bodies:
        reply.decoding(reply.taking(machine))(body)
        take(body)
    expected = {str(value): sum(CODEC.decode(body).report.histogram.counts[str(value)] for body in bodies)
                for value in range(5)}  # fmt: skip
    assert machine.report().histogram.counts == expected


def test_what_is_passed_on_is_the_same_bytes() -> None:
    written: list[bytes] = []

    class Keeping:
        decode = staticmethod(CODEC.decode)

        def encode(self, message: object) -> bytes:
            written.append(CODEC.encode(message))
            return written[-1]

    body = CODEC.encode(Passed("v", ("n1", "n2", "n3"), Single("n4", "7")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reply, "MESSAGES", Keeping())
        reply.relaying()(body)
    assert written == [CODEC.encode(Passed("v", ("n1", "n2"), Single("n4", "7")))]


def test_a_batch_is_taken_by_something_new_each_time() -> None:
    taken: list[list[int]] = []

    def fresh() -> reply.Take:
        taken.append([])
        return taken[-1].append

    batch = Batch([1, 2], fresh)
    for _ in range(2):
        batch.renew()
        batch.run()
    assert taken == [[1, 2], [1, 2]]


def test_messages_that_ask_are_longer_by_that_alone() -> None:
    plain, asking = (Messages(1, "127.0.0.1:1", "/broker", asking=asks).of(7) for asks in (False, True))
    assert asking.replace(ASKING, b"").partition(b"\r\n\r\n")[2] == plain.partition(b"\r\n\r\n")[2]
    for message in (plain, asking):
        head, _, body = message.partition(b"\r\n\r\n")
        assert b"Content-Length: %d" % len(body) in head


@pytest.mark.long
@pytest.mark.broker
def test_a_node_that_is_asked_for_replies_delivers_all() -> None:
    found = list(_asking.results(1, _asking.Sizes(rounds=1, messages=20, fan_out=2)))
    assert [each.rival for each in found] == [_asking.FLOOR] * 2
    assert all(each.ours > 0 and each.ratio is not None for each in found)
