"""Which meta-statements hold of each property, after what it takes over from those above it."""

from collections.abc import Iterable, Mapping

from tocsin.model.ontology import MetaStatement
from tocsin.model.refusal import Refusal
from tocsin.semantics.concepts.ontology_vocabulary import ANYTHING, DATATYPE_PROPERTY, LITERAL, OBJECT_PROPERTY, THING

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
