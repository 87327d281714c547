"""A link to one node, whatever that node does."""

import asyncio
import contextlib
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from tests.wire.peers.talking import (
    HERE,
    KEY,
    OTHER_KEY,
    PATIENCE,
    THERE,
    Gate,
    Talker,
    failure,
    impostor,
    node,
    soon,
    until,
)

from tocsin.model.refusal import Refusal
from tocsin.wire.peer_messages import BadKey, encode
from tocsin.wire.peers.calling import PeerUnreachable
from tocsin.wire.peers.client import CLOSED, MOST_NOTES, Patience, PeerLink
from tocsin.wire.peers.connection import Limits
from tocsin.wire.peers.frames import ANSWER, BYE, HELLO, LAST_STREAM, PROOF, REFUSAL, REQUEST, frame, head
from tocsin.wire.peers.handshake import MAGIC, Hello, declined

AGES = Patience(first=3600.0, last=3600.0)  # of back-off
IMPATIENT = Patience(first=0.001, last=0.001, brief=0.0)


@contextlib.asynccontextmanager
async def link(address: str, key: bytes = KEY, **told: Any) -> AsyncIterator[PeerLink]:
    made = PeerLink(address, key, HERE, **{"patience": IMPATIENT, **told})
    try:
        yield made
    finally:
        await soon(made.close())


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def test_many_are_under_way_on_one_connection() -> None:
    gate = Gate()
    async with node(gate) as there, link(there.address) as to:
        tasks = [asyncio.create_task(to.request(b"%d" % number, PATIENCE)) for number in range(100)]
        await until(lambda: len(gate.begun) == 100, "all are being handled")
        assert there.server.peers == [HERE] and to.peer == THERE and to.is_open and not to.is_idle
        gate.open.set()
        assert await soon(asyncio.gather(*tasks)) == [b"%d" % number for number in range(100)]
        assert to.is_idle


async def test_requests_of_one_turn_leave_together() -> None:
    written: list[int] = []
    async with node() as there, link(there.address) as to:
        await to.request(b"first", PATIENCE)
        assert to._connection is not None
        write = to._connection._write
        to._connection._write = lambda octets: (written.append(len(octets)), write(octets))[1]  # type: ignore[func-returns-value, method-assign]
        bodies = [b"x" * 100, b"y" * 100, b"z" * 200_000, b"w" * 100]
        assert await soon(asyncio.gather(*(to.request(body, PATIENCE) for body in bodies))) == [
            b"here " + body for body in bodies
        ]
    assert written[:3] == [3 * 9 + 200, 200_000, 109]


