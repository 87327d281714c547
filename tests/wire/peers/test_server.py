"""What a node of a ring does with whatever is said to its port."""

import asyncio
import contextlib
from collections.abc import Callable
from random import Random

import pytest
from tests.effort import examples
from tests.wire.peers.talking import (
    HERE,
    KEY,
    NONCE,
    OTHER_KEY,
    PATIENCE,
    THERE,
    Gate,
    Node,
    Talker,
    node,
    soon,
    talker,
    until,
)

from tocsin.model.refusal import Refusal
from tocsin.wire.peer_messages import encode
from tocsin.wire.peers.connection import Limits
from tocsin.wire.peers.frames import (
    ANSWER,
    BYE,
    HELLO,
    KINDS,
    NOTE,
    PING,
    PONG,
    PROOF,
    REFUSAL,
    REQUEST,
    frame,
    head,
)
from tocsin.wire.peers.handshake import MAGIC, Handshake, Hello, declined, refusal_of
from tocsin.wire.peers.server import PeerServer
from tocsin.wire.server import CannotListen


async def answers(one: Talker) -> None:
    """It is as good as new."""
    one.say(frame(REQUEST, 77, b"still there?"))
    assert await one.hear() == (ANSWER, 77, b"here still there?")


async def serves(at: Node) -> None:
    """Whatever somebody else did."""
    async with talker(at) as other:
        await other.shake()
        await answers(other)


async def test_requests_are_answered_as_they_are_done_and_not_as_they_came() -> None:
    gates = {b"1": asyncio.Event(), b"2": asyncio.Event(), b"3": asyncio.Event()}

    async def handle(name: str, body: bytes) -> bytes:
        await gates[body].wait()
        return body

    async with node(handle) as there, talker(there) as one:
        await one.shake()
        one.say(b"".join(frame(REQUEST, number, b"%d" % number) for number in (1, 2, 3)))
        for number in (3, 1, 2):
            gates[b"%d" % number].set()
            assert await one.hear() == (ANSWER, number, b"%d" % number)
    assert there.met == [HERE]


async def test_a_refusal_travels_and_nothing_leaks_of_anything_else() -> None:
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["exception"]))

    async def handle(name: str, body: bytes) -> bytes:
        if body == b"refuse":
            raise Refusal("unknown-topic", "there is none")
        if body == b"cancel":
            raise asyncio.CancelledError
        raise ValueError("the password is 1234")

    async with node(handle) as there, talker(there) as one:
        await one.shake()
        for body, reason in ((b"refuse", "unknown-topic"), (b"fail", "cannot-store"), (b"cancel", "cannot-store")):
            one.say(frame(REQUEST, 5, body))
            heard = await one.hear()
            assert heard is not None and heard[:2] == (REFUSAL, 5)
            assert refusal_of(heard[2]).reason == reason
            assert b"1234" not in heard[2]
    assert [str(each) for each in told] == ["the password is 1234"]


async def test_an_answer_that_is_too_large_is_a_refusal_and_the_connection_goes_on() -> None:
    async def handle(name: str, body: bytes) -> bytes:
        return body * 200

    async with node(handle, limits=Limits(most_bytes=10_000)) as there, talker(there) as one:
        await one.shake()
        one.say(frame(REQUEST, 1, b"x" * 51) + frame(REQUEST, 2, b"y" * 50))
        heard = await one.hear()
        assert heard is not None and heard[:2] == (REFUSAL, 1) and refusal_of(heard[2]).reason == "too-large"
        assert await one.hear() == (ANSWER, 2, b"y" * 10_000)


async def test_notes_are_handled_and_not_answered_whatever_comes_of_them() -> None:
    seen: list[bytes] = []

    async def handle(name: str, body: bytes) -> bytes:
        seen.append(body)
        if body == b"refused":
            raise Refusal("malformed", "no")
        return b"here " + body

    async with node(handle) as there, talker(there) as one:
        await one.shake()
        one.say(frame(NOTE, 0, b"taken") + frame(NOTE, 0, b"refused") + frame(PING, 9, b"x"))
        assert await one.hear() == (PONG, 9, b"")
        await answers(one)
    assert seen == [b"taken", b"refused", b"still there?"]


@pytest.mark.parametrize("length", [10_001, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF])
async def test_a_frame_that_announces_too_much_ends_the_connection_before_any_of_it_comes(length: int) -> None:
    async with node(limits=Limits(most_bytes=10_000)) as there, talker(there) as one:
        await one.shake()
        await answers(one)
        one.say(head(REQUEST, 1, length))
        assert "10000 are the most" in await one.refused()
        await serves(there)
    assert "10000 are the most" in there.said[0]


