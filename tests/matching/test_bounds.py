"""What subscribers and publishers can make large or slow has a bound; what goes wrong half-way leaves no trace."""

import pytest
from msgspec.structs import replace
from tests.matching.anything import SPACE, Contains, known, xpath
from tests.pace import within

from tocsin.matching.catalogue import Catalogue
from tocsin.matching.engine import Engine, matches
from tocsin.matching.evidence import Evidence
from tocsin.matching.index.atom_indexes import ValueAtoms
from tocsin.matching.index.atoms import terms_of
from tocsin.matching.index.postings import HoldingAtoms
from tocsin.matching.index.topics import ROOM
from tocsin.model.content_topic import parse_box
from tocsin.model.filters import Content, Filter, TypeIs
from tocsin.model.identity import Instant, MessageId, Node, SubscriptionId
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification, Payload
from tocsin.model.space import Dimension, InformationSpace
from tocsin.model.subscription import Form, Position, Subscription
from tocsin.model.topics import parse_topic_expression

AT = Position(Node("n"), 0)


def subscription(*filters: Filter, name: str = "s") -> Subscription:
    return Subscription(SubscriptionId(name), None, None, None, Form("wsn-1.3", "1.2", "2005/08"), filters, AT, None)


def notification(payload: str = "<a/>", topic: tuple[str, ...] = ("t",), **attributes: str) -> Notification:
    steps = Topic(tuple(QName("", each) for each in topic))
    media_type = "application/xml" if payload.startswith("<") else "application/json"
    told = Payload(media_type, payload.encode())
    return Notification(MessageId("m"), AT, 0, Instant(1), "raw", "", "p", steps, None, tuple(attributes.items()), told)


def test_topic_expressions_that_are_hard_to_compare_are_not_compared_for_long() -> None:
    hard = [parse_topic_expression(f"*//a{at}" + "/*" * 60 + f"|*//b{at}//c", "full", {}) for at in range(20)]
    with within(500):
        terms_of(subscription(*hard))
    with within(500):
        terms_of(subscription(*hard[:6]))


def test_a_space_that_was_declared_otherwise_has_no_such_box() -> None:
    box, flat = parse_box("weather:*/>3/*", SPACE), InformationSpace("weather", (Dimension("place", "string"),))
    told = notification(contenttopic="weather:X")
    assert not matches(subscription(box), told, Catalogue((flat,)))
    engine = Engine(Catalogue((flat,)))
    engine.apply(subscription(box))
    assert engine.match(told) == ([], [])


def test_what_one_notification_left_half_done_is_not_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    engine, match = Engine(known(), Contains()), ValueAtoms.match
    engine.apply(subscription(xpath("//level > 3"), name="a"))
    engine.apply(subscription(xpath("//level"), xpath("//level != 4"), name="b"))

    def failing(self: ValueAtoms, evidence: Evidence, holding: HoldingAtoms) -> None:
        match(self, evidence, holding)
        raise RuntimeError

    with monkeypatch.context() as patched:
        patched.setattr(ValueAtoms, "match", failing)
        with pytest.raises(RuntimeError):
            engine.match(notification("<a><level>5</level></a>"))
    assert engine.match(notification("<a/>")) == ([], [])


def test_a_lease_longer_than_time_is_for_good() -> None:
    engine, endless = Engine(), replace(subscription(xpath("//level > 3")), expires=Instant(1 << 70))
    engine.apply(endless)
    assert engine.match(notification("<a><level>5</level></a>")).wanted == [endless]


def test_names_that_share_a_type_leave_quickly() -> None:
    engine = Engine()
    some = [subscription(TypeIs(("common", f"own{at}")), xpath("//a"), name=f"s{at}") for at in range(20_000)]
    for each in some:
        engine.apply(each)
    with within(2_000 * 0.5):
        for each in some[:2_000]:
            engine.remove(each.id)


def test_json_paths_that_a_document_does_not_have_cost_nothing() -> None:
    engine = Engine()
    for at in range(20_000):
        engine.apply(subscription(Content("jsonpath", f"$.m{at}.x == {at}"), name=f"s{at:05}"))
    told = notification('{"m77": {"x": 77}, "m78": {"x": 1}}')
    assert [each.id for each in engine.match(told).wanted] == ["s00077"]
    for each in (told, notification()):
        with within(200 * 2):
            for _ in range(200):
                engine.match(each)


def test_long_topics_use_up_the_room_they_take() -> None:
    engine = Engine()
    engine.apply(subscription())
    for at in range(2_000):
        engine.match(notification(topic=tuple(f"{'x' * 60}{at}-{step}" for step in range(200))))
    assert len(engine._candidates) * 200 * 4 < ROOM