@pytest.mark.parametrize("length", [0, 1, 70_000, 3_000_000])
async def test_bodies_of_every_size(length: int) -> None:
    async with node() as there, link(there.address) as to:
        body = bytes(range(256)) * (length // 256 + 1)
        assert await soon(to.request(body[:length], PATIENCE)) == b"here " + body[:length]


async def test_the_other_nodes_refusal_is_raised_here() -> None:
    async def handle(name: str, body: bytes) -> bytes:
        raise Refusal("unknown-topic", f"{name} asks for what is not there")

    async with node(handle) as there, link(there.address) as to:
        with pytest.raises(Refusal, match="here asks for what is not there") as raised:
            await soon(to.request(b"x", PATIENCE))
        assert raised.value.reason == "unknown-topic"


async def test_what_is_too_large_is_not_sent() -> None:
    async with node() as there, link(there.address, limits=Limits(most_bytes=1000)) as to:
        with pytest.raises(Refusal, match="1000 are the most"):
            await to.request(b"x" * 1001, PATIENCE)
        with pytest.raises(Refusal, match="1000 are the most"):
            to.note(b"x" * 1001)
        assert len(await soon(to.request(b"x" * 990, PATIENCE))) == 995


async def test_who_does_not_answer_in_time_is_not_waited_for_and_may_still_answer() -> None:
    gate = Gate()
    async with node(gate) as there, link(there.address) as to:
        first = asyncio.create_task(to.request(b"slow", PATIENCE))
        await until(lambda: gate.begun, "it is connected")
        problem = await failure(to.request(b"slower", 0.05))
        assert problem.sent and "did not answer within" in str(problem) and there.address in str(problem)
        gone = asyncio.create_task(to.request(b"gone", PATIENCE))
        await until(lambda: len(gate.begun) == 3, "all have come")
        gone.cancel()
        gate.open.set()
        assert await soon(first) == b"slow"
        assert await soon(to.request(b"next", PATIENCE)) == b"next"
        await until(lambda: to.is_idle, "late answers are taken")


async def test_nobody_there_is_told_in_words() -> None:
    said: list[str] = []
    async with link(f"127.0.0.1:{free_port()}", report=said.append) as to:
        problem = await failure(to.request(b"x", PATIENCE))
        assert "cannot be connected to" in str(problem) and not problem.sent
        assert str(to.trouble) == str(problem)
        await failure(to.request(b"x", PATIENCE))
    assert len(said) == 1 and "cannot be connected to" in said[0]


@pytest.mark.parametrize("address", ["nonsense", "127.0.0.1", "127.0.0.1:0", "a b:1", "127.0.0.1:99999", ""])
async def test_an_address_that_is_none_is_told_in_words(address: str) -> None:
    async with link(address) as to:
        problem = await failure(to.request(b"x", PATIENCE))
        assert re.match(r"the address|port 0", problem.text) and not problem.sent


async def test_a_key_that_can_be_guessed_is_refused_at_once() -> None:
    with pytest.raises(BadKey):
        PeerLink("127.0.0.1:1", b"short", HERE)


async def test_another_key_is_told_at_both_sides() -> None:
    said: list[str] = []
    async with node() as there, link(there.address, OTHER_KEY, report=said.append) as to:
        problem = await failure(to.request(b"x", PATIENCE))
        assert "ring.key_file must be the same" in str(problem) and not problem.sent
        assert "ring.key_file must be the same" in there.said[0]
    assert "ring.key_file must be the same" in said[0]


async def test_the_key_can_be_put_right() -> None:
    async with node() as there, link(there.address, OTHER_KEY) as to:
        await failure(to.request(b"x", PATIENCE))
        to._key = KEY
        assert await soon(to.request(b"x", PATIENCE)) == b"here x"
        assert to.trouble is None


Act = Callable[[Talker], Awaitable[None]]


async def _version(one: Talker) -> None:
    await one.hear()
    one.say(frame(HELLO, 0, MAGIC + encode(Hello(2, "9.9", "newer", "", b"m" * 32))))
    assert "version 2 (Tocsin 9.9)" in await one.refused()


async def _no_key(one: Talker) -> None:
    await one.hear()
    one.say(frame(HELLO, 0, MAGIC + encode(Hello(1, "0.1", "liar", "", b"m" * 32))))
    await one.hear()
    one.say(frame(PROOF, 0, b"\0" * 32))
    assert "ring.key_file" in await one.refused()


async def _reflect(one: Talker) -> None:
    while octets := await one.reader.read(1 << 16):
        one.say(octets)


async def _reflect_proof(one: Talker) -> None:
    await one.hear()
    one.say(frame(HELLO, 0, MAGIC + encode(Hello(1, "0.1", "mirror", "", b"m" * 32))))
    heard = await one.hear()
    assert heard is not None and heard[0] == PROOF
    one.say(frame(*heard))
    await one.refused()


async def _garbage(one: Talker) -> None:
    one.say(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    await one.reader.read()


async def _close(one: Talker) -> None:
    await one.hear()


async def _silence(one: Talker) -> None:
    await one.reader.read()


async def _turned_away(one: Talker) -> None:
    one.say(frame(REFUSAL, 0, declined(Refusal("overloaded", "too many\x1b[2J"))))
    await one.reader.read()


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (_version, "version 2 (Tocsin 9.9)"),
        (_no_key, "ring.key_file must be the same"),
        (_reflect, "said back"),
        (_reflect_proof, "ring.key_file must be the same"),
        (_garbage, "not a node of a ring"),
        (_close, "do both nodes use TLS"),
        (_silence, "handshake did not end within 0.2 seconds"),
        (_turned_away, "it says: too many?[2J"),
    ],
)
async def test_who_is_no_node_of_this_ring_gets_nothing_and_is_told_of(act: Act, words: str) -> None:
    heard: list[bytes] = []

    async def acted(one: Talker) -> None:
        read = one.reader.read

        async def overheard(n: int = -1) -> bytes:
            heard.append(await read(n))
            return heard[-1]

        one.reader.read = overheard  # type: ignore[method-assign]
        await act(one)

    seconds = 0.2 if act is _silence else 5.0
    async with impostor(acted) as address, link(address, limits=Limits(handshake_seconds=seconds)) as to:
        problem = await failure(to.request(b"the secret", PATIENCE))
        assert words in str(problem) and not problem.sent
    assert b"the secret" not in b"".join(heard)


