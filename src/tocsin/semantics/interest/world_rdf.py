"""The world as RDF and OWL: Turtle, RDF/XML, N-Triples.

As it is written, a category is an owl:Class under its parent, a topic an ino:Topic with skos:broader, a service an
individual of its categories, an edge an ino:Interest with what is known of it. Ontologies that others wrote are read
too: topics as skos:Concept, as classes under ino:Topic or as owl:ObjectProperty, and with the last an edge as the
triple `category topic category`, which is the labelled graph of paper 000 s3.1, or as an OWL restriction (some values).
"""

import re
from collections.abc import Iterator
from typing import Literal as OneOf

from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple, serialize

from tocsin.model.refusal import Refusal
from tocsin.semantics.interest import ino_vocabulary as v
from tocsin.semantics.interest.changes import Change
from tocsin.semantics.interest.edge import Edge, Vote
from tocsin.semantics.interest.rdf_facts import Facts, written_instant
from tocsin.semantics.interest.rdf_world_reader import RdfWorldReader
from tocsin.semantics.interest.service import Service
from tocsin.semantics.interest.world import World
from tocsin.semantics.interest.world_draft import tried

Syntax = OneOf["turtle", "rdf-xml", "n-triples"]
FORMATS: dict[Syntax, RdfFormat] = {
    "turtle": RdfFormat.TURTLE,
    "rdf-xml": RdfFormat.RDF_XML,
    "n-triples": RdfFormat.N_TRIPLES,
}
NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
Node = NamedNode | BlankNode


def read(data: bytes, syntax: Syntax, *, onto: World | None = None, create: bool = False) -> tuple[Change, ...]:
    """`onto` is a world whose names the graph may use; without it the graph must be whole."""
    draft = RdfWorldReader(Facts.parsed(data, FORMATS[syntax])).draft()
    if create:
        draft.create_missing(onto)
    return tried(draft.changes(onto), onto)[0]


def write(world: World, syntax: Syntax) -> bytes:
    written = serialize(_Writer().triples(world), format=FORMATS[syntax], prefixes=v.PREFIXES) or b""
    if syntax == "rdf-xml" and NOT_IN_XML.search(written.decode()):
        raise Refusal("bad-world", "a text of the world has a character that XML cannot hold; write it as Turtle")
    return written


class _Writer:
    """Nodes without a name of their own are numbered, so that the same world is written the same way."""

    def __init__(self) -> None:
        self._count = 0

    def triples(self, world: World) -> Iterator[Triple]:
        yield from self._rules(world)
        for name, parent in world.topics.items():
            yield from _topic(name, parent)
        for name, parent in world.categories.items():
            yield from _category(name, parent, world.owners.get(name))
        for service in world.services.values():
            yield from self._service(service)
        for edge in world.edges.values():
            yield from self._edge(edge)

    def _node(self, kind: str) -> BlankNode:
        self._count += 1
        return BlankNode(f"{kind}{self._count}")

    def _rules(self, world: World) -> Iterator[Triple]:
        own, rules = NamedNode(v.WORLD), world.rules
        yield Triple(own, v.TYPE, v.ONTOLOGY)
        yield Triple(own, v.QUORUM, Literal(rules.quorum))
        for said, word in ((rules.inherit_topics, "topics"), (rules.inherit_categories, "categories")):
            if said:
                yield Triple(own, v.INHERITS, Literal(word))

    def _service(self, service: Service) -> Iterator[Triple]:
        own = v.named("service", service.name)
        yield Triple(own, v.TYPE, v.SERVICE)
        yield from (Triple(own, v.TYPE, v.named("category", name)) for name in service.categories)
        yield Triple(own, v.LABEL, Literal(service.name))
        yield from (Triple(own, v.POLICY, Literal(policy)) for policy in service.policies)
        yield from _texts(own, {term: getattr(service, field) for field, term in v.ADDRESSES.items()})
        for name, value in service.qualities.items():
            yield from self._pair(own, v.QUALITY, (v.NAME, Literal(name)), (v.VALUE, _number(value)))
        for topic, told in service.tells.items():
            yield from self._pair(
                own, v.TELLS, (v.ON_TOPIC, v.named("topic", topic)), (v.TOLD, v.named("service", told))
            )

    def _pair(self, own: Node, word: NamedNode, *said: tuple[NamedNode, Literal | NamedNode]) -> Iterator[Triple]:
        node = self._node(word.value.removeprefix(v.INO))
        yield Triple(own, word, node)
        yield from (Triple(node, each, value) for each, value in said)

    def _edge(self, edge: Edge) -> Iterator[Triple]:
        own = self._node("edge")
        yield Triple(own, v.TYPE, v.INTEREST)
        yield Triple(own, v.FROM, v.named("category", edge.source))
        yield Triple(own, v.ON_TOPIC, v.named("topic", edge.topic))
        yield Triple(own, v.TO, v.named("category", edge.target))
        yield from _texts(own, {v.PROPOSED_BY: edge.proposed_by, v.COMMENT: edge.note})
        yield from _instant(own, edge.when)
        for word, value in ((v.SUPPORT, edge.support), (v.CONFIDENCE, edge.confidence), (v.LIFT, edge.lift)):
            if value is not None:
                yield Triple(own, word, _number(value))
        for vote in edge.votes:
            yield from self._vote(own, vote)

    def _vote(self, edge: Node, vote: Vote) -> Iterator[Triple]:
        own = self._node("vote")
        yield Triple(edge, v.VOTE, own)
        yield Triple(own, v.BY, Literal(vote.by))
        yield Triple(own, v.AGREES, Literal(vote.agrees))
        yield from _texts(own, {v.COMMENT: vote.note})
        yield from _instant(own, vote.when)


def _topic(name: str, parent: str | None) -> Iterator[Triple]:
    own = v.named("topic", name)
    yield Triple(own, v.TYPE, v.TOPIC)
    yield Triple(own, v.TYPE, v.CONCEPT)
    yield Triple(own, v.LABEL, Literal(name))
    if parent is not None:
        yield Triple(own, v.BROADER, v.named("topic", parent))


def _category(name: str, parent: str | None, owner: str | None) -> Iterator[Triple]:
    own = v.named("category", name)
    yield Triple(own, v.TYPE, v.CLASS)
    yield Triple(own, v.LABEL, Literal(name))
    if parent is not None:
        yield Triple(own, v.SUBCLASS, v.named("category", parent))
    yield from _texts(own, {v.OWNER: owner or ""})


def _texts(own: Node, said: dict[NamedNode, str]) -> Iterator[Triple]:
    return (Triple(own, word, Literal(text)) for word, text in said.items() if text)


def _instant(own: Node, when: int) -> Iterator[Triple]:
    if when:
        yield Triple(own, v.WHEN, written_instant(when))


def _number(value: float) -> Literal:
    return Literal(repr(float(value)), datatype=NamedNode(f"{v.XSD}double"))
