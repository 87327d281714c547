"""The documents of WS-Topics 1.3: TopicNamespace and TopicSet, read and written."""

from collections.abc import Iterable, Iterator

from tocsin.markup import xml
from tocsin.markup.xml import Element, MarkupError, qname, text_of
from tocsin.model.names import NAMESPACE, NCNAME, QName, Topic
from tocsin.model.refusal import Refusal
from tocsin.model.topics import Branch, DeclaredTopic, TopicNamespace, TopicSet, parse_concrete_topic

T1 = "http://docs.oasis-open.org/wsn/t-1"
MEDIA_TYPE = "application/xml"
DEEPEST = 64
_TRUE, _FALSE = ("true", "1"), ("false", "0", None)


def _t(local: str) -> str:
    return f"{{{T1}}}{local}"


# Read


def read_topic_namespace(document: bytes) -> TopicNamespace:
    root = _root(document, "TopicNamespace")
    namespace = " ".join((root.get("targetNamespace") or "").split())
    if not NAMESPACE.fullmatch(namespace):
        raise _bad("/TopicNamespace/@targetNamespace", f"{namespace!r} is not a URI; it says whose the topics are")
    name, place = root.get("name") or "", "/TopicNamespace"
    if name and not NCNAME.fullmatch(name):
        raise _bad(f"{place}/@name", f"{name!r} is not a name")
    topics = _declared(root, place)
    return TopicNamespace(namespace, topics, name, _flag(root, "final", place), _documentation(root))


def read_topic_set(document: bytes) -> TopicSet:
    """An element is a topic when it says so; what is none and holds none, such as a description, is ignored."""
    return topic_set_of(_root(document, "TopicSet"))


def topic_set_of(element: Element) -> TopicSet:
    return TopicSet.of(_topics_below(element, (), "/TopicSet"))


def _root(document: bytes, name: str) -> Element:
    try:
        root = xml.parse(document)
    except MarkupError as problem:
        raise Refusal("malformed", f"the {name} document cannot be read: {problem}") from None
    if root.tag != _t(name):
        raise _bad("/", f"the element is {root.tag}, not {_t(name)}")
    return root


def _declared(parent: Element, place: str) -> tuple[DeclaredTopic, ...]:
    _refuse_depth(place.count("/"), place)
    found: dict[str, DeclaredTopic] = {}
    for number, element in enumerate(parent.iterchildren(_t("Topic")), 1):
        topic = _topic(element, f"{place}/Topic[{number}]")
        if topic.name in found:
            raise _bad(f"{place}/Topic[{number}]", f"the topic {topic.name!r} is declared twice there")
        found[topic.name] = topic
    return tuple(found.values())


def _topic(element: Element, place: str) -> DeclaredTopic:
    name = (element.get("name") or "").strip()
    if not NCNAME.fullmatch(name):
        raise _bad(f"{place}/@name", f"{name!r} is not a name without colon; every topic needs one")
    return DeclaredTopic(
        name,
        _declared(element, place),
        _flag(element, "final", place),
        tuple(_message_types(element, place)),
        _parent(element, place),
        _documentation(element),
    )


def _message_types(element: Element, place: str) -> Iterator[QName]:
    for each in (element.get("messageTypes") or "").split():
        prefix, _, local = each.rpartition(":")
        namespace = element.nsmap.get(prefix or None, "" if not prefix else None)
        if namespace is None or not NCNAME.fullmatch(local):
            raise _bad(f"{place}/@messageTypes", f"{each!r} is not a qualified name with a declared prefix")
        yield QName(namespace, local)


def _parent(element: Element, place: str) -> Topic | None:
    """Of root topics only: the topic of another namespace that this one extends (WS-Topics s5)."""
    text = element.get("parent")
    if text is None:
        return None
    if place.count("/") > 2:
        raise _bad(f"{place}/@parent", "only a root topic may name a parent")
    try:
        parent = parse_concrete_topic(text.strip(), {prefix: uri for prefix, uri in element.nsmap.items() if prefix})
    except Refusal as refusal:
        raise _bad(f"{place}/@parent", refusal.text) from None
    _refuse_depth(len(parent.steps), place)
    return parent


