from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.wire.peers.talking import HERE, KEY, OTHER_KEY, THERE

from tocsin.model.refusal import Refusal
from tocsin.wire.peer_messages import BadKey, encode
from tocsin.wire.peers.frames import HELLO, KINDS, PROOF, REFUSAL, REQUEST, FrameReader
from tocsin.wire.peers.handshake import (
    LONGEST,
    LONGEST_NAME,
    MAGIC,
    MOST_SHOWN,
    PROTOCOL,
    Declines,
    Handshake,
    Hello,
    Member,
    checked,
    declined,
    refusal_of,
    shown,
)

A, B = b"a" * 32, b"b" * 32
OWN_WORDS = "ring.key_file must be the same"


def body_of(octets: bytes) -> tuple[int, bytes]:
    [(kind, stream, body)] = FrameReader(LONGEST).frames(octets)
    assert stream == 0
    return kind, body


def caller(key: bytes = KEY, me: Member = HERE, nonce: bytes = A) -> Handshake:
    return Handshake("caller", key, me, nonce)


def answerer(key: bytes = KEY, me: Member = THERE, nonce: bytes = B) -> Handshake:
    return Handshake("answerer", key, me, nonce)


Change = Callable[[bytes], bytes]


def talk(one: Handshake, other: Handshake, change: Change = lambda octets: octets) -> None:
    """`change` is done to each body on its way."""
    said, to, back = one.begin(), other, one
    while said:
        kind, body = body_of(said)
        said, to, back = to.take(kind, change(body)), back, to


def hello(**changed: object) -> bytes:
    told = Hello(PROTOCOL, "1.0", "x", "", A)
    return MAGIC + encode(msgspec.structs.replace(told, **changed))


def test_both_know_each_other_and_are_proven() -> None:
    one, other = caller(), answerer()
    assert other.begin() == b""
    talk(one, other)
    assert one.proven and other.proven
    assert (one.peer, other.peer) == (THERE, HERE)


def test_all_of_it_fits_whoever_it_is() -> None:
    long = Member("ü" * LONGEST_NAME, "ü" * LONGEST_NAME)
    one, other = caller(me=long), answerer(me=long)
    talk(one, other)
    assert one.proven and other.proven


def test_another_key_is_found_by_who_answers_first_and_it_says_which_setting() -> None:
    one, other = caller(), answerer(key=OTHER_KEY)
    with pytest.raises(Refusal, match=OWN_WORDS) as raised:
        talk(one, other)
    assert raised.value.reason == "not-proven"
    assert not one.proven and not other.proven
    with pytest.raises(Declines, match=OWN_WORDS):
        one.take(REFUSAL, declined(raised.value))


def test_one_without_the_key_that_answers_is_found_too() -> None:
    one, other = caller(), answerer(key=OTHER_KEY)
    _, greeted = body_of(other.take(*body_of(one.begin())))
    one.take(HELLO, greeted)
    with pytest.raises(Refusal, match=OWN_WORDS):
        one.take(PROOF, other._proof("answerer"))
    assert not one.proven


def test_a_proof_is_no_use_to_who_sends_it_back() -> None:
    """Who has no key shows our own hello and proof to us."""
    one = caller()
    with pytest.raises(Refusal, match="said back"):
        one.take(*body_of(one.begin()))
    one, mirror = caller(), MAGIC + encode(Hello(PROTOCOL, "1.0", "mirror", "", B))
    _, proof = body_of(one.take(HELLO, mirror))
    with pytest.raises(Refusal, match=OWN_WORDS):
        one.take(PROOF, proof)
    assert not one.proven


def test_what_was_overheard_is_no_use_in_another_conversation() -> None:
    heard: list[bytes] = []

    def overhear(body: bytes) -> bytes:
        heard.append(body)
        return body

    talk(caller(), answerer(), overhear)
    hello_then, hello_there, proof_then, proof_there = heard
    again = answerer(nonce=b"c" * 32)
    again.take(HELLO, hello_then)
    with pytest.raises(Refusal, match=OWN_WORDS):
        again.take(PROOF, proof_then)
    fresh = caller(nonce=b"d" * 32)
    fresh.take(HELLO, hello_there)
    with pytest.raises(Refusal, match=OWN_WORDS):
        fresh.take(PROOF, proof_there)


