"""zeep, with the WSDL that stands at the address to reply to."""

import asyncio
from pathlib import Path

import pytest
from lxml import etree
from tests.whole.acts import IMPATIENT, subscribe
from tests.whole.shell import BrokerProcess, wait_until
from tests.whole.sink import Sink
from tests.whole.test_replies_whole import R, ask, histogram, view_when
from zeep import Client
from zeep.exceptions import Fault

from tocsin.wire.http_client import HttpClient

pytestmark = pytest.mark.clients


@pytest.mark.parametrize("port", ["Soap11", "Soap12"])
async def test_zeep_replies_by_the_description_at_the_address(tmp_path: Path, port: str) -> None:
    broker, http = BrokerProcess.start(tmp_path, IMPATIENT), HttpClient()
    try:
        async with Sink().open() as sink:
            await subscribe(http, broker, sink.url("a"), "t", dialect="wsn-1.3")
            view = await ask(http, broker, "t", replytype="int:0..9")
            await wait_until(lambda: len(sink.received) == 1, "it is told")
            told = etree.fromstring(sink.received[0].body).find(f".//{R}ReplyTo")
            assert told is not None
            address = told.findtext(".//{*}Address")
            await asyncio.to_thread(_reply, f"{address}?wsdl", port)
            found = await view_when(http, view, complete=True)
            assert histogram(found) == {"7": 1}
    finally:
        await http.close()
        broker.kill()


def _reply(wsdl: str, port: str) -> None:
    client = Client(wsdl).bind("Replies", port)
    with pytest.raises(Fault, match="an integer from 0 to 9"):
        client.Reply(Value="77")
    client.Reply(Value="7")
    with pytest.raises(Fault, match="one reply counts"):
        client.Reply(Value="8")