async def test_before_the_key_is_proven_a_frame_may_be_small_only() -> None:
    async with node() as there, talker(there) as one:
        one.say(head(HELLO, 0, 4097))
        assert "4096 are the most" in await one.refused()


@pytest.mark.parametrize("octets", [b"\x00" * 400, b"\xff" * 400, b"SSH-2.0-OpenSSH_9.6\r\n", b"hello there, ring!"])
async def test_garbage_is_refused(octets: bytes) -> None:
    async with node() as there, talker(there) as one:
        one.say(octets)
        await one.refused()
        one.close()
        await until(lambda: there.unproven == 0, "nothing is left of it")
        await serves(there)
    assert there.said


async def test_http_is_answered_in_http() -> None:
    async with node() as there, talker(there) as one:
        one.say(b"GET /metrics HTTP/1.1\r\nHost: ring\r\n\r\n")
        answer = await soon(one.reader.read())
        assert answer.startswith(b"HTTP/1.1 400 Bad Request\r\n") and b"nodes of a ring" in answer
        body = answer.partition(b"\r\n\r\n")[2]
        assert f"Content-Length: {len(body)}\r\n".encode() in answer
        await serves(there)


async def test_tls_at_a_port_without_it_is_told_of() -> None:
    async with node() as there, talker(there) as one:
        one.say(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 100)
        assert "TLS" in await one.refused()


async def test_another_version_is_refused_with_both() -> None:
    async with node() as there, talker(there) as one:
        one.say(frame(HELLO, 0, MAGIC + encode(Hello(2, "9.9", "newer", "", NONCE))))
        text = await one.refused()
    assert "version 1" in text and "version 2 (Tocsin 9.9)" in text
    assert text in there.said[0]


async def test_another_key_is_refused_with_the_setting() -> None:
    async with node() as there, talker(there) as one:
        handshake = Handshake("caller", OTHER_KEY, HERE, NONCE)
        one.say(handshake.begin())
        heard = await one.hear()
        assert heard is not None
        one.say(handshake.take(heard[0], heard[2]))
        assert "ring.key_file must be the same" in await one.refused()
        assert not there.met and not there.server.peers
    assert "ring.key_file must be the same" in there.said[0] and "127.0.0.1" in there.said[0]


async def test_who_tells_a_server_why_it_leaves_is_heard() -> None:
    async with node() as there, talker(there) as one:
        one.say(Handshake("caller", KEY, HERE, NONCE).begin())
        await one.hear()
        one.say(frame(REFUSAL, 0, declined(Refusal("not-proven", "your key\nis wrong"))))
        assert await one.hear() is None
    assert "it says: your key?is wrong" in there.said[0]


async def test_a_handshake_that_was_overheard_is_no_use_again() -> None:
    async with node() as there:
        async with talker(there) as one:
            handshake = Handshake("caller", KEY, HERE, NONCE)
            said = [handshake.begin()]
            one.say(said[0])
            heard = await one.hear()
            assert heard is not None
            said.append(handshake.take(heard[0], heard[2]))
            one.say(said[1])
            await one.hear()
            await until(lambda: there.server.peers, "the first is let in")
        async with talker(there) as other:
            other.say(b"".join(said) + frame(REQUEST, 1, b"do it again"))
            assert "ring.key_file" in await other.refused()
    assert there.met == [HERE]


async def test_a_proof_that_is_sent_back_is_no_use() -> None:
    """With two connections: what the node proves on neither can be shown on the other."""
    async with node() as there, talker(there) as one:
        one.say(Handshake("caller", KEY, HERE, NONCE).begin())
        heard = await one.hear()
        assert heard is not None and heard[0] == HELLO
        async with talker(there) as other:
            other.say(frame(HELLO, 0, heard[2]))
            again = await other.hear()
            assert again is not None and again[0] == HELLO and again[2] != heard[2]
            other.say(frame(PROOF, 0, b"\0" * 32))
            await other.refused()
        one.say(frame(PROOF, 0, b"\0" * 32))
        await one.refused()
    assert not there.met


async def test_nothing_is_handled_before_the_proof() -> None:
    gate = Gate()
    async with node(gate) as there, talker(there) as one:
        one.say(Handshake("caller", KEY, HERE, NONCE).begin() + frame(REQUEST, 1, b"now"))
        assert "a request came where a proof must come" in await one.refused()
    assert not gate.begun


