"""What a client shows of who it is."""

import base64

from tocsin.model.identity import Pairs


def authorization_headers(user: str = "", password: str = "", token: str = "") -> Pairs:
    """HTTP Bearer with a token, Basic with a name and a password, nothing without either (RFC 6750, RFC 7617)."""
    if token:
        return (("Authorization", f"Bearer {token}"),)
    if not user:
        return ()
    written = base64.b64encode(f"{user}:{password}".encode()).decode()
    return (("Authorization", f"Basic {written}"),)
