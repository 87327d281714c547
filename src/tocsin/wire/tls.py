"""TLS at our doors: the server's certificate, and whom a client's certificate names."""

import asyncio
import contextlib
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
    name = common_name(connection.getpeercert() or {})
    return {"tls": {"tls_version": connection.version(), "client_common_name": name}}


def common_name(certificate: dict[str, Any]) -> str | None:
    """Of one that has exactly one: which of several is meant nobody can say."""
    parts = (pair for part in certificate.get("subject", ()) for pair in part)
    found = [value for key, value in parts if key == "commonName"]
    return str(found[0]) if len(found) == 1 else None


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
