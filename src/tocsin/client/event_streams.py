"""Server-Sent Events, read (HTML s9.2): of each its name and its data; comments and ids are passed over."""

from collections.abc import AsyncGenerator, AsyncIterator

from tocsin.client.errors import ClientError

LONGEST_LINE = 16 << 20


async def lines(pieces: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    rest = b""
    async for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line.removesuffix(b"\r")
        if len(rest) > LONGEST_LINE:
            raise ClientError(f"the stream has a line of more than {LONGEST_LINE} bytes")


async def events(pieces: AsyncIterator[bytes]) -> AsyncGenerator[tuple[str, bytes]]:
    name, data = "", list[bytes]()
    async for line in lines(pieces):
        if not line:
            if data:
                yield name, b"\n".join(data)
            name, data = "", []
        elif line.startswith(b"data:"):
            data.append(line[5:].removeprefix(b" "))
        elif line.startswith(b"event:"):
            name = line[6:].strip().decode(errors="replace")
