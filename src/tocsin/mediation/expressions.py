"""What subscribers say in filters beside topics, checked: one place for all the doors."""

import re
from collections.abc import Mapping
from urllib.parse import quote, unquote

from tocsin.markup.conditions import ExpressionError
from tocsin.markup.content import condition_of
from tocsin.markup.graphs import sparql
from tocsin.model.content_topic import space_of, write_box
from tocsin.model.filters import ActionIs, Content, Graph, InBox, Language, Over, ProducerIs, TypeIs
from tocsin.model.identity import Pairs
from tocsin.model.names import LONGEST_TOPIC, NAMESPACE, NCNAME, QName, qname_in
from tocsin.model.refusal import Reason, Refusal
from tocsin.model.space import Dimension, InformationSpace, Interval, Side

DIALECT = "urn:tocsin:dialect:"
CONTENT_TOPIC, TYPE, PRODUCER = f"{DIALECT}content-topic", f"{DIALECT}type", f"{DIALECT}producer"
XPATH, ITEMS, JSONPATH = f"{DIALECT}xpath", f"{DIALECT}items", f"{DIALECT}jsonpath"
CESQL, SPARQL, ACTION = f"{DIALECT}cesql", f"{DIALECT}sparql", f"{DIALECT}action"
# Elements of SOAP have no room for more than a dialect (WSN 1.3, QueryExpressionType), so that says `plain` too.
GRAPH_PATTERN, PLAIN_SPARQL = f"{DIALECT}graph-pattern", f"{DIALECT}sparql-plain"
CATEGORY = "category:"

LONGEST = 4096  # of one expression
LONGEST_GRAPH = 16 << 10  # of one graph pattern
MOST_TOGETHER = 16 << 10  # characters of all expressions in one subscription, which are read while others wait
TOO_MUCH = f"the expressions of one subscription have more than {MOST_TOGETHER:,} characters together; ask for less"
MOST = 256  # of the names in one filter
Scope = Mapping[str | None, str]
TITLES: Mapping[Language, str] = {
    "xpath": "XPath 1.0",
    "items": "ItemFilter",
    "jsonpath": "JSONPath",
    "cesql": "CloudEvents SQL",
    "sparql": "SPARQL",
}
_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_WORD = re.compile(rf"({NCNAME.pattern})(:(?!:))?")


class BoxAsSaid(InBox, frozen=True, tag=True, cache_hash=True):
    """A box in the words of a subscriber, who may name a space that there is not. The log never has one."""

    text: str = ""


def box(text: str) -> BoxAsSaid:
    """The space is looked up where spaces are known."""
    name = space_of(text)
    if not name or len(text) > LONGEST_TOPIC:
        shown = f"{text[:80]!r} is not a content topic of at most {LONGEST_TOPIC} characters"
        how = "a content topic is NAME:side/side, the name of a space, a colon, and a side for each of its dimensions"
        raise Refusal("bad-topic-expression", f"{shown}: {how}")
    return BoxAsSaid(name, (), text)


def content(
    language: Language,
    text: str,
    over: Over,
    namespaces: Scope,
    reason: Reason = "bad-filter",
    about: QName | None = None,
) -> Content:
    """Namespaces are those in scope where it stood; the prefixes that it uses are kept."""
    try:
        if not text or len(text) > LONGEST:
            raise ExpressionError(text, min(len(text), LONGEST), f"1 to {LONGEST} characters are expected")
        used = _used(text, namespaces) if language in ("xpath", "items") else ()
        asked = Content(language, text, over, used)
        if language == "sparql":
            sparql.check(text)
        else:
            condition_of(asked)  # which whoever matches finds read
    except ValueError as problem:  # of ours, or of lxml
        where = "" if about is None else f"{about.local}: "
        raise Refusal(reason, f"{where}this is no {TITLES[language]} expression: {problem}", about) from None
    return asked


def _used(text: str, namespaces: Scope) -> Pairs:
    plain = _QUOTED.sub(lambda found: " " * len(found[0]), text)
    used: dict[str, str] = {}
    for found in _WORD.finditer(plain):
        prefix = found[1]
        if not found[2] or prefix == "xml":
            continue
        if prefix not in namespaces:
            raise ExpressionError(text, found.start(), f"the prefix {prefix!r} is not declared")
        if not NAMESPACE.fullmatch(namespaces[prefix]):
            raise ExpressionError(text, found.start(), f"the namespace of the prefix {prefix!r} is not a URI")
        used[prefix] = namespaces[prefix]
    return tuple(sorted(used.items()))


