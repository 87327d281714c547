from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tocsin.store.errors import CorruptLog, NewerFormat
from tocsin.store.log.appender import pack_commit
from tocsin.store.log.segment import (
    FRAME_SIZE,
    HEADER_SIZE,
    SYNC_SIZE,
    Header,
    Walk,
    later_sync,
    read_header,
    segment_path,
)

PATH = segment_path(Path("log"), 7)
HEADER = Header(7, b"saltsalt")
payloads = st.lists(st.binary(min_size=1, max_size=50), min_size=1, max_size=5)


def test_a_header_comes_back_as_it_was() -> None:
    assert len(HEADER.pack()) == HEADER_SIZE
    assert read_header(PATH, HEADER.pack()) == HEADER


@settings(deadline=None)
@given(st.integers(0, HEADER_SIZE - 1), st.integers(1, 255))
def test_no_changed_byte_of_a_header_goes_unseen(byte: int, flip: int) -> None:
    data = bytearray(HEADER.pack())
    data[byte] ^= flip
    with pytest.raises((CorruptLog, NewerFormat)):
        read_header(PATH, bytes(data))


def test_a_header_of_another_segment_is_refused() -> None:
    with pytest.raises(CorruptLog, match="its name"):
        read_header(segment_path(Path("log"), 8), HEADER.pack())


@settings(deadline=None)
@given(st.lists(payloads, max_size=4))
def test_a_walk_finds_what_was_packed(commits: list[list[bytes]]) -> None:
    data, offset, syncs = b"", 7, []
    for commit in commits:
        syncs.append((offset, len(data)))
        data += pack_commit(HEADER, offset, commit)
        offset += len(commit)
    walk = Walk(HEADER, data, 0, 7)
    assert [bytes(each) for each in walk] == [each for commit in commits for each in commit]
    assert (walk.byte, walk.offset, walk.problem, walk.syncs) == (len(data), offset, None, syncs)


@settings(deadline=None)
@given(payloads, st.data())
def test_a_walk_stops_at_the_frame_that_changed(commit: list[bytes], draw: st.DataObject) -> None:
    data = bytearray(pack_commit(HEADER, 7, commit))
    byte = draw.draw(st.integers(0, len(data) - 1))
    data[byte] ^= draw.draw(st.integers(1, 255))
    walk = Walk(HEADER, bytes(data), 0, 7)
    good = [bytes(each) for each in walk]
    assert good == commit[: len(good)]
    assert walk.byte <= byte
    assert walk.byte + walk.needed() > byte


def test_a_sync_frame_whose_length_changed_is_no_record() -> None:
    data = bytearray(pack_commit(HEADER, 7, [b"x"]))
    data[0] = SYNC_SIZE - FRAME_SIZE
    walk = Walk(HEADER, bytes(data), 0, 7)
    assert list(walk) == []
    assert (walk.byte, walk.problem) == (0, "the checksum does not match")


def test_zeros_are_no_records() -> None:
    walk = Walk(HEADER, bytes(100), 0, 7)
    assert list(walk) == []
    assert walk.problem is not None


def test_a_later_commit_proves_that_the_one_before_was_durable() -> None:
    first = pack_commit(HEADER, 7, [b"one"])
    data = first + pack_commit(HEADER, 8, [b"two"])
    assert later_sync(HEADER, data, 1, 7) == 8
    assert later_sync(HEADER, first, 0, 7) is None


def test_a_payload_cannot_pass_for_a_sync_frame() -> None:
    forged = pack_commit(Header(7, b"guessing"), 99, [b"x"])
    assert later_sync(HEADER, pack_commit(HEADER, 7, [forged]), 1, 7) is None
