"""Whether what is declared to a node can be, and in which form it is kept."""

import re
from collections.abc import Iterable, Mapping

from msgspec import msgpack
from msgspec.structs import replace
from pyoxigraph import NamedNode

from tocsin.markup import xml
from tocsin.markup.xml import MarkupError
from tocsin.matching.catalogue import Catalogue, cycle_in
from tocsin.model.declarations import Declaration, Hierarchy, Lifting, Ontology, Producer, Withdrawn
from tocsin.model.filters import Filter, Graph, InBox, leaves
from tocsin.model.refusal import Refusal, known_names
from tocsin.model.space import InformationSpace, check_space
from tocsin.semantics.interest.producers import is_of_world
from tocsin.semantics.rdf import n_triples

MOST_SPACES = 1_000
MOST_PRODUCERS = 100_000
MOST_ONTOLOGIES = 256
MOST_LIFTINGS = 1_000
MOST_TERMS = 50_000  # of each kind in an ontology
MOST_STATEMENTS = 200_000
MOST_WRITTEN = 32 << 20  # bytes of an ontology in the log; by prefixes, a short document has long names
MOST_PROPERTIES = 50_000  # of all ontologies together; an index has room for 65,535 that are asked for
MOST_NAMES = 50_000  # of a hierarchy, each with its parents
MOST_PARENTS = 64
MOST_CATEGORIES = 64
LONGEST_NAME = 512
LONGEST_ADDRESS = 2_048
MOST_BYTES = 256 << 10  # of a producer's properties, and of its description
HOW_TO_DECLARE = "declare it with PUT /api/spaces/NAME, or `tocsin spaces declare`"
NO_BASE = "urn:tocsin:producer"
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_LABEL = re.compile(r"[^\W_][\w.-]{0,127}")


def formed(what: Declaration) -> Declaration:
    """As it is kept; refused with what is wrong and where. It may take long, and needs to know of nothing else."""
    match what:
        case InformationSpace():
            check_space(what)
        case Hierarchy():
            return _hierarchy(what)
        case Producer():
            return _producer(what)
        case Ontology():
            _check_ontology(what)
        case Lifting(name=name):
            _check_label("a lifting", name)
    return what


def check_among(what: Declaration, known: Catalogue) -> None:
    """Whether there is room for it, or something to withdraw."""
    match what:
        case InformationSpace(name=name) if name not in known.spaces and len(known.spaces) >= MOST_SPACES:
            raise Refusal("too-large", f"there are {MOST_SPACES} information spaces already; withdraw one first")
        case Producer(address=address) if address not in known.producers and len(known.producers) >= MOST_PRODUCERS:
            raise Refusal("too-large", f"there are {MOST_PRODUCERS:,} producers already; withdraw one first")
        case Ontology(name=name) if name not in known.ontologies and len(known.ontologies) >= MOST_ONTOLOGIES:
            raise Refusal("too-large", f"there are {MOST_ONTOLOGIES} ontologies already; withdraw one first")
        case Lifting(name=name) if name not in known.liftings and len(known.liftings) >= MOST_LIFTINGS:
            raise Refusal("too-large", f"there are {MOST_LIFTINGS:,} liftings already; withdraw one first")
        case Withdrawn(what="ontology" | "lifting", name=name):
            _named(what.what, name, known.ontologies if what.what == "ontology" else known.liftings)
        case Withdrawn():
            _check_withdrawn(what, known)


def is_known(what: Declaration, known: Catalogue) -> bool:
    """Whether it says what is known already: then there is nothing to write down."""
    match what:
        case InformationSpace(name=name):
            return known.spaces.get(name) == what
        case Producer(address=address):
            return known.producers.get(address) == what
        case Hierarchy(of="types", parents=parents):
            return known.types == dict(parents)
        case Hierarchy(parents=parents):
            return known.categories == dict(parents)
        case Ontology(name=name):
            return known.ontologies.get(name) == what
        case Lifting(name=name):
            return known.liftings.get(name) == what
        case Withdrawn(what="ontology", name=name):
            return name not in known.ontologies
        case Withdrawn(what="lifting", name=name):
            return name not in known.liftings
        case Withdrawn(what="space", name=name):
            return name not in known.spaces
        case Withdrawn(name=name):
            return name not in known.producers


def boxes_in(filters: Iterable[Filter]) -> Iterable[InBox]:
    return (each for each in leaves(filters) if isinstance(each, InBox))


def graphs_in(filters: Iterable[Filter]) -> Iterable[Graph]:
    return (each for each in leaves(filters) if isinstance(each, Graph))


def no_such_space(name: str, known: Catalogue) -> str:
    return f"there is no information space {name[:80]!r}; {known_names(name, sorted(known.spaces))}; {HOW_TO_DECLARE}"


