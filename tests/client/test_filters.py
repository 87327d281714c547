"""What a subscription asks for, as each door is told it and reads it."""

import pytest
from tests.mediation.requests import NOW

from tocsin import ClientError
from tocsin.client import filters, requests
from tocsin.client.filters import LANGUAGES
from tocsin.client.values import Options, terms_of
from tocsin.mediation import dialects
from tocsin.mediation.ce import filters as ce_filters
from tocsin.mediation.dialects import BY_NAME, NAMES, hear
from tocsin.mediation.expressions import BoxAsSaid
from tocsin.mediation.operations import Subscribe
from tocsin.model.filters import Content, Filter, Graph, ProducerIs, TypeIs
from tocsin.model.topics import parse_topic_expression

SOAP = [name for name in NAMES if BY_NAME[name].is_soap]
PREFIXES = {"x": "urn:x"}
X = (("x", "urn:x"),)
SAID: list[tuple[Options, Filter]] = [
    ({"topic": "x:a"}, parse_topic_expression("x:a", "full", PREFIXES)),
    ({"box": "w:*/<50"}, BoxAsSaid("w", (), "w:*/<50")),
    ({"types": ["x:A", "{urn:y}B", "com.e"]}, TypeIs(("{urn:x}A", "{urn:y}B", "com.e"))),
    ({"producers": ["http://p/", "category:c"]}, ProducerIs(("http://p/",), ("c",))),
    ({"producers": ["category:fire %20 department"]}, ProducerIs((), ("fire %20 department",))),
    ({"content": "x:a < 1"}, Content("xpath", "x:a < 1", "payload", X)),
    ({"content": "x:a", "content_language": "xpath-producer"}, Content("xpath", "x:a", "producer", X)),
    ({"content": "$.a", "content_language": "jsonpath"}, Content("jsonpath", "$.a")),
    ({"content": "a = 1", "content_language": "cesql"}, Content("cesql", "a = 1", "attributes")),
    ({"content": "ASK {}", "content_language": "sparql"}, Content("sparql", "ASK {}", "producer")),
    ({"pattern": "(_:H, ?1, (x:A, p, B))"}, Graph("pattern", "(_:H, ?1, (x:A, p, B))", X)),
    ({"sparql": "ASK { _:H a x:A }"}, Graph("sparql", "ASK { _:H a x:A }", X)),
    ({"sparql": "ASK { _:H a x:A }", "plain": True}, Graph("sparql", "ASK { _:H a x:A }", X, plain=True)),
]


def heard(dialect: str, options: Options) -> tuple[Filter, ...]:
    rules = BY_NAME[dialect]
    asked = terms_of("http://c/", Options(**{"namespaces": PREFIXES, **options}))
    message = requests.own_pull_point(rules) or requests.needed(rules, "Subscribe", needs="consumer")
    values = requests.subscription(rules, message, asked, NOW)
    _, body = requests.request(rules, message, "http://b/", values)
    request = hear(dialects.open_in_full(body), "", NOW).request
    assert isinstance(request, Subscribe)
    return request.filters


@pytest.mark.parametrize("dialect", SOAP)
@pytest.mark.parametrize(("options", "asked"), SAID)
def test_in_soap(dialect: str, options: Options, asked: Filter) -> None:
    assert heard(dialect, options) == (asked,)


@pytest.mark.parametrize(("options", "asked"), SAID[1:])
def test_in_json(options: Options, asked: Filter) -> None:
    said = terms_of("http://c/", Options(**{"namespaces": PREFIXES, **options}))
    assert ce_filters.read(filters.documents(said)) == (asked,)


def test_several_together() -> None:
    several: Options = {"topic": "x:a", "producers": ["http://p/"], "content": "x:b"}
    asked = (SAID[0][1], ProducerIs(("http://p/",)), Content("xpath", "x:b", "payload", X))
    for dialect in SOAP:
        assert set(heard(dialect, several)) == set(asked), dialect


@pytest.mark.parametrize("dialect", SOAP)
def test_the_envelope_is_for_ws_eventing(dialect: str) -> None:
    options: Options = {"content": "//x:a", "content_language": "xpath-envelope"}
    if dialect.startswith("wse"):
        assert heard(dialect, options) == (Content("xpath", "//x:a", "envelope", X),)
        options["box"] = "w:*"
    with pytest.raises(ClientError, match="XPath over the envelope"):
        heard(dialect, options)


@pytest.mark.parametrize("dialect", ["wsn-1.0", "wsn-1.2"])
def test_the_drafts_have_one_place_for_each(dialect: str) -> None:
    with pytest.raises(ClientError, match="more than one TopicExpression"):
        heard(dialect, {"topic": "x:a", "box": "w:*"})


def test_what_is_said_wrong_is_told_before_anybody_is_asked() -> None:
    with pytest.raises(ClientError, match=f"choose one of {', '.join(LANGUAGES)}"):
        heard("wsn-1.3", {"content": "a", "content_language": "xquery"})
    for names in ("http://p/", ["a b"]):
        with pytest.raises(ClientError, match="a list of names"):
            heard("wsn-1.3", {"producers": names})
    with pytest.raises(ClientError, match="choose one of simple, concrete, full, concrete-set"):
        terms_of("http://c/", {"topic": "a", "topic_dialect": "fulll"})


EMPTY: list[tuple[Options, str]] = [
    ({"topic": ""}, "topic"),
    ({"content": ""}, "content"),
    ({"content": " "}, "content"),
    ({"box": ""}, "box"),
    ({"types": [""]}, "type"),
    ({"producers": [""]}, "producer"),
]


@pytest.mark.parametrize(("options", "name"), EMPTY)
def test_an_empty_filter_does_not_ask_for_everything(options: Options, name: str) -> None:
    with pytest.raises(ClientError, match=f"the {name} filter is empty"):
        terms_of("http://c/", options)


def test_what_is_not_said_asks_for_everything() -> None:
    assert terms_of("http://c/", {"topic": None, "content": None, "box": None}) == terms_of("http://c/", {})
    assert heard("wsn-1.3", {}) == ()
