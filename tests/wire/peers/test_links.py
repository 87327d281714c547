"""Links to all the nodes of a ring."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.wire.peers.talking import HERE, KEY, PATIENCE, THERE, Gate, echo, failure, node, soon, until

from tocsin.wire.peers.calling import PeerUnreachable
from tocsin.wire.peers.client import CLOSED, Patience
from tocsin.wire.peers.handshake import Member
from tocsin.wire.peers.links import PeerLinks
from tocsin.wire.peers.server import PeerServer


@contextlib.asynccontextmanager
async def links(me: Member = HERE, **told: Any) -> AsyncIterator[PeerLinks]:
    made = PeerLinks(KEY, me, **told)
    try:
        yield made
    finally:
        await soon(made.close())


async def test_each_address_has_one_connection() -> None:
    async with node() as one, node() as other, links() as to:
        asked = [to.request(at.address, b"%d" % number, PATIENCE) for number in range(5) for at in (one, other)]
        assert await soon(asyncio.gather(*asked)) == [b"here %d" % (number // 2) for number in range(10)]
        assert len(to) == 2 and one.met == other.met == [HERE]
        link = to.link(one.address)
        assert link is not None and link.is_open and link.peer == THERE


async def test_notes() -> None:
    gate = Gate()
    gate.open.set()
    async with node(gate) as there, links() as to:
        assert to.note(there.address, b"x")
        await until(lambda: gate.ended == [b"x"], "it has come")


async def test_one_that_is_idle_is_closed_and_one_that_is_used_is_not() -> None:
    gate = Gate()
    async with node() as idle, node(gate) as busy, links(patience=Patience(idle=0.05)) as to:
        await soon(to.request(idle.address, b"x", PATIENCE))
        asked = asyncio.create_task(to.request(busy.address, b"x", PATIENCE))
        listening = asyncio.create_task(to.until_heard("127.0.0.1:9", PATIENCE))
        await until(lambda: gate.begun, "it is being handled")
        await until(lambda: to.link(idle.address) is None, "the idle one is closed")
        await until(lambda: not idle.server.peers, "and its node sees it")
        assert to.link(busy.address) is not None and to.link("127.0.0.1:9") is not None
        to.heard("127.0.0.1:9")
        assert await soon(listening)
        gate.open.set()
        assert await soon(asked) == b"x"
        await until(lambda: len(to) == 0, "all are closed")
        assert await soon(to.request(idle.address, b"again", PATIENCE)) == b"here again"
    assert not idle.said and not busy.said


async def test_who_waits_out_a_back_off_is_woken_when_the_node_connects_to_us() -> None:
    """Two nodes: the second is started after the first has given it up for long."""
    ages = Patience(first=3600.0, last=3600.0)
    async with links(patience=ages) as ours:
        server = PeerServer(echo, KEY, HERE, met=lambda peer: ours.heard(peer.address))
        await server.start("127.0.0.1", 0)
        try:
            async with node() as away:
                address = away.address
            await failure(ours.request(address, b"x", PATIENCE))
            waiting = asyncio.create_task(ours.request(address, b"back?", PATIENCE))
            await asyncio.sleep(0)
            async with node(port=int(address.partition(":")[2])), links(Member("there", address)) as theirs:
                assert await soon(theirs.request(f"127.0.0.1:{server.port}", b"hello", PATIENCE)) == b"there hello"
                assert await soon(waiting) == b"here back?"
        finally:
            await server.close()


async def test_nothing_happens_when_one_is_heard_of_whom_nobody_waits_for() -> None:
    async with links() as to:
        to.heard("127.0.0.1:9")
        assert len(to) == 0


async def test_after_the_end_nobody_is_reached() -> None:
    async with node() as there, links() as to:
        await soon(to.request(there.address, b"x", PATIENCE))
        await soon(to.close())
        with pytest.raises(PeerUnreachable, match=CLOSED):
            await to.request(there.address, b"x", PATIENCE)
        await until(lambda: not there.server.peers, "the connection is closed")