@pytest.mark.parametrize(
    "said", [b"", b"\0\0", Handshake("caller", KEY, HERE, NONCE).begin()], ids=["nothing", "a little", "hello"]
)
async def test_who_never_finishes_the_handshake_is_hung_up_on(said: bytes) -> None:
    async with node(limits=Limits(handshake_seconds=0.05)) as there, talker(there) as one:
        one.say(said)
        assert "handshake did not end within 0.05 seconds" in await one.refused()
        one.close()
        await until(lambda: there.unproven == 0, "nothing is left of it")


async def test_no_more_than_some_may_be_unproven_and_those_that_are_proven_do_not_count() -> None:
    async with node(limits=Limits(most_unproven=2)) as there, contextlib.AsyncExitStack() as stack:
        proven = await stack.enter_async_context(talker(there))
        await proven.shake()
        silent = [await stack.enter_async_context(talker(there)) for _ in range(2)]
        await until(lambda: there.unproven == 2, "two have come")
        async with talker(there) as third:
            assert "2 connections have not proven themselves yet" in await third.refused()
        await answers(proven)
        silent[0].close()
        await until(lambda: there.unproven == 1, "one has gone")
        await serves(there)


async def test_one_connection_too_many_is_refused() -> None:
    async with node(limits=Limits(most_connections=1)) as there, talker(there) as one:
        await one.shake()
        await answers(one)
        async with talker(there) as other:
            await other.shake()
            assert "1 connections already" in await other.refused()
        await answers(one)


async def test_a_frame_that_is_cut_short_times_out_however_slowly_it_comes() -> None:
    async with node(limits=Limits(frame_seconds=0.3)) as there, talker(there) as one:
        await one.shake()
        await answers(one)
        one.say(head(REQUEST, 1, 10_000))
        refused = asyncio.create_task(one.refused())
        while not refused.done():
            one.say(b"x")
            await asyncio.sleep(0.02)
        assert "did not come whole" in await refused


async def test_who_hangs_up_amid_a_frame_or_a_request_leaves_nothing_behind() -> None:
    gate = Gate()
    async with node(gate) as there:
        async with talker(there) as one:
            await one.shake()
            one.say(frame(REQUEST, 1, b"x") + frame(REQUEST, 2, b"yy")[:-1])
            await until(lambda: gate.begun, "the first is being handled")
        await until(lambda: not there.server.peers, "the end is seen")
        assert gate.ended == []
        gate.open.set()
        await until(lambda: gate.ended == [b"x"], "what was begun is done")
        await until(lambda: not there.server._connections, "nothing is left of it")


@pytest.mark.parametrize(
    "octets",
    [
        frame(ANSWER, 1, b"x"),
        frame(HELLO, 0, b"x"),
        frame(REQUEST, 0, b"x"),
        frame(REQUEST, 4, b"x") + frame(REQUEST, 4, b"x"),
        b"\0\0\0\0\x0b\0\0\0\0",
    ],
)
async def test_what_must_not_come_ends_the_connection(octets: bytes) -> None:
    async with node(Gate(), limits=Limits(closing_seconds=0.05)) as there, talker(there) as one:
        await one.shake()
        one.say(octets)
        await one.refused()
    assert there.said


async def test_no_more_than_some_are_handled_at_once_and_the_rest_waits_in_the_socket() -> None:
    gate = Gate()
    async with node(gate, limits=Limits(most_open=4)) as there, talker(there) as one:
        await one.shake()
        body = b"x" * 20_000
        for number in range(1, 2001):
            one.say(frame(REQUEST, number, body))
        await until(lambda: len(gate.begun) == 4, "four are begun")
        (connection,) = there.server._connections
        await until(lambda: one.writer.transport.get_write_buffer_size() > 10_000_000, "the caller has to wait")
        assert len(gate.begun) == 4 and sum(map(len, connection._waiting.values())) < 2_000_000
        gate.open.set()
        for number in range(1, 2001):
            assert await one.hear() == (ANSWER, number, body)


async def test_streams_of_what_waits_are_not_free() -> None:
    gate = Gate()
    async with node(gate, limits=Limits(most_open=1, closing_seconds=0.05)) as there, talker(there) as one:
        await one.shake()
        one.say(frame(REQUEST, 1, b"a") + frame(REQUEST, 2, b"b") + frame(REQUEST, 2, b"c"))
        assert "stream 2" in await one.refused()


