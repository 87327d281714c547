"""What goes wrong for a client."""

# A fault is 400 or 500 in SOAP, whatever it says.
_REFUSED = (400, 404, 410, 500)


class ClientError(Exception):
    """The broker refused, or could not be reached, or was asked for what the dialect lacks; the text says why.

    `status` is that of HTTP: 0 when there was no answer.
    """

    def __init__(self, text: str, status: int = 0) -> None:
        super().__init__(text)
        self.status = status

    @property
    def refused(self) -> bool:
        """The broker took the request and said no; who asks, and how busy it is, are other matters."""
        return self.status in _REFUSED


class Unreachable(ClientError):
    """No answer came: trying again later may help."""


class BadSignature(ClientError):
    """The message did not come from who shares the secret, or not now; the text says which."""
