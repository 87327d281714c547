"""Liftings as JSON, as `lifting_json` reads it: with all names in full, so that they mean the same everywhere."""

from typing import Any

import msgspec

from tocsin.model.lifting import XSD_STRING, LiftedArc, Lifting, LiteralAt, Named, ThingAt


def write_lifting(lifting: Lifting) -> bytes:
    document: dict[str, Any] = {"syntax": lifting.syntax}
    document |= {"types": list(lifting.types)} if lifting.types else {}
    document |= {"namespaces": dict(lifting.namespaces)} if lifting.namespaces else {}
    document |= {"strict": True} if lifting.strict else {}
    return msgspec.json.encode(document | _thing(lifting.home))


def _thing(thing: ThingAt) -> dict[str, Any]:
    document: dict[str, Any] = {"path": thing.path}
    document |= {"class": _names(thing.classes)} if thing.classes else {}
    document |= {"iri": thing.iri} if thing.iri else {}
    return document | ({"properties": _properties(thing.arcs)} if thing.arcs else {})


def _properties(arcs: tuple[LiftedArc, ...]) -> dict[str, Any]:
    found: dict[str, list[Any]] = {}
    for each in arcs:
        found.setdefault(f"<{each.property}>", []).append(_target(each.to))
    return {name: several[0] if len(several) == 1 else several for name, several in found.items()}


def _target(to: LiteralAt | Named | ThingAt) -> str | dict[str, Any]:
    match to:
        case LiteralAt(path, datatype):
            return path if datatype == XSD_STRING else {"path": path, "datatype": f"<{datatype}>"}
        case Named(iri, classes):
            return {"named": f"<{iri}>"} | ({"class": _names(classes)} if classes else {})
        case ThingAt():
            return _thing(to)


def _names(iris: tuple[str, ...]) -> str | list[str]:
    written = [f"<{each}>" for each in iris]
    return written[0] if len(written) == 1 else written
