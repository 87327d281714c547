"""How a client reaches its broker: address, credentials, trust."""

import os
import time
from pathlib import Path

from msgspec import Struct

from tocsin.client.answers import ClientError, checked
from tocsin.client.credentials import authorization_headers
from tocsin.mediation import times
from tocsin.mediation.soap import soap
from tocsin.mediation.soap.security import security_header
from tocsin.model.identity import Instant, Pairs
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient
from tocsin.wire.trust import BadTrust, Trust

LONGEST_ANSWER = 64 << 20  # pages of the API are longer than what a consumer may answer
_NONCE_BYTES = 16


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

    def __init__(self, broker: str, credentials: Credentials, trust: Trust, http: HttpClient | None) -> None:
        self.broker, self._credentials, self._trust = broker.rstrip("/"), credentials, trust
        self._http, self._own = http, http is None
        try:
            trust.check()
        except BadTrust as problem:
            raise ClientError(str(problem)) from None

    async def close(self) -> None:
        if self._own and self._http is not None:
            await self._http.close()
            self._http = None

    async def request(self, method: str, url: str, headers: Pairs = (), body: bytes = b"") -> Answer:
        if self._http is None:
            self._http = HttpClient(max_body=LONGEST_ANSWER, trust=self._trust)
        return checked(await self._http.request(method, url, headers + self._credentials.headers(), body))

    async def post_soap(self, url: str, headers: Pairs, body: bytes) -> bytes:
        return (await self.request("POST", url, headers, self._credentials.signed(body))).body


def trust_of(ca_file: Path | str | None, client_cert: Path | str | None, client_key: Path | str | None) -> Trust:
    return Trust(*(None if each is None else Path(each) for each in (ca_file, client_cert, client_key)))


def now() -> Instant:
    return Instant(time.time_ns())
