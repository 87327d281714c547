"""The filters of the CloudEvents Subscriptions API s3.2.4, read from JSON and written as it again.

A dialect with several attributes is a conjunction of them. What CloudEvents does not know has dialects of ours, each
with its expression, or with the prefixes too that it uses: `{"urn:tocsin:dialect:topic": {"expression": "t:a//.",
"namespaces": {"t": "urn:x"}}}`. An XPath is over the payload, unless `over` says `producer` or `envelope`. SPARQL is
over the producer's description, unless `over` says `event`: then it is a graph pattern, with SPARQL's own meaning where
`plain` is true.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, cast

from msgspec import Struct

from tocsin.mediation import expressions
from tocsin.model.filters import (
    ActionIs,
    AllOf,
    AnyOf,
    AttributeIs,
    Content,
    Filter,
    Graph,
    InBox,
    Not,
    Over,
    ProducerIs,
    TopicIs,
    TypeIs,
)
from tocsin.model.refusal import Refusal
from tocsin.model.topics import parse_topic_expression, written_path

TOPIC = f"{expressions.DIALECT}topic"
OURS = (
    TOPIC,
    expressions.CONTENT_TOPIC,
    expressions.TYPE,
    expressions.ACTION,
    expressions.PRODUCER,
    expressions.XPATH,
    expressions.ITEMS,
    expressions.JSONPATH,
    expressions.SPARQL,
    expressions.GRAPH_PATTERN,
)
DIALECTS = ("exact", "prefix", "suffix", "all", "any", "not", "sql", *OURS)

DEEPEST = 16
MOST = 256  # of attributes and filters in one subscription
LONGEST_VALUE = 4096
How = Literal["exact", "prefix", "suffix"]
_HOW = ("exact", "prefix", "suffix")
_NAME = re.compile(r"[a-z0-9]{1,64}")


def read(filters: object) -> tuple[Filter, ...]:
    """All of them must be satisfied; none at all is everything."""
    return _Reader().several(filters, "filters", least=0)


class _Reader:
    """Of one subscription, which may not ask too much."""

    def __init__(self) -> None:
        self._count = self._characters = 0

    def several(self, filters: object, where: str, depth: int = 0, least: int = 1) -> tuple[Filter, ...]:
        if not isinstance(filters, list):
            raise _bad(f"{where} is not an array of filters")
        if len(filters) < least:
            raise _bad(f"{where} needs at least one filter")
        return tuple(self.one(each, f"{where}[{at}]", depth) for at, each in enumerate(filters))

    def one(self, asked: object, where: str, depth: int) -> Filter:
        if not isinstance(asked, dict) or len(asked) != 1:
            example = '{"exact": {"type": "com.example.alert"}}'
            raise _bad(f"{where}: a filter is an object of one dialect, such as {example}")
        ((dialect, inside),) = asked.items()
        self._counted(1)
        if depth >= DEEPEST:
            raise _bad(f"filters are nested more than {DEEPEST} deep")
        return self._read(dialect, inside, where, depth + 1)

    def _read(self, dialect: str, inside: object, where: str, depth: int) -> Filter:
        match dialect:
            case "all":
                return AllOf(self.several(inside, f"{where}.all", depth))
            case "any":
                return AnyOf(self.several(inside, f"{where}.any", depth))
            case "not":
                return Not(self.one(inside, f"{where}.not", depth))
        try:
            if dialect in _HOW:
                return self._attributes(cast(How, dialect), inside)
            match dialect:
                case "sql":
                    return expressions.content("cesql", self._said(dialect, inside).text, "attributes", {})
                case _ if dialect in OURS:
                    return _ours(dialect, self._said(dialect, inside))
            raise Refusal(
                "unsupported-filter", f"the filter dialect {dialect[:80]!r} is not supported; {', '.join(DIALECTS)} are"
            )
        except Refusal as refusal:
            raise Refusal(refusal.reason, f"{where}: {refusal.text}", refusal.about) from None

    def _attributes(self, how: How, inside: object) -> Filter:
        if not isinstance(inside, dict) or not inside:
            raise _bad(f'{how} needs an object of attributes and values, such as {{"type": "com.example.alert"}}')
        self._counted(len(inside))
        return AllOf(tuple(_attribute(how, name, value) for name, value in inside.items()))

    def _said(self, dialect: str, inside: object) -> "_Said":
        said = _said(dialect, inside)
        self._characters += len(said.text)
        if self._characters > expressions.MOST_TOGETHER:
            raise _bad(expressions.TOO_MUCH)
        return said

    def _counted(self, more: int) -> None:
        self._count += more
        if self._count > MOST:
            raise _bad(f"more than {MOST} filters and attributes")


def _attribute(how: How, name: str, value: object) -> AttributeIs:
    if not _NAME.fullmatch(name):
        raise _bad(f"{name[:80]!r} is no attribute name: lower-case letters and digits only")
    if not isinstance(value, str) or not 0 < len(value) <= LONGEST_VALUE:
        raise _bad(f"the value of {name!r} in {how} must be a string of 1 to {LONGEST_VALUE} characters")
    return AttributeIs(name, how, value)


class _Said(Struct, frozen=True):
    text: str
    namespaces: dict[str | None, str] = {}
    over: str = ""
    plain: bool = False


def _said(dialect: str, inside: object) -> _Said:
    asked = {"expression": inside} if isinstance(inside, str) else inside if isinstance(inside, dict) else {}
    text, namespaces = asked.get("expression"), asked.get("namespaces", {})
    over, plain = asked.get("over", _OVER.get(dialect, ("",))[0]), asked.get("plain", False)
    known = {"expression", *(("namespaces",) if dialect in _WITH_PREFIXES or over == "event" else ())}
    known |= ({"over"} if dialect in _OVER else set()) | ({"plain"} if over == "event" else set())
    strange = sorted(asked.keys() - known)
    if strange or not isinstance(text, str) or not isinstance(namespaces, dict):
        unknown = f"{strange[0][:80]!r} is not known; " if strange else ""
        raise _bad(f"{unknown}{dialect} needs an expression, or an object of {', '.join(sorted(known))}; {_EXAMPLE}")
    if not all(isinstance(uri, str) for uri in namespaces.values()):
        raise _bad(f"the namespaces of {dialect} are prefixes with their URIs")
    if over not in _OVER.get(dialect, ("",)):
        raise _bad(f"{dialect} is over {', '.join(_OVER[dialect])}, not {str(over)[:80]!r}")
    if not isinstance(plain, bool):
        raise _bad(f"plain is true or false, not {str(plain)[:80]!r}")
    return _Said(text.strip(), namespaces, over, plain)


_WITH_PREFIXES = (TOPIC, expressions.TYPE, expressions.XPATH, expressions.ITEMS, expressions.GRAPH_PATTERN)
_OVER = {
    expressions.XPATH: ("payload", "producer", "envelope"),
    expressions.SPARQL: ("producer", "event"),
}  # the first unless told
_EXAMPLE = 'such as {"expression": "t:a//.", "namespaces": {"t": "urn:x"}}'


def _ours(dialect: str, said: _Said) -> Filter:
    match dialect:
        case expressions.CONTENT_TOPIC:
            return expressions.box(said.text)
        case expressions.TYPE:
            return expressions.types(said.text, said.namespaces)
        case expressions.ACTION:
            return expressions.actions(said.text)
        case expressions.PRODUCER:
            return expressions.producers(said.text)
        case expressions.XPATH:
            return expressions.content("xpath", said.text, cast(Over, said.over), said.namespaces)
        case expressions.ITEMS:
            return expressions.content("items", said.text, "payload", said.namespaces)
        case expressions.JSONPATH:
            return expressions.content("jsonpath", said.text, "payload", {})
        case expressions.GRAPH_PATTERN:
            return expressions.graph(expressions.GRAPH_PATTERN, said.text, said.namespaces)
        case expressions.SPARQL if said.over == "event":
            return expressions.graph(
                expressions.PLAIN_SPARQL if said.plain else expressions.SPARQL, said.text, said.namespaces
            )
        case expressions.SPARQL:
            return expressions.content("sparql", said.text, "producer", {})
    prefixes = {prefix: uri for prefix, uri in said.namespaces.items() if prefix is not None}
    return parse_topic_expression(said.text, "full", prefixes)


def _bad(text: str) -> Refusal:
    return Refusal("bad-filter", text)


def write(asked: Filter, other: Callable[[Filter], str]) -> dict[str, Any]:
    """`other` is for filters that no dialect here can say; they are told, and cannot be read again."""
    match asked:
        case AllOf(filters) if (how := _common(filters)) is not None:
            return {how: {each.name: each.value for each in filters if isinstance(each, AttributeIs)}}
        case AllOf(filters):
            return {"all": [write(each, other) for each in filters]}
        case AnyOf(filters):
            return {"any": [write(each, other) for each in filters]}
        case Not(negated):
            return {"not": write(negated, other)}
        case AttributeIs(name, how, value):
            return {how: {name: value}}
        case TopicIs():
            return {TOPIC: _topic_document(asked)}
        case TypeIs(names):
            return {expressions.TYPE: " ".join(names)}
        case ActionIs(actions):
            return {expressions.ACTION: " ".join(actions)}
        case ProducerIs():
            return {expressions.PRODUCER: expressions.producers_text(asked)}
        case InBox():
            return {expressions.CONTENT_TOPIC: expressions.box_text(asked)}
        case Content():
            return _content_document(asked)
        case Graph():
            return _graph_document(asked)
    return {f"{expressions.DIALECT}other": other(asked)}


def _content_document(asked: Content) -> dict[str, Any]:
    if asked.language == "cesql":
        return {"sql": asked.text}
    document: dict[str, Any] = {"expression": asked.text}
    if asked.namespaces:
        document["namespaces"] = dict(asked.namespaces)
    if asked.language == "xpath" and asked.over != "payload":
        document["over"] = asked.over
    return {f"{expressions.DIALECT}{asked.language}": document if len(document) > 1 else asked.text}


def _graph_document(asked: Graph) -> dict[str, Any]:
    document: dict[str, Any] = {"expression": asked.text}
    if asked.prefixes:
        document["namespaces"] = dict(asked.prefixes)
    if asked.language == "pattern":
        return {expressions.GRAPH_PATTERN: document if len(document) > 1 else asked.text}
    return {expressions.SPARQL: document | {"over": "event"} | ({"plain": True} if asked.plain else {})}


def _common(filters: tuple[Filter, ...]) -> How | None:
    """What all of them do, if they are attributes of different names."""
    hows = {each.how if isinstance(each, AttributeIs) else None for each in filters}
    names = {each.name for each in filters if isinstance(each, AttributeIs)}
    return hows.pop() if len(hows) == 1 and len(names) == len(filters) else None


def _topic_document(asked: TopicIs) -> dict[str, Any]:
    namespaces: dict[str, str] = {}
    expression = "|".join(written_path(path, namespaces, "n") for path in asked.alternatives)
    return {"expression": expression, "namespaces": {prefix: uri for uri, prefix in namespaces.items()}}


def of_source_and_types(source: str | None, types: tuple[str, ...]) -> tuple[Filter, ...]:
    """What `source` and `types` ask for, told apart from filters that ask for the same."""
    found: list[Filter] = []
    if source is not None:
        found.append(AttributeIs("source", "exact", source))
    if types:
        found.append(AnyOf(tuple(AttributeIs("type", "exact", each) for each in types)))
    return tuple(found)


def taken_apart(filters: tuple[Filter, ...]) -> tuple[str | None, tuple[str, ...], tuple[Filter, ...]]:
    """Source, types and the filters besides: the way back."""
    source: str | None = None
    types: tuple[str, ...] = ()
    rest = list(filters)
    if rest and isinstance(rest[0], AttributeIs) and (rest[0].name, rest[0].how) == ("source", "exact"):
        source, rest = rest[0].value, rest[1:]
    if rest and isinstance(rest[0], AnyOf) and rest[0].filters and all(map(_is_type, rest[0].filters)):
        types = tuple(each.value for each in rest[0].filters if isinstance(each, AttributeIs))
        rest = rest[1:]
    return source, types, tuple(rest)


def _is_type(asked: Filter) -> bool:
    return isinstance(asked, AttributeIs) and (asked.name, asked.how) == ("type", "exact")


def lower_keys(document: Mapping[str, Any], what: str) -> dict[str, Any]:
    """The specification writes its names in two ways, `sinkCredential` and `sinkcredential`."""
    found = {name.lower(): value for name, value in document.items()}
    if len(found) < len(document):
        raise Refusal("malformed", f"a member of {what} is there twice, written in two ways")
    return found
