"""What is overdue, or cannot be written for its consumer, becomes a dead letter with the reason."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.whole.life import ENGINES, Engine, Life, living
from tests.whole.shell import document, wait_until
from tests.whole.sink import Say, Sink

from tocsin.broker.caller import NODE
from tocsin.flow import flow
from tocsin.mediation.dialects import customise
from tocsin.mediation.times import timestamp
from tocsin.model.identity import after
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Subscription
from tocsin.wire.http_client import HttpClient

pytestmark = [pytest.mark.broker, pytest.mark.parametrize("engine", ENGINES)]


def reasons(life: Life) -> list[tuple[int, str]]:
    return [(each.attempts, each.reason) for each in life.node.dead_letters.page(NODE, 0, 100, None)]


async def test_an_overdue_one_is_not_sent(engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink) -> None:
    async with living(tmp_path, engine, http, sink) as life:
        await life.subscribe("a")
        gone, soon = timestamp(after(life.node.now(), -1)), timestamp(after(life.node.now(), 3600))
        await life.publish(1, expirytime=gone)
        await life.publish(2, expirytime=soon)
        await life.publish(3)
        await wait_until(lambda: life.got("a") == [2, 3], "those of use are told")
        await wait_until(lambda: reasons(life) == [(0, f"overdue: it expired at {gone}")], "the other is kept")
        assert await life.node.dead_letters.redrive(NODE, None) == 1
        await wait_until(lambda: life.got("a") == [2, 3, 1], "who asks for it gets it")
        await wait_until(lambda: not reasons(life), "it is no dead letter any more")


async def test_it_grows_too_old_in_the_queue(engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink) -> None:
    async with living(tmp_path, engine, http, sink, lifetime=0.2, attempts=1000) as life:
        name = await life.subscribe("a")
        await life.publish(1)
        await wait_until(lambda: life.got("a") == [1], "in time")
        await life.api(f"/{name}/pause")
        await life.api(f"/{name}/resume")
        sink.script = lambda received: Say(503)
        await life.publish(2, 3)
        accepted = life.node.now()
        await wait_until(lambda: life.node.now() > after(accepted, 0.3), "time passes")
        sink.script = lambda received: Say()
        await wait_until(lambda: reasons(life), "what had not been made ready is a dead letter")
        ((attempts, reason),) = reasons(life)
        assert attempts == 0 and "is told of for 0.2 s only" in reason
        assert 3 not in life.got("a")


async def test_a_time_that_is_none_is_refused(engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink) -> None:
    async with living(tmp_path, engine, http, sink) as life:
        answer = await life.post(1, expirytime="soon")
        assert answer.status == 400 and "expirytime is 'soon'" in document(answer.body)["detail"]
        assert life.node.journal.log.durable == 0


async def test_what_cannot_be_written_is_a_dead_letter_and_written_again_when_it_can(
    engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sometimes(said: Notification, subscription: Subscription, base_url: str, *written: Any) -> object:
        if said.payload.data == b"1":
            raise Refusal("unsupported-delivery", "no words for it")
        return customise(said, subscription, base_url, *written)

    async with living(tmp_path, engine, http, sink) as life:
        await life.subscribe("a")
        with monkeypatch.context() as patch:
            patch.setattr(flow, "customise", sometimes)
            await life.publish(1, 2)
            await wait_until(lambda: life.got("a") == [2], "what follows is told")
            expected = [(0, "it could not be written as cloudevents: no words for it")]
            await wait_until(lambda: reasons(life) == expected, "the other is kept")
            await life.node.dead_letters.redrive(NODE, None)
            await wait_until(lambda: not life.node.store.redriven(9), "it was tried again")
            assert reasons(life) == expected, "in vain"
        await life.node.dead_letters.redrive(NODE, None)
        await wait_until(lambda: life.got("a") == [2, 1], "the rules changed")
        await wait_until(lambda: not reasons(life), "it is no dead letter any more")
        assert msgspec.json.decode(sink.at("a")[-1].body)["id"] == "t-1"
