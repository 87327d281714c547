"""What came of one HTTP request."""

from msgspec import Struct

from tocsin.model.identity import Pairs


class Answer(Struct, frozen=True, gc=False):
    """Status 0 is no answer, `error` says why. `refused` is a request that was never made and never will be."""

    status: int
    body: bytes = b""
    headers: Pairs = ()
    error: str = ""
    seconds: float = 0.0
    retry_after: float = 0.0
    refused: bool = False
