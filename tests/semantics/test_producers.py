"""The services of a world as producers: told of a change, only what it changed."""

from random import Random

from tocsin.markup import xml
from tocsin.model.declarations import Producer
from tocsin.semantics.interest.changes import PutCategory
from tocsin.semantics.interest.ino import Service
from tocsin.semantics.interest.producers import WorldProducers, categories_of, is_of_world
from tocsin.semantics.interest.world import World


def named(found: dict[str, Producer | None]) -> dict[str, tuple[str, ...] | None]:
    return {address: None if each is None else each.categories for address, each in found.items()}


def test_a_service_sends_from_its_notifier_and_by_itself() -> None:
    service = Service("a", ("x", "y"), notifier="http://n/a", address="http://a")
    silent = Service("b", ("x",))
    found = WorldProducers().update({"a": service, "b": silent})
    assert named(found) == {"http://n/a": ("x", "y"), "http://a": ("x", "y")}
    assert all(each is not None and is_of_world(each) for each in found.values())


def test_only_what_changed_is_told() -> None:
    producers = WorldProducers()
    services = {f"s{number}": Service(f"s{number}", ("x",), address=f"http://{number}") for number in range(1000)}
    assert producers.is_new and len(producers.update(services)) == 1000 and not producers.is_new
    assert producers.update(dict(services)) == {}
    services["s7"] = Service("s7", ("y",), address="http://7")
    del services["s8"]
    services["s9"] = Service("s9", ("x",), address="http://new")
    expected = {"http://7": ("y",), "http://8": None, "http://9": None, "http://new": ("x",)}
    assert named(producers.update(services)) == expected
    assert producers.at("http://8") is None and producers.at("http://7") is not None


def test_services_at_one_address_are_one_producer() -> None:
    first, second = Service("a", ("x",), address="u"), Service("b", ("y", "x"), address="u")
    producers = WorldProducers()
    assert named(producers.update({"a": first, "b": second})) == {"u": ("x", "y")}
    assert named(producers.update({"b": second})) == {"u": ("y", "x")}
    assert named(producers.update({})) == {"u": None}


def test_step_by_step_is_as_at_once() -> None:
    chance, producers = Random(4), WorldProducers()
    services: dict[str, Service] = {}
    told: dict[str, Producer | None] = {}
    for _ in range(300):
        name = chance.choice("abcdef")
        if chance.random() < 0.3:
            services.pop(name, None)
        else:
            notifier, address = chance.choice(("", "n1", "n2")), chance.choice(("", "n1", "p"))
            services[name] = Service(name, (chance.choice("xyz"),), notifier=notifier, address=address)
        told |= producers.update(services)
        assert {address: each for address, each in told.items() if each} == WorldProducers().update(services)


def test_its_properties_are_xml_whatever_it_promises() -> None:
    service = Service('a "&\x01', ("x",), {"price <": 2}, ("promise & \x00 <demand>",), address="u")
    (producer,) = WorldProducers().update({"a": service}).values()
    assert producer is not None
    root = xml.parse(producer.properties)
    policy, quality = root
    assert (policy.text, quality.get("name"), quality.text) == ("promise & � <demand>", "price <", "2.0")


def test_categories_are_a_hierarchy() -> None:
    world = World.of([PutCategory("care"), PutCategory("hospital", "care"), PutCategory("clinic", "hospital")])
    assert categories_of(world).parents == (("clinic", ("hospital",)), ("hospital", ("care",)))