def graph(dialect: str, text: str, namespaces: Scope, about: QName | None = None) -> Graph:
    """Read where the ontologies are known. A default namespace is that of elements: bare names are the ontologies'."""
    if not text or len(text) > LONGEST_GRAPH:
        where = "" if about is None else f"{about.local}: "
        raise Refusal("bad-filter", f"{where}a graph pattern has 1 to {LONGEST_GRAPH:,} characters", about)
    used = {
        prefix: uri for prefix, uri in namespaces.items() if prefix is not None and (not prefix or f"{prefix}:" in text)
    }
    prefixes = tuple(sorted(used.items()))
    return Graph("pattern" if dialect == GRAPH_PATTERN else "sparql", text, prefixes, dialect == PLAIN_SPARQL)


def graph_dialect(asked: Graph) -> str:
    """The way back."""
    return GRAPH_PATTERN if asked.language == "pattern" else PLAIN_SPARQL if asked.plain else SPARQL


GRAPHS = (GRAPH_PATTERN, SPARQL, PLAIN_SPARQL)


def types(text: str, namespaces: Scope, reason: Reason = "bad-filter") -> TypeIs:
    """Names between white space: `prefix:local` or `{namespace}local` of an element, any other is of CloudEvents."""
    return TypeIs(tuple(dict.fromkeys(_type(each, namespaces, reason) for each in _words(text, "type", reason))))


def _type(word: str, namespaces: Scope, reason: Reason) -> str:
    if word.startswith("{"):
        name = qname_in(word)
        if name is None or not NAMESPACE.fullmatch(name.namespace):
            raise Refusal(reason, f"{word[:80]!r} is not a name such as {{urn:x}}Alert")
        return word
    prefix, colon, local = word.partition(":")
    if not colon or not NCNAME.fullmatch(prefix) or not NCNAME.fullmatch(local):
        return word
    uri = namespaces.get(prefix)
    if uri is None:
        hint = "a CloudEvents type that looks so is asked for by its attribute"
        raise Refusal(reason, f"the prefix {prefix!r} of the type {word[:80]!r} is not declared; {hint}")
    return _type(str(QName(uri, local)), {}, reason)


def actions(text: str) -> ActionIs:
    return ActionIs(tuple(_words(text, "action", "bad-filter")))


def producers(text: str, reason: Reason = "bad-producer-filter") -> ProducerIs:
    """Addresses and `category:NAME` between white space: one of them is enough. In names, `%20` is a space."""
    words = _words(text, "producer", reason)
    if CATEGORY in words:
        raise Refusal(reason, f"a category has no name; write one such as {CATEGORY}hospital")
    categories = tuple(_category(each, reason) for each in words if each.startswith(CATEGORY))
    return ProducerIs(tuple(each for each in words if not each.startswith(CATEGORY)), categories)


def _category(word: str, reason: Reason) -> str:
    try:
        return unquote(word.removeprefix(CATEGORY), errors="strict")
    except UnicodeDecodeError:
        raise Refusal(reason, f"{word[:80]!r}: what is written with % there is not UTF-8") from None


def producers_text(asked: ProducerIs) -> str:
    return " ".join((*asked.addresses, *(producer_word(CATEGORY + each) for each in asked.categories)))


def producer_word(said: str) -> str:
    """An address as it is; a category so that it is one word, whatever its name."""
    if not said.startswith(CATEGORY):
        return said
    return "".join(each if each.isprintable() and each not in " %" else quote(each) for each in said)


def _words(text: str, what: str, reason: Reason) -> list[str]:
    words = text.split()
    if not 0 < len(words) <= MOST or max(map(len, words)) > LONGEST:
        text = f"the filter names no {what}" if not words else f"it names more than {MOST}, or very long ones"
        raise Refusal(reason, f"{text}; 1 to {MOST} are expected, each of at most {LONGEST} characters")
    return words


def box_text(asked: InBox) -> str:
    """As it could have been said; without its space a time is told in seconds."""
    if isinstance(asked, BoxAsSaid):
        return asked.text
    return write_box(asked, InformationSpace(asked.space, tuple(map(_any, asked.sides))))


def _any(side: Side) -> Dimension:
    return Dimension("", "number" if isinstance(side, Interval) else "string")
