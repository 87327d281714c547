"""A process of its own that appends to a log; the tests kill it, or take away its disk."""

import asyncio
import resource
import sys
from pathlib import Path

from tocsin.store.errors import CannotAppend
from tocsin.store.log.log import Log


def record(number: int) -> bytes:
    return b"record %d " % number * (1 + number % 300)


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


async def forever(directory: Path) -> None:
    """Says each offset once it is acknowledged."""
    log = Log.open(directory, segment_bytes=200_000)

    async def caller() -> None:
        while True:
            say(str(await log.append(record(log.next_offset))))

    await asyncio.gather(*(caller() for _ in range(8)))


async def until_full(log: Log) -> tuple[int, str]:
    """How many of a thousand were acknowledged, and why the rest was not."""
    waits = [log.append(record(log.next_offset)) for _ in range(1000)]
    results = await asyncio.gather(*waits, return_exceptions=True)
    reasons = [str(each) for each in results if isinstance(each, CannotAppend)]
    return sum(isinstance(each, int) for each in results), reasons[0] if reasons else ""


async def fill(directory: Path, make_room: str) -> None:
    log = Log.open(directory, segment_bytes=100_000, max_waiting=1 << 30)
    for _ in range(2):
        count, reason = 0, ""
        while not reason:
            more, reason = await until_full(log)
            count += more
        say(f"{log.durable == log.next_offset} {reason}")
    if make_room == "raise the limit":
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    else:
        Path(make_room).unlink()
    say(str(await log.append(record(log.next_offset)) == log.durable - 1))
    await log.close()


def main(task: str, directory: str, room: str = "") -> None:
    if task == "forever":
        asyncio.run(forever(Path(directory)))
    elif task == "limited":
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))
        asyncio.run(fill(Path(directory), "raise the limit"))
    else:
        asyncio.run(fill(Path(directory), room))


if __name__ == "__main__":
    main(*sys.argv[1:])
