"""The concept model (OPS s3.2): all ontologies together, with their names and meta-statements."""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from types import MappingProxyType

from tocsin.model.declarations import MetaStatement, Ontology, Parents
from tocsin.model.refusal import Refusal, known_names
from tocsin.semantics.concepts import concept_checks as checks
from tocsin.semantics.concepts.vocabulary import (
    ANYTHING,
    CLASSES,
    DATATYPE_PROPERTY,
    DATATYPES,
    LITERAL,
    LITERAL_NAMES,
    OBJECT_PROPERTY,
    PROPERTIES,
    THING,
    THING_NAMES,
    USUAL_PREFIXES,
    canonical,
)

_LOCAL = re.compile(r"[\w.~%-]*")
_PREFIXED = re.compile(r"([^\s:<>\"'?]*):([^\s<>\"]*)")


class TermNames:
    """How terms are written and read: by prefix, or bare below an empty prefix.

    If two ontologies use a prefix for two namespaces, that of the first by name counts. The usual prefixes of RDF and
    OWL are fixed.
    """

    def __init__(self, ontologies: Iterable[Ontology] = ()) -> None:
        self._of: dict[str, dict[str, None]] = {}  # namespaces of a prefix, in order
        for each in ontologies:
            for prefix, namespace in each.prefixes:
                self._of.setdefault(prefix, {}).setdefault(namespace)
        declared = {prefix: next(iter(namespaces)) for prefix, namespaces in self._of.items()}
        self.prefixes: Mapping[str, str] = MappingProxyType({**declared, **USUAL_PREFIXES})
        self._by_namespace = {namespace: prefix for prefix, namespace in reversed(list(self.prefixes.items()))}
        self._longest = max(map(len, self._by_namespace), default=0)

    def short(self, iri: str) -> str:
        """As people know it: the longest namespace gives the prefix."""
        for end in range(min(len(iri), self._longest), 0, -1):
            prefix = self._by_namespace.get(iri[:end])
            if prefix is not None and _LOCAL.fullmatch(iri, end):
                return f"{prefix}:{iri[end:]}" if prefix else iri[end:]
        return f"<{iri[:300]}>"

    def resolve(self, text: str, prefixes: Mapping[str, str], terms: Collection[str]) -> str:
        if text.startswith("<") and text.endswith(">"):
            return canonical(text[1:-1])
        if (found := _PREFIXED.fullmatch(text)) is None:
            return self._bare(text, prefixes, terms)
        namespace = prefixes.get(found[1]) or self.prefixes.get(found[1])
        if namespace is None:
            known = known_names(found[1], sorted({*prefixes, *self.prefixes} - {""}))
            raise Refusal(
                "unknown-name", f"{text[:200]}: there is no prefix {found[1]!r}; {known}. Write an IRI as <...>"
            )
        return canonical(namespace + found[2])

    def _bare(self, name: str, prefixes: Mapping[str, str], terms: Collection[str]) -> str:
        if (own := prefixes.get("")) is not None:
            return canonical(own + name)
        for namespace in self._of.get("", ()):
            if namespace + name in terms:
                return namespace + name
        known = known_names(name, sorted(filter(lambda each: ":" not in each, map(self.short, terms))))
        raise Refusal("unknown-name", f"there is no term {name[:200]!r}; {known}. Write others as prefix:name or <IRI>")


MOST_STATEMENTS = 200_000
Ends = frozenset[tuple[str, str]]  # the classes of subject and object, ANYTHING where none is stated
NOTHING: Ends = frozenset()


def ends_by_property(
    ordered: Iterable[str], parents: Mapping[str, tuple[str, ...]], statements: Iterable[MetaStatement]
) -> dict[str, tuple[tuple[str, str], ...]]:
    """For each property, of which those above come first.

    A property that states no domain has the domains of those above it; so with ranges. Where they state none either,
    it applies to every thing, and to all values that its kind permits.
    """
    own: dict[str, set[tuple[str, str]]] = {}
    for each in statements:
        own.setdefault(each.property, set()).add((each.subject, each.object))
    stated: dict[str, Ends] = {}
    kinds: dict[str, frozenset[str]] = {OBJECT_PROPERTY: frozenset({THING}), DATATYPE_PROPERTY: frozenset({LITERAL})}
    made, count = {}, 0
    for name in ordered:
        above = parents[name]
        inherited = NOTHING.union(*(stated[each] for each in above))
        stated[name] = _stated(own.get(name, set()), inherited)
        kinds.setdefault(name, frozenset().union(*(kinds[each] for each in above)))
        made[name] = _filled(stated[name], kinds[name] or frozenset({THING, LITERAL}))
        count += len(made[name])
        if count > MOST_STATEMENTS:
            raise Refusal("too-large", f"the ontologies have more than {MOST_STATEMENTS:,} meta-statements; say less")
    return made


