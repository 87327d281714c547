"""The world as RDF and OWL: Turtle, RDF/XML, N-Triples, whether written here or by others."""

import re
from collections.abc import Iterator
from typing import Literal as OneOf

from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple, serialize

from tocsin.model.refusal import Refusal
from tocsin.semantics.interest import ino_vocabulary as v
from tocsin.semantics.interest.changes import Change, PutCategory, PutRules, PutTopic
from tocsin.semantics.interest.ino import QUORUM, Edge, Service, Vote
from tocsin.semantics.interest.world import World
from tocsin.semantics.interest.world_draft import Draft, tried
from tocsin.semantics.rdf import Facts, Node, shown, written_instant

INHERITED = ("topics", "categories")


class RdfWorldReader:
    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._topics = self._found_topics()
        self._categories = {
            node: None
            for node in self._facts
            if isinstance(node, NamedNode)
            and self._facts.is_a(node, v.CLASS, v.RDFS_CLASS)
            and node not in self._topics
            and not _reserved(node)
        }

    def draft(self) -> Draft:
        draft = Draft()
        for node in self._facts:
            if self._facts.is_a(node, v.ONTOLOGY):
                self._read_rules(draft, node)
        for node in self._topics:
            draft.topic(shown(node), PutTopic(self._facts.name(node), self._parent(node)))
        for node in self._categories:
            owner = self._facts.text(node, v.OWNER) or None
            draft.category(shown(node), PutCategory(self._facts.name(node), self._parent(node), owner))
        services, edges = list(self._services()), list(self._edges())
        for node, service in services:
            draft.service(shown(node), service)
        for edge in edges:
            draft.edge(str(edge), edge)
        if not (self._topics or self._categories or services or edges):
            raise Refusal("malformed", f"there is nothing of a world in it: no owl:Class, {v.INO}Topic or Interest")
        return draft

    def _found_topics(self) -> dict[Node, None]:
        """Those that are said to be topics, and the classes that are under ino:Topic at any depth."""
        found = {
            node: None
            for node in self._facts
            if self._facts.is_a(node, v.TOPIC, v.CONCEPT, v.OBJECT_PROPERTY) and not _reserved(node)
        }
        below: dict[Node, list[Node]] = {}
        for node in self._facts:
            for above in self._facts.nodes(node, v.SUBCLASS):
                below.setdefault(above, []).append(node)
        waiting = list(below.get(v.TOPIC, ()))
        while waiting:
            if (node := waiting.pop()) not in found:
                found[node] = None
                waiting += below.get(node, ())
        return found

    def _parent(self, node: Node) -> str | None:
        words = v.SUBCLASS, v.SUBPROPERTY, v.BROADER
        parents = {
            self._facts.name(each): None
            for each in self._facts.nodes(node, *words)
            if isinstance(each, NamedNode) and not _reserved(each)
        }
        if len(parents) > 1:
            raise Refusal("bad-world", f"{shown(node)} is under {' and '.join(parents)}; keep one parent")
        return next(iter(parents), None)

    def _read_rules(self, draft: Draft, node: Node) -> None:
        quorum = self._facts.whole(node, v.QUORUM)
        inherits = self._facts.texts(node, v.INHERITS)
        if quorum is None and not inherits:
            return
        if any(each not in INHERITED for each in inherits):
            raise Refusal("bad-world", f"{shown(node)}: ino:inherits is one of: {', '.join(INHERITED)}")
        votes = QUORUM if quorum is None else quorum
        draft.rules(shown(node), PutRules("topics" in inherits, "categories" in inherits, votes))

    def _services(self) -> Iterator[tuple[Node, Service]]:
        for node in self._facts:
            types = [each for each in self._facts.nodes(node, v.TYPE) if not _reserved(each)]
            declared = self._facts.is_a(node, v.SERVICE)
            categories = [each for each in types if declared or each in self._categories]
            if declared or (categories and node not in self._categories and node not in self._topics):
                yield node, self._service(node, tuple(self._facts.name(each) for each in categories))

    def _service(self, node: Node, categories: tuple[str, ...]) -> Service:
        return Service(
            self._facts.name(node),
            categories,
            dict(self._qualities(node)),
            self._facts.texts(node, v.POLICY),
            dict(self._tells(node)),
            **{field: self._facts.text(node, word) for field, word in v.ADDRESSES.items()},
        )

    def _qualities(self, service: Node) -> Iterator[tuple[str, float]]:
        for node in self._facts.nodes(service, v.QUALITY):
            value = self._facts.number(node, v.VALUE)
            if value is None:
                raise Refusal("bad-world", f"{shown(service)}: a quality needs an ino:value")
            yield self._facts.text(node, v.NAME), value

    def _tells(self, service: Node) -> Iterator[tuple[str, str]]:
        for node in self._facts.nodes(service, v.TELLS):
            topic, told = self._facts.needed(node, v.ON_TOPIC), self._facts.needed(node, v.TOLD)
            yield self._facts.name(topic), self._facts.name(told)

    def _edges(self) -> Iterator[Edge]:
        for node in self._facts:
            if self._facts.is_a(node, v.INTEREST):
                yield self._interest(node)
            yield from self._labelled(node)
            if node in self._categories:
                yield from self._restricted(node)

    def _interest(self, node: Node) -> Edge:
        facts = self._facts
        return Edge(
            source=facts.name(facts.needed(node, v.FROM)),
            topic=facts.name(facts.needed(node, v.ON_TOPIC)),
            target=facts.name(facts.needed(node, v.TO)),
            proposed_by=facts.text(node, v.PROPOSED_BY),
            when=facts.instant(node, v.WHEN),
            votes=tuple(map(self._vote, facts.nodes(node, v.VOTE))),
            support=facts.number(node, v.SUPPORT),
            confidence=facts.number(node, v.CONFIDENCE),
            lift=facts.number(node, v.LIFT),
            note=facts.text(node, v.COMMENT),
        )

    def _vote(self, node: Node) -> Vote:
        facts = self._facts
        agrees, when = facts.truth(node, v.AGREES), facts.instant(node, v.WHEN)
        return Vote(facts.text(node, v.BY), agrees, when, facts.text(node, v.COMMENT))

    def _labelled(self, node: Node) -> Iterator[Edge]:
        """`category topic category`. What a topic joins that are no categories is not about interests."""
        for word in self._facts.about(node):
            if word in self._topics:
                for target in self._facts.nodes(node, word):
                    if node in self._categories or target in self._categories:
                        yield self._between(node, word, target)

    def _restricted(self, node: Node) -> Iterator[Edge]:
        """`category subClassOf (topic some category)`, which is how OWL tools say it."""
        for above in self._facts.nodes(node, v.SUBCLASS):
            for word in self._facts.nodes(above, v.ON_PROPERTY):
                if word in self._topics:
                    yield self._between(node, word, self._facts.needed(above, v.SOME_VALUES))

    def _between(self, source: Node, topic: Node, target: Node) -> Edge:
        for end in (source, target):
            if end not in self._categories:
                raise Refusal("bad-world", f"{shown(end)} has an edge and is no category; declare it an owl:Class")
        return Edge(self._facts.name(source), self._facts.name(topic), self._facts.name(target))


def _reserved(node: Node) -> bool:
    return isinstance(node, NamedNode) and node.value.startswith(v.RESERVED)


Syntax = OneOf["turtle", "rdf-xml", "n-triples"]
FORMATS: dict[Syntax, RdfFormat] = {
    "turtle": RdfFormat.TURTLE,
    "rdf-xml": RdfFormat.RDF_XML,
    "n-triples": RdfFormat.N_TRIPLES,
}
NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


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
    """Writes the world as triples. Blank nodes are numbered, so that the same world is written the same way."""

    def __init__(self) -> None:
        self._count = 0

    def triples(self, world: World) -> Iterator[Triple]:
        yield from self._rules(world)
        for name, parent in world.topics.items():
            own = v.named("topic", name)
            yield Triple(own, v.TYPE, v.TOPIC)
            yield Triple(own, v.TYPE, v.CONCEPT)
            yield Triple(own, v.LABEL, Literal(name))
            if parent is not None:
                yield Triple(own, v.BROADER, v.named("topic", parent))
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
