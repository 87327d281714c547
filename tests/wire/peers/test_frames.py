from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.wire.peers.frames import ANSWER, HELLO, KINDS, REQUEST, BadFrame, Frame, FrameReader, frame, head

MOST = 1000
FRAMES = st.lists(
    st.tuples(st.sampled_from(list(KINDS)), st.integers(0, 0xFFFFFFFF), st.binary(max_size=40)), max_size=12
)


def pieces(octets: bytes, cuts: list[int]) -> list[bytes]:
    places = [0, *sorted(cut % (len(octets) + 1) for cut in cuts), len(octets)]
    return [octets[a:b] for a, b in pairwise(places)]


@given(FRAMES, st.lists(st.integers(0, 10_000), max_size=30))
def test_frames_come_out_as_they_went_in_however_they_are_cut(said: list[Frame], cuts: list[int]) -> None:
    reader = FrameReader(MOST)
    octets = b"".join(frame(*each) for each in said)
    assert [each for piece in pieces(octets, cuts) for each in reader.frames(piece)] == said
    assert not reader.is_amid


@given(FRAMES, st.integers(MOST + 1, 0xFFFFFFFF), st.lists(st.integers(0, 10_000), max_size=10))
def test_one_that_announces_too_much_is_refused_by_its_head_after_what_was_whole(
    said: list[Frame], length: int, cuts: list[int]
) -> None:
    reader = FrameReader(MOST)
    heard: list[Frame] = []
    octets = b"".join(frame(*each) for each in said) + head(REQUEST, 1, length)
    with pytest.raises(BadFrame, match="most") as raised:
        for piece in pieces(octets, cuts):
            heard.extend(reader.frames(piece))  # what is whole comes even if something bad is behind it
    assert heard == said
    assert raised.value.reason == "too-large"


@given(st.binary(max_size=200), st.lists(st.integers(0, 10_000), max_size=10))
def test_garbage_is_frames_or_refused_and_never_anything_else(octets: bytes, cuts: list[int]) -> None:
    reader, heard = FrameReader(MOST), b""
    try:
        for piece in pieces(octets, cuts):
            for each in reader.frames(piece):
                heard += frame(*each)
    except BadFrame as bad:
        assert octets.startswith(heard + bad.head)
    else:
        assert octets.startswith(heard)
        assert reader.is_amid == (heard != octets)


def test_the_limit_may_change_between_two_frames_of_one_piece() -> None:
    reader, sizes = FrameReader(10), []
    for _, _, body in reader.frames(frame(HELLO, 0, b"x") + frame(ANSWER, 1, b"y" * 500)):
        sizes.append(len(body))
        reader.most = MOST
    assert sizes == [1, 500]


@pytest.mark.parametrize("kind", [0, 10, 255])
def test_a_kind_that_there_is_not(kind: int) -> None:
    with pytest.raises(BadFrame, match=f"kind {kind}"):
        list(FrameReader(MOST).frames(frame(kind, 0)))


@pytest.mark.parametrize(
    ("octets", "http", "tls"),
    [
        (b"GET / HTTP/1.1\r\n", True, False),
        (b"OPTIONS * HTTP/1.1\r\n", True, False),
        (b"PRI * HTTP/2.0\r\n", True, False),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", False, True),
        (b"SSH-2.0-OpenSSH\r\n", False, False),
        (b"\xff" * 20, False, False),
    ],
)
def test_what_else_is_spoken_is_known(octets: bytes, http: bool, tls: bool) -> None:
    with pytest.raises(BadFrame) as raised:
        list(FrameReader(MOST).frames(octets))
    assert (raised.value.is_http, raised.value.is_tls) == (http, tls)
