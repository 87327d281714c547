"""TLS: the certificate of our doors, whom a client's certificate names, and whom we believe when we are the client."""

import asyncio
import contextlib
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from tocsin.wire.addresses import WireError


class BadCertificate(WireError):
    """A certificate or key that cannot be used; the text says which."""


class Identity(Struct, frozen=True):
    """`client_ca` signs the certificates of clients; with `require_client` there is no connection without one."""

    certificate: Path
    key: Path | None = None
    client_ca: Path | None = None
    require_client: bool = False


def server_context(identity: Identity) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    with _named(identity.certificate, identity.key):
        context.load_cert_chain(identity.certificate, identity.key, password=_no_password)
    if identity.client_ca is not None:
        with _named(identity.client_ca):
            context.load_verify_locations(identity.client_ca)
        context.verify_mode = ssl.CERT_REQUIRED if identity.require_client else ssl.CERT_OPTIONAL
    return context


def tls_extensions(transport: asyncio.BaseTransport) -> dict[str, dict[object, object]] | None:
    """For ASGI's `scope["extensions"]`; the name is there only if the certificate was verified."""
    connection = transport.get_extra_info("ssl_object")
    if connection is None:
        return None
    # of one that has exactly one: which of several is meant nobody can say
    parts = (pair for part in (connection.getpeercert() or {}).get("subject", ()) for pair in part)
    found = [value for key, value in parts if key == "commonName"]
    name = str(found[0]) if len(found) == 1 else None
    return {"tls": {"tls_version": connection.version(), "client_common_name": name}}


@contextlib.contextmanager
def _named(*paths: Path | None) -> Iterator[None]:
    """Says which files it was about."""
    try:
        yield
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        shown = " and ".join(str(path) for path in paths if path is not None)
        raise BadCertificate(f"TLS cannot be served with {shown}: {error}") from None


def _no_password() -> str:
    raise ValueError("the key has a password; give one without")


_AUTHORITIES = ssl.get_default_verify_paths().cafile


class BadTrust(WireError):
    """A file of certificates or a key that cannot be used."""


class Trust(Struct, frozen=True):
    """PEM files. The authorities of `ca_file` are believed instead of the system's; the key may stand beside its
    certificate in one file.
    """

    ca_file: Path | None = None
    client_cert: Path | None = None
    client_key: Path | None = None

    def check(self) -> None:
        """At the start rather than with the first message."""
        if self.client_key is not None and self.client_cert is None:
            raise BadTrust(f"{self.client_key} is the key of a client certificate that is not named")
        if self.ca_file is not None:
            _try(self.ca_file, lambda context: context.load_verify_locations(self.ca_file))
        if (certificate := self.client_cert) is not None:
            _try(certificate, lambda context: context.load_cert_chain(certificate, self.client_key, _refuse_password))

    def authorities(self) -> str | None:
        return str(self.ca_file) if self.ca_file is not None else _AUTHORITIES


SYSTEM = Trust()


def _try(path: Path, load: Callable[[ssl.SSLContext], None]) -> None:
    try:
        load(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    except (OSError, ValueError) as problem:
        raise BadTrust(f"{path} cannot be used for deliveries over TLS: {problem}") from None


def _refuse_password() -> str:
    raise ValueError("the key asks for a password, which is not supported")