def proven(act: Act) -> Act:
    async def acted(one: Talker) -> None:
        await one.shake("answerer", me=THERE)
        await act(one)

    return acted


async def _never_asked(one: Talker) -> None:
    await one.hear()
    one.say(frame(ANSWER, 999, b"x"))
    assert "never asked" in await one.refused()


async def _refuses_what_was_never_asked(one: Talker) -> None:
    await one.hear()
    one.say(frame(REFUSAL, 4, declined(Refusal("malformed", "x"))))
    assert "never asked" in await one.refused()


async def _announces(one: Talker) -> None:
    await one.hear()
    one.say(head(ANSWER, 1, 0xFFFFFFFF))
    assert "are the most" in await one.refused()


async def _asks(one: Talker) -> None:
    await one.hear()
    one.say(frame(REQUEST, 1, b"x"))
    assert "a request came where an answer must come" in await one.refused()


async def _cut(one: Talker) -> None:
    await one.hear()
    one.say(frame(ANSWER, 1, b"x" * 100)[:50])
    await one.writer.drain()


async def _late(one: Talker) -> None:
    await one.hear()
    one.say(frame(ANSWER, 1, b"x" * 100)[:50])
    assert "did not come whole" in await one.refused()


async def _refuses(one: Talker) -> None:
    await one.hear()
    one.say(frame(REFUSAL, 0, declined(Refusal("malformed", "you talk nonsense"))))
    await one.reader.read()


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (_never_asked, "never asked"),
        (_refuses_what_was_never_asked, "never asked"),
        (_announces, "a frame of 4294967295 bytes was announced"),
        (_asks, "a request came where an answer must come"),
        (_cut, "connection"),
        (_late, "a frame did not come whole within 0.1 seconds"),
        (_refuses, "you talk nonsense"),
    ],
)
async def test_what_was_asked_fails_at_once_when_the_connection_does(act: Act, words: str) -> None:
    limits = Limits(frame_seconds=0.1 if act is _late else 30.0)
    async with impostor(proven(act)) as address, link(address, limits=limits, patience=AGES) as to:
        asked = [asyncio.create_task(failure(to.request(b"x", PATIENCE))) for _ in range(3)]
        for problem in await soon(asyncio.gather(*asked)):
            assert words in str(problem) and problem.sent
        assert not to.is_open


async def test_a_second_answer_is_about_nothing() -> None:
    async def act(one: Talker) -> None:
        heard = await one.hear()
        assert heard is not None
        one.say(frame(ANSWER, heard[1], b"first"))
        one.say(frame(ANSWER, heard[1], b"second"))
        assert "never asked" in await one.refused()

    async with impostor(proven(act)) as address, link(address) as to:
        assert await soon(to.request(b"x", PATIENCE)) == b"first"
        await until(lambda: not to.is_open, "the connection is given up")
        assert "never asked" in str(to.trouble)


