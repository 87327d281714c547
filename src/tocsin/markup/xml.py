"""Reading XML that strangers send, and writing the parts of it that go out again."""

from xml.sax.saxutils import escape as _escape
from xml.sax.saxutils import quoteattr as _quoteattr

from lxml import etree

Element = etree._Element

# No entity is expanded, no file or network is touched; depth and node sizes keep libxml2's limits.
_PARSER = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False, load_dtd=False)


class MarkupError(ValueError):
    """What was sent is not XML we accept."""


def parse(data: bytes) -> Element:
    """The root element. A DOCTYPE is refused whatever it holds: SOAP 1.1 s3 and SOAP 1.2 part 1 s5 forbid it.

    A document that starts with a tag at once is UTF-8 and holds none without an exclamation mark; any other is asked.
    """
    try:
        root: Element = etree.fromstring(data, _PARSER)
    except etree.XMLSyntaxError as problem:
        raise MarkupError(f"not well-formed XML: {problem.msg}") from None
    except ValueError as problem:
        raise MarkupError(f"not well-formed XML: {problem}") from None
    if (
        data[:1] != b"<" or data[1:2] in b"?!\0" or b"!" in data
    ) and root.getroottree().docinfo.internalDTD is not None:
        raise MarkupError("a DOCTYPE is not allowed in a message; remove it")
    return root


def serialise(element: Element) -> bytes:
    """The element alone, with the namespace declarations it needs, in UTF-8."""
    data: bytes = etree.tostring(element, encoding="UTF-8", with_tail=False, xml_declaration=False)
    return data


Scope = tuple[tuple[bytes, bytes, bytes], ...]  # for each prefix: a mention of it, its own declaration, how that reads


def scope_of(element: Element) -> Scope:
    """The namespace declarations in force inside an element."""
    return tuple(_declaration(prefix, uri) for prefix, uri in element.nsmap.items())


def _declaration(prefix: str | None, uri: str) -> tuple[bytes, bytes, bytes]:
    if prefix is None:
        return b"", b"xmlns", b" xmlns=" + attribute(uri)
    name = prefix.encode()
    return name + b":", b"xmlns:" + name, b" xmlns:%b=%b" % (name, attribute(uri))


def is_plain(data: bytes) -> bool:
    """UTF-8 without comments, CDATA sections and processing instructions: there `<` only ever starts a tag."""
    if data[:1] != b"<" or data[1:2] == b"\0" or (b"!" in data and b"<!" in data):
        return False
    if b"?" not in data or b"<?" not in data:
        return True
    end = data.find(b"?>")
    declaration = data[:end].lower()
    utf8 = b"utf-8" in declaration or b"encoding" not in declaration
    return declaration.startswith(b"<?xml ") and utf8 and data.find(b"<?", end) < 0


def standing_alone(own: bytes, scope: Scope) -> bytes | None:
    """An element's own bytes, with the outer prefixes it mentions declared on it.

    None where bytes cannot tell: a start tag that declares such a prefix itself or has `>` in an attribute, prefixes
    spelled with character references, text around the element, an instruction or comment inside.
    """
    if own[:1] != b"<" or own[-1:] != b">" or (b"&" in own and b"&#" in own) or _has_instructions(own):
        return None
    tag = own[: own.find(b">")]
    if tag.count(b'"') % 2 or tag.count(b"'") % 2:
        return None
    declared = b""
    for mention, declaring, declaration in scope:
        if mention in own:
            if declaring in tag:
                return None
            declared += declaration
    if not declared:
        return own
    at = len(tag.rstrip(b"/").split(None, 1)[0])
    return own[:at] + declared + own[at:]


def _has_instructions(own: bytes) -> bool:
    return (b"!" in own and b"<!" in own) or (b"?" in own and b"<?" in own)


def written_name(element: Element) -> bytes:
    """The name as the element's tags spell it."""
    prefix, local = element.prefix, element.tag.rpartition("}")[2]
    return f"{prefix}:{local}".encode() if prefix else local.encode()


def child_bytes(data: bytes, parent: Element, child: Element) -> bytes:
    """The one child element of `parent`, able to stand alone: the sender's own bytes where they can be told."""
    inner = inner_bytes(data, parent)
    own = None if inner is None or len(parent) != 1 else standing_alone(inner, scope_of(parent))
    return own or serialise(child)


def inner_bytes(data: bytes, element: Element) -> bytes | None:
    """What stands between the tags of an element whose start tag, without attributes, occurs once."""
    if not is_plain(data):
        return None
    opening = b"<%b>" % written_name(element)
    start = data.find(opening) + len(opening)
    end = data.rfind(b"</" + opening[1:])
    if start < len(opening) or end < start or data.find(opening, start) >= 0:
        return None
    return data[start:end].strip()


def text(value: str) -> bytes:
    return _escape(value).encode() if "&" in value or "<" in value or ">" in value else value.encode()


def attribute(value: str) -> bytes:
    """Quotes included."""
    return _quoteattr(value).encode()
