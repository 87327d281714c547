"""What docs/reply.md shows is what happens: its commands are taken, its requests answered, its XML is sent."""

import asyncio
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
from lxml import etree
from tests.cli.test_help import ROOT, parse
from tests.whole.acts import subscribe
from tests.whole.shell import BrokerProcess, wait_until
from tests.whole.sink import Sink
from tests.whole.speech import message, notify
from tests.whole.test_documented_api import Example, Reader, examples, reader, rows
from tests.whole.test_replies_whole import histogram, view_when, where

from tocsin.broker.settings import KINDS
from tocsin.model import histogram as histograms
from tocsin.model import reply_types
from tocsin.wire.http_client import HttpClient

__all__ = ["reader"]
PAGE = (Path(__file__).parents[2] / "docs" / "reply.md").read_text("utf-8")
COMMANDS = [line for line in PAGE.splitlines() if line.startswith("tocsin ")]
REQUESTS = [each for each in examples(PAGE) if each.commands.startswith("curl")]
HEADER, REPLY_TO, ENVELOPE = re.findall(r"```xml\n(.*?)```", PAGE, re.DOTALL)
TOKEN = "5f0c8a.c2lnbg.Vz8x"


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_is_taken(line: str) -> None:
    program, *words = shlex.split(line)
    if words[0] == "reply":
        words.insert(1, "answer")
    parse(ROOT, words)
    assert program == "tocsin"


@pytest.mark.broker
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not here")
async def test_its_requests_are_answered_so(reader: Reader) -> None:
    """From top to bottom, as they build on each other."""
    assert len(REQUESTS) == 8
    for each in REQUESTS:
        await asyncio.to_thread(reader.follow, Example(*each))


@pytest.mark.broker
async def test_its_xml_is_what_is_sent_and_taken(broker: BrokerProcess, sink: Sink, http: HttpClient) -> None:
    await subscribe(http, broker, sink.url("a"), "documented", dialect="wsn-1.3")
    headers, body = notify(message("<beds/>", "documented"))
    begin = body.index(b"Header>") + len(b"Header>")
    answer = await http.request("POST", f"{broker.url}/broker", headers, body[:begin] + HEADER.encode() + body[begin:])
    await wait_until(lambda: sink.received, "it is told")
    told = etree.fromstring(sink.received[0].body).find(".//{urn:tocsin:reply}ReplyTo")
    assert told is not None
    token = told.findtext(".//{urn:tocsin:reply}Token") or ""
    assert shape(told, token, broker.url) == shape(etree.fromstring(REPLY_TO), TOKEN, "http://127.0.0.1:8080")
    said = ENVELOPE.replace(TOKEN, token).encode()
    replied = await http.request("POST", f"{broker.url}/broker", (("Content-Type", "application/soap+xml"),), said)
    assert replied.status == 200 and b"ReplyResponse" in replied.body
    assert histogram(await view_when(http, where(answer), complete=True)) == {"12": 1}


def shape(element: Any, token: str, base: str) -> list[tuple[str, str]]:
    """Each element with its text, in order, but for what differs."""
    found = [(each.tag, (each.text or "").strip()) for each in element.iter()]
    return [(tag, text.replace(token, "TOKEN").replace(base, "BROKER")) for tag, text in found]


def test_its_types_and_bounds_are_those_of_the_code() -> None:
    table = PAGE.partition("| type |")[2].partition("\n\n")[0]
    written = [name for row in rows(table) for name in re.findall(r"`(.+?)`", row[0])]
    assert len(written) == 9 and all(reply_types.reply_type(each) for each in written)
    bounds = PAGE.partition("| what | bound |")[2].partition("\n\n")[0]
    numbers = (reply_types.MOST_VALUES, reply_types.LONGEST_TYPE, reply_types.LONGEST_REPLY, histograms.MOST_VALUES)
    assert not [each for each in numbers if f"{each:,}" not in bounds]


def test_it_has_every_setting_of_replies() -> None:
    table = PAGE.partition("| setting |")[2].partition("\n\n")[0]
    assert {row[0].strip("`") for row in rows(table)} == {each for each in KINDS if each.startswith("reply.")}
