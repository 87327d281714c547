"""Deliveries over TLS, through libcurl, against a real server."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tocsin.wire.addresses import AddressGuard
from tocsin.wire.http_client import HttpClient
from tocsin.wire.server import no_more
from tocsin.wire.tls import BadTrust, Trust

OK = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"


@dataclass(frozen=True)
class Authority:
    """One that signs certificates for loopback, in a folder of its own."""

    folder: Path

    @classmethod
    def made(cls, folder: Path) -> "Authority":
        folder.mkdir()
        authority = cls(folder)
        _openssl(
            "req",
            "-x509",
            *_NEW,
            "-subj",
            f"/CN={folder.name}",
            "-keyout",
            authority.key,
            "-out",
            authority.certificate,
        )
        return authority

    @property
    def key(self) -> Path:
        return self.folder / "ca.key"

    @property
    def certificate(self) -> Path:
        return self.folder / "ca.pem"

    def sign(self, name: str, alternative: str = "IP:127.0.0.1,DNS:localhost") -> tuple[Path, Path]:
        """The certificate and the key of somebody."""
        key, asked, made = (self.folder / f"{name}.{ending}" for ending in ("key", "csr", "pem"))
        extensions = self.folder / f"{name}.ext"
        extensions.write_text(f"subjectAltName={alternative}\n")
        _openssl("req", *_NEW, "-subj", f"/CN={name}", "-keyout", key, "-out", asked)
        issuer = ("-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial")
        _openssl("x509", "-req", "-in", asked, *issuer, "-days", "2", "-extfile", extensions, "-out", made)
        return made, key


_NEW = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


def _openssl(*words: str | Path) -> None:
    subprocess.run(("openssl", *map(str, words)), check=True, capture_output=True, timeout=60)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.made(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.made(tmp_path_factory.mktemp("tls") / "strange")


@asynccontextmanager
async def server(
    certificate: tuple[Path, Path], received: list[bytes], client_authority: Path | None = None
) -> AsyncIterator[int]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    if client_authority is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(client_authority)

    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = int(head.partition("content-length:")[2].partition("\r\n")[0])
                received.append(await reader.readexactly(length))
                writer.write(OK)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
            pass

    opened = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    asyncio.get_running_loop().set_exception_handler(lambda loop, told: None)  # handshakes that fail are meant to
    try:
        yield opened.sockets[0].getsockname()[1]
    finally:
        await no_more(opened)
        for writer in writers:  # not closed politely: that takes a turn of the other side, which is gone
            writer.transport.abort()
        for _ in range(3):
            await asyncio.sleep(0)


@asynccontextmanager
async def client(trust: Trust) -> AsyncIterator[HttpClient]:
    trust.check()
    made = HttpClient(guard=AddressGuard(loopback_allowed=True), trust=trust, timeout=20.0)
    try:
        yield made
    finally:
        await made.close()


async def post(http: HttpClient, url: str, body: bytes = b"hello") -> "tuple[int, str, bool]":
    answered: asyncio.Future[tuple[int, str, bool]] = asyncio.get_running_loop().create_future()
    http.post(
        url, (("Content-Type", "text/plain"),), body, lambda a: answered.set_result((a.status, a.error, a.refused))
    )
    return await asyncio.wait_for(answered, 30)


async def test_a_server_whose_authority_is_named_is_believed(authority: Authority) -> None:
    received: list[bytes] = []
    async with server(authority.sign("server"), received) as port, client(Trust(authority.certificate)) as http:
        for body in (b"one", b"two"):
            assert (await post(http, f"https://127.0.0.1:{port}/in", body))[0] == 202
        assert (await post(http, f"https://localhost:{port}/in", b"three"))[0] == 202
    assert received == [b"one", b"two", b"three"]


async def test_a_server_of_a_strange_authority_is_not_and_time_may_heal_it(
    authority: Authority, stranger: Authority
) -> None:
    received: list[bytes] = []
    async with server(stranger.sign("server"), received) as port:
        for trust in (Trust(authority.certificate), Trust()):
            async with client(trust) as http:
                status, error, refused = await post(http, f"https://127.0.0.1:{port}/in")
                assert (status, refused) == (0, False)
                assert "certificate is not believed" in error and "delivery.ca_file" in error
    assert received == []


async def test_a_certificate_for_another_name_is_not_believed(authority: Authority) -> None:
    received: list[bytes] = []
    certificate = authority.sign("elsewhere", "DNS:elsewhere.example")
    async with server(certificate, received) as port, client(Trust(authority.certificate)) as http:
        status, error, _ = await post(http, f"https://127.0.0.1:{port}/in")
    assert status == 0 and "certificate is not believed" in error
    assert received == []


async def test_we_show_our_own_certificate_to_who_asks_for_it(authority: Authority, tmp_path: Path) -> None:
    received: list[bytes] = []
    mine, key = authority.sign("broker")
    both = tmp_path / "both.pem"
    both.write_bytes(mine.read_bytes() + key.read_bytes())
    trusts = (Trust(authority.certificate, mine, key), Trust(authority.certificate, both))
    async with server(authority.sign("server"), received, authority.certificate) as port:
        url = f"https://127.0.0.1:{port}/in"
        for trust in trusts:
            async with client(trust) as http:
                assert (await post(http, url))[0] == 202
        async with client(Trust(authority.certificate)) as http:
            status, error, refused = await post(http, url)
            assert (status, refused) == (0, False) and error
    assert received == [b"hello"] * 2


def test_files_that_cannot_be_used_are_told_of_at_once(authority: Authority, tmp_path: Path) -> None:
    mine, key = authority.sign("checked")
    _, other = authority.sign("other")
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("nonsense")
    for trust in (
        Trust(tmp_path / "gone.pem"),
        Trust(nonsense),
        Trust(client_cert=nonsense),
        Trust(client_cert=mine),
        Trust(client_cert=mine, client_key=other),
        Trust(client_key=key),
    ):
        with pytest.raises(BadTrust, match=r"\.(pem|key)"):
            trust.check()
    Trust(authority.certificate, mine, key).check()
