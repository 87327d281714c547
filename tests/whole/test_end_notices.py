"""A subscription that ends unasked: its subscriber is told, where it named an address for that."""

from pathlib import Path

import pytest
from tests.whole.life import ENGINES, Engine, Life, living
from tests.whole.shell import wait_until
from tests.whole.sink import Say, Sink
from tests.whole.speech import wse_subscribe

from tocsin.broker.caller import NODE
from tocsin.broker.consumers.end_notices import EndNotices
from tocsin.broker.engines.settlement import own_lanes
from tocsin.mediation.operations import Ended
from tocsin.model.identity import Pairs
from tocsin.model.subscription import Endpoint
from tocsin.wire.http_client import HttpClient

pytestmark = [pytest.mark.broker, pytest.mark.parametrize("engine", ENGINES)]


def listen(life: Life) -> None:
    """As if every subscriber had asked to be told at /end, in a dialect of few words."""

    def write(ended: Ended, base_url: str) -> tuple[Endpoint, Pairs, bytes]:
        words = f"{ended.subscription.id} {ended.status} {ended.address.removeprefix(base_url)} {ended.reason}"
        return Endpoint(life.sink.url("end")), (("Content-Type", "text/plain"),), words.encode()

    life.node.standing._notices = EndNotices(life.node.engine.deliverer, write)


def said(life: Life) -> list[str]:
    return [each.body.decode() for each in life.sink.at("end")]


async def test_who_cancels_tells_and_who_unsubscribes_knows(
    engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink
) -> None:
    async with living(tmp_path, engine, http, sink) as life:
        listen(life)
        mine, other = await life.subscribe("a"), await life.subscribe("b")
        assert (await life.api(f"/{mine}", method="DELETE")).status == 204
        assert (await life.api(f"/{other}?cancel=maybe", method="DELETE")).status == 400
        assert (await life.api(f"/{other}?cancel=true", method="DELETE")).status == 204
        expected = f"{other} SourceCancelling /broker/subscriptions/{other} it was cancelled at the broker"
        await wait_until(lambda: said(life) == [expected], "the other one is told")
        assert (await life.api(f"/{other}", method="GET")).status == 404
        assert not life.node.dead_letters.page(NODE, 0, 9, None)


async def test_it_is_tried_again_and_given_up_without_a_trace(
    engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink
) -> None:
    async with living(tmp_path, engine, http, sink) as life:
        listen(life)
        sink.script = lambda received: Say(503)
        await life.api(f"/{await life.subscribe('a')}?cancel=true", method="DELETE")
        deliverer = life.node.engine.deliverer
        assert own_lanes(deliverer.unsettled()) == {}
        await wait_until(lambda: len(said(life)) == 3, "three tries")
        await wait_until(lambda: not deliverer._lanes, "and no more")
        assert not life.node.dead_letters.page(NODE, 0, 9, None)


async def test_so_many_dead_letters_in_a_row_end_it(
    engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink
) -> None:
    async with living(tmp_path, engine, http, sink, end_after=3) as life:
        listen(life)
        sink.script = lambda received: Say(400) if received.path == "/a" else Say()
        name = await life.subscribe("a")
        await life.publish(1, 2)
        await wait_until(lambda: len(life.node.dead_letters.page(NODE, 0, 9, None)) == 2, "two are dead")
        sink.script = lambda received: Say()
        await life.publish(3)
        await wait_until(lambda: life.got("a")[-1] == 3, "one is delivered")
        sink.script = lambda received: Say(400) if received.path == "/a" else Say()
        await life.publish(*range(4, 20))
        await wait_until(lambda: said(life), "it is told")
        address = f"/broker/subscriptions/{name}"
        reason = "3 notifications in a row could not be delivered: HTTP 400"
        assert said(life) == [f"{name} DeliveryFailure {address} {reason}"]
        assert life.got("a") == [1, 2, 3, 4, 5, 6], "nothing is sent once it is one too many"
        assert (await life.api(f"/{name}", method="GET")).status == 404


async def test_without_the_setting_it_goes_on(engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink) -> None:
    async with living(tmp_path, engine, http, sink) as life:
        listen(life)
        sink.script = lambda received: Say(400)
        name = await life.subscribe("a")
        await life.publish(*range(20))
        await wait_until(lambda: len(life.node.dead_letters.page(NODE, 0, 99, None)) == 20, "all are dead")
        assert life.node.settlement.in_a_row.over() == {} and said(life) == []
        assert (await life.api(f"/{name}", method="GET")).status == 200


async def test_in_the_words_of_ws_eventing(engine: Engine, tmp_path: Path, http: HttpClient, sink: Sink) -> None:
    """WSE 2004/08 s3.6: to EndTo, with the reference parameters that came with it; not when the lease ran out."""
    async with living(tmp_path, engine, http, sink) as life:
        headers, body = wse_subscribe(sink.url("a"))
        end_to = (
            f"<w:EndTo><a:Address>{sink.url('end')}</a:Address><a:ReferenceParameters>"
            '<my xmlns="urn:mine">5</my></a:ReferenceParameters></w:EndTo>'
        )
        body = body.replace(b"<w:Delivery ", end_to.encode() + b"<w:Delivery ", 1)
        for _ in range(2):
            assert (await http.request("POST", f"{life.node.base_url}/broker", headers, body)).status == 200
        lapsed, cancelled = (each.id for each in life.node.subscriptions.page(NODE, "", 9))
        await life.node.standing.expire(life.node.standing.get(lapsed))
        assert (await life.api(f"/{cancelled}?cancel=true", method="DELETE")).status == 204
        await wait_until(lambda: said(life), "it is told")
        (told,) = said(life)
        assert "SubscriptionEnd" in told and "SourceCancelling" in told and cancelled in told and "urn:mine" in told