async def test_nothing_is_asked_twice() -> None:
    heard: list[bytes] = []

    async def act(one: Talker) -> None:
        asked = await one.hear()
        heard.append(asked[2] if asked else b"")

    async with impostor(proven(act)) as address, link(address) as to:
        assert (await failure(to.request(b"once", PATIENCE))).sent
        assert (await failure(to.request(b"another", PATIENCE))).sent
    assert heard == [b"once", b"another"]


async def test_who_never_reads_makes_those_wait_who_ask() -> None:
    stop = asyncio.Event()

    async def act(one: Talker) -> None:
        one.writer.transport.pause_reading()  # type: ignore[attr-defined]
        await stop.wait()

    async with impostor(proven(act)) as address:
        async with link(address, limits=Limits(unread_seconds=3600), patience=AGES) as to:
            tasks = [asyncio.create_task(failure(to.request(bytes(1_000_000), PATIENCE))) for _ in range(200)]
            await until(lambda: to._connection is not None and to._connection._is_paused, "no more can be written")
            assert to._connection is not None
            assert to._connection._transport.get_write_buffer_size() < 20_000_000
            assert not to.note(b"x")
            assert not (await failure(to.request(b"x", 0.01))).sent
            to._connection._unread()
            problems = await soon(asyncio.gather(*tasks))
            assert {each.sent for each in problems} == {True, False}
        stop.set()


async def test_no_more_than_some_are_under_way_and_none_is_forgotten() -> None:
    most, handled = 0, 0

    async def handle(name: str, body: bytes) -> bytes:
        nonlocal most, handled
        handled += 1
        most = max(most, handled)
        await asyncio.sleep(0)
        handled -= 1
        return body

    async with node(handle) as there, link(there.address, limits=Limits(most_open=8)) as to:
        bodies = [b"%d" % number for number in range(1000)]
        assert await soon(asyncio.gather(*(to.request(body, PATIENCE) for body in bodies))) == bodies
    assert 0 < most <= 8


async def test_streams_begin_anew_and_pass_by_those_that_are_under_way() -> None:
    gate = Gate()
    async with node(gate) as there, link(there.address) as to:
        first = asyncio.create_task(to.request(b"first", PATIENCE))
        await until(lambda: gate.begun, "it is connected")
        assert to._connection is not None and list(to._connection._pending) == [1]
        to._connection._last = LAST_STREAM - 1
        rest = [asyncio.create_task(to.request(b"%d" % number, PATIENCE)) for number in range(3)]
        await until(lambda: len(gate.begun) == 4, "all have come")
        assert list(to._connection._pending) == [1, LAST_STREAM, 2, 3]
        gate.open.set()
        assert await soon(asyncio.gather(first, *rest)) == [b"first", b"0", b"1", b"2"]


async def test_a_link_is_opened_again_after_the_server_was_restarted() -> None:
    async with node() as there, link(there.address) as to:
        assert await soon(to.request(b"1", PATIENCE)) == b"here 1"
        port = there.server.port
        await there.server.close()
        await until(lambda: not to.is_open, "the end is seen")
        assert not (await failure(to.request(b"2", PATIENCE))).sent
        async with node(port=port) as again:
            assert await soon(to.request(b"3", PATIENCE)) == b"here 3"
            assert again.met == [HERE]


async def test_what_a_server_that_is_stopped_still_handles_is_answered() -> None:
    gate = Gate()
    async with node(gate) as there, link(there.address, patience=AGES) as to:
        first = asyncio.create_task(to.request(b"begun", PATIENCE))
        await until(lambda: gate.begun, "it is being handled")
        closing = asyncio.create_task(there.server.close())
        await until(lambda: not to.is_open, "the bye is heard")
        assert not (await failure(to.request(b"next", PATIENCE, patient=False))).sent
        gate.open.set()
        assert await soon(first) == b"begun"
        await soon(closing)


