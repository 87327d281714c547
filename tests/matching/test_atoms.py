"""How filters are taken apart; that what comes of it means the same is for `test_combination`."""

from tests.matching.anything import BOXES, SPACE, xpath

from tocsin.markup.conditions import Compare, Step, XmlPath
from tocsin.matching.index.atoms import MOST_TERMS, Term, narrowest, terms_of
from tocsin.model.content_topic import parse_box
from tocsin.model.filters import AllOf, AnyOf, Filter, Not, TopicIs, TypeIs
from tocsin.model.identity import Node, SubscriptionId
from tocsin.model.subscription import Form, Position, Subscription
from tocsin.model.topics import parse_topic_expression

RAW = Form("wse-2004-08", "1.2", "2004/08", wrapped=False)


def terms(*filters: Filter, form: Form = RAW) -> list[Term]:
    return terms_of(Subscription(SubscriptionId("s"), None, None, None, form, filters, Position(Node("n"), 0), None))


def topic(text: str) -> TopicIs:
    return parse_topic_expression(text, "full", {})


def test_and_is_one_term_or_is_several() -> None:
    one, other = TypeIs(("a",)), TypeIs(("b",))
    assert terms(one, other) == [Term((one, other))]
    assert terms(AnyOf((one, other)), topic("t")) == [Term((topic("t"), one)), Term((topic("t"), other))]
    assert terms(AnyOf(())) == []


def test_what_no_index_decides_is_verified() -> None:
    assert terms(Not(TypeIs(("a",))), topic("t")) == [Term((topic("t"),), is_whole=False)]
    assert terms(xpath("contains(., 'x')")) == [Term(is_whole=False)]


def test_too_many_alternatives_are_verified_as_a_whole() -> None:
    several = AnyOf(tuple(TypeIs((str(at),)) for at in range(MOST_TERMS // 2)))
    assert len(terms(several, topic("t"))) == MOST_TERMS // 2
    more = AnyOf(tuple(TypeIs((f"more{at}",)) for at in range(3)))
    found = terms(several, AllOf((more, topic("t"))))
    assert len(found) == 3 and not any(each.is_whole for each in found)


def test_a_filter_that_another_implies_is_not_asked() -> None:
    wide, narrow = parse_box(BOXES[0], SPACE), parse_box("weather:X/>5/clear", SPACE)
    asked = (topic("a//."), topic("a/b"), wide, narrow, topic("a/b"))
    assert list(narrowest(asked)) == [topic("a/b"), narrow]
    assert narrowest((topic("a//."), narrow)) == (topic("a//."), narrow)


def test_what_stands_below_the_body_is_asked_of_the_payload() -> None:
    inside = Compare(XmlPath((Step("{urn:a}alert"), Step("level"))), ">", 3.0)
    asked = xpath("/s:Envelope/s:Body/a:alert/level > 3", "envelope")
    assert terms(asked) == [Term((inside,))]
    assert terms(asked, form=Form("wsn-1.3", "1.2", "2005/08")) == [Term(is_whole=False)], "in a Notify"
    assert terms(asked, form=Form("wse-2004-08", "1.1", "2004/08", wrapped=False)) == [Term(is_whole=False)]
    assert terms(xpath("//level > 3", "envelope")) == [Term(is_whole=False)], "a header may have one"