def _hierarchy(asked: Hierarchy) -> Hierarchy:
    what = "type" if asked.of == "types" else "category"
    if len(asked.parents) > MOST_NAMES:
        raise Refusal("too-large", f"{len(asked.parents):,} names are too many; a hierarchy has at most {MOST_NAMES:,}")
    for name, parents in asked.parents:
        if len(parents) > MOST_PARENTS:
            text = f"{what} {name[:80]!r} has {len(parents)} parents; at most {MOST_PARENTS} can be"
            raise Refusal("too-large", text)
        for each in (name, *parents):
            _check_name(what, each)
    if len(dict(asked.parents)) < len(asked.parents):
        raise Refusal("malformed", f"a {what} is named twice; name it once, with all its parents")
    if (way := cycle_in(asked.parents)) is not None:
        raise Refusal("malformed", f"a {what} cannot be above itself: {' -> '.join(each[:80] for each in way[:10])}")
    kept = ((name, tuple(dict.fromkeys(parents))) for name, parents in sorted(asked.parents) if parents)
    return Hierarchy(asked.of, tuple(kept))


def _producer(asked: Producer) -> Producer:
    _check_address(asked.address)
    if len(asked.categories) > MOST_CATEGORIES:
        raise Refusal("too-large", f"{len(asked.categories)} categories are too many; at most {MOST_CATEGORIES} can be")
    for each in asked.categories:
        _check_name("category", each)
    for name, data in (("properties", asked.properties), ("description", asked.description)):
        if len(data) > MOST_BYTES:
            raise Refusal("too-large", f"its {name} have {len(data):,} bytes; at most {MOST_BYTES:,} are kept")
    try:
        if asked.properties:
            xml.parse(asked.properties)
    except MarkupError as problem:
        raise Refusal("malformed", f"the properties of {asked.address[:80]!r}: {problem}") from None
    if is_of_world(asked):
        raise Refusal("malformed", "such properties have services of the world alone; use elements of your own")
    description = n_triples(asked.description, _base(asked.address), MOST_BYTES) if asked.description else b""
    return replace(asked, categories=tuple(dict.fromkeys(asked.categories)), description=description)


def _check_address(address: str) -> None:
    if not 0 < len(address) <= LONGEST_ADDRESS or address.split() != [address] or _CONTROL.search(address):
        how = f"1 to {LONGEST_ADDRESS} characters, no spaces, no control characters"
        raise Refusal("malformed", f"{address[:80]!r} cannot be a producer's address: {how}")


def _base(address: str) -> str:
    """A source of CloudEvents may be relative."""
    try:
        return NamedNode(address).value
    except ValueError:
        return NO_BASE


def _check_withdrawn(asked: Withdrawn, known: Catalogue) -> None:
    if asked.what == "space":
        if asked.name not in known.spaces:
            raise Refusal("unknown-name", no_such_space(asked.name, known))
        return
    found = known.producers.get(asked.name)
    if found is None:
        text = f"there is no producer {asked.name[:80]!r}; {known_names(asked.name, known.producers)}"
        raise Refusal("unknown-name", text)
    if is_of_world(found):
        raise Refusal("in-use", f"{asked.name[:80]!r} is a service of the world; remove it there, with `tocsin ino`")


def _named(what: str, name: str, known: Mapping[str, object]) -> None:
    if name not in known:
        raise Refusal("unknown-name", f"there is no {what} {name[:80]!r}; {known_names(name, sorted(known))}")


def _check_label(what: str, name: str) -> None:
    """It stands in a path."""
    if not _LABEL.fullmatch(name):
        how = "1 to 128 letters, digits, dots, dashes, underscores, beginning with a letter or digit"
        raise Refusal("malformed", f"{name[:80]!r} cannot name {what}: {how}")


def _check_ontology(asked: Ontology) -> None:
    _check_label("an ontology", asked.name)
    for kind, found, most in (
        ("classes", asked.classes, MOST_TERMS),
        ("properties", asked.properties, MOST_TERMS),
        ("individuals", asked.individuals, MOST_TERMS),
        ("statements", asked.statements, MOST_STATEMENTS),
    ):
        if len(found) > most:
            raise Refusal("too-large", f"the ontology has {len(found):,} {kind}; at most {most:,} are taken")
    if (written := len(msgpack.encode(asked))) > MOST_WRITTEN:
        text = f"the ontology has {written:,} bytes with all names written out; at most {MOST_WRITTEN:,} are taken"
        raise Refusal("too-large", f"{text}: use shorter IRIs, or take it apart")


def check_together(ontologies: Iterable[Ontology]) -> None:
    found = len({name for each in ontologies for name, _ in each.properties})
    if found > MOST_PROPERTIES:
        text = f"the ontologies would have {found:,} properties together; at most {MOST_PROPERTIES:,} are taken"
        raise Refusal("too-large", f"{text}: declare fewer, or withdraw an ontology first")


def _check_name(what: str, name: str) -> None:
    if not 0 < len(name) <= LONGEST_NAME or name != name.strip() or not name.isprintable():
        text = f"{name[:80]!r} cannot name a {what}: 1 to {LONGEST_NAME} printable characters, no spaces around them"
        raise Refusal("malformed", text)
    if what == "type" and " " in name:
        text = f"{name[:80]!r} cannot name a type: types are asked for with spaces between them, and have none within"
        raise Refusal("malformed", text)
