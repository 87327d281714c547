"""Producers that are no broker of ours: at an address of their own, with references to be shown again."""

import pytest
from lxml import etree
from tests.whole.sink import Say, Sink

from tocsin import Client, ClientError

WSA = "http://schemas.xmlsoap.org/ws/2004/03/addressing"
WSN = "http://docs.oasis-open.org/wsn/2004/06/wsn-WS-BaseNotification-1.2-draft-01.xsd"
RL = "http://docs.oasis-open.org/wsrf/2004/06/wsrf-WS-ResourceLifetime-1.2-draft-01.xsd"
RP = "http://docs.oasis-open.org/wsrf/2004/06/wsrf-WS-ResourceProperties-1.2-draft-01.xsd"
KEY = '<g:SubscriptionID xmlns:g="urn:globus">7</g:SubscriptionID>'


def envelope(content: str) -> bytes:
    return (
        '<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/">'
        f'<e:Body xmlns:a="{WSA}">{content}</e:Body></e:Envelope>'
    ).encode()


def globus(sink: Sink, more: dict[bytes, str] | None = None) -> None:
    """As a container of Globus Toolkit 4 answers: the id of a subscription is a reference property."""
    reference = f"<a:Address>{sink.url('manager')}</a:Address><a:ReferenceProperties>{KEY}</a:ReferenceProperties>"
    answers = {
        b":Subscribe ": f'<n:SubscribeResponse xmlns:n="{WSN}"><n:SubscriptionReference>{reference}'
        "</n:SubscriptionReference></n:SubscribeResponse>",
        b":SetTerminationTime ": f'<r:SetTerminationTimeResponse xmlns:r="{RL}"><r:NewTerminationTime>'
        "2090-01-01T01:00:00Z</r:NewTerminationTime><r:CurrentTime>2090-01-01T00:00:00Z</r:CurrentTime>"
        "</r:SetTerminationTimeResponse>",
        b":Destroy ": f'<r:DestroyResponse xmlns:r="{RL}"/>',
        **(more or {}),
    }
    sink.script = lambda received: next(
        (Say(200, body=envelope(said)) for asked, said in answers.items() if asked in received.body),
        Say(
            500,
            body=envelope("<e:Fault><faultcode>e:Client</faultcode><faultstring>no such thing</faultstring></e:Fault>"),
        ),
    )


async def test_a_subscription_at_a_wsrf_resource(sink: Sink) -> None:
    globus(sink)
    async with Client("http://127.0.0.1:9", "wsn-1.2", soap="1.1", endpoint=sink.url("counter")) as client:
        lease = await client.subscribe("http://127.0.0.1:9/me", topic="Value", topic_dialect="simple", expires="PT1H")
        assert lease.address == sink.url("manager")
        assert lease.seconds == pytest.approx(3600, abs=30)
        renewed = await client.renew(lease, "PT2H")
        assert (renewed.expires, renewed.seconds) == ("2090-01-01T01:00:00Z", 3600.0)  # by the producer's own clock
        await client.unsubscribe(renewed)
        with pytest.raises(ClientError, match=r"no such thing \(HTTP 500\)"):
            await client.pause(lease)
    asked = etree.fromstring(sink.at("counter")[0].body)
    assert asked.findtext(f".//{{{WSN}}}TopicExpression") == "Value"
    assert str(asked.findtext(f".//{{{WSN}}}InitialTerminationTime")).endswith("Z")  # the drafts know no durations
    for managed in sink.at("manager"):
        assert etree.fromstring(managed.body).findtext(".//{urn:globus}SubscriptionID") == "7"


async def test_what_was_granted_may_be_less_than_what_was_asked_for(sink: Sink) -> None:
    times = f'<r:TerminationTime xmlns:r="{RL}">2090-01-01T00:01:00Z</r:TerminationTime>'
    times += f'<r:CurrentTime xmlns:r="{RL}">2090-01-01T00:00:00Z</r:CurrentTime>'
    said = f'<p:GetMultipleResourcePropertiesResponse xmlns:p="{RP}">{times}</p:GetMultipleResourcePropertiesResponse>'
    globus(sink, {b":GetMultipleResourceProperties ": said})
    async with Client("http://127.0.0.1:9", "wsn-1.2", soap="1.1", endpoint=sink.url("counter")) as client:
        for asked in ("PT1H", ""):
            lease = await client.subscribe("http://127.0.0.1:9/me", expires=asked)
            assert (lease.expires, lease.seconds) == ("2090-01-01T00:01:00Z", 60.0)


async def test_an_answer_that_is_none(sink: Sink) -> None:
    for body in (b"", b"hello", envelope("")):
        sink.script = lambda received, said=body: Say(200, body=said)  # type: ignore[misc]
        async with Client(sink.url().rstrip("/"), "wsn-1.3") as client:
            with pytest.raises(ClientError, match="the answer"):
                await client.subscribe("http://127.0.0.1:9/me")
    for body in (b"[", b"{}", b"\xff"):
        sink.script = lambda received, said=body: Say(200, body=said)  # type: ignore[misc]
        async with Client(sink.url().rstrip("/")) as client:
            with pytest.raises(ClientError, match="the answer"):
                await client.subscribe("http://127.0.0.1:9/me")
