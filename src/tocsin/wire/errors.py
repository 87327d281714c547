"""What can go wrong on the wire."""


class WireError(Exception):
    """The root of this folder's errors."""


class BadAddress(WireError):
    """An address nothing may be sent to; the text says why."""