def _stated(own: set[tuple[str, str]], inherited: Ends) -> Ends:
    """Domains and ranges that come apart (from two documents, or one from a property above) are all combined."""
    whole = {ends for ends in own if ANYTHING not in ends}
    domains = {subject for subject, object_ in own if object_ == ANYTHING != subject}
    ranges = {object_ for subject, object_ in own if subject == ANYTHING != object_}
    if not (whole or domains or ranges):
        return inherited
    if not (domains or ranges):
        return frozenset(whole)
    subjects = domains or {subject for subject, _ in inherited} or {ANYTHING}
    objects = ranges or {object_ for _, object_ in inherited} or {ANYTHING}
    if len(subjects) * len(objects) > MOST_STATEMENTS:
        raise Refusal("too-large", f"a property has more than {MOST_STATEMENTS:,} pairs of domain and range; say less")
    return frozenset(whole | {(subject, object_) for subject in subjects for object_ in objects})


def _filled(stated: Ends, values: frozenset[str]) -> tuple[tuple[str, str], ...]:
    filled = set[tuple[str, str]]()
    for subject, object_ in stated or {(ANYTHING, ANYTHING)}:
        objects = values if object_ == ANYTHING else (object_,)
        filled.update((THING if subject == ANYTHING else subject, each) for each in objects)
    return tuple(sorted(filled))


MOST_REMEMBERED = 2_000_000  # names in closures, and answers; deep hierarchies have very many
MOST_CLASSES = 16  # in an answer that is remembered
Iris = tuple[str, ...]


