"""ONVIF's ItemFilter, the message content filter of cameras (ONVIF Core Specification, "Message Content Filter").

    Expression ::= BoolExpr | Expression 'and' Expression | Expression 'or' Expression
                 | '(' Expression ')' | 'not' '(' Expression ')'
    BoolExpr   ::= 'boolean' '(' '//' Prefix? ('SimpleItem' | 'ElementItem') '[' AttrExpr ']' ')'
    AttrExpr   ::= AttrComp | AttrExpr 'and' AttrExpr | AttrExpr 'or' AttrExpr
                 | '(' AttrExpr ')' | 'not' '(' AttrExpr ')'
    AttrComp   ::= ('@Name' | '@Value') '=' '"' String '"'

As in XPath 1.0 `and` comes before `or`, and a string may stand in single quotes too.
"""

import re
from collections.abc import Callable, Mapping

from tocsin.markup.conditions import Compare, Condition, Exists, Negated, Scanner, Step, XmlPath, every, some

SCHEMA = "http://www.onvif.org/ver10/schema"
_WORD_END = r"(?![\w.-])"
_AND, _OR, _NOT, _BOOLEAN = (re.compile(word + _WORD_END) for word in ("and", "or", "not", "boolean"))
_ATTRIBUTE = re.compile(r"@(?:Name|Value)" + _WORD_END)
_ITEM = re.compile(r"(?:SimpleItem|ElementItem)" + _WORD_END)
_PREFIX = re.compile(r"[^\W\d][\w.-]*(?=:)")
_STRING = re.compile(r"\"[^\"]*\"|'[^']*'")


def read(text: str, namespaces: Mapping[str, str]) -> Condition:
    reader = _Reader(text, namespaces)
    found = reader.joined(reader.boolean)
    reader.scanner.end()
    return found


class _Reader:
    def __init__(self, text: str, namespaces: Mapping[str, str]) -> None:
        self.scanner, self._namespaces = Scanner(text), namespaces

    def joined(self, test: Callable[[], Condition]) -> Condition:
        """`or` over `and` over tests, which are of items outside, and of attributes inside the brackets."""
        several = self.scanner.several
        return some(several(lambda: every(several(lambda: self._one(test), _AND)), _OR))

    def _one(self, test: Callable[[], Condition]) -> Condition:
        if self.scanner.take(_NOT):
            self.scanner.expect("(")
            return Negated(self._closed(test))
        return self._closed(test) if self.scanner.takes("(") else test()

    def _closed(self, test: Callable[[], Condition]) -> Condition:
        found = self.scanner.deeper(lambda: self.joined(test))
        self.scanner.expect(")")
        return found

    def boolean(self) -> Condition:
        if not self.scanner.take(_BOOLEAN):
            self.scanner.fail("'boolean(//...)', 'not(...)' or '(' is expected here")
        self.scanner.expect("(")
        self.scanner.expect("//")
        # `{namespace}local`; without a prefix it is ONVIF's own namespace, as with the only prefix that is allowed.
        at = self.scanner.skip()
        prefix = self.scanner.take(_PREFIX)
        if prefix is not None:
            self.scanner.expect(":")
            if self._namespaces.get(prefix) != SCHEMA:
                self.scanner.fail(
                    f"the prefix {prefix!r} is not declared as {SCHEMA}: declare it so or leave it out", at
                )
        item = self.scanner.take(_ITEM)
        element = f"{{{SCHEMA}}}{item}" if item else self.scanner.fail("'SimpleItem' or 'ElementItem' is expected here")
        self.scanner.expect("[")
        having = self.joined(self.comparison)
        self.scanner.expect("]")
        self.scanner.expect(")")
        return Exists(XmlPath((Step(element, deep=True),), having=having))

    def comparison(self) -> Condition:
        attribute = self.scanner.take(_ATTRIBUTE) or self.scanner.fail("'@Name' or '@Value' is expected here")
        if not self.scanner.takes("="):
            self.scanner.fail("'=' is expected here: this language has no other comparison, XPath 1.0 has")
        value = self.scanner.take(_STRING) or self.scanner.fail("a string in quotes is expected here")
        return Compare(XmlPath((), attribute, absolute=False), "=", value[1:-1])
