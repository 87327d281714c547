"""Whom we believe to be who they say over TLS, and how we show who we are."""

import ssl
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from tocsin.wire.addresses import WireError

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
            _try(certificate, lambda context: context.load_cert_chain(certificate, self.client_key, _no_password))

    def authorities(self) -> str | None:
        return str(self.ca_file) if self.ca_file is not None else _AUTHORITIES


SYSTEM = Trust()


def _try(path: Path, load: Callable[[ssl.SSLContext], None]) -> None:
    try:
        load(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    except (OSError, ValueError) as problem:
        raise BadTrust(f"{path} cannot be used for deliveries over TLS: {problem}") from None


def _no_password() -> str:
    raise ValueError("the key asks for a password, which is not supported")
