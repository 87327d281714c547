"""The life of a subscription, through SOAP."""

from uuid import uuid4

import pytest
from tests.whole.shell import BrokerProcess, wait_until
from tests.whole.sink import Sink
from tests.whole.speech import (
    SOAP,
    TONGUES,
    WSA,
    WSE,
    WSN,
    Said,
    Tongue,
    fault_of,
    manager_of,
    message,
    notify,
    parsed,
    text_at,
    wse_manage,
    wse_subscribe,
    wsn_manage,
    wsn_subscribe,
)

from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient

pytestmark = [pytest.mark.broker, pytest.mark.parametrize("tongue", TONGUES, ids=str)]


async def ask(http: HttpClient, url: str, said: Said) -> Answer:
    return await http.request("POST", url, *said)


def check_answer(answer: Answer, tongue: Tongue, action: str) -> None:
    """In the requester's own SOAP and WS-Addressing, related to its message."""
    assert answer.status == 200, answer
    root = parsed(answer.body)
    assert root.tag == f"{{{SOAP[tongue.soap]}}}Envelope"
    assert root.findtext(f".//{{{WSA[tongue.wsa]}}}Action") == action
    assert root.findtext(f".//{{{WSA[tongue.wsa]}}}RelatesTo") == "urn:m"


async def test_wsn(tongue: Tongue, broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    about = f"life/t{uuid4().hex}"
    answer = await ask(http, f"{broker.url}/broker", wsn_subscribe(sink.url("a"), about, expires="PT1H", tongue=tongue))
    check_answer(answer, tongue, "http://docs.oasis-open.org/wsn/bw-2/NotificationProducer/SubscribeResponse")
    manager = manager_of(answer.body)
    assert manager.startswith(f"{broker.url}/broker/subscriptions/")
    first_end = text_at(answer.body, "TerminationTime")
    assert text_at(answer.body, "CurrentTime").endswith("Z") and first_end.endswith("Z")
    inside = "<n:TerminationTime>PT2H</n:TerminationTime>"
    renewed = await ask(http, manager, wsn_manage("Renew", inside, tongue))
    check_answer(renewed, tongue, "http://docs.oasis-open.org/wsn/bw-2/SubscriptionManager/RenewResponse")
    assert text_at(renewed.body, "TerminationTime") > first_end
    await ask(http, f"{broker.url}/broker", notify(message("<before/>", about)))
    await wait_until(lambda: sink.at("a"), "it arrives while subscribed")
    ended = await ask(http, manager, wsn_manage("Unsubscribe", tongue=tongue))
    check_answer(ended, tongue, "http://docs.oasis-open.org/wsn/bw-2/SubscriptionManager/UnsubscribeResponse")
    again = await ask(http, manager, wsn_manage("Unsubscribe", tongue=tongue))
    fault = fault_of(again.body)
    assert again.status == (500 if tongue.soap == "1.1" else 400)
    assert fault.soap == tongue.soap and "there is no subscription" in fault.reason
    assert b"ResourceUnknownFault" in again.body and text_at(again.body, "Timestamp")
    await nothing_more_arrives(broker, sink, http, about)


async def test_wse(tongue: Tongue, broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    about = f"life/t{uuid4().hex}"
    answer = await ask(http, f"{broker.url}/broker", wse_subscribe(sink.url("a"), about, expires="PT1H", tongue=tongue))
    check_answer(answer, tongue, f"{WSE}/SubscribeResponse")
    manager = manager_of(answer.body)
    assert text_at(answer.body, "Expires") in ("PT1H0S", "PT1H")
    assert (b"Identifier" in answer.body) == (tongue.wsa == "2004/08")
    renewed = await ask(http, manager, wse_manage("Renew", "<w:Expires>PT2H</w:Expires>", tongue))
    check_answer(renewed, tongue, f"{WSE}/RenewResponse")
    status = await ask(http, manager, wse_manage("GetStatus", tongue=tongue))
    check_answer(status, tongue, f"{WSE}/GetStatusResponse")
    assert text_at(status.body, "Expires").startswith("PT1H59M")
    await ask(http, f"{broker.url}/broker", notify(message("<before/>", about)))
    await wait_until(lambda: sink.at("a"), "it arrives while subscribed")
    ended = await ask(http, manager, wse_manage("Unsubscribe", tongue=tongue))
    check_answer(ended, tongue, f"{WSE}/UnsubscribeResponse")
    gone = await ask(http, manager, wse_manage("GetStatus", tongue=tongue))
    fault = fault_of(gone.body)
    assert fault.soap == tongue.soap and "there is no subscription" in fault.reason
    assert f"{{{WSE}}}InvalidMessage" in (fault.code, fault.subcode)
    await nothing_more_arrives(broker, sink, http, about)


async def test_an_absolute_time_is_answered_with_one(
    tongue: Tongue, broker: BrokerProcess, sink: Sink, http: HttpClient
) -> None:
    said = wse_subscribe(sink.url("a"), "x", expires="2999-01-01T00:00:00Z", tongue=tongue)
    answer = await ask(http, f"{broker.url}/broker", said)
    assert text_at(answer.body, "Expires").endswith("Z")
    await ask(http, manager_of(answer.body), wse_manage("Unsubscribe", tongue=tongue))


async def nothing_more_arrives(broker: BrokerProcess, sink: Sink, http: HttpClient, about: str) -> None:
    """A later consumer of the same topic has heard what the one that left has not."""
    await ask(http, f"{broker.url}/broker", wsn_subscribe(sink.url("later"), about))
    await ask(http, f"{broker.url}/broker", notify(message("<after/>", about)))
    await wait_until(lambda: sink.at("later"), "the later one hears it")
    assert len(sink.at("a")) == 1
    assert WSN.encode() in sink.at("later")[0].body
