"""Triples of SPARQL 1.1 (s4.2), read as arcs and classes."""

from tocsin.markup.graphs._assembly import GroupPattern, NamedArc, Node
from tocsin.markup.graphs._names import NameReader, Tokens
from tocsin.markup.graphs.literals import RDF

_TYPE = f"{RDF}type"
_PATHS = frozenset("^!(/|*+?")


class Triples:
    """The parser of triple blocks. Blank nodes are variables that are not reported; those without a label get one that
    cannot be written."""

    __slots__ = ("_arcs", "_classes", "_names", "_places", "_unnamed", "_words")

    def __init__(self, words: Tokens, names: NameReader) -> None:
        self._words, self._names, self._unnamed = words, names, 0
        self._arcs: list[NamedArc] = []
        self._classes: list[tuple[Node, str]] = []
        self._places: dict[Node, int] = {}

    def block(self) -> GroupPattern:
        """Until something else than a triple stands there."""
        self._arcs, self._classes, self._places = [], [], {}
        self._same_subject()
        while self._words.takes(".") and self._begins():
            self._same_subject()
        if self._begins():
            self._words.fail("'.' is expected here, between triples")
        return GroupPattern(tuple(self._arcs), tuple(self._classes), (), (), tuple(self._places.items()))

    def _begins(self) -> bool:
        """Other words begin FILTER and the like."""
        words = self._words
        return words.sees("[") if words.kind == "symbol" else words.kind not in ("word", "end")

    def _same_subject(self) -> None:
        words = self._words
        at, bracket = words.at, words.sees("[")
        known = len(self._arcs) + len(self._classes)
        subject = self._node()
        if subject.name[0] == '"':
            words.fail("a literal has no properties", at)
        if self._sees_verb() or not bracket or known == len(self._arcs) + len(self._classes):
            self._properties(subject)

    def _sees_verb(self) -> bool:
        words = self._words
        return words.kind in ("iri", "name", "variable") or (words.kind == "word" and words.word == "a")

    def _properties(self, subject: Node) -> None:
        words = self._words
        self._objects(subject)
        while words.takes(";"):
            if self._sees_verb() or (words.kind == "symbol" and words.word in _PATHS):
                self._objects(subject)

    def _objects(self, subject: Node) -> None:
        found = self._verb()
        while True:
            if found == _TYPE:
                self._class(subject)
            else:
                self._arcs.append(NamedArc(subject, found, self._node()))
            if not self._words.takes(","):
                break

    def _verb(self) -> str:
        words = self._words
        if words.kind == "word" and words.word == "a":
            words.advance()
            return _TYPE
        if words.kind == "variable":
            words.fail(f"{words.word} stands for a property, which must be named: patterns are found by it")
        if words.sees("("):
            words.fail("property paths cannot be compiled: write each arc, and a UNION for |")
        self._refuse_path()
        found = self._names.iri(bare=False)
        if found is None:
            words.fail("a property is expected here")
        self._refuse_path()
        return found

    def _refuse_path(self) -> None:
        words = self._words
        if words.kind == "symbol" and words.word in _PATHS and not words.sees("("):
            words.fail(f"property paths ({words.word}) cannot be compiled: write each arc, and a UNION for |")

    def _class(self, subject: Node) -> None:
        words = self._words
        if words.kind in ("variable", "blank") or words.sees("["):
            words.fail("a class must be named: write owl:Thing for any")
        found = self._names.class_iri(bare=False)
        if found is None:
            words.fail("the name of a class is expected here")
        self._classes.append((subject, found))

    def _node(self) -> Node:
        words = self._words
        at = words.at
        match words.kind:
            case "variable":
                node = Node(f"?{words.taken()[1:]}")
            case "blank":
                node = Node(words.taken())
            case "symbol" if words.word == "[":
                return self._bracket()
            case "symbol" if words.word == "(":
                words.fail("lists cannot be compiled: write their arcs")
            case _:
                node = self._constant(at)
        self._places.setdefault(node, at)
        return node

    def _constant(self, at: int) -> Node:
        literal = self._names.signed()
        if literal is not None:
            return Node(literal.term, at)
        iri = self._names.iri(bare=False)
        if iri is None:
            self._words.fail("a variable, a name, a blank node or a literal is expected here")
        return Node(f"<{iri}>")

    def _bracket(self) -> Node:
        words = self._words
        self._unnamed += 1
        node = Node(f"_:[{self._unnamed}]")
        self._places.setdefault(node, words.at)
        words.advance()
        if not words.sees("]"):
            words.deeper(lambda: self._properties(node))
        words.expect("]")
        return node