async def test_large_requests_are_bounded_by_their_size_too() -> None:
    gate = Gate()
    async with node(gate, limits=Limits(most_held=100_000)) as there, talker(there) as one:
        await one.shake()
        for number in range(1, 6):
            one.say(frame(REQUEST, number, b"%d" % number * 60_000))
        one.say(frame(REQUEST, 6, b"x" * 200_000))
        await until(lambda: there.server._connections.copy().pop()._waiting, "the second waits")
        assert len(gate.begun) == 1
        gate.open.set()
        assert [(await one.hear() or (0, 0))[1] for _ in range(6)] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("limits", [Limits(unread_seconds=0.2), Limits(most_held=3_000_000)])
async def test_who_never_reads_its_answers_is_hung_up_on_and_asks_no_more(limits: Limits) -> None:
    begun = 0

    async def large(name: str, body: bytes) -> bytes:
        nonlocal begun
        begun += 1
        return bytes(1_000_000)

    async with node(large, limits=limits) as there, talker(there) as one:
        await one.shake()
        one.writer.transport.pause_reading()  # type: ignore[attr-defined]
        for number in range(1, 5001):
            one.say(frame(REQUEST, number, b"x"))
        await until(lambda: not there.server._connections, "it is hung up on")
        assert begun < 2 * limits.most_open


async def test_for_who_does_not_read_nothing_more_is_begun_until_it_does() -> None:
    begun = 0

    async def handle(name: str, body: bytes) -> bytes:
        nonlocal begun
        begun += 1
        return bytes(100_000)

    async with node(handle, limits=Limits(most_open=4, unread_seconds=3600)) as there, talker(there) as one:
        await one.shake()
        one.writer.transport.pause_reading()  # type: ignore[attr-defined]
        (connection,) = there.server._connections
        for number in range(1, 601):
            one.say(frame(REQUEST, number, b"x"))
        await until(lambda: connection._is_paused and not connection.handled, "the answers are not read")
        assert begun < 300 and connection._transport.get_write_buffer_size() < 1_000_000
        one.writer.transport.resume_reading()  # type: ignore[attr-defined]
        assert [(await one.hear() or (0, 0))[1] for _ in range(600)] == list(range(1, 601))


async def test_who_reads_slowly_is_not_hung_up_on_as_long_as_it_reads() -> None:
    async def large(name: str, body: bytes) -> bytes:
        return bytes(12_000_000)

    async with node(large, limits=Limits(unread_seconds=3600)) as there, talker(there) as one:
        await one.shake()
        (connection,) = there.server._connections
        one.say(b"".join(frame(REQUEST, number, b"x") for number in (1, 2, 3, 4)))
        await until(lambda: connection._is_paused, "an answer is written")
        for _ in range(3):
            while connection._read_by_peer() <= connection._gone:
                await soon(one.reader.read(1 << 20))
            connection._unread()
            assert not connection._is_over
        one.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await until(lambda: _same(connection._read_by_peer), "no more goes")
        connection._unread()
        connection._unread()
        assert "nothing of what was sent was read" in connection.why


def _same(measured: Callable[[], int], seen: list[int] = []) -> bool:  # noqa: B006 - it is to be remembered
    """Whether it was the same ten times."""
    seen.append(measured())
    return len(seen) > 10 and len(set(seen[-10:])) == 1


async def test_pings_cost_nothing_to_a_node_whose_pongs_are_not_read() -> None:
    async with node(limits=Limits(unread_seconds=PATIENCE)) as there, talker(there) as one:
        await one.shake()
        one.writer.transport.pause_reading()  # type: ignore[attr-defined]
        (connection,) = there.server._connections
        for _ in range(500):
            one.say(frame(PING, 0) * 20_000)
            await asyncio.sleep(0)
            if connection._is_paused:
                break
        await until(lambda: connection._is_paused, "the pongs are not read")
        one.say(frame(PING, 0) * 20_000)
        await until(lambda: one.writer.transport.get_write_buffer_size() == 0, "all pings are sent")
        assert connection._transport.get_write_buffer_size() < 2_000_000


async def test_who_is_silent_is_asked_and_given_up() -> None:
    async with node(limits=Limits(ping_seconds=0.05)) as there, talker(there) as one:
        await one.shake()
        assert await one.hear() == (PING, 0, b"")
        assert await one.hear() is None
        await until(lambda: not there.server.peers, "it is given up")


