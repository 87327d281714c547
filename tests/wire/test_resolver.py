"""Names that resolved before go on while a look-up hangs."""

import asyncio
import threading
from collections.abc import Sequence

from tocsin.wire.addresses import Pin, Resolver


async def found(resolver: Resolver, url: str) -> Pin:
    answered: asyncio.Future[Pin] = asyncio.get_running_loop().create_future()
    resolver.find(url, answered.set_result)
    return await asyncio.wait_for(answered, 60)


async def test_a_hanging_look_up_answers_with_what_was_found_last() -> None:
    hang, release = False, threading.Event()

    def lookup(host: str, port: int) -> Sequence[str]:
        if hang:
            release.wait(10)
        return ["127.0.0.1"]

    resolver = Resolver(lookup, patience=0.05, keep=0.0)
    first = await found(resolver, "http://name.test:80/")
    hang = True
    second = await found(resolver, "http://name.test:80/")
    never = await found(resolver, "http://other.test:80/")
    release.set()
    resolver.close()
    assert not first.error
    assert second == first
    assert "not resolved in time" in never.error


async def test_an_answer_in_time_takes_its_timer_along() -> None:
    """Else the timer of the first wait would cut the next one short."""
    calls, release = 0, threading.Event()

    def lookup(host: str, port: int) -> Sequence[str]:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise OSError("not now")
        release.wait(10)
        return ["127.0.0.1"]

    resolver = Resolver(lookup, patience=0.3, keep=60.0)
    assert "not now" in (await found(resolver, "http://name.test:80/")).error
    assert not resolver._late
    waiting = asyncio.create_task(found(resolver, "http://name.test:80/"))
    await asyncio.sleep(0)
    release.set()
    pin = await waiting
    resolver.close()
    assert not pin.error
