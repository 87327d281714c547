"""How long notifications may wait for one another, as it is asked for in documents, by the client and the command."""

from datetime import timedelta

import msgspec
import pytest

from tocsin.cli.subscribe import _latency
from tocsin.client.errors import ClientError
from tocsin.client.json_binding import _terms
from tocsin.client.requests import needed, subscription
from tocsin.client.values import Options, terms_of
from tocsin.documents.latency import latency_text, with_latency
from tocsin.documents.subscriptions import SubscribeRequest, SubscriptionDocument
from tocsin.mediation.dialects import BY_NAME
from tocsin.model.identity import Instant, Node, SubscriptionId
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Form, Position, Subscription

NOW = Instant(0)


def form_of(**asked: object) -> Form:
    request = msgspec.convert({"consumer": "http://c/"} | asked, SubscribeRequest)
    return request.normalised(NOW).form


@pytest.mark.parametrize(
    "asked,together,milliseconds",
    [
        ({}, 1, 0),
        ({"max_latency": "PT1S"}, 100, 1000),
        ({"max_latency": "PT0.25S", "together": 7}, 7, 250),
        ({"max_latency": "PT0S", "mode": "batched"}, 100, 0),
        ({"max_latency": "PT1M", "dialect": "wsn-1.3"}, 100, 60_000),
        ({"together": 5, "dialect": "wsn-1.2"}, 5, 0),
        ({"together": 5, "dialect": "wse-2011"}, 1, 0),
        ({"together": 5, "dialect": "wsn-1.3", "mode": "binary"}, 1, 0),
    ],
)
def test_what_is_asked_for(asked: dict[str, object], together: int, milliseconds: int) -> None:
    form = form_of(**asked)
    assert (form.together, form.max_latency_ms) == (together, milliseconds)


@pytest.mark.parametrize("text", ["-PT1S", "1", "", "PT", "1s", "2030-01-31T12:00:00Z", "x" * 1000])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(Refusal, match="PT1S") as refused:
        with_latency(Form("cloudevents", together=2), text)
    assert len(refused.value.text) < 200


def test_what_goes_one_by_one_cannot_wait() -> None:
    with pytest.raises(Refusal, match="one by one"):
        with_latency(Form("cloudevents"), "PT1S")


@pytest.mark.parametrize("milliseconds,shown", [(0, ""), (1, "PT0.001S"), (1500, "PT1.5S"), (60_000, "PT1M0S")])
def test_it_is_shown_as_it_can_be_asked_for(milliseconds: int, shown: str) -> None:
    form = Form("cloudevents", together=2, max_latency_ms=milliseconds)
    assert latency_text(form) == shown
    whole = Subscription(SubscriptionId("s"), None, Endpoint("http://c"), None, form, (), Position(Node("n"), 0), None)
    document = msgspec.to_builtins(SubscriptionDocument.of(whole))
    assert document.get("max_latency", "") == shown
    if shown:
        assert with_latency(Form("cloudevents", together=2), shown) == form


@pytest.mark.parametrize("said", ["PT0.25S", timedelta(milliseconds=250)])
def test_the_client_asks_for_it(said: str | timedelta) -> None:
    terms = terms_of("http://c/", Options(max_latency=said))
    assert SubscribeRequest(dialect="cloudevents", **_terms(terms)).normalised(NOW).form.max_latency_ms == 250
    nothing = terms_of("http://c/", Options())
    assert SubscribeRequest(dialect="cloudevents", **_terms(nothing)).max_latency is None


def test_a_dialect_without_a_place_for_it_says_so() -> None:
    dialect = BY_NAME["wsn-1.3"]
    terms = terms_of("http://c/", Options(max_latency="PT1S"))
    with pytest.raises(ClientError, match="no place for max_latency; subscribe by the API"):
        subscription(dialect, needed(dialect, "Subscribe"), terms, NOW)


@pytest.mark.parametrize(
    "text,said", [("", ""), ("1s", "PT1S"), ("250ms", "PT0.25S"), ("1m", "PT1M0S"), ("PT2S", "PT2S")]
)
def test_the_command_takes_both_ways_to_write_it(text: str, said: str) -> None:
    assert _latency(text) == said
