"""Parses XML from strangers safely, and serialises the parts that are passed on."""

import re
import threading
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from itertools import starmap
from xml.sax.saxutils import escape as _escape
from xml.sax.saxutils import quoteattr as _quoteattr

from lxml import etree
from msgspec import Struct

from tocsin.model.names import QName

Element = etree._Element

# No entity is expanded, no file or network is touched; depth and node sizes keep libxml2's limits.
_safe_parser = partial(etree.XMLParser, resolve_entities=False, no_network=True, huge_tree=False, load_dtd=False)
SAFE_PARSER = _safe_parser()
_BANG, _QUESTION, _HASH = b"!?#"  # a number is found ten times as fast as the byte it stands for


class MarkupError(ValueError):
    """What was sent is not XML we accept."""


def parse(data: bytes) -> Element:
    """The root element. A DOCTYPE is refused whatever it holds: SOAP 1.1 s3 and SOAP 1.2 part 1 s5 forbid it.

    A document that starts with a tag at once is UTF-8 and holds none without an exclamation mark; any other is asked.
    """
    try:
        root: Element = etree.fromstring(data, SAFE_PARSER)
    except etree.XMLSyntaxError as problem:
        raise MarkupError(f"not well-formed XML: {problem.msg}") from None
    except ValueError as problem:
        raise MarkupError(f"not well-formed XML: {problem}") from None
    if (
        data[:1] != b"<" or data[1:2] in b"?!\0" or _BANG in data
    ) and root.getroottree().docinfo.internalDTD is not None:
        raise MarkupError("a DOCTYPE is not allowed in a message; remove it")
    return root


def serialise(element: Element) -> bytes:
    """The element alone, with the namespace declarations it needs, in UTF-8."""
    data: bytes = etree.tostring(element, encoding="UTF-8", with_tail=False, xml_declaration=False)
    return data


class Declaration(Struct, frozen=True):
    """A namespace declaration in force around an element."""

    mention: re.Pattern[bytes]  # of its prefix; of the default namespace anything is one
    attribute: bytes
    written: bytes


Scope = tuple[Declaration, ...]
LONG_URI = 512
LONG_SCOPE = 4096
LONGEST_SCOPE = 8 << 10
MOST_PREFIXES = 64
MOST_INHERITED = 256
_NAME_BYTE = rb"[\w.\-\x80-\xff]"
_ATTRIBUTES = re.compile(rb"""\s+([^\s=]+)\s*=\s*("[^"]*"|'[^']*')""")
_START_TAG = re.compile(rb"<([^\s/>]+)((?:%b)*)\s*/?>" % _ATTRIBUTES.pattern)


def scope_of(element: Element) -> Scope | None:
    """The namespace declarations in force inside an element; None when there are more than are worth looking at."""
    nsmap = element.nsmap
    if len(nsmap) > MOST_PREFIXES:
        return None
    declare = _declared if sum(map(len, nsmap.values())) < LONG_SCOPE else _declaration
    return tuple(starmap(declare, nsmap.items()))


def serialise_inner(parent: Element) -> Iterator[bytes]:
    """Its child elements, each with all declarations around it; lxml takes time for the square of their number."""
    nsmap = parent.nsmap
    if len(nsmap) > MOST_INHERITED or sum(map(len, nsmap.values())) > LONGEST_SCOPE:
        raise MarkupError(f"too many prefixes are declared around what is in {written_name(parent).decode()}")
    return (serialise(child) for child in parent if isinstance(child.tag, str))


def _declaration(prefix: str | None, uri: str) -> Declaration:
    if prefix is None:
        return Declaration(re.compile(b""), b"xmlns", b" xmlns=" + attribute(uri))
    name = prefix.encode()
    colon = re.escape(name + b":")
    # The name first, then what stands before it: that way round the search runs at the speed of a plain find.
    mention = re.compile(rb"%b(?<!%b%b)" % (colon, _NAME_BYTE, colon))
    return Declaration(mention, b"xmlns:" + name, b" xmlns:%b=%b" % (name, attribute(uri)))


_declared = lru_cache(maxsize=4096)(_declaration)  # senders repeat themselves; long ones are not worth keeping
_UTF8_DECLARATION = re.compile(
    rb"""<\?xml\s+version\s*=\s*["']1\.\d["'](?:\s+encoding\s*=\s*["']utf-8["'])?(?:\s+standalone\s*=[^?>]*)?\s*\?>""",
    re.IGNORECASE,
)


def is_plain(data: bytes) -> bool:
    """UTF-8 without comments, CDATA sections and processing instructions: there `<` only ever starts a tag."""
    if data[:1] != b"<" or data[1:2] == b"\0" or (_BANG in data and b"<!" in data):
        return False
    marks = data.count(b"?")
    if not marks or b"<?" not in data:
        return True
    declaration = _UTF8_DECLARATION.match(data)
    return declaration is not None and (marks == 2 or data.find(b"<?", declaration.end()) < 0)


