"""Declarations as of any record, whatever way it is asked."""

from pathlib import Path
from random import Random

import pytest

from tocsin.matching.catalogue import Catalogue
from tocsin.model.declarations import Declaration, Hierarchy, Lifting, Ontology, Producer, ThingAt, Withdrawn
from tocsin.model.identity import Instant, Node
from tocsin.model.records import Declared, Position
from tocsin.model.space import Dimension, InformationSpace
from tocsin.store.database import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "tocsin.db")


def declared(offset: int, what: Declaration) -> Declared:
    return Declared(Position(Node("n"), offset), Instant(offset), what)


def anything(chance: Random) -> Declaration:
    name, number = chance.choice("abc"), chance.randrange(1000)
    match chance.randrange(7):
        case 0:
            return InformationSpace(name, (Dimension(f"d{number}", "number"),))
        case 1:
            return Producer(name, (f"c{number}",))
        case 2:
            return Hierarchy("types", ((name, (f"t{number}",)),))
        case 3:
            return Hierarchy("categories", ((name, (f"c{number}",)),))
        case 4:
            return Ontology(name, ((f"urn:c{number}", ()),))
        case 5:
            return Lifting(name, "json", ThingAt("$", (f"urn:c{number}",)), (f"t{number}",))
        case _:
            return Withdrawn(chance.choice(("space", "producer", "ontology", "lifting")), name)


def contents(known: Catalogue) -> tuple[object, ...]:
    concepts = sorted(known.concepts.classes)
    return (known.spaces, known.producers, known.types, known.categories, known.ontologies, known.liftings, concepts)


def history(seed: int, count: int = 200) -> list[Declared]:
    chance = Random(seed)
    offsets = sorted(chance.sample(range(1000), count))
    return [declared(offset, anything(chance)) for offset in offsets]


def before(records: list[Declared], offset: int) -> tuple[object, ...]:
    return contents(Catalogue(each.what for each in records if each.at.offset < offset))


@pytest.mark.parametrize("seed", range(3))
def test_as_of_any_record_it_is_what_the_log_says(store: Store, seed: int) -> None:
    records = history(seed)
    store.apply(records)
    for offset in (0, *(each.at.offset + step for each in records for step in (0, 1)), 2000):
        assert contents(store.past.catalogue(offset)) == before(records, offset)
    assert contents(store.past.catalogue()) == before(records, 2000)


@pytest.mark.parametrize("seed", range(3))
def test_along_the_log_it_is_the_same(store: Store, seed: int) -> None:
    """Also when some records are not met, as retention leaves them."""
    records, chance = history(seed), Random(seed)
    store.apply(records)
    start, stop = sorted(chance.sample(range(1000), 2))
    known = store.past.catalogue_along(start, stop)
    for offset in sorted(chance.sample(range(start, stop), (stop - start) // 3)):
        assert contents(known.at(offset)) == before(records, offset)


def test_a_declaration_applied_twice_counts_once(store: Store) -> None:
    records = history(7, 20)
    store.apply(records)
    store.apply(records[3:9])
    assert list(store.past.declarations()) == records
    assert list(store.past.declarations(since=records[5].at.offset, before=records[9].at.offset)) == records[5:9]
    assert store.applied() == records[-1].at.offset + 1


def test_more_than_a_page_comes_in_order(store: Store) -> None:
    records = [declared(offset, Producer(f"p{offset}")) for offset in range(2500)]
    store.apply(records)
    assert list(store.past.declarations()) == records


def test_a_space_and_a_producer_of_one_name_are_two(store: Store) -> None:
    space, producer = InformationSpace("a", (Dimension("x", "string"),)), Producer("a")
    store.apply([declared(1, space), declared(2, producer), declared(3, Withdrawn("producer", "a"))])
    known = store.past.catalogue()
    assert (known.spaces, known.producers) == ({"a": space}, {})
