"""How a client reaches its broker: address, credentials, trust."""

import base64
import contextlib
import os
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TypedDict

from msgspec import Struct

from tocsin.client.answers import checked
from tocsin.client.errors import ClientError
from tocsin.mediation import times
from tocsin.mediation.soap import soap
from tocsin.mediation.soap.security import security_header
from tocsin.model.identity import Instant, Pairs
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient
from tocsin.wire.tls import BadTrust, Trust

LONGEST_ANSWER = 64 << 20  # pages of the API are longer than what a consumer may answer
_NONCE_BYTES = 16
_MISSING = "tocsin-missing"
_QUIET_SECONDS = 60.0  # without a word from a stream, which says that it is alive four times as often


class Access(TypedDict, total=False):
    """Who asks, and over TLS whom to believe.

    `user` and `password` are shown as HTTP Basic, with `digest` in the header of WS-Security; `token` as Bearer.
    `ca_file` names the authorities to believe, `client_cert` and `client_key` what to show, in PEM.
    """

    user: str
    password: str
    token: str
    digest: bool
    ca_file: Path | str | None
    client_cert: Path | str | None
    client_key: Path | str | None


class Credentials(Struct, frozen=True):
    """A token, or a name and a password: with `digest` in the SOAP header of WS-Security, else as HTTP Basic."""

    user: str = ""
    password: str = ""
    token: str = ""
    digest: bool = False

    def __repr__(self) -> str:
        return f"Credentials({self.user!r})"

    def headers(self) -> Pairs:
        return () if self.digest else authorization_headers(self.user, self.password, self.token)

    def signed(self, envelope: bytes) -> bytes:
        """The envelope with a UsernameToken, which holds once and for a short time."""
        if not self.digest:
            return envelope
        created = times.timestamp(now())
        block = security_header(self.user, self.password, os.urandom(_NONCE_BYTES), created)
        return envelope.replace(soap.BETWEEN, block + soap.BETWEEN, 1)


class Connection:
    """The HTTP client is made with the first request, so that a `Client` can be made before there is a loop."""

    def __init__(self, broker: str, access: Access, http: HttpClient | None = None) -> None:
        shown = (access.get("user", ""), access.get("password", ""), access.get("token", ""))
        self.broker, self._credentials = broker.rstrip("/"), Credentials(*shown, digest=access.get("digest", False))
        self._trust = trust_of(access.get("ca_file"), access.get("client_cert"), access.get("client_key"))
        self._http, self._own = http, http is None
        self.missing: dict[str, None] = {}  # nodes of a ring whose part was not in an answer
        try:
            self._trust.check()
        except BadTrust as problem:
            raise ClientError(str(problem)) from None

    async def close(self) -> None:
        if self._own and self._http is not None:
            await self._http.close()
            self._http = None

    async def request(self, method: str, url: str, headers: Pairs = (), body: bytes = b"") -> Answer:
        answer = checked(await self._client().request(method, url, headers + self._credentials.headers(), body))
        self.missing |= {
            each: None for name, said in answer.headers if name.lower() == _MISSING for each in said.split(", ")
        }
        return answer

    async def request_elsewhere(self, method: str, url: str, headers: Pairs = (), body: bytes = b"") -> Answer:
        """At an address that somebody told us: nobody there is shown who we are."""
        return checked(await self._client().request(method, url, headers, body))

    async def stream(self, url: str) -> AsyncGenerator[bytes]:
        """The pieces of an answer as they come, until it ends."""
        headers: Pairs = (("Accept", "text/event-stream"), *self._credentials.headers())
        async with contextlib.aclosing(self._client().stream(url, headers, patience=_QUIET_SECONDS)) as pieces:
            async for piece in pieces:
                if isinstance(piece, Answer):
                    checked(piece)
                    return
                yield piece

    async def post_soap(self, url: str, headers: Pairs, body: bytes) -> Answer:
        return await self.request("POST", url, headers, self._credentials.signed(body))

    def _client(self) -> HttpClient:
        if self._http is None:
            self._http = HttpClient(max_body=LONGEST_ANSWER, trust=self._trust)
        return self._http


def authorization_headers(user: str = "", password: str = "", token: str = "") -> Pairs:
    """HTTP Bearer with a token, Basic with a name and a password, nothing without either (RFC 6750, RFC 7617)."""
    if token:
        return (("Authorization", f"Bearer {token}"),)
    if not user:
        return ()
    written = base64.b64encode(f"{user}:{password}".encode()).decode()
    return (("Authorization", f"Basic {written}"),)


def trust_of(ca_file: Path | str | None, client_cert: Path | str | None, client_key: Path | str | None) -> Trust:
    return Trust(*(None if each is None else Path(each) for each in (ca_file, client_cert, client_key)))


def now() -> Instant:
    return Instant(time.time_ns())
