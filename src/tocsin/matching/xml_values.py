"""What stands at a path of an XML document: one path after the other."""

from collections.abc import Iterable, Iterator
from math import isnan

from tocsin.markup.conditions import Condition, Step, XmlPath
from tocsin.markup.xml import Element, text_in
from tocsin.markup.xpath_numbers import number, shortened
from tocsin.markup.xpath_subset import LONGEST_CONSTANT
from tocsin.matching.conditions import holds


def values_at(root: Element, path: XmlPath) -> Iterable[str]:
    """The context node is the root element."""
    found: Iterable[Element] = (root,)
    for index, step in enumerate(path.steps):
        found = _below(root, found, step) if index or not path.absolute else _from_document(root, step)
    for element in found:
        if path.having is None or has(element, path.having):
            yield from leaves(element, path.leaf)


def has(element: Element, asked: Condition) -> bool:
    """Whether the predicate behind an element holds of its attributes."""
    return holds(asked, lambda path: tuple(leaves(element, path.leaf)) if isinstance(path, XmlPath) else ())


def _from_document(root: Element, step: Step) -> Iterable[Element]:
    """Whose only child element is the root."""
    if step.deep:
        return root.iter(step.name)
    return (root,) if step.name in names_of(str(root.tag)) else ()


def _below(root: Element, parents: Iterable[Element], step: Step) -> Iterator[Element]:
    """What is below several of them is found once."""
    if not step.deep:
        for parent in parents:
            yield from parent.iterchildren(step.name)
        return
    above = set(parents)
    for element in root.iterdescendants("*") if above else ():
        if element.getparent() in above:
            above.add(element)
            if step.name in names_of(str(element.tag)):
                yield element


def names_of(tag: str) -> tuple[str, ...]:
    """All that a step may call it."""
    namespace, brace, _ = tag.rpartition("}")
    return (tag, f"{namespace}}}*", "*") if brace else (tag, "*")


def leaves(element: Element, leaf: str) -> Iterable[str]:
    if not leaf:
        return (string_value(element),)
    if leaf == "text()":
        return text_nodes(element)
    value = element.get(leaf[1:])
    return () if value is None else (value,)


def text_nodes(element: Element) -> Iterator[str]:
    """Comments and processing instructions stand between text nodes (XPath 1.0 s5.7)."""
    if element.text:
        yield element.text
    for child in element:
        if child.tail:
            yield child.tail


def string_value(element: Element) -> str:
    """Of elements that contain others all the text, if it is short: together these may be 256 times the document."""
    return abridged(text_in(element)) if len(element) else element.text or ""


def abridged(value: str) -> str:
    """In place of a longer one stands another that no constant equals, either, and that is the same number or none."""
    if len(value) <= LONGEST_CONSTANT:
        return value
    if isnan(number(value)):
        return value[:LONGEST_CONSTANT] + "…"
    return shortened(value.strip()).rjust(LONGEST_CONSTANT + 1)
