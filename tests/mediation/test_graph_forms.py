"""Delivery as an event graph, as it is asked for and told."""

import msgspec
import pytest
from tests.client.test_filters import SOAP
from tests.mediation.requests import NOW

from tocsin.client import requests
from tocsin.client.values import terms_of
from tocsin.markup import xml
from tocsin.mediation import dialects
from tocsin.mediation.dialects import BY_NAME, hear
from tocsin.mediation.graph_forms import SYNTAXES, bindings_block, with_graph
from tocsin.mediation.operations import Subscribe
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Form

FORM = Form("cloudevents")


@pytest.mark.parametrize("dialect", SOAP)
@pytest.mark.parametrize(("syntax", "bindings"), [("turtle", True), ("rdf-xml", False), ("", True), ("", False)])
def test_asked_for_in_soap(dialect: str, syntax: str, bindings: bool) -> None:
    rules = BY_NAME[dialect]
    asked = terms_of("http://c/", {"deliver_as": syntax, "bindings": bindings})
    message = requests.own_pull_point(rules) or requests.needed(rules, "Subscribe", needs="consumer")
    _, body = requests.request(rules, message, "http://b/", requests.subscription(rules, message, asked, NOW))
    request = hear(dialects.open_in_full(body), "", NOW).request
    assert isinstance(request, Subscribe)
    assert (request.form.graph, request.form.bindings) == (syntax, bindings)


def test_a_form_without_is_as_it_was() -> None:
    assert with_graph(FORM, None, False) is FORM
    assert msgspec.msgpack.decode(msgspec.msgpack.encode({"dialect": "raw"}), type=Form) == Form("raw")


def test_syntaxes_that_there_are_not() -> None:
    with pytest.raises(Refusal, match="choose turtle, n-quads, json-ld, rdf-xml"):
        with_graph(FORM, "rdfa", False)
    assert [with_graph(FORM, each, False).graph for each in SYNTAXES] == list(SYNTAXES)


@pytest.mark.parametrize(("syntax", "bindings"), [("turtle", False), ("", True)])
def test_a_thin_notice_has_no_data(syntax: str, bindings: bool) -> None:
    with pytest.raises(Refusal, match="thin"):
        with_graph(Form("cloudevents", thin=True), syntax, bindings)


def test_the_header_of_soap() -> None:
    block = xml.parse(bindings_block('{"?a": "<urn:x>", "?<b": "\\"1 & 2\\""}'))
    assert block.tag == "{urn:tocsin:policy}Bindings"
    assert [(each.get("name"), each.text) for each in block] == [("?a", "<urn:x>"), ("?<b", '"1 & 2"')]
    assert bindings_block("") == b""


@pytest.mark.parametrize("told", ["", "{}", "of our own", "[1]", '{"a": 1}'])
def test_what_a_publisher_calls_bindings_is_no_header(told: str) -> None:
    assert bindings_block(told) == b""