def _flag(element: Element, name: str, place: str) -> bool:
    value = element.get(name)
    if value in _TRUE or value in _FALSE:
        return value in _TRUE
    raise _bad(f"{place}/@{name}", f"{value!r} is neither true nor false")


def _documentation(element: Element) -> str:
    return text_of(element.find(_t("documentation")))


def _topics_below(parent: Element, steps: tuple[QName, ...], place: str) -> Iterator[Topic]:
    _refuse_depth(len(steps), place)
    for element in parent.iterchildren("*"):
        name = qname(element.tag)
        if name.namespace == T1:
            continue
        here, below = f"{place}/{name.local}", (*steps, name)
        if _flag(element, _t("topic"), here):
            yield Topic(below)
        yield from _topics_below(element, below, here)


def _refuse_depth(depth: int, place: str) -> None:
    if depth > DEEPEST:
        raise _bad(f"{place[:100]}...", f"topics are nested more than {DEEPEST} deep")


def _bad(place: str, why: str) -> Refusal:
    return Refusal("malformed", f"at {place}: {why}")


# Write


def topic_namespace_document(declared: TopicNamespace) -> bytes:
    names = _Names()
    topics = b"".join(_declared_element(each, names) for each in declared.topics)
    name = b" name=%b" % xml.attribute(declared.name) if declared.name else b""
    return b'<wstop:TopicNamespace xmlns:wstop="%b"%b%b targetNamespace=%b%b>%b%b</wstop:TopicNamespace>' % (
        T1.encode(),
        names.declarations(),
        name,
        xml.attribute(declared.namespace),
        b' final="true"' if declared.final else b"",
        _documented(declared.documentation),
        topics,
    )


def _declared_element(topic: DeclaredTopic, names: "_Names") -> bytes:
    attributes = b" name=%b" % xml.attribute(topic.name)
    if topic.message_types:
        attributes += b" messageTypes=%b" % xml.attribute(" ".join(map(names.of, topic.message_types)))
    if topic.final:
        attributes += b' final="true"'
    if topic.parent is not None:
        attributes += b" parent=%b" % xml.attribute("/".join(map(names.of, topic.parent.steps)))
    inner = _documented(topic.documentation) + b"".join(_declared_element(each, names) for each in topic.topics)
    return b"<wstop:Topic%b>%b</wstop:Topic>" % (attributes, inner)


def _documented(text: str) -> bytes:
    return b"<wstop:documentation>%b</wstop:documentation>" % xml.text(text) if text else b""


def topic_set_element(topics: TopicSet) -> bytes:
    """`wstop:TopicSet`, able to stand alone; its prefixes are declared on it."""
    names = _Names()
    branches = _branches(topics.forest(), names)
    return b'<wstop:TopicSet xmlns:wstop="%b"%b>%b</wstop:TopicSet>' % (T1.encode(), names.declarations(), branches)


def _branches(forest: Iterable[Branch], names: "_Names") -> bytes:
    return b"".join(_branch(each, names) for each in forest)


def _branch(branch: Branch, names: "_Names") -> bytes:
    tag = names.of(branch.name).encode()
    mark = b' wstop:topic="true"' if branch.is_topic else b""
    return b"<%b%b>%b</%b>" % (tag, mark, _branches(branch.branches, names), tag)


class _Names:
    """Prefixes for the namespaces of names, as they come."""

    def __init__(self) -> None:
        self._prefixes: dict[str, str] = {}

    def of(self, name: QName) -> str:
        if not name.namespace:
            return name.local
        return f"{self._prefixes.setdefault(name.namespace, f't{len(self._prefixes)}')}:{name.local}"

    def declarations(self) -> bytes:
        return b"".join(b" xmlns:%b=%b" % (name.encode(), xml.attribute(uri)) for uri, name in self._prefixes.items())
