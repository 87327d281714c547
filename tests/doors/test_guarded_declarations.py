"""Everybody may know what was declared; who manages everything declares."""

from typing import cast

import pytest

from tocsin.documents.ports.port import Broker
from tocsin.doors.guarded import Guarded
from tocsin.matching.catalogue import Catalogue
from tocsin.model.access import Principal, Right
from tocsin.model.declarations import Declaration, Ontology, Producer
from tocsin.model.filters import TopicIs
from tocsin.model.names import QName
from tocsin.model.refusal import Refusal

ALL = Principal("all", (Right("manage"),))
SOME = Principal("some", (Right("publish"), Right("subscribe"), Right("manage", TopicIs(((QName("", "a"),),)))))
PRODUCER = Producer("http://p")


class Bare:
    """The part of a node that is asked here."""

    base_url, body_limit, categories_of_world = "http://broker", 1000, True

    def __init__(self) -> None:
        self.known = Catalogue()

    async def declare(self, what: Declaration) -> None:
        self.known.declare(what)

    async def declare_meaning(self, what: Declaration, *, dry_run: bool = False) -> tuple[()]:
        if not dry_run:
            self.known.declare(what)
        return ()


@pytest.mark.parametrize("who", [SOME, Principal("")])
async def test_who_manages_some_topics_declares_nothing_and_reads_all(who: Principal) -> None:
    bare = Bare()
    guarded = Guarded(cast(Broker, bare), who)
    with pytest.raises(Refusal) as refusal:
        await guarded.declare(PRODUCER)
    assert refusal.value.reason == "not-allowed" and not bare.known.producers
    with pytest.raises(Refusal, match="ontologies") as refusal:
        await guarded.declare_meaning(Ontology("o"), dry_run=True)
    assert refusal.value.reason == "not-allowed"
    with pytest.raises(Refusal, match="ontologies"):
        guarded.check_may_declare()
    assert guarded.known is bare.known and guarded.categories_of_world


async def test_who_manages_everything_declares() -> None:
    bare = Bare()
    await Guarded(cast(Broker, bare), ALL).declare(PRODUCER)
    assert bare.known.producers == {"http://p": PRODUCER}
    await Guarded(cast(Broker, bare), ALL).declare_meaning(Ontology("o"), dry_run=True)
    assert not bare.known.ontologies
    await Guarded(cast(Broker, bare), ALL).declare_meaning(Ontology("o"))
    assert list(bare.known.ontologies) == ["o"]
