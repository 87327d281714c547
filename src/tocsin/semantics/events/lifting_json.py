"""Liftings as JSON documents: reading, with names as prefix:name, and writing."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NoReturn

import msgspec
from msgspec import Struct, field

from tocsin.model.declarations import XSD_STRING, LiftedArc, Lifting, LiteralAt, Named, ThingAt
from tocsin.model.refusal import Refusal, known_names
from tocsin.semantics.interest.ino_vocabulary import OWL, RDF, RDFS, XSD

LARGEST = 256 << 10  # bytes
USUAL_PREFIXES = {"rdf": RDF, "rdfs": RDFS, "owl": OWL, "xsd": XSD}
_IN_FULL = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*://|urn:)\S+")
_START = {"xml": ".", "json": "$"}


class _Target(Struct, forbid_unknown_fields=True):
    """What a property leads to: a literal (a path), a thing (a class or properties too), or a constant (`named`)."""

    path: str = ""
    classes: str | list[str] = field(default="", name="class")
    iri: str = ""
    properties: dict[str, "str | _Target | list[str | _Target]"] = {}
    datatype: str = ""
    named: str = ""


class _Document(Struct, forbid_unknown_fields=True):
    syntax: Literal["xml", "json"]
    classes: str | list[str] = field(default="", name="class")
    properties: dict[str, "str | _Target | list[str | _Target]"] = {}
    path: str = ""
    iri: str = ""
    types: list[str] = []
    namespaces: dict[str, str] = {}
    prefixes: dict[str, str] = {}
    strict: bool = False


_Properties = dict[str, "str | _Target | list[str | _Target]"]


def lifting_of_json(document: bytes, name: str, prefixes: Mapping[str, str]) -> Lifting:
    """The document's own prefixes come before those that are given, as of the ontologies."""
    if len(document) > LARGEST:
        raise Refusal("too-large", f"a lifting has at most {LARGEST:,} bytes")
    try:
        read = msgspec.json.decode(document, type=_Document)
    except msgspec.ValidationError as problem:
        raise Refusal("bad-lifting", f"the lifting {name[:200]!r}: {problem}") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as problem:
        raise Refusal("malformed", f"the lifting {name[:200]!r} is not readable as JSON: {problem}") from None
    names = _Names(name, {**USUAL_PREFIXES, **prefixes, **read.prefixes})
    home = ThingAt(
        read.path or _START[read.syntax],
        names.all(read.classes, "class"),
        tuple(_arcs(read.properties, names, "properties")),
        read.iri,
    )
    return Lifting(name, read.syntax, home, tuple(read.types), tuple(read.namespaces.items()), read.strict)


class _Names:
    def __init__(self, lifting: str, prefixes: Mapping[str, str]) -> None:
        self._lifting, self._prefixes = lifting, prefixes

    def all(self, texts: str | list[str], where: str) -> tuple[str, ...]:
        listed = [texts] if isinstance(texts, str) else texts
        return tuple(self.one(each, where) for each in listed if each)

    def one(self, text: str, where: str) -> str:
        """`prefix:name`, a bare name below the empty prefix, `<IRI>`, or an IRI whose scheme is no prefix."""
        if text.startswith("<") and text.endswith(">"):
            return text[1:-1]
        prefix, colon, local = text.partition(":")
        space = self._prefixes.get(prefix if colon else "")
        if space is not None:
            return space + (local if colon else text)
        if _IN_FULL.fullmatch(text):
            return text
        if not colon:
            self.fail(where, f"{text[:200]!r} has no prefix, and no empty prefix is declared")
        known = known_names(prefix, sorted(self._prefixes))
        return self.fail(where, f"{text[:200]!r} has a prefix that is not declared; {known}")

    def fail(self, where: str, why: str) -> NoReturn:
        raise Refusal("bad-lifting", f"the lifting {self._lifting[:200]!r}, {where}: {why}")


def _arcs(properties: _Properties, names: _Names, where: str) -> Iterator[LiftedArc]:
    for text, targets in properties.items():
        here = f"{where}.{text[:80]}"
        iri = names.one(text, here)
        if not isinstance(targets, list):
            yield LiftedArc(iri, _target(targets, names, here))
            continue
        for number, each in enumerate(targets):
            yield LiftedArc(iri, _target(each, names, f"{here}[{number}]"))


def _target(target: str | _Target, names: _Names, where: str) -> LiteralAt | Named | ThingAt:
    if isinstance(target, str):
        return LiteralAt(target)
    if target.named:
        if target.path or target.datatype or target.iri or target.properties:
            names.fail(where, "what is `named` is always the same: it may have a class, and nothing else")
        return Named(names.one(target.named, f"{where}.named"), names.all(target.classes, f"{where}.class"))
    if not target.path:
        names.fail(where, "it has neither a path nor a name: write `path` or `named`")
    if not (target.classes or target.properties or target.iri):
        return LiteralAt(
            target.path, names.one(target.datatype, f"{where}.datatype") if target.datatype else XSD_STRING
        )
    if target.datatype:
        names.fail(where, "a literal has a `datatype`, a thing has a `class`; keep one")
    arcs = tuple(_arcs(target.properties, names, f"{where}.properties"))
    return ThingAt(target.path, names.all(target.classes, f"{where}.class"), arcs, target.iri)


def write_lifting(lifting: Lifting) -> bytes:
    document: dict[str, Any] = {"syntax": lifting.syntax}
    document |= {"types": list(lifting.types)} if lifting.types else {}
    document |= {"namespaces": dict(lifting.namespaces)} if lifting.namespaces else {}
    document |= {"strict": True} if lifting.strict else {}
    return msgspec.json.encode(document | _thing_document(lifting.home))


def _thing_document(thing: ThingAt) -> dict[str, Any]:
    document: dict[str, Any] = {"path": thing.path}
    document |= {"class": _names(thing.classes)} if thing.classes else {}
    document |= {"iri": thing.iri} if thing.iri else {}
    return document | ({"properties": _properties(thing.arcs)} if thing.arcs else {})


def _properties(arcs: tuple[LiftedArc, ...]) -> dict[str, Any]:
    found: dict[str, list[Any]] = {}
    for each in arcs:
        found.setdefault(f"<{each.property}>", []).append(_target_document(each.to))
    return {name: several[0] if len(several) == 1 else several for name, several in found.items()}


def _target_document(to: LiteralAt | Named | ThingAt) -> str | dict[str, Any]:
    match to:
        case LiteralAt(path, datatype):
            return path if datatype == XSD_STRING else {"path": path, "datatype": f"<{datatype}>"}
        case Named(iri, classes):
            return {"named": f"<{iri}>"} | ({"class": _names(classes)} if classes else {})
        case ThingAt():
            return _thing_document(to)


def _names(iris: tuple[str, ...]) -> str | list[str]:
    written = [f"<{each}>" for each in iris]
    return written[0] if len(written) == 1 else written
