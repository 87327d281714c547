"""The built-in terms of RDFS, OWL, XML Schema and DAML+OIL, and which stand for the same."""

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
XSD = "http://www.w3.org/2001/XMLSchema#"
DAML = ("http://www.daml.org/2001/03/daml+oil#", "http://www.daml.org/2000/12/daml+oil#")
OLDER_XSD = ("http://www.w3.org/2000/10/XMLSchema#", "http://www.w3.org/1999/XMLSchema#")
USUAL_PREFIXES = {"rdf": RDF, "rdfs": RDFS, "owl": OWL, "xsd": XSD, "daml": DAML[0]}

THING, LITERAL = f"{OWL}Thing", f"{RDFS}Literal"
ANYTHING = f"{RDFS}Resource"  # in a meta-statement: a domain or a range that is not stated
OBJECT_PROPERTY, DATATYPE_PROPERTY = f"{OWL}topObjectProperty", f"{OWL}topDataProperty"

_ALIASES = {
    **{f"{space}Thing": THING for space in DAML},
    **{f"{space}Literal": LITERAL for space in DAML},
    **{
        f"{space}{name}": f"{RDF}{name}"
        for space in DAML
        for name in ("Property", "List", "first", "rest", "nil", "type")
    },
    f"{RDF}Literal": LITERAL,  # as OPS s3.1 has it
    **{f"{XSD}{name}": LITERAL for name in ("anyType", "anySimpleType", "anyAtomicType")},
}
_DAML_EQUALS = {
    **{
        name: f"{RDFS}{name}"
        for name in ("subClassOf", "subPropertyOf", "domain", "range", "label", "comment", "seeAlso", "isDefinedBy")
    },
    "toClass": f"{OWL}allValuesFrom",
    "hasClass": f"{OWL}someValuesFrom",
    "hasClassQ": f"{OWL}onClass",
    "sameClassAs": f"{OWL}equivalentClass",
    "samePropertyAs": f"{OWL}equivalentProperty",
    "UniqueProperty": f"{OWL}FunctionalProperty",
    "UnambiguousProperty": f"{OWL}InverseFunctionalProperty",
    "equivalentTo": f"{OWL}sameAs",
    "Datatype": f"{RDFS}Datatype",
}


def canonical(iri: str) -> str:
    """A term of DAML+OIL or of an older XML Schema as its equal of today; every other as it is."""
    if (found := _ALIASES.get(iri)) is not None:
        return found
    for space in DAML:
        if iri.startswith(space):
            name = iri.removeprefix(space)
            return _DAML_EQUALS.get(name, f"{OWL}{name}")
    for space in OLDER_XSD:
        if iri.startswith(space):
            return canonical(f"{XSD}{iri.removeprefix(space)}")
    return iri


# Who writes one of these means the class itself (OPS Fig. 3 has daml:Thing), so all of them are above.
THING_NAMES = frozenset({THING, ANYTHING, *(f"{space}Thing" for space in DAML)})
LITERAL_NAMES = frozenset({LITERAL, f"{RDF}Literal", *(f"{space}Literal" for space in DAML)})

_XSD_BELOW = {
    "decimal": "integer",
    "integer": "nonPositiveInteger long nonNegativeInteger",
    "nonPositiveInteger": "negativeInteger",
    "long": "int",
    "int": "short",
    "short": "byte",
    "nonNegativeInteger": "unsignedLong positiveInteger",
    "unsignedLong": "unsignedInt",
    "unsignedInt": "unsignedShort",
    "unsignedShort": "unsignedByte",
    "string": "normalizedString",
    "normalizedString": "token",
    "token": "language NMTOKEN Name",
    "Name": "NCName",
    "NCName": "ID IDREF ENTITY",
    "dateTime": "dateTimeStamp",
    "duration": "yearMonthDuration dayTimeDuration",
}
_XSD_TOPS = (
    "string boolean decimal float double duration dateTime time date gYearMonth gYear gMonthDay gDay "
    "gMonth hexBinary base64Binary anyURI QName NOTATION NMTOKENS IDREFS ENTITIES"
)
DATATYPES: dict[str, tuple[str, ...]] = {
    **{f"{XSD}{name}": (LITERAL,) for name in _XSD_TOPS.split()},
    **{f"{XSD}{name}": (f"{XSD}{above}",) for above, names in _XSD_BELOW.items() for name in names.split()},
    **{f"{RDF}{name}": (LITERAL,) for name in ("XMLLiteral", "HTML", "JSON", "PlainLiteral")},
    f"{RDF}langString": (f"{XSD}string",),
    f"{OWL}real": (LITERAL,),
    f"{OWL}rational": (f"{OWL}real",),
    LITERAL: (),
}
"""Each with those it is derived from (XML Schema 1.1-2 s3); a string with a language is a string here."""

CLASSES: dict[str, tuple[str, ...]] = {
    **{f"{RDFS}{name}": () for name in ("Class", "Datatype", "Container", "ContainerMembershipProperty")},
    **{f"{RDF}{name}": () for name in ("Property", "Statement", "List", "Bag", "Seq", "Alt")},
    **{f"{OWL}{name}": () for name in ("Class", "Ontology", "ObjectProperty", "DatatypeProperty", "NamedIndividual")},
    THING: (),
}
PROPERTIES: dict[str, tuple[str, ...]] = {
    OBJECT_PROPERTY: (),
    DATATYPE_PROPERTY: (),
    **{f"{RDFS}{name}": (DATATYPE_PROPERTY,) for name in ("label", "comment")},
    **{f"{RDFS}{name}": () for name in ("seeAlso", "isDefinedBy", "member")},
    **{f"{RDF}{name}": () for name in ("value", "first", "rest", "subject", "predicate", "object")},
    f"{OWL}versionInfo": (DATATYPE_PROPERTY,),
    **{f"{OWL}{name}": (OBJECT_PROPERTY,) for name in ("sameAs", "differentFrom")},
}