async def test_who_answers_pings_is_kept() -> None:
    async with node(limits=Limits(ping_seconds=3600)) as there, talker(there) as one:
        await one.shake()
        await answers(one)
        (connection,) = there.server._connections
        connection._tick()
        for _ in range(4):
            connection._tick()
            assert await one.hear() == (PING, 0, b"")
            one.say(frame(PONG, 0))
            await until(lambda: not connection._is_silent, "the pong is heard")
            connection._tick()
        await answers(one)


async def test_who_is_not_listened_to_is_not_given_up() -> None:
    gate, limits = Gate(), Limits(ping_seconds=3600, frame_seconds=3600, most_open=1)
    async with node(gate, limits=limits) as there, talker(there) as one:
        await one.shake()
        (connection,) = there.server._connections
        one.say(frame(REQUEST, 1, b"a") + frame(REQUEST, 2, b"b") + frame(REQUEST, 3, b"c")[:-1])
        await until(lambda: connection._is_reading_paused, "the second waits")
        for _ in range(4):
            connection._tick()
            connection._since -= 7200
            connection._unfinished()
        assert not connection._is_over
        one.say(b"c")
        gate.open.set()
        assert [(await one.hear() or (0, 0))[1] for _ in range(3)] == [1, 2, 3]


async def test_at_the_end_what_is_handled_is_answered_and_what_comes_then_is_declined() -> None:
    gate = Gate()
    async with contextlib.AsyncExitStack() as stack:
        there = await stack.enter_async_context(node(gate))
        one, silent = [await stack.enter_async_context(talker(there)) for _ in range(2)]
        await one.shake()
        one.say(frame(REQUEST, 1, b"begun"))
        await until(lambda: gate.begun, "the first is being handled")
        closing = asyncio.create_task(there.server.close())
        assert await one.hear() == (BYE, 0, b"")
        assert await silent.hear() is None
        one.say(frame(REQUEST, 2, b"too late"))
        heard = await one.hear()
        assert heard is not None and heard[:2] == (REFUSAL, 2) and "not begun" in refusal_of(heard[2]).text
        gate.open.set()
        assert await one.hear() == (ANSWER, 1, b"begun")
        assert await one.hear() is None
        await soon(closing)
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", there.server.port)


async def test_at_the_end_what_takes_too_long_is_ended_and_told() -> None:
    gate = Gate()
    async with contextlib.AsyncExitStack() as stack:
        there = await stack.enter_async_context(node(gate, limits=Limits(closing_seconds=0.2, most_open=1)))
        one = await stack.enter_async_context(talker(there))
        await one.shake()
        one.say(frame(REQUEST, 1, b"never") + frame(REQUEST, 2, b"waits"))
        await until(lambda: gate.begun, "the first is being handled")
        await soon(there.server.close())
        heard = [await one.hear() for _ in range(3)]
        told = {each[1]: refusal_of(each[2]).text for each in heard if each is not None and each[0] == REFUSAL}
        assert "may not be done" in told[1] and "not begun" in told[2]
        assert (BYE, 0, b"") in heard
        assert await one.hear() is None


async def test_whatever_is_said_nothing_fails_and_others_are_served() -> None:
    told: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
    random = Random(1)
    said = b"".join(frame(kind, number, b"x" * number) for kind in KINDS for number in (0, 1, 2, 300))
    async with node() as there:
        for attempt in range(examples(60)):
            async with talker(there) as one:
                if attempt % 2:
                    await one.shake()
                one.say(_spoilt(random, Handshake("caller", KEY, HERE, NONCE).begin() + said))
                if attempt % 3:
                    one.writer.write_eof()
                    while await one.hear() is not None:
                        pass
        await serves(there)
        await until(lambda: not there.server._connections and not there.unproven, "nothing is left of them")
    assert told == []


def _spoilt(random: Random, octets: bytes) -> bytes:
    spoilt = bytearray(octets[random.randrange(len(octets)) :] if random.random() < 0.3 else octets)
    for _ in range(random.randrange(4)):
        spoilt[random.randrange(len(spoilt))] = random.randrange(256)
    return bytes(spoilt[: random.randrange(len(spoilt) + 1)] if random.random() < 0.3 else spoilt)


async def test_a_host_is_told_of_once_in_a_while() -> None:
    async with node() as there:
        for _ in range(3):
            async with talker(there) as one:
                one.say(b"\xff" * 40)
                await one.refused()
    assert len(there.said) == 1


async def test_a_port_that_is_taken_is_told() -> None:
    async with node() as there:
        second = PeerServer(Gate(), KEY, THERE)
        with pytest.raises(CannotListen):
            await second.start("127.0.0.1", there.server.port)
        await second.close()