@given(st.data())
def test_whatever_is_changed_on_the_way_the_two_are_not_both_proven(data: st.DataObject) -> None:
    one, other = caller(), answerer()
    at, changed = data.draw(st.integers(0, 3)), False
    seen = 0

    def change(body: bytes) -> bytes:
        nonlocal seen, changed
        seen += 1
        if seen != at + 1:
            return body
        told = data.draw(st.one_of(st.binary(max_size=64), flipped(body)))
        changed = told != body
        return told

    try:
        talk(one, other, change)
    except (Refusal, Declines):
        assert changed
    assert (one.proven and other.proven) != changed


def flipped(body: bytes) -> st.SearchStrategy[bytes]:
    return st.tuples(st.integers(0, len(body) - 1), st.integers(1, 255)).map(
        lambda where: body[: where[0]] + bytes([body[where[0]] ^ where[1]]) + body[where[0] + 1 :]
    )


@pytest.mark.parametrize("made", [caller, answerer])
def test_another_version_is_told_with_both_whatever_else_it_says(made: Callable[[], Handshake]) -> None:
    told = MAGIC + encode([7, "9.9", "newer", "", b"", {"what": "only it knows"}])
    with pytest.raises(Refusal) as raised:
        made().take(HELLO, told)
    for words in (f"version {PROTOCOL}", HERE.software, "newer version 7 (Tocsin 9.9)", "same release"):
        assert words in raised.value.text


@pytest.mark.parametrize(
    "body",
    [
        b"",
        MAGIC,
        MAGIC[:-1],
        b"x" + hello(),
        MAGIC + encode({"protocol": 1}),
        hello(nonce=b"short"),
        hello(name=""),
        hello(name="n" * (LONGEST_NAME + 1)),
        hello(address="n" * (LONGEST_NAME + 1)),
        MAGIC + encode(["1", "1.0", "x", "", A]),
    ],
)
def test_a_bad_hello_is_refused(body: bytes) -> None:
    with pytest.raises(Refusal) as raised:
        answerer().take(HELLO, body)
    assert raised.value.reason == "malformed"


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {HELLO, REFUSAL}))
def test_nothing_comes_before_hello(kind: int) -> None:
    with pytest.raises(Refusal, match=f"a {KINDS[kind]} came where a hello must come"):
        answerer().take(kind, b"")


@pytest.mark.parametrize("kind", [HELLO, REQUEST])
def test_nothing_comes_between_hello_and_proof(kind: int) -> None:
    side = answerer()
    side.take(*body_of(caller().begin()))
    with pytest.raises(Refusal, match=f"a {KINDS[kind]} came where a proof must come"):
        side.take(kind, hello())


def test_a_key_that_can_be_guessed_and_a_name_that_none_takes_are_found_at_once() -> None:
    with pytest.raises(BadKey, match=r"ring\.key_file has 3 bytes"):
        checked(b"abc", HERE)
    with pytest.raises(ValueError, match="name"):
        checked(KEY, Member(""))
    assert checked(KEY, HERE) == KEY


def test_a_refusal_arrives_as_it_was_and_one_for_a_new_reason_with_its_words() -> None:
    told = refusal_of(declined(Refusal("unknown-topic", "there are none")))
    assert (told.reason, told.text) == ("unknown-topic", "there are none")
    later = refusal_of(encode({"reason": "a-later-one", "text": "why"}))
    assert (later.reason, later.text) == ("cannot-store", "why")
    assert refusal_of(b"\xff").reason == "cannot-store"


def test_what_anybody_says_does_no_harm_to_a_log() -> None:
    assert shown("a\n\x1b[2Jb") == "a??[2Jb"
    assert len(shown("x" * 10_000)) == MOST_SHOWN
