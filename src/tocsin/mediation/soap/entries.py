"""Messages by their tables: the engine that reads and writes requests and answers.

Reading takes the action that table 3 of WS-Messenger gives: present is transformed, absent and defaulted is added,
absent and optional is none, absent and required is a fault; what no entry names is ignored. Writing takes those of
table 4: a value is transformed into the entry the message has for it, ignored where it has none; a required entry
without a value gets its default.
"""

from collections.abc import Mapping
from itertools import groupby

from msgspec import Struct

from tocsin.markup import xml
from tocsin.markup.xml import Element
from tocsin.mediation import times
from tocsin.mediation.rules import Entry, Message, Name, Path
from tocsin.mediation.soap import soap
from tocsin.model.identity import Instant, Pairs
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint


class Expression(Struct, frozen=True):
    """A text in some language, with the prefixes it uses."""

    text: str
    dialect: str = ""
    namespaces: Pairs = ()
    attribute: str = "Dialect"


class Markup(Struct, frozen=True):
    """Content that is XML already, or whole elements where the path is empty; `attributes` as they are written."""

    data: bytes
    attributes: bytes = b""


# True is an element without content; several values are as many elements; an instant is written as a time.
Value = str | bool | Instant | Endpoint | Expression | Markup | tuple["Value", ...] | None
_Row = tuple[Path, Value, Entry]
_NIL = b' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="true"'


class Values:
    """The entries that were found."""

    __slots__ = ("_found", "_message", "_paths")

    def __init__(self, found: Mapping[str, Element | str | None], message: Element, paths: Mapping[str, Path]) -> None:
        self._found, self._message, self._paths = found, message, paths

    def element(self, name: str) -> Element | None:
        value = self._found.get(name)
        return None if isinstance(value, str) else value

    def needed(self, name: str) -> Element:
        value = self.element(name)
        if value is None:  # the table said `required`, so read_entries has refused already
            raise LookupError(name)
        return value

    def every(self, name: str) -> list[Element]:
        """All elements at the path of an entry that may be repeated."""
        path = self._paths.get(name)
        return self._message.findall("/".join(step.clark for step in path)) if path else []

    def text(self, name: str) -> str | None:
        value = self._found.get(name)
        return value if value is None or isinstance(value, str) else xml.text_of(value)


def read_entries(element: Element, entries: tuple[Entry, ...]) -> Values:
    """Of several places for an entry the first that has it counts."""
    found: dict[str, Element | str | None] = {}
    for entry in entries:
        if found.get(entry.name) is not None:
            continue
        value = _at(element, entry.path)
        if value is None:
            if entry.required:
                raise Refusal(
                    entry.missing,
                    f"{element.tag.rpartition('}')[2]} lacks {' / '.join(step.local for step in entry.path)}",
                )
            value = entry.default
        found[entry.name] = value
    return Values(found, element, {entry.name: entry.path for entry in entries if not entry.also})


def _at(element: Element, path: Path) -> Element | str | None:
    here: Element | None = element
    for step in path:
        if here is None:
            return None
        if step.local.startswith("@"):
            value = here.get(step.local[1:])
            return None if value is None else str(value)
        here = here.find(step.clark)
    return here


def write(message: Message, values: Mapping[str, Value], version: str | None) -> bytes:
    """The message's element with what the values have for its entries; `version` is that of its references."""
    rows: list[_Row] = []
    for entry in message.entries:
        if entry.also:
            continue
        value = values.get(entry.name)
        if value is None and entry.required and not entry.nil:
            value = entry.default
            if value is None:
                raise Refusal("malformed", f"{message.element} needs {entry}")
        if value is not None or entry.nil:
            rows.append((entry.path, value, entry))
    writer = _Writer(version, message.element.prefix if message.element else "")
    attributes, content = writer.inside(rows)
    if message.element is None:
        return content
    return _element(message.element, message.element.declaration + attributes, content)


class _Writer:
    def __init__(self, version: str | None, prefix: str) -> None:
        self._version, self._prefix = version, prefix

    def inside(self, rows: list[_Row]) -> tuple[bytes, bytes]:
        """The attributes of an element and its content."""
        attributes, content = b"", b""
        for head, group in groupby(rows, key=lambda row: row[0][:1]):
            of_head = list(group)
            if not head:
                content += b"".join(self._content(value)[1] for _, value, _ in of_head)
            elif head[0].local.startswith("@"):
                attributes += b"".join(_attribute(head[0], value) for _, value, _ in of_head)
            else:
                content += self._below(head[0], of_head)
        return attributes, content

    def _below(self, name: Name, rows: list[_Row]) -> bytes:
        if len(rows[0][0]) == 1:
            return b"".join(self.element(name, value) for _, value, _ in rows)
        attributes, content = self.inside([(path[1:], value, entry) for path, value, entry in rows])
        return _element(name, self._declared(name) + attributes, content)

    def element(self, name: Name, value: Value) -> bytes:
        if isinstance(value, tuple):
            return b"".join(self.element(name, each) for each in value)
        if value is None:
            return _element(name, self._declared(name) + _NIL, b"")
        attributes, content = self._content(value)
        return _element(name, self._declared(name) + attributes, content)

    def _declared(self, name: Name) -> bytes:
        return b"" if name.prefix in (self._prefix, "wsa") else name.declaration

    def _content(self, value: Value) -> tuple[bytes, bytes]:
        match value:
            case True | False | None:
                return b"", b"" if value is not False else b"false"
            case str():
                return b"", xml.text(value)
            case int():
                return b"", times.timestamp(value).encode()
            case Endpoint(address, reference):
                return b"", soap.reference_content(address, reference, self._version)
            case Expression(text, dialect, namespaces, attribute):
                declared = b"".join(
                    b" xmlns:%b=%b" % (prefix.encode(), xml.attribute(uri)) for prefix, uri in namespaces
                )
                named = b" %b=%b" % (attribute.encode(), xml.attribute(dialect)) if dialect else b""
                return declared + named, xml.text(text)
            case Markup(data, attributes):
                return attributes, data
            case tuple():
                return b"", b"".join(self._content(each)[1] for each in value)
        raise TypeError(value)


def _element(name: Name, attributes: bytes, content: bytes) -> bytes:
    if not content:
        return b"<%b%b/>" % (name.tag, attributes)
    return b"<%b%b>%b</%b>" % (name.tag, attributes, content, name.tag)


def _attribute(name: Name, value: Value) -> bytes:
    return b" %b=%b" % (name.local[1:].encode(), xml.attribute(str(value)))
