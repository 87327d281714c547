"""An ontology while it is read from triples, with the class expressions of OWL and DAML+OIL."""

from collections.abc import Iterable, Iterator

from msgspec import Struct
from pyoxigraph import BlankNode, Literal, NamedNode

from tocsin.model.declarations import MetaStatement, Ontology, Parents
from tocsin.model.identity import Pairs
from tocsin.model.refusal import Refusal
from tocsin.semantics.concepts.concept_model import MOST_STATEMENTS
from tocsin.semantics.concepts.vocabulary import (
    ANYTHING,
    DATATYPE_PROPERTY,
    LITERAL,
    OBJECT_PROPERTY,
    OWL,
    RDF,
    RDFS,
    THING,
    XSD,
)
from tocsin.semantics.rdf import Facts, Node, Term

FIRST, REST = NamedNode(f"{RDF}first"), NamedNode(f"{RDF}rest")
INTERSECTION, UNION, ONE_OF, COMPLEMENT = (
    NamedNode(f"{OWL}{word}") for word in ("intersectionOf", "unionOf", "oneOf", "complementOf")
)
ON_PROPERTY, HAS_VALUE, ON_DATATYPE = (NamedNode(f"{OWL}{word}") for word in ("onProperty", "hasValue", "onDatatype"))
FILLERS = tuple(NamedNode(f"{OWL}{word}") for word in ("allValuesFrom", "someValuesFrom", "onClass", "onDataRange"))
DATA_RANGES = (NamedNode(f"{RDFS}Datatype"), NamedNode(f"{OWL}DataRange"))


class Expressed(Struct):
    """What a class expression says: named classes and restrictions above, and classes disjoint with it."""

    parents: set[str]
    restrictions: list[BlankNode]
    disjoint: set[str]


def members(facts: Facts, lists: Iterable[Term]) -> Iterator[Term]:
    """Of RDF lists; one that leads back into itself ends there."""
    for each in lists:
        at: Term | None = each
        seen = set[Term]()
        while isinstance(at, NamedNode | BlankNode) and at not in seen:
            seen.add(at)
            yield from facts.all(at, FIRST)
            at = next(facts.all(at, REST), None)


def expressed(facts: Facts, starts: Iterable[Term]) -> Expressed:
    found = Expressed(set(), [], set())
    for node in _all_within(facts, starts, (INTERSECTION,), (ON_DATATYPE,)):
        if isinstance(node, NamedNode):
            found.parents.add(node.value)
        elif isinstance(node, BlankNode):
            if any(facts.all(node, ON_PROPERTY)):
                found.restrictions.append(node)
            if facts.is_a(node, *DATA_RANGES) and any(facts.all(node, ONE_OF)):
                found.parents.add(LITERAL)
            found.disjoint |= {each.value for each in facts.all(node, COMPLEMENT) if isinstance(each, NamedNode)}
    found.parents.discard(ANYTHING)
    return found


def alternatives(facts: Facts, starts: Iterable[Term]) -> set[str]:
    """The classes that are meant by a domain, a range or a restriction's filler; what cannot be said is any thing."""
    found = set[str]()
    for node in _all_within(facts, starts, (INTERSECTION, UNION), (ON_DATATYPE,)):
        if isinstance(node, NamedNode):
            found.add(node.value)
        elif isinstance(node, BlankNode) and any(facts.all(node, ONE_OF)):
            found |= {
                each.datatype.value if isinstance(each, Literal) else THING
                for each in members(facts, facts.all(node, ONE_OF))
            }
        elif isinstance(node, BlankNode) and not any(facts.all(node, INTERSECTION, UNION, ON_DATATYPE)):
            found.add(LITERAL if facts.is_a(node, *DATA_RANGES) else THING)
    return found


def restricted(facts: Facts, node: BlankNode) -> Iterator[tuple[str, str]]:
    """The properties of a restriction with the classes of their values; numbers of values are not looked at."""
    values = facts.all(node, HAS_VALUE)
    objects = alternatives(facts, facts.all(node, *FILLERS)) | {
        value for each in values for value in _types(facts, each)
    }
    for name in facts.all(node, ON_PROPERTY):
        if isinstance(name, NamedNode):
            yield from ((name.value, each) for each in objects)


