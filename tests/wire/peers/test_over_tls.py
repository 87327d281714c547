"""The same inside TLS."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.wire.peers.talking import HERE, KEY, OTHER_KEY, PATIENCE, Gate, failure, node, soon, talker, until
from tests.wire.test_trust import Authority

from tocsin.wire.peers.client import Patience, PeerLink
from tocsin.wire.peers.connection import Limits
from tocsin.wire.peers.frames import REQUEST, head
from tocsin.wire.tls import Identity, server_context

IMPATIENT = Patience(first=0.001, last=0.001, brief=0.0)
Files = tuple[Path, Path]


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.made(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture(scope="module")
def served(authority: Authority) -> ssl.SSLContext:
    return server_context(Identity(*authority.sign("server")))


@pytest.fixture(scope="module")
def mutual(authority: Authority) -> ssl.SSLContext:
    certificate, key = authority.sign("server")
    return server_context(Identity(certificate, key, authority.certificate, require_client=True))


@pytest.fixture(scope="module")
def believing(authority: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=str(authority.certificate))


@contextlib.asynccontextmanager
async def link(address: str, key: bytes = KEY, **told: Any) -> AsyncIterator[PeerLink]:
    made = PeerLink(address, key, HERE, **{"patience": IMPATIENT, **told})
    try:
        yield made
    finally:
        await soon(made.close())


async def test_requests_and_their_answers(served: ssl.SSLContext, believing: ssl.SSLContext) -> None:
    async with node(tls=served) as there, link(there.address, tls=believing) as to:
        bodies = [b"%d" % number * 1000 for number in range(300)] + [bytes(5_000_000)]
        assert await soon(asyncio.gather(*(to.request(body, PATIENCE) for body in bodies))) == [
            b"here " + body for body in bodies
        ]
        assert there.met == [HERE]


async def test_the_key_is_proven_there_too(served: ssl.SSLContext, believing: ssl.SSLContext) -> None:
    async with node(tls=served) as there, link(there.address, OTHER_KEY, tls=believing) as to:
        assert "ring.key_file must be the same" in str(await failure(to.request(b"x", PATIENCE)))
        assert "ring.key_file must be the same" in there.said[0]


async def test_a_certificate_that_is_not_believed_is_told_at_both_sides(served: ssl.SSLContext) -> None:
    async with node(tls=served) as there, link(there.address, tls=ssl.create_default_context()) as to:
        problem = await failure(to.request(b"x", PATIENCE))
        assert "TLS was not agreed on" in str(problem) and "certificate" in str(problem).lower()
        await until(lambda: there.said, "the server tells")
        assert "TLS was not agreed on" in there.said[0]
        await until(lambda: there.unproven == 0, "nothing is left of it")


async def test_a_node_may_ask_for_certificates(
    mutual: ssl.SSLContext, believing: ssl.SSLContext, authority: Authority
) -> None:
    shown = ssl.create_default_context(cafile=str(authority.certificate))
    shown.load_cert_chain(*authority.sign("node"))
    async with node(tls=mutual) as there:
        async with link(there.address, tls=shown) as to:
            assert await soon(to.request(b"x", PATIENCE)) == b"here x"
        async with link(there.address, tls=believing) as to:
            assert not (await failure(to.request(b"x", PATIENCE))).sent
        await until(lambda: there.said, "the server tells")


async def test_one_side_with_and_one_without(served: ssl.SSLContext, believing: ssl.SSLContext) -> None:
    async with node() as plain, link(plain.address, tls=believing) as to:
        assert "TLS" in str(await failure(to.request(b"x", PATIENCE)))
        await until(lambda: plain.said, "the server tells")
        assert "set up without it" in plain.said[0]
    async with node(tls=served) as there, link(there.address) as to:
        assert not (await failure(to.request(b"x", PATIENCE))).sent
        await until(lambda: there.said, "the server tells")
        assert "TLS was not agreed on" in there.said[0]


async def test_who_does_not_finish_the_handshake_of_tls_counts_and_is_hung_up_on(served: ssl.SSLContext) -> None:
    limits = Limits(most_unproven=1, handshake_seconds=0.3)
    async with node(tls=served, limits=limits) as there, talker(there) as silent:
        await until(lambda: there.unproven == 1, "it has come")
        async with talker(there) as other:
            assert await other.hear() is None
        assert await silent.hear() is None
        await until(lambda: there.unproven == 0, "nothing is left of it")


async def test_http_and_lies_about_lengths(served: ssl.SSLContext, believing: ssl.SSLContext) -> None:
    async with node(tls=served) as there:
        async with talker(there, believing) as one:
            one.say(b"GET / HTTP/1.1\r\n\r\n")
            assert (await soon(one.reader.read(1 << 16))).startswith(b"HTTP/1.1 400 ")
        async with talker(there, believing) as one:
            await one.shake()
            one.say(head(REQUEST, 1, 0xFFFFFFFF))
            heard = await one.hear()
            assert heard is not None and b"are the most" in heard[2]


async def test_what_is_handled_is_answered_before_the_end_and_a_restart_is_survived(
    served: ssl.SSLContext, believing: ssl.SSLContext
) -> None:
    gate = Gate()
    async with node(gate, tls=served) as there, link(there.address, tls=believing) as to:
        asked = asyncio.create_task(to.request(b"x", PATIENCE))
        await until(lambda: gate.begun, "it is being handled")
        closing = asyncio.create_task(there.server.close())
        await until(lambda: not to.is_open, "the bye is heard")
        gate.open.set()
        assert await soon(asked) == b"x"
        await soon(closing)
        async with node(tls=served, port=there.server.port):
            assert await soon(to.request(b"again", PATIENCE)) == b"here again"


async def test_a_node_is_closed_while_others_are_amid_the_handshake(served: ssl.SSLContext) -> None:
    async with node(tls=served) as there, talker(there):
        await until(lambda: there.unproven == 1, "it has come")
        await soon(there.server.close())
    assert there.unproven == 0
