"""The eight patterns: who is told by each, and how the broker picks a producer (paper 000 s2.1)."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tocsin.model.identity import Instant
from tocsin.model.interactions import Also, Preference, Profile, Request
from tocsin.model.notification import Payload
from tocsin.model.refusal import Refusal
from tocsin.routing.interaction import (
    PATTERNS,
    answer_goes_to,
    choose,
    choosing,
    pattern,
    subscribed,
    together,
    told_by_rule,
)
from tocsin.semantics.interest import changes as c
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.semantics.interest.world import World

CHEAP = Profile({"price": Preference(2.0, "lower"), "availability": Preference()})


def world(*services: Service) -> World:
    return World.of(
        [
            c.PutTopic("Travel"),
            c.PutTopic("Reservation", "Travel"),
            c.PutCategory("Producers"),
            c.PutCategory("Airlines", "Producers"),
            c.PutCategory("Clients"),
            c.PutCategory("Readers"),
            *map(c.PutService, services),
            c.PutEdge(Edge("Airlines", "Reservation", "Readers")),
        ]
    )


def airline(name: str, category: str = "Airlines", policies: tuple[str, ...] = (), **qualities: float) -> Service:
    return Service(name, (category,), qualities, policies, notifier=f"http://broker.example/notifiers/{name}")


def request(name: str, of: str, asker: str, producer: str = "P", topic: str = "Travel", also: Also = "") -> Request:
    return Request(name, of, topic, asker, producer, Payload("application/json", b"null"), Instant(1), also=also)


ASKER = airline("traveller", "Clients")


def test_there_is_one_pattern_for_each_corner_of_the_taxonomy() -> None:
    found = {(each.mode, each.cardinality, each.strategy) for each in PATTERNS.values()}
    assert found == set(product(("push", "pull"), ("1:1", "1:n"), ("explicit", "implicit")))
    assert all(name == f"{each.mode}-{each.cardinality}-{each.strategy}" for name, each in PATTERNS.items())
    assert sorted(each.figure for each in PATTERNS.values()) == ["2a", "2b", "2c", "2d", "3a", "3b", "3c", "3d"]
    assert [each.name for each in PATTERNS.values() if not each.asked] == ["push-1:1-implicit", "push-1:n-implicit"]


def test_a_pattern_is_known_in_the_papers_spelling() -> None:
    assert pattern("Pull-1:N-Implicit").name == "pull-1:n-implicit"
    with pytest.raises(Refusal, match=r"'smoke' is no pattern of interaction; there are: pull-1:1-explicit, "):
        pattern("smoke")


def test_the_cheaper_is_better_where_the_profile_says_so() -> None:
    there = world(ASKER, airline("Dear", price=500, availability=0.9), airline("Cheap", price=100, availability=0.8))
    found, why = choose(there, "Reservation", "traveller", "Airlines", CHEAP)
    assert found.name == "Cheap"
    assert [(each.service, each.score, each.parts) for each in why.scored] == [
        ("Cheap", 0.666667, {"price": 1.0, "availability": 0.0}),
        ("Dear", 0.333333, {"price": 0.0, "availability": 1.0}),
    ]
    assert why.excluded == {"not under the category 'Airlines'": 1}
    other = Profile({"price": Preference(1.0, "lower"), "availability": Preference(3.0)})
    assert choose(there, "Reservation", "traveller", "Airlines", other)[0].name == "Dear"


def test_of_equals_the_first_by_name_is_chosen() -> None:
    there = world(ASKER, *(airline(name, price=1, availability=1) for name in "BAC"))
    assert choose(there, "Reservation", "traveller", "Airlines", CHEAP)[0].name == "A"
    assert choose(there, "Reservation", "traveller", "Airlines", Profile())[0].name == "A"


def test_of_many_that_fit_the_best_hundred_are_told() -> None:
    there = world(ASKER, *(airline(f"A{number:03}", price=float(number), availability=1) for number in range(300)))
    found, why = choose(there, "Reservation", "traveller", "Airlines", CHEAP)
    assert (found.name, len(why.scored), why.scored[-1].service) == ("A000", 100, "A099")


def test_a_quality_that_is_not_told_is_the_worst() -> None:
    there = world(ASKER, airline("Silent"), airline("Told", price=900, availability=0))
    assert choose(there, "Reservation", "traveller", "Airlines", CHEAP)[0].name == "Told"
    bound = Profile({"price": Preference(at_most=1e300)})
    assert [each.service for each in choose(there, "Reservation", "traveller", "", bound)[1].scored] == ["Told"]


def test_subcategories_are_of_the_category_and_nobody_asks_itself() -> None:
    there = world(airline("A"), airline("Z", "Producers"))
    assert choose(there, "Reservation", "A", "Producers", Profile())[0].name == "Z"
    assert choose(there, "Reservation", "Z", "Producers", Profile())[0].name == "A"


@pytest.mark.parametrize(
    "asked",
    [
        Preference(better="lower"),
        Preference(0.0, at_most=400),
        Preference(at_least=1, at_most=400),
    ],
)
def test_a_quality_that_nobody_who_fits_has_picks_nobody(asked: Preference) -> None:
    there = world(
        airline("traveller", "Clients", prise=1), airline("A", price=100), airline("B", "Producers", speed=1, prise=1)
    )
    with pytest.raises(Refusal) as refused:
        choose(there, "Reservation", "traveller", "Airlines", Profile({"price": Preference(), "prise": asked}))
    assert refused.value.reason == "unknown-name"
    assert refused.value.text == (
        "no producer that fits otherwise has the quality 'prise'; the qualities there are: price"
    )
    assert choose(there, "Reservation", "traveller", "", Profile({"prise": asked}))[0].name == "B"


def test_a_quality_of_those_alone_who_are_out_of_bounds_picks_nobody() -> None:
    there = world(ASKER, airline("A", price=100), airline("B", price=900, speed=1))
    asked = Profile({"price": Preference(at_most=400), "speed": Preference()})
    with pytest.raises(Refusal, match=r"has the quality 'speed'; the qualities there are: price$"):
        choose(there, "Reservation", "traveller", "Airlines", asked)


def test_where_nobody_has_qualities_that_is_said() -> None:
    with pytest.raises(Refusal, match=r"the qualities there are: none$"):
        choose(world(ASKER, airline("A")), "Reservation", "traveller", "", CHEAP)


def test_the_choice_is_of_the_world_as_it_was_when_asked() -> None:
    there = world(ASKER, airline("A"), airline("B"))
    chosen = choosing(there, "Reservation", "traveller", "Airlines", Profile())
    there.apply(c.RemoveService("A"))
    assert chosen()[0].name == "A"


def test_when_nobody_fits_each_condition_says_how_many_it_excluded() -> None:
    there = world(
        ASKER,
        airline("A", price=100),
        airline("B", policies=("refundable",), price=500),
        airline("C", policies=("refundable",), price=600),
        Service("D", ("Airlines",)),
    )
    asked = Profile({"price": Preference(1.0, "lower", at_most=400)}, ("refundable",))
    with pytest.raises(Refusal) as refused:
        choose(there, "Reservation", "traveller", "Airlines", asked)
    assert refused.value.reason == "unknown-name"
    assert refused.value.text == (
        "no producer fits for 'Reservation': of 5 services were excluded 1 not under the category 'Airlines', "
        "1 has no notifier, 1 without the policy 'refundable', 2 price not known to be at most 400; "
        "ask for less, or for another category; one that you name is asked with pull-1:1-explicit"
    )
    with pytest.raises(Refusal, match="there is no category 'Ships'"):
        choose(there, "Reservation", "traveller", "Ships", Profile())


@given(
    st.dictionaries(
        st.sampled_from("ABCDEFGH"),
        st.dictionaries(st.sampled_from(("price", "speed")), st.floats(-1e6, 1e6, allow_nan=False)),
        min_size=1,
    ),
    st.sampled_from(("higher", "lower")),
)
def test_the_choice_is_never_worse_than_another_in_everything(
    offered: dict[str, dict[str, float]], better: str
) -> None:
    qualities = {name: Preference(1.0, better) for name in ("price", "speed")}  # type: ignore[arg-type]
    known = airline("Z", price=0.0, speed=0.0)
    there = world(ASKER, known, *(replace(airline(name), qualities=each) for name, each in offered.items()))
    found, why = choose(there, "Reservation", "traveller", "Airlines", Profile(qualities))
    best = why.scored[0]
    assert found.name == best.service
    assert all(0.0 <= each.score <= 1.0 for each in why.scored)
    for each in why.scored:
        assert not all(each.parts[name] > best.parts[name] for name in qualities)


def test_one_answer_goes_to_the_one_who_asked() -> None:
    there, asked = world(airline("P"), airline("a", "Clients")), request("1", "pull-1:1-explicit", "a")
    others = [asked, request("2", "pull-1:1-explicit", "b")]
    assert answer_goes_to(asked, others, there) == ("a",)
    assert together(asked, others) == (asked,)


def test_one_answer_goes_to_all_that_asked_the_same() -> None:
    name = "pull-1:n-explicit"
    asked = request("1", name, "a")
    others = [
        asked,
        request("2", name, "b"),
        request("3", name, "a"),
        request("4", name, "c", topic="Reservation"),
        request("5", name, "d", producer="Q"),
        request("6", "pull-1:1-explicit", "e"),
    ]
    assert answer_goes_to(others[1], others, world()) == ("b", "a")
    assert [each.id for each in together(others[1], others)] == ["2", "1", "3"]


def test_an_answer_also_goes_to_whom_the_graph_names() -> None:
    there = world(airline("P"), airline("a", "Clients"), airline("r", "Readers"), airline("s", "Readers"))
    asked = request("1", "pull-1:n-implicit", "a", topic="Reservation", also="interests")
    assert answer_goes_to(asked, [asked], there) == ("a", "r", "s")
    assert answer_goes_to(request("1", "pull-1:n-implicit", "a", also="channel"), [], there) == ("a",)


def test_a_rule_of_its_own_names_one() -> None:
    assert told_by_rule(Service("P", ("Airlines",), tells={"Travel": "a"}), "Travel") == "a"
    with pytest.raises(Refusal, match=r"'P' has no rule for 'Weather'; its rules are: Travel -> a"):
        told_by_rule(Service("P", ("Airlines",), tells={"Travel": "a"}), "Weather")


def test_who_subscribed_above_a_topic_is_told_what_is_below() -> None:
    there, name = world(airline("P")), "push-1:n-explicit"
    asked = [request("1", name, "a"), request("2", name, "b", topic="Reservation"), request("3", name, "c", "Q")]
    assert subscribed("P", "Reservation", asked, there) == ("a", "b")
    assert subscribed("P", "Travel", asked, there) == ("a",)