@pytest.mark.parametrize(
    "last",
    [frame(BYE, 0), frame(REFUSAL, 0, declined(Refusal("overloaded", "too many")))],
    ids=["bye", "refusal"],
)
async def test_who_leaves_in_one_breath_with_its_proof_is_connected_to_again(last: bytes) -> None:
    met = 0

    async def act(one: Talker) -> None:
        nonlocal met
        met += 1
        say = one.say
        if met == 1:
            one.say = lambda octets: say(octets + last if octets[4:5] == bytes([PROOF]) else octets)  # type: ignore[method-assign]
        await one.shake("answerer", me=THERE)
        while (heard := await one.hear()) is not None:
            say(frame(ANSWER, heard[1], b"there"))

    async with impostor(act) as address, link(address) as to:
        problem = await failure(to.request(b"x", PATIENCE))
        assert re.search("stopped|too many", str(problem)) and not problem.sent
        assert await soon(to.request(b"x", PATIENCE)) == b"there"


async def test_after_bye_nothing_more_is_asked_on_that_connection() -> None:
    talkers: list[Talker] = []

    async def act(one: Talker) -> None:
        talkers.append(one)
        first = await one.hear()
        assert first is not None
        if len(talkers) == 1:
            one.say(frame(BYE, 0))
            await until(lambda: len(talkers) == 2, "another connection is opened")
        one.say(frame(ANSWER, first[1], b"%d" % talkers.index(one)))
        await one.reader.read()

    async with impostor(proven(act)) as address, link(address) as to:
        first = asyncio.create_task(to.request(b"x", PATIENCE))
        await until(lambda: talkers and to._connections and not to.is_open, "bye is heard")
        assert await soon(to.request(b"y", PATIENCE)) == b"1"
        assert await soon(first) == b"0"
        await until(lambda: len(to._connections) == 1, "the first connection is closed")


async def test_who_waits_out_a_back_off_is_woken_when_the_node_is_heard_of() -> None:
    port = free_port()
    async with link(f"127.0.0.1:{port}", patience=AGES) as to:
        await failure(to.request(b"x", PATIENCE))
        patient = [asyncio.create_task(to.request(b"%d" % number, PATIENCE)) for number in range(3)]
        listening = asyncio.create_task(to.until_heard(PATIENCE))
        impatient = await failure(to.request(b"x", PATIENCE, patient=False))
        assert "cannot be connected to" in str(impatient) and not to.is_idle
        assert "cannot be connected to" in str(await failure(to.request(b"x", 0.02)))
        async with node(port=port):
            to.heard()
            assert await soon(asyncio.gather(*patient)) == [b"here 0", b"here 1", b"here 2"]
            assert await soon(listening) is True


async def test_who_waits_to_hear_of_a_node_is_woken_by_an_answer() -> None:
    async with node() as there, link(there.address) as to:
        await soon(to.request(b"x", PATIENCE))
        listening = asyncio.create_task(to.until_heard(PATIENCE))
        await asyncio.sleep(0)
        await soon(to.request(b"x", PATIENCE))
        assert await soon(listening) is True
        assert await to.until_heard(0.01) is False


async def test_the_wait_grows_up_to_a_bound_and_one_success_that_lasts_ends_it() -> None:
    async with link(f"127.0.0.1:{free_port()}", patience=Patience(first=0.01, last=0.05)) as to:
        waits = []
        for _ in range(6):
            to._again_at = 0.0
            await failure(to.request(b"x", PATIENCE))
            waits.append(to._again_at - asyncio.get_running_loop().time())
        assert to._failures == 6 and max(waits) <= 0.05
        to._failures = 5000
        to._again_at = 0.0
        await failure(to.request(b"x", PATIENCE))
        to.heard()
        assert to._failures == 0


async def test_who_lets_in_and_hangs_up_is_left_alone_for_longer_each_time() -> None:
    async def act(one: Talker) -> None:
        await one.hear()

    patience = Patience(first=0.001, last=3600.0, brief=3600.0)
    async with impostor(proven(act)) as address, link(address, patience=patience) as to:
        for failures in range(1, 5):
            assert (await failure(to.request(b"x", PATIENCE))).sent
            assert to._failures == failures


