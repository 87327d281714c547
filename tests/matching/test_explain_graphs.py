"""What is told of graph patterns: where they were found, or how far they get."""

import pytest
from tests.matching.graph_events import CHEAP, SELLING, known, pattern, turtle

from tocsin.matching.explain.filters import explain
from tocsin.matching.graphs import search as graph_searching
from tocsin.model.filters import Filter, Graph, Not
from tocsin.model.identity import Instant, MessageId, Node, SubscriptionId
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.subscription import Form, Position, Subscription


def told(data: bytes, media_type: str = "text/turtle", kind: str | None = None) -> Notification:
    at, topic = Position(Node("n"), 1), Topic((QName("", "a"),))
    payload = Payload(media_type, data)
    return Notification(MessageId("m"), at, 0, Instant(1), "raw", "", "", topic, kind, (), payload)


def because(asked: Filter, notification: Notification) -> tuple[bool | None, str]:
    at = Position(Node("n"), 0)
    standing = Subscription(SubscriptionId("s"), None, None, None, Form("raw"), (asked,), at, None)
    found = explain(standing, notification, known())
    return found.wanted, found.because


DESKTOP = ("target", "Desktop")


def test_where_it_was_found() -> None:
    wanted, why = because(CHEAP, told(turtle("Selling", [DESKTOP], "399.5")))
    assert wanted and "the event graph has it: home is _:H (Selling), ?1 is _:t0 (Desktop)" in why
    assert "?3 is '399.5'" in why


@pytest.mark.parametrize(
    ("asked", "event", "words"),
    [
        (SELLING, turtle("Buying", [DESKTOP], ""), "_:H is a Buying, not a Selling"),
        (
            SELLING,
            turtle("Selling", [], "1.0"),
            "home is _:H (Selling), but nothing will do for ?1: no target leads from",
        ),
        (
            SELLING,
            turtle("Selling", [("target", "Chair")], ""),
            "nothing will do for ?1: _:t0 is a Chair, not a Computer",
        ),
        (CHEAP, turtle("Selling", [DESKTOP], "450.0"), "?2 is _:m (MoneyValue), but nothing will do for ?3: "),
        (CHEAP, turtle("Selling", [DESKTOP], "450.0"), "is not < 400"),
        (
            pattern("(_:H, ?1, (Deal, target, Product)) (_:H, ?2, (Deal, target, Product))"),
            turtle("Selling", [DESKTOP], ""),
            "nothing will do for ?2: _:t0 is what ?1 stands for already",
        ),
    ],
)
def test_how_far_it_gets(asked: Graph, event: bytes, words: str) -> None:
    wanted, why = because(asked, told(event))
    assert wanted is False and words in why


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (told(b"@prefix"), "the payload is no event graph: the event is not readable as"),
        (told(b"x", "text/plain"), "the payload is text/plain, which is not RDF, XML or JSON"),
        (told(b"{}", "application/json", "org.other"), "no lifting is declared for the type org.other"),
        (told(b"{}", "application/json"), "no lifting is declared for what has no type"),
        (told(b"<", "application/xml"), "the payload is application/xml, which is not RDF, XML or JSON"),
    ],
)
def test_what_has_no_event_graph(event: Notification, words: str) -> None:
    wanted, why = because(SELLING, event)
    assert wanted is False and words in why
    assert because(Not(SELLING), event)[0]


def test_what_was_lifted_is_told_alike() -> None:
    wanted, why = because(SELLING, told(b"<offer><pc/></offer>", "application/xml"))
    assert wanted and "the event graph has it" in why


def test_what_could_not_be_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_searching, "WORK", 0)
    wanted, why = because(SELLING, told(turtle("Selling", [DESKTOP], "1.0")))
    assert wanted is None and "it could not be evaluated: the graph pattern took too many steps" in why


def test_an_expression_of_other_rules_is_told() -> None:
    wanted, why = because(pattern("(_:H, ?1"), told(turtle("Selling", [], "")))
    assert wanted is None and "could not be evaluated" in why
