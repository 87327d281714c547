"""Tokens of both languages of graph patterns (SPARQL 1.1 s19.8), and their names and literals resolved to terms."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import NamedTuple, NoReturn, TypeVar

from pyoxigraph import Literal, NamedNode, RdfFormat, parse

from tocsin.markup.conditions import ExpressionError
from tocsin.markup.graphs.literals import LANG_STRING, RDF, XSD, XSD_STRING, current, literal_term

LONGEST = 16384
DEEPEST = 64
MOST_EFFORT = 8_000  # a text is read while others wait: about so many words, and what costs as much
_OF_LEVEL = 10
_LOCAL = r"%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?#@%]"
# Possessive where a failure later could make the rest be read in many ways.
_TOKEN = re.compile(
    r"(?:[ \t\r\n]++|\#[^\r\n]*+)*+(?:"
    r"(?P<variable>[?$]\w+)"
    r"|(?P<blank>_:\w(?:[\w.\-]*[\w\-])?)"
    r"|(?P<iri><[^<>\"{}|^`\x00-\x20]*>)"
    rf"|(?P<name>(?:[^\W\d_](?:[\w.\-]{{0,60}}[\w\-])?)?:(?:(?:[\w:]|{_LOCAL})(?:(?:[\w:.\-]|{_LOCAL})*(?:[\w:\-]|{_LOCAL}))?)?)"
    r"|(?P<number>(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)[eE][+-]?[0-9]++|[0-9]*+\.[0-9]++|[0-9]++)"
    r"|(?P<long>\"\"\"(?:\"{0,2}(?:[^\"\\]|\\[\s\S]))*+\"\"\"|'''(?:'{0,2}(?:[^'\\]|\\[\s\S]))*+''')"
    r"|(?P<string>\"(?:[^\"\\\r\n]|\\.)*+\"|'(?:[^'\\\r\n]|\\.)*+')"
    r"|(?P<language>@[a-zA-Z]+(?:-[a-zA-Z0-9]+)*)"
    r"|(?P<word>[^\W\d][\w\-]*)"
    r"|(?P<symbol>\^\^|&&|\|\||!=|<=|>=|[<>=!(){}\[\].,;*/+\-|^?])"
    r"|(?P<end>\Z))"
)
_Read = TypeVar("_Read")


class Tokens:
    """The tokens of a text, one at a time: `kind`, `word` and `at` are those of the next one."""

    __slots__ = ("_depth", "_left", "_next", "at", "kind", "text", "word")

    def __init__(self, text: str) -> None:
        self.text, self._next, self._depth = text, 0, 0
        self._left = MOST_EFFORT
        self.kind, self.word, self.at = "", "", 0
        if len(text) > LONGEST:
            raise ExpressionError(
                text, LONGEST, f"longer than {LONGEST} characters; write shorter prefixes, or two filters"
            )
        if not text.isascii():
            try:
                self.text.encode()
            except UnicodeEncodeError as problem:
                raise ExpressionError(self.text, problem.start, "half of a character stands alone here") from None
        self.advance()

    def advance(self) -> None:
        found = _TOKEN.match(self.text, self._next)
        if found is None or found.lastgroup is None:
            blanks = re.compile(r"(?:[ \t\r\n]++|\#[^\r\n]*+)*+").match(self.text, self._next)
            at = self._next if blanks is None else blanks.end()
            shown = self.text[at]
            why = "the text that begins here does not end" if shown in "\"'" else f"{shown!r} cannot stand here"
            raise ExpressionError(self.text, at, why)
        self.kind = found.lastgroup
        self.word = found[self.kind]
        self._next = found.end()
        self.at = self._next - len(self.word)
        self.spend(1)

    def spend(self, effort: int) -> None:
        self._left -= effort
        if self._left < 0:
            self.fail("the text asks for too much until here: leave something out, or make it two filters")

    def operator(self) -> str:
        """The next word where an operand has ended: there, `<` is never the begin of an IRI."""
        if self.kind == "iri":
            self.kind, self.word = "symbol", "<=" if self.word.startswith("<=") else "<"
            self._next = self.at + len(self.word)
        return self.word if self.kind == "symbol" else self.keyword()

    def keyword(self) -> str:
        return self.word.upper() if self.kind == "word" else ""

    def sees(self, symbol: str) -> bool:
        return self.word == symbol and self.kind == "symbol"

    def takes(self, symbol: str) -> bool:
        if self.word != symbol or self.kind != "symbol":
            return False
        self.advance()
        return True

    def expect(self, symbol: str) -> None:
        if not self.takes(symbol):
            self.fail(f"{symbol!r} is expected here")

    def taken(self) -> str:
        word = self.word
        self.advance()
        return word

    def deeper(self, read: Callable[[], _Read]) -> _Read:
        self.spend(_OF_LEVEL)
        self._depth += 1
        if self._depth > DEEPEST:
            self.fail(f"nested deeper than {DEEPEST} levels")
        found = read()
        self._depth -= 1
        return found

    def fail(self, why: str, at: int | None = None) -> NoReturn:
        raise ExpressionError(self.text, self.at if at is None else at, why)


RDFS = "http://www.w3.org/2000/01/rdf-schema#"
OWL = "http://www.w3.org/2002/07/owl#"
DAML = "http://www.daml.org/2001/03/daml+oil#"
THING = f"{OWL}Thing"
LITERAL = f"{RDFS}Literal"
_DAMLS = (DAML, "http://www.daml.org/2000/12/daml+oil#")
_TOPS = {
    **{f"{space}Thing": THING for space in _DAMLS},
    **{f"{space}Literal": LITERAL for space in _DAMLS},
    **{f"{XSD}{name}": LITERAL for name in ("anyType", "anySimpleType", "anyAtomicType")},
    f"{RDFS}Resource": THING,
    f"{RDF}Literal": LITERAL,
}
_OF_RDF = ("langString", "dirLangString", "PlainLiteral", "XMLLiteral", "HTML", "JSON")
_DATATYPES = frozenset((LITERAL, f"{OWL}real", f"{OWL}rational", *(f"{RDF}{name}" for name in _OF_RDF)))
# Known where nothing else is said of the prefix: the paper's own example needs them.
WELL_KNOWN = {"rdf": RDF, "rdfs": RDFS, "xsd": XSD, "owl": OWL, "daml": DAML}
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|([\s\S]?))")
_SHORT = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_LONGEST_REMEMBERED = 256
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


class Written(NamedTuple):
    """A literal as it stands in a pattern."""

    lexical: str
    datatype: str
    language: str = ""

    @property
    def term(self) -> str:
        return literal_term(*self)


def is_datatype(iri: str) -> bool:
    """Without an ontology: those of the standards."""
    return iri.startswith(XSD) or iri in _DATATYPES


class NameReader:
    """Reads names and literals. Prefixes of the text come first, then those given, then well-known ones."""

    __slots__ = ("_base", "_given", "_own", "_words")

    def __init__(self, words: Tokens, prefixes: Mapping[str, str]) -> None:
        self._words, self._given = words, prefixes
        self._own: dict[str, str] = {}
        self._base = ""

    def prologue(self) -> None:
        while (keyword := self._words.keyword()) in ("PREFIX", "BASE"):
            self._words.advance()
            if keyword == "BASE":
                self._base = self._iri_only()
            else:
                prefix = self._words.word
                if self._words.kind != "name" or not prefix.endswith(":") or prefix.count(":") > 1:
                    self._words.fail("a prefix with its colon is expected here")
                self._words.advance()
                self._own[prefix[:-1]] = self._iri_only()

    def _iri_only(self) -> str:
        if self._words.kind != "iri":
            self._words.fail("an IRI in <> is expected here")
        return self._resolved()

    def iri(self, bare: bool) -> str | None:
        """The IRI that a name stands for; `bare` names have no prefix. None where no name stands."""
        match self._words.kind:
            case "iri":
                return self._resolved()
            case "name":
                prefix, _, local = self._words.word.partition(":")
                return self._joined(prefix, re.sub(r"\\(.)", r"\1", local) if "\\" in local else local)
            case "word" if bare:
                return self._joined("", self._words.word)
        return None

    def class_iri(self, bare: bool) -> str | None:
        """As the concept model has it, where DAML+OIL and older XML Schemas have names of their own."""
        found = self.iri(bare)
        return None if found is None else _TOPS.get(found, current(found))

    def _joined(self, prefix: str, local: str) -> str:
        namespace = self._own.get(prefix)
        if namespace is None:
            namespace = self._given.get(prefix)
        if namespace is None:
            namespace = WELL_KNOWN.get(prefix)
        if namespace is None:
            self._words.fail(
                f"the prefix {prefix}: is not declared" if prefix else "names without a prefix have no namespace here"
            )
        return self._checked(namespace + local)

    def _resolved(self) -> str:
        iri = self._words.word[1:-1]
        if "\\" in iri:
            iri = self._unescaped(iri, short=False)
        if not _SCHEME.match(iri):
            if not self._base:
                self._words.fail("the IRI is relative, and no BASE is declared")
            iri = self._absolute(iri)
        return self._checked(iri)

    def _absolute(self, iri: str) -> str:
        try:
            triples = parse(f"<{iri}> <urn:p> <urn:o> .".encode(), RdfFormat.TURTLE, base_iri=self._base)
            return "".join(str(triple.subject)[1:-1] for triple in triples)
        except (ValueError, SyntaxError) as problem:
            self._words.fail(f"no IRI: {problem}")

    def _checked(self, iri: str) -> str:
        problem = _known_problem(iri) if len(iri) <= _LONGEST_REMEMBERED else _problem(iri)
        if problem:
            self._words.fail(f"{iri} is no IRI: {problem}")
        self._words.advance()
        return iri

    def literal(self) -> Written | None:
        """Numbers, truths and text; None where none stands."""
        words = self._words
        match words.kind:
            case "number":
                return self._number(words.word)
            case "string" | "long":
                return self._text()
            case "word" if words.word in ("true", "false"):
                return Written(words.taken(), f"{XSD}boolean")
        return None

    def _number(self, word: str, sign: str = "") -> Written:
        self._words.advance()
        kind = "double" if "e" in word or "E" in word else "decimal" if "." in word else "integer"
        return Written(sign + word, XSD + kind)

    def signed(self) -> Written | None:
        """A number with its sign, which in a statement belongs to the number."""
        if self._words.kind != "symbol" or self._words.word not in "+-":
            return self.literal()
        sign = self._words.taken()
        if self._words.kind != "number":
            self._words.fail("a number is expected here")
        return self._number(self._words.word, sign)

    def text(self) -> str:
        """A string alone, without language or datatype."""
        words = self._words
        if words.kind not in ("string", "long"):
            words.fail("a string is expected here")
        edge = 3 if words.kind == "long" else 1
        raw = words.word[edge:-edge]
        found = self._unescaped(raw, short=True) if "\\" in raw else raw
        words.advance()
        return found

    def _text(self) -> Written:
        words = self._words
        lexical = self.text()
        if words.kind == "language":
            language = self._words.word[1:].lower()
            try:
                Literal(lexical, language=language)
            except ValueError as problem:
                self._words.fail(f"no language tag: {problem}")
            self._words.advance()
            return Written(lexical, LANG_STRING, language)
        if not words.takes("^^"):
            return Written(lexical, XSD_STRING)
        at = words.at
        datatype = self.iri(bare=False)
        if datatype is None:
            words.fail("the datatype's name is expected here")
        if datatype == LANG_STRING:
            words.fail("a text with a language is written with @ and the language", at)
        return Written(lexical, datatype)

    def _unescaped(self, raw: str, short: bool) -> str:
        def one(found: re.Match[str]) -> str:
            code = found[1] or found[2]
            if code is not None:
                return self._character(int(code, 16))
            if not short or found[3] not in _SHORT:
                self._words.fail(f"\\{found[3]} means no character")
            return _SHORT[found[3]]

        return _ESCAPE.sub(one, raw)

    def _character(self, code: int) -> str:
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            self._words.fail(f"there is no character {code:X}")
        return chr(code)


def _problem(iri: str) -> str:
    try:
        NamedNode(iri)
    except ValueError as problem:
        return str(problem)
    return ""


_known_problem = lru_cache(4096)(_problem)