async def test_notes_wait_for_the_connection_and_are_handled() -> None:
    seen: list[bytes] = []

    async def handle(name: str, body: bytes) -> bytes:
        seen.append(body)
        return b""

    async with node(handle) as there, link(there.address) as to:
        assert all(to.note(b"%d" % number) for number in range(MOST_NOTES))
        assert not to.note(b"one too many")
        await until(lambda: len(seen) == MOST_NOTES, "all have come")
        assert to.note(b"one more")
        await until(lambda: len(seen) == MOST_NOTES + 1, "it has come")
    assert seen == [b"%d" % number for number in range(MOST_NOTES)] + [b"one more"]


async def test_notes_to_nobody_are_lost() -> None:
    async with link(f"127.0.0.1:{free_port()}", patience=AGES) as to:
        assert to.note(b"x")
        await until(lambda: to.trouble, "nobody is there")
        assert to._notes == []


async def test_what_is_under_way_fails_when_the_link_is_closed_and_the_other_node_hears_bye() -> None:
    heard: list[object] = []

    async def act(one: Talker) -> None:
        while (said := await one.hear()) is not None:
            heard.append(said[0])

    async with impostor(proven(act)) as address, link(address) as to:
        asked = asyncio.create_task(failure(to.request(b"x", PATIENCE)))
        await until(lambda: heard, "it is asked")
        await soon(to.close())
        problem = await soon(asked)
        assert problem.sent and CLOSED in str(problem)
        later = await failure(to.request(b"x", PATIENCE))
        assert not later.sent and CLOSED in str(later)
        assert not to.note(b"x") and await to.until_heard(0.01) is False
        await until(lambda: heard == [REQUEST, BYE], "bye is heard")


@pytest.mark.parametrize("turns", [0, 1, 50])
async def test_a_link_that_is_closed_while_it_is_opened_tells_all_who_wait(turns: int) -> None:
    async with impostor(_silence) as address, link(address) as to:
        asked = [asyncio.create_task(failure(to.request(b"x", PATIENCE))) for _ in range(3)]
        for _ in range(turns):
            await asyncio.sleep(0.001)
        await soon(to.close())
        assert all(CLOSED in str(each) for each in await soon(asyncio.gather(*asked)))


async def test_a_link_that_is_closed_in_a_back_off_tells_all_who_wait() -> None:
    async with link(f"127.0.0.1:{free_port()}", patience=AGES) as to:
        await failure(to.request(b"x", PATIENCE))
        asked = asyncio.create_task(failure(to.request(b"x", PATIENCE)))
        listening = asyncio.create_task(to.until_heard(PATIENCE))
        await asyncio.sleep(0.01)
        await soon(to.close())
        assert CLOSED in str(await soon(asked))
        assert await soon(listening) is False


async def test_a_node_that_is_silent_is_asked_and_given_up() -> None:
    async def act(one: Talker) -> None:
        await one.reader.read()

    limits = Limits(ping_seconds=0.05)
    async with impostor(proven(act)) as address, link(address, limits=limits, patience=AGES) as to:
        problem = await failure(to.request(b"x", PATIENCE))
        assert problem.sent and "silent for 0.1 seconds" in str(problem)


async def test_a_node_that_answers_pings_is_not_given_up() -> None:
    gate = Gate()
    async with node(gate) as there, link(there.address, limits=Limits(ping_seconds=3600)) as to:
        asked = asyncio.create_task(to.request(b"x", PATIENCE))
        await until(lambda: gate.begun, "it is being handled")
        assert to._connection is not None
        connection = to._connection
        connection._tick()
        for _ in range(4):
            connection._tick()
            await until(lambda: not connection._is_silent, "a pong is heard")
            connection._tick()
        gate.open.set()
        assert await soon(asked) == b"x"


def test_it_is_told_whether_it_was_sent() -> None:
    problem = PeerUnreachable("h:1", "why", sent=True)
    assert (str(problem), problem.address, problem.text, problem.sent) == ("h:1: why", "h:1", "why", True)
