"""The JSON API of a broker, as a client asks it: documents are sent, and documents are answered."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import quote, urlencode

import msgspec
from msgspec import Struct

from tocsin.client.answers import decoded
from tocsin.client.calls import Loop, call
from tocsin.client.connection import Connection
from tocsin.client.errors import ClientError
from tocsin.documents.subscriptions import Page
from tocsin.model.identity import Pairs

Way = TypeVar("Way", bound=Loop | None)
Document = TypeVar("Document")
# A document that is no struct of ours: a file, bytes, text or a mapping.
Given = bytes | str | Path | Mapping[str, Any]
JSON = "application/json"
PAGE = 1000
AT_ONCE = 20.0  # seconds that one request waits at the broker; a longer wait is several of them


class Resource(Generic[Way]):
    """Its calls are awaited, or waited for where there is a `Loop`."""

    def __init__(self, connection: Connection, loop: Way) -> None:
        self._connection, self._loop = connection, loop

    async def _ask(
        self,
        kind: type[Document],
        method: str,
        path: str,
        document: object = None,
        media_type: str = JSON,
        headers: Pairs = (),
    ) -> Document:
        """Bytes are sent as they are, anything else as JSON."""
        return decoded(await self._send(method, path, document, media_type, headers), kind)

    async def _send(
        self, method: str, path: str, document: object = None, media_type: str = JSON, headers: Pairs = ()
    ) -> bytes:
        body = document if isinstance(document, bytes) else b"" if document is None else msgspec.json.encode(document)
        said = (("Content-Type", media_type), *headers)
        return (await self._connection.request(method, self._connection.broker + path, said, body)).body

    async def _pages(
        self, kind: type[Document], path: str, limit: int | None = None, **query: object
    ) -> Sequence[Document]:
        """Up to so many; all without a limit."""
        found: list[Document] = []
        after: str | None = None
        while limit is None or len(found) < limit:
            size = PAGE if limit is None else min(PAGE, limit - len(found))
            asked = query if after is None else query | {"after": after}
            page = await self._ask(Page[kind], "GET", with_query(path, limit=size, **asked))  # type: ignore[valid-type]
            found += page.items
            if (after := page.next) is None:
                break
        return found


class Collection(Resource[Way], Generic[Way, Document]):
    """Documents of one kind, each with a name or an id."""

    _path: str
    _kind: type[Document]

    @call
    async def list(self, limit: int | None = None) -> Sequence[Document]:
        """Up to so many; all without a limit."""
        return await self._pages(self._kind, self._path, limit)

    @call
    async def get(self, name: str) -> Document:
        return await self._ask(self._kind, "GET", below(self._path, name))

    @call
    async def remove(self, name: str) -> None:
        await self._send("DELETE", below(self._path, name))


def below(path: str, *names: str) -> str:
    """A name may have any characters, slashes too."""
    return "/".join((path, *(quote(each, safe="") for each in names)))


def with_query(path: str, **query: object) -> str:
    """What is empty, false or None is not said; a number is, whatever it is."""
    said = {name.replace("_", "-"): value for name, value in query.items() if value or type(value) in (int, float)}
    words = {name: "true" if value is True else str(value) for name, value in said.items()}
    return f"{path}?{urlencode(words)}" if words else path


def bytes_of(document: Given | Struct) -> bytes:
    try:
        match document:
            case Path():
                return document.read_bytes()
            case str():
                return document.encode()
            case bytes():
                return document
        return msgspec.json.encode(document)
    except OSError as problem:
        raise ClientError(f"{problem.filename}: {problem.strerror}") from None