def _all_within(
    facts: Facts, starts: Iterable[Term], lists: tuple[NamedNode, ...], single: tuple[NamedNode, ...]
) -> Iterator[Term]:
    waiting, seen = list(starts), set[Term]()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        if isinstance(node, BlankNode):
            waiting += [*members(facts, facts.all(node, *lists)), *facts.all(node, *single)]


def _types(facts: Facts, value: Term) -> set[str]:
    if isinstance(value, Literal):
        return {value.datatype.value}
    return {each.value for each in _stated_types(facts, value)} or {THING}


def _stated_types(facts: Facts, node: Node) -> Iterator[NamedNode]:
    for each in facts.all(node, NamedNode(f"{RDF}type")):
        if isinstance(each, NamedNode) and not each.value.startswith((RDF, RDFS, OWL)):
            yield each


def _words(space: str, *names: str) -> tuple[NamedNode, ...]:
    return tuple(NamedNode(f"{space}{name}") for name in names)


TYPE = NamedNode(f"{RDF}type")
DATATYPE = NamedNode(f"{RDFS}Datatype")
CLASS_TYPES = (*_words(RDFS, "Class", "Datatype"), *_words(OWL, "Class", "DeprecatedClass"))
OBJECT_TYPES = _words(
    OWL,
    "ObjectProperty",
    "InverseFunctionalProperty",
    "TransitiveProperty",
    "SymmetricProperty",
    "AsymmetricProperty",
    "ReflexiveProperty",
    "IrreflexiveProperty",
)
DATA_TYPE = NamedNode(f"{OWL}DatatypeProperty")
PROPERTY_TYPES = (
    NamedNode(f"{RDF}Property"),
    DATA_TYPE,
    *OBJECT_TYPES,
    *_words(OWL, "FunctionalProperty", "AnnotationProperty", "DeprecatedProperty"),
)
ALL_DISJOINT = NamedNode(f"{OWL}AllDisjointClasses")
SUBCLASS, SUBPROPERTY, DOMAIN, RANGE = _words(RDFS, "subClassOf", "subPropertyOf", "domain", "range")
SAME_CLASS, SAME_PROPERTY, INVERSE, DISJOINT, DISJOINT_UNION, MEMBERS = _words(
    OWL, "equivalentClass", "equivalentProperty", "inverseOf", "disjointWith", "disjointUnionOf", "members"
)
_SAYS_CLASS = (SUBCLASS, SAME_CLASS, INTERSECTION, UNION, ONE_OF, COMPLEMENT, DISJOINT, DISJOINT_UNION)
_SAYS_PROPERTY = (SUBPROPERTY, SAME_PROPERTY, DOMAIN, RANGE, INVERSE)
_VOCABULARIES = (RDFS, OWL, XSD)