def is_elements_and_text(data: bytes) -> bool:
    """Nothing that begins with `<?` or `<!`, in UTF-8 and without space around; one byte is found faster than two."""
    if data[:1] != b"<" or data[-1:] != b">" or data[1:2] == b"\0":
        return False
    return not ((_BANG in data and b"<!" in data) or (_QUESTION in data and b"<?" in data))


def standing_alone(own: bytes, scope: Scope) -> bytes | None:
    """An element's own bytes, with the outer prefixes it mentions declared on it.

    None where bytes cannot tell: prefixes spelled with character references, text before the element, an instruction
    or comment inside. What stands after the element is not looked at.
    """
    if own[:1] != b"<" or (_HASH in own and b"&#" in own):
        return None
    if (_BANG in own and b"<!" in own) or (_QUESTION in own and b"<?" in own):
        return None
    mentioned = [each for each in scope if each.mention.search(own)]
    if not mentioned:
        return own
    tag = _START_TAG.match(own)
    if tag is None:
        return None
    declared = {found[1] for found in _ATTRIBUTES.finditer(tag[2])}
    missing = b"".join([each.written for each in mentioned if each.attribute not in declared])
    return own[: tag.end(1)] + missing + own[tag.end(1) :]


class _Fed(threading.local):
    """A parser for each thread, which between two calls would take what another feeds for the rest of a document."""

    def __init__(self) -> None:
        self.parser = _safe_parser()


_fed = _Fed()
_LONGEST_FED = 1 << 20  # bytes; libxml2 takes ten times as much at once, but no more


def element_of(plain: bytes) -> Element | None:
    """A document's element, None if it is malformed; it holds no `<!`, hence no DOCTYPE.

    It is fed to the parser, which takes a seventh less time than to have it parsed.
    """
    try:
        if len(plain) > _LONGEST_FED:
            return etree.fromstring(plain, SAFE_PARSER)
        parser = _fed.parser
        parser.feed(plain)
        return parser.close()
    except (etree.XMLSyntaxError, ValueError):
        return None


def qname(tag: str) -> QName:
    """`{namespace}local` or `local`, as lxml writes names."""
    namespace, brace, local = tag.rpartition("}")
    return QName(namespace[1:], local) if brace else QName("", tag)


def written_name(element: Element) -> bytes:
    """The name as the element's tags spell it."""
    prefix, local = element.prefix, element.tag.rpartition("}")[2]
    return f"{prefix}:{local}".encode() if prefix else local.encode()


def child_bytes(data: bytes, parent: Element, child: Element) -> bytes:
    """The one child element of `parent`, able to stand alone: the sender's own bytes where they can be told."""
    opening = start_tag(data, parent)  # before all of the data is looked at, which is done for one of many as well
    if opening is None or len(parent) != 1 or (child.tail and child.tail.strip()) or not is_plain(data):
        return next(serialise_inner(parent))
    start, end = data.find(opening) + len(opening), data.rfind(b"</" + written_name(parent))
    scope = scope_of(parent)
    alone = None if scope is None else standing_alone(data[start:end].strip(), scope)
    return alone or next(serialise_inner(parent))


def start_tag(data: bytes, element: Element) -> bytes | None:
    """As it is written in plain data, when no other tag starts with that name; None of an element without content."""
    name = b"<" + written_name(element)
    begin = data.find(name)
    end = begin + len(name)
    if begin < 0 or data.find(name, end) >= 0:
        return None
    if data[end : end + 1] == b">":
        return data[begin : end + 1]
    tag = _START_TAG.match(data, begin)
    return None if tag is None or tag[1] != name[1:] or tag[0].endswith(b"/>") else tag[0]


def text_in(element: Element) -> str:
    """All text of an element, past comments and instructions; lxml's iterator takes long for a message of these."""
    if not len(element):
        return element.text or ""
    found: str = etree.tostring(element, method="text", encoding="unicode", with_tail=False)
    return found


def text_of(element: Element | None) -> str:
    """Without white space at its ends; empty where there is no element."""
    return "" if element is None else text_in(element).strip()


def children(element: Element, names: Mapping[str, str]) -> dict[str, Element]:
    """The first child for each name, in one pass."""
    found: dict[str, Element] = {}
    for child in element:
        name = names.get(child.tag)
        if name is not None and name not in found:
            found[name] = child
    return found


def text(value: str) -> bytes:
    """A carriage return has to be a reference, or it is read as a line feed (XML 1.0 s2.11)."""
    if "&" in value or "<" in value or ">" in value or "\r" in value:
        value = _escape(value, {"\r": "&#13;"})
    return value.encode()


def attribute(value: str) -> bytes:
    """Quotes included."""
    return _quoteattr(value).encode()
