"""The world as JSON: a scenario, or everything. One reader takes both.

A topic is its parent or null; a category too, or an object with `parent` and `owner`; a service is a list of its
categories or an object; an edge is `[from, topic, to]` or an object. The writer takes the short form where it says all.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from tocsin.model.refusal import Refusal
from tocsin.semantics.interest.changes import Change, PutCategory, PutRules, PutTopic
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.semantics.interest.world import World
from tocsin.semantics.interest.world_draft import Draft, tried

Made = TypeVar("Made", bound=Struct)
PLAIN_SERVICE = Service("", ())
PLAIN_EDGE = Edge("", "", "")
PARTS = ("topics", "categories", "services", "edges", "publish", "inherit", "rules")


class Publish(Struct, frozen=True):
    """What a scenario publishes, and through whose notifier."""

    root: str
    topic: str
    data: Any = ""

    @property
    def content(self) -> bytes:
        return self.data.encode() if isinstance(self.data, str) else msgspec.json.encode(self.data)


class Document(Struct, frozen=True):
    changes: tuple[Change, ...]
    publish: Publish | None = None

    def world(self) -> World:
        return World.of(self.changes)


def read(data: bytes, *, onto: World | None = None, create: bool = False) -> Document:
    """`onto` is a world whose names the document may use; without it the document must be whole."""
    said = _parsed(data)
    draft = Draft()
    if "inherit" in said and "rules" in said:
        raise Refusal("malformed", "inherit: `rules` says it too; keep one of them")
    if "rules" in said:
        draft.rules("rules", _made("rules", said["rules"], PutRules))
    if "inherit" in said:
        inherit = _part(said, "inherit", list)
        if any(name not in ("topics", "categories") for name in inherit):
            raise Refusal("malformed", "inherit: it may hold 'topics' and 'categories', nothing else")
        draft.rules("inherit", PutRules("topics" in inherit, "categories" in inherit))
    _each_named(said, "topics", lambda place, name, value: draft.topic(place, _topic(place, name, value)))
    _each_named(said, "categories", lambda place, name, value: draft.category(place, _category(place, name, value)))
    _each_named(said, "services", lambda place, name, value: draft.service(place, _service(place, name, value)))
    for number, value in enumerate(_part(said, "edges", list)):
        draft.edge(f"edges[{number}]", _edge(f"edges[{number}]", value))
    if create:
        draft.create_missing(onto)
    changes, world = tried(draft.changes(onto), onto)
    return Document(changes, _publish(said, world))


def write(world: World) -> bytes:
    written = {
        "topics": dict(world.topics.items()),
        "categories": {name: _written_category(world, name) for name in world.categories},
        "services": {name: _written_service(each) for name, each in world.services.items()},
        "edges": [_written_edge(each) for each in world.edges.values()],
        "rules": {field: getattr(world.rules, field) for field in world.rules.__struct_fields__},
    }
    return msgspec.json.format(msgspec.json.encode(written), indent=2) + b"\n"


def _parsed(data: bytes) -> Mapping[str, Any]:
    """msgspec is strict, but takes the last of two equal names; the standard library shows both."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        said = msgspec.json.decode(data)
        json.loads(data, object_pairs_hook=_each_once)
    except (ValueError, RecursionError) as problem:
        raise Refusal("malformed", f"not readable as JSON: {problem}") from None
    if not isinstance(said, dict):
        raise Refusal("malformed", f"the top is not an object; write {{{', '.join(map(repr, PARTS[:4]))}}}")
    if not said.keys() & set(PARTS):
        raise Refusal("malformed", f"there is nothing of a world in it; it may have: {', '.join(PARTS)}")
    _refuse_misspelt("", said, PARTS)
    return said


def _each_once(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise Refusal("bad-world", f"the name {name!r} stands twice in one object; keep one")
        found[name] = value
    return found


def _refuse_misspelt(place: str, said: Mapping[str, Any], known: Iterable[str]) -> None:
    """What others wrote beside it is left alone, as long as it cannot be one of ours with an error in it."""
    for name in said:
        if name not in known and (meant := get_close_matches(name[:80], known, 1, 0.75)):
            raise Refusal("malformed", f"{place}{name[:80]}: there is no such key; write {meant[0]!r}, or another name")


def _part(said: Mapping[str, Any], part: str, kind: type) -> Any:
    found = said.get(part, kind())
    if not isinstance(found, kind):
        expected = "an object" if kind is dict else "an array"
        raise Refusal("malformed", f"{part}: expected {expected}, not {_shown(found)}")
    return found


def _each_named(said: Mapping[str, Any], part: str, read_one: Callable[[str, str, Any], None]) -> None:
    for name, value in _part(said, part, dict).items():
        read_one(f"{part}.{name[:80]}", name, value)


def _topic(place: str, name: str, value: object) -> PutTopic:
    entry = value if isinstance(value, dict) else {"parent": value}
    return _made(place, entry, PutTopic, name=name)


def _category(place: str, name: str, value: object) -> PutCategory:
    entry = value if isinstance(value, dict) else {"parent": value}
    return _made(place, entry, PutCategory, name=name)


def _service(place: str, name: str, value: object) -> Service:
    entry = value if isinstance(value, dict) else {"categories": value}
    return _made(place, entry, Service, name=name)


def _edge(place: str, value: object) -> Edge:
    if not isinstance(value, list):
        return _made(place, value, Edge)
    if len(value) != 3 or not all(isinstance(each, str) for each in value):
        raise Refusal("malformed", f"{place}: an edge is three names, [from, topic, to]")
    return Edge(*value)


def _publish(said: Mapping[str, Any], world: World) -> Publish | None:
    if said.get("publish") is None:
        return None
    publish = _made("publish", said["publish"], Publish)
    if publish.root not in world.services:
        raise Refusal("bad-world", f"publish.root: {publish.root!r} is no service here; add it to services")
    if publish.topic not in world.topics:
        raise Refusal("bad-world", f"publish.topic: there is no topic {publish.topic!r}; add it to topics")
    return publish


def _made(place: str, entry: object, kind: type[Made], **own: str) -> Made:
    """The entry as a value; what is wrong with it names the place."""
    if not isinstance(entry, dict):
        raise Refusal("malformed", f"{place}: expected an object, not {_shown(entry)}")
    keys = [field for field in kind.__struct_fields__ if field not in own]
    if unknown := next((key for key in entry if key not in keys), None):
        raise Refusal("malformed", f"{place}.{unknown[:80]}: there is no such key; there are: {', '.join(keys)}")
    try:
        tag = {"type": kind.__struct_config__.tag} if kind.__struct_config__.tag else {}
        return msgspec.convert(entry | own | tag, kind)
    except msgspec.ValidationError as problem:
        what, _, where = str(problem).partition(" - at `$")
        raise Refusal("malformed", f"{place}{where.rstrip('`')}: {what}") from None


def _shown(value: object) -> str:
    return msgspec.json.encode(value)[:80].decode(errors="replace")


def _written_category(world: World, name: str) -> object:
    parent = world.categories.parent(name)
    return {"parent": parent, "owner": world.owners[name]} if name in world.owners else parent


def _written_service(service: Service) -> object:
    told = _differing(service, PLAIN_SERVICE)
    del told["name"]
    return told["categories"] if len(told) == 1 else told


def _written_edge(edge: Edge) -> object:
    told = _differing(edge, PLAIN_EDGE)
    return edge.key if len(told) == 3 else told


def _differing(value: Struct, plain: Struct) -> dict[str, Any]:
    fields = ((field, getattr(value, field)) for field in value.__struct_fields__)
    return {field: said for field, said in fields if said != getattr(plain, field)}