class Draft:
    """An ontology while it is read. Terms with a type, parents, domain or range of their own are defined in it; others
    are only mentioned."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._classes: dict[str, set[str]] = {}
        self._properties: dict[str, set[str]] = {}
        self._individuals: dict[str, set[str]] = {}
        self._statements: set[MetaStatement] = set()
        self._disjoint: set[tuple[str, str]] = set()
        named = [node for node in facts if isinstance(node, NamedNode) and _is_readable(node)]
        for node in named:
            self._read(node)
        for group in (each for each in facts if facts.is_a(each, ALL_DISJOINT)):
            self._all_disjoint(members(facts, facts.all(group, MEMBERS)))
        for node in named:
            self._individual(node)

    def finished(self, name: str, prefixes: Pairs) -> Ontology:
        return Ontology(
            name,
            _sorted(self._classes),
            _sorted(self._properties),
            tuple(sorted(self._statements)),
            _sorted(self._individuals),
            prefixes,
            tuple(sorted(self._disjoint)),
        )

    def _read(self, node: NamedNode) -> None:
        if node.value.startswith(RDF):
            # Of RDF's own terms rdf:value is for everybody to say more of.
            if any(self._facts.all(node, *_SAYS_PROPERTY)):
                self._property(node)
            return
        if node.value == THING:
            self._restrict(THING, expressed(self._facts, self._facts.all(node, SUBCLASS)))
            return
        if self._facts.is_a(node, *CLASS_TYPES) or any(self._facts.all(node, *_SAYS_CLASS)):
            self._class(node)
        if self._facts.is_a(node, *PROPERTY_TYPES) or any(self._facts.all(node, *_SAYS_PROPERTY)):
            self._property(node)

    def _class(self, node: NamedNode) -> None:
        facts, name = self._facts, node.value
        above = expressed(
            facts, [*facts.all(node, SUBCLASS, SAME_CLASS), *members(facts, facts.all(node, INTERSECTION))]
        )
        parents = self._classes.setdefault(name, set())
        parents |= above.parents - {name}
        if facts.is_a(node, DATATYPE) and not parents:
            parents.add(LITERAL)
        self._restrict(name, above)
        for each in above.disjoint | _named(facts.all(node, DISJOINT, COMPLEMENT)):
            self._disjoint.add((min(name, each), max(name, each)))
        self._cover(node)

    def _restrict(self, name: str, above: Expressed) -> None:
        for restriction in above.restrictions:
            self._statements.update(MetaStatement(name, *said) for said in restricted(self._facts, restriction))

    def _cover(self, node: NamedNode) -> None:
        """A class is above those it is the union of, and those it equals; of an enumeration it has the individuals."""
        facts = self._facts
        same = [node, *facts.nodes(node, SAME_CLASS)]
        apart = list(members(facts, facts.all(node, DISJOINT_UNION)))
        parts = [*apart, *members(facts, (each for one in same for each in facts.all(one, UNION)))]
        for each in _named([*parts, *same]) - {node.value}:
            self._classes.setdefault(each, set()).add(node.value)
        self._all_disjoint(apart)
        for each in _named(members(facts, (each for one in same for each in facts.all(one, ONE_OF)))):
            self._individuals.setdefault(each, set()).add(node.value)

    def _property(self, node: NamedNode) -> None:
        facts, name = self._facts, node.value
        parents = self._properties.setdefault(name, set())
        parents |= _named(facts.all(node, SUBPROPERTY, SAME_PROPERTY)) - {name}
        for same in _named(facts.all(node, SAME_PROPERTY)) - {name}:
            self._properties.setdefault(same, set()).add(name)
        if facts.is_a(node, *OBJECT_TYPES):
            parents.add(OBJECT_PROPERTY)
        if facts.is_a(node, DATA_TYPE):
            parents.add(DATATYPE_PROPERTY)
        domains, ranges = self._ends(node)
        if len(domains) * len(ranges) + len(self._statements) > MOST_STATEMENTS:
            raise Refusal("too-large", f"<{name}> brings more than {MOST_STATEMENTS:,} meta-statements; say less")
        self._statements.update(MetaStatement(domain, name, range_) for domain in domains for range_ in ranges)
        self._statements.discard(MetaStatement(ANYTHING, name, ANYTHING))

    def _ends(self, node: NamedNode) -> tuple[set[str], set[str]]:
        """Several are alternatives. What a property does not state it has from its inverse, if that states it."""
        facts = self._facts
        inverse = facts.nodes(node, INVERSE)
        domains, ranges = (
            alternatives(facts, facts.all(node, one))
            or alternatives(facts, (each for other in inverse for each in facts.all(other, back)))
            or {ANYTHING}
            for one, back in ((DOMAIN, RANGE), (RANGE, DOMAIN))
        )
        return domains, ranges

    def _all_disjoint(self, nodes: Iterable[Term]) -> None:
        names = sorted(_named(nodes))
        if len(names) ** 2 > MOST_STATEMENTS:
            raise Refusal("too-large", f"{len(names):,} classes are all disjoint; say it of fewer")
        self._disjoint.update((one, other) for at, one in enumerate(names) for other in names[at + 1 :])

    def _individual(self, node: NamedNode) -> None:
        if node.value in self._classes or node.value in self._properties or node.value == THING:
            return
        stated = self._facts.all(node, TYPE)
        types = expressed(self._facts, stated).parents
        classes = {each for each in types if each == THING or not each.startswith((RDF, RDFS, OWL))}
        if classes or f"{OWL}NamedIndividual" in types:
            self._individuals.setdefault(node.value, set()).update(classes or {THING})


def _is_readable(node: NamedNode) -> bool:
    return node.value == THING or not node.value.startswith(_VOCABULARIES)


def _named(nodes: Iterable[Term]) -> set[str]:
    return {each.value for each in nodes if isinstance(each, NamedNode)}


def _sorted(names: dict[str, set[str]]) -> Parents:
    return tuple((name, tuple(sorted(above))) for name, above in sorted(names.items()))
