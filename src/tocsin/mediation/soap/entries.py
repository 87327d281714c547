"""Reading a message by its table: the normalisation half of the engine.

It takes the action that table 3 of WS-Messenger gives: present is transformed, absent and defaulted is added, absent
and optional is none, absent and required is a fault. What no entry names is ignored.
"""

import re
from collections.abc import Mapping

from tocsin.markup import xml
from tocsin.markup.xml import Element
from tocsin.mediation.rules import Entry, Path
from tocsin.model.refusal import Refusal

Found = dict[str, Element]

LONGEST_URI = 4096
_PLAIN_URI = re.compile("[!-~]{1,512}")
_URI = re.compile(f"[^\x00-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]{{0,{LONGEST_URI}}}")


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
        return value if value is None or isinstance(value, str) else text_of(value)


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
                    entry.missing, f"{_shown(element.tag)} lacks {' / '.join(step.local for step in entry.path)}"
                )
            value = entry.default
        found[entry.name] = value
    return Values(found, element, {entry.name: entry.path for entry in entries if not entry.also})


def children(element: Element, names: Mapping[str, str]) -> Found:
    """The first child for each name, in one pass; the hot path's form of a table with paths of one step."""
    found: Found = {}
    for child in element:
        name = names.get(child.tag)
        if name is not None and name not in found:
            found[name] = child
    return found


def text_of(element: Element | None) -> str:
    """Past comments and processing instructions, without white space at its ends."""
    if element is None:
        return ""
    return whole_text(element).strip()


def is_uri(text: str) -> bool:
    return _URI.fullmatch(text) is not None


def whole_text(element: Element) -> str:
    return xml.text_in(element) if len(element) else element.text or ""


def uri_of(element: Element | None) -> str:
    """An xs:anyURI, whose white space is collapsed; what goes into headers and caches is short and printable."""
    if element is None:
        return ""
    text = element.text or ""
    if _PLAIN_URI.fullmatch(text) and not len(element):
        return text
    return uri_in(whole_text(element), _shown(element.tag))


def uri_in(text: str, what: str) -> str:
    text = " ".join(text.split())
    if not is_uri(text):
        raise Refusal("malformed", f"{what} is longer than {LONGEST_URI} characters or holds control characters")
    return text


def first_child(element: Element) -> Element | None:
    """The first child element, past comments and processing instructions."""
    for child in element:
        if type(child.tag) is str:
            return child
    return None


def only_child(element: Element) -> Element | None:
    """The child element of one that must have exactly one."""
    found = [child for child in element if type(child.tag) is str]
    return found[0] if len(found) == 1 else None


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


def _shown(name: object) -> str:
    return str(name).rpartition("}")[2]