class ConceptModel:
    """Never changes; what it says of a term it does not have is that the term is below the top alone.

    The order in which ontologies are given does not matter. Disjoint classes that share a subclass or an individual,
    cycles, terms that none of the ontologies defines, and values that would be a literal and a thing are refused.
    """

    def __init__(self, ontologies: Iterable[Ontology] = ()) -> None:
        self.ontologies = tuple(sorted(ontologies, key=lambda each: each.name))
        self.names = TermNames(self.ontologies)
        self._classes = _merged({**CLASSES, **DATATYPES}, (each.classes for each in self.ontologies))
        self._properties = _merged(PROPERTIES, (each.properties for each in self.ontologies))
        self._individuals = _merged({}, (each.individuals for each in self.ontologies))
        self._above: dict[tuple[str, str], frozenset[str]] = {}
        self._allowed: dict[tuple[Iris, str, Iris], bool] = {}
        self._meeting: dict[tuple[str, str], bool] = {}
        self._remembered = 0
        stated = {each for ontology in self.ontologies for each in ontology.statements}
        short = self.names.short
        checks.check_defined(self._classes, self._properties, self._individuals, stated, short)
        ordered = checks.parents_first("class", self._classes, short)
        self._datatypes = checks.datatypes(ordered, self._classes, short)
        self._ends = ends_by_property(
            checks.parents_first("property", self._properties, short), self._properties, stated
        )
        self._objects: dict[str, dict[str, set[str]]] = {name: _by_first(ends) for name, ends in self._ends.items()}
        checks.check_values(self, self._properties, self._ends)
        checks.check_disjoint(self, sorted({pair for each in self.ontologies for pair in each.disjoint}))

    def __bool__(self) -> bool:
        return bool(self.ontologies)

    @property
    def prefixes(self) -> Mapping[str, str]:
        """The usual ones, and those of the ontologies, of which the first by name counts."""
        return self.names.prefixes

    @property
    def classes(self) -> Collection[str]:
        return self._classes.keys()

    @property
    def datatypes(self) -> Collection[str]:
        return [name for name in self._classes if name in self._datatypes]

    @property
    def properties(self) -> Collection[str]:
        return self._properties.keys()

    @cached_property
    def own_classes(self) -> list[str]:
        """Those that the ontologies declare, without what RDF and OWL have of themselves."""
        return sorted({name for each in self.ontologies for name, _ in each.classes})

    @cached_property
    def own_properties(self) -> list[str]:
        return sorted({name for each in self.ontologies for name, _ in each.properties})

    @property
    def individuals(self) -> Collection[str]:
        return self._individuals.keys()

    def has_class(self, iri: str) -> bool:
        return iri in self._classes or iri in THING_NAMES or iri in LITERAL_NAMES

    def has_property(self, iri: str) -> bool:
        return iri in self._properties

    def is_datatype(self, iri: str) -> bool:
        return iri in self._datatypes or iri in LITERAL_NAMES

    def classes_of(self, individual: str) -> tuple[str, ...]:
        return self._individuals.get(individual, ())

    def classes_above(self, iri: str) -> frozenset[str]:
        """The class itself, all above it, and the top: of things, or of literals."""
        found = self._above.get(("class", iri))
        if found is None:
            top = LITERAL_NAMES if self.is_datatype(iri) else THING_NAMES
            found = self._remember("class", iri, _closed(iri, self._classes) | top)
        return found

    def properties_above(self, iri: str) -> frozenset[str]:
        found = self._above.get(("property", iri))
        return found or self._remember("property", iri, _closed(iri, self._properties))

    def classes_below(self, iri: str) -> frozenset[str]:
        """The class itself and all below it that the model names."""
        iri = canonical(iri)
        if iri in THING_NAMES:
            return frozenset(self._classes.keys() - self._datatypes)
        return frozenset(self._datatypes) if iri == LITERAL else _closed(iri, self._children)

    def properties_below(self, iri: str) -> frozenset[str]:
        return _closed(iri, self._subproperties)

    def allows(self, subject_classes: Iterable[str], property_: str, object_classes: Iterable[str]) -> bool:
        """Whether a meta-statement permits that property between two vertexes, each with all its classes."""
        asked = (tuple(subject_classes), property_, tuple(object_classes))
        found = self._allowed.get(asked)
        if found is None:
            found = self._permits(*asked)
            few = len(asked[0]) + len(asked[2]) <= MOST_CLASSES and len(self._allowed) < MOST_REMEMBERED // 20
            if few and self.has_property(property_):
                self._allowed[asked] = found
        return found

    def could_hold(self, subject_classes: Iterable[str], property_: str, object_classes: Iterable[str]) -> bool:
        """Whether some meta-statement has a class in common with the subject, one with the object, and is of the
        property or one below it: what a pattern asks for may be wider than what is allowed. Without classes, any is
        meant."""
        subjects, objects = tuple(subject_classes), tuple(object_classes)
        return any(
            (not subjects or any(self.meet(each, subject) for each in subjects))
            and (not objects or any(self.meet(each, object_) for each in objects))
            for name in self.properties_below(property_)
            for subject, object_ in self._ends.get(name, ())
        )

    def statements_of(self, property_: str) -> tuple[MetaStatement, ...]:
        """Those that are stated, taken over from a property above, or follow from there being none."""
        return tuple(MetaStatement(subject, property_, object_) for subject, object_ in self._ends.get(property_, ()))

    def named(self, text: str, prefixes: Mapping[str, str]) -> str:
        """The IRI that is meant by `<IRI>`, `prefix:name` or a bare name, with the caller's prefixes first."""
        return self.names.resolve(
            text, prefixes, self._classes.keys() | self._properties.keys() | self._individuals.keys()
        )

    def short(self, iri: str) -> str:
        return self.names.short(iri)

    def meet(self, one: str, other: str) -> bool:
        """Whether the model has a class that is below both."""
        if one in self.classes_above(other) or other in self.classes_above(one):
            return True
        found = self._meeting.get((one, other))
        if found is None:
            found = not self.classes_below(one).isdisjoint(self.classes_below(other))
            if len(self._meeting) < MOST_REMEMBERED // 20 and self.has_class(one) and self.has_class(other):
                self._meeting[one, other] = found
        return found

    @cached_property
    def _children(self) -> dict[str, Iris]:
        return _turned(self._classes)

    @cached_property
    def _subproperties(self) -> dict[str, Iris]:
        return _turned(self._properties)

    def _permits(self, subject_classes: Iris, property_: str, object_classes: Iris) -> bool:
        by_subject = self._objects.get(property_, {})
        return any(
            not self.classes_above(object_).isdisjoint(by_subject[subject])
            for each in subject_classes
            for subject in self.classes_above(each) & by_subject.keys()
            for object_ in object_classes
        )

    def _remember(self, kind: str, iri: str, found: frozenset[str]) -> frozenset[str]:
        """Names that the model does not have come from publishers, who may send ever new ones."""
        if iri in (self._classes if kind == "class" else self._properties) and self._remembered < MOST_REMEMBERED:
            self._remembered += len(found)
            self._above[kind, iri] = found
        return found


def _merged(first: Mapping[str, Iris], several: Iterable[Parents]) -> dict[str, Iris]:
    made: dict[str, set[str]] = {name: set(parents) for name, parents in first.items()}
    for each in several:
        for name, parents in each:
            made.setdefault(name, set()).update(parents)
    ordered = sorted(made, key=lambda name: (name in first, name))  # who lists them shows what is declared first
    return {name: tuple(sorted(made[name])) for name in ordered}


def _closed(iri: str, next_to: Mapping[str, Iris]) -> frozenset[str]:
    found, waiting = {iri}, [iri]
    while waiting:
        for each in next_to.get(waiting.pop(), ()):
            if each not in found:
                found.add(each)
                waiting.append(each)
    return frozenset(found)


def _turned(parents: Mapping[str, Iris]) -> dict[str, Iris]:
    made: dict[str, list[str]] = {}
    for name, above in parents.items():
        for each in above:
            made.setdefault(each, []).append(name)
    return {name: tuple(children) for name, children in made.items()}


def _by_first(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    made: dict[str, set[str]] = {}
    for first, second in pairs:
        made.setdefault(first, set()).add(second)
    return made
