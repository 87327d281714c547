"""The tokens and the function library of XPath 1.0 (s3.7, s4)."""

import re
from typing import Literal, NamedTuple

Kind = Literal["node-set", "string", "number", "boolean"]

# XML 1.0 s2.3, without the colon (Namespaces in XML s3)
_START = (
    "A-Z_a-z\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f"
    "\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_NAME = rf"[{_START}][{_START}\-.0-9\xb7\u0300-\u036f\u203f\u2040]*"
_NUMBER = r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+"
_OTHERS = r"//|\.\.|::|[!<>]=|[^ \t\r\n]"
WORD = re.compile(rf"""[ \t\r\n]*({_NAME}(?::(?:{_NAME}|\*))?|"[^"]*"|'[^']*'|{_NUMBER}|{_OTHERS})""")
STARTS_NAME = re.compile(f"[{_START}]").match
NO_CHARACTER = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
END = "\0"

NODE_TYPES = frozenset(("text", "node", "comment", "processing-instruction"))
AXES = frozenset(
    (
        "ancestor",
        "ancestor-or-self",
        "attribute",
        "child",
        "descendant",
        "descendant-or-self",
        "following",
        "following-sibling",
        "namespace",
        "parent",
        "preceding",
        "preceding-sibling",
        "self",
    )
)
NEGATION = "negation"
PRECEDENCE = {"or": 1, "and": 2, "=": 3, "!=": 3, "<": 4, "<=": 4, ">": 4, ">=": 4}
PRECEDENCE |= {"+": 5, "-": 5, "*": 6, "div": 6, "mod": 6, NEGATION: 7, "|": 8}


class Function(NamedTuple):
    gives: Kind
    least: int
    most: int
    takes_nodes: bool = False


_MANY = 4096
FUNCTIONS = {
    "last": Function("number", 0, 0),
    "position": Function("number", 0, 0),
    "count": Function("number", 1, 1, True),
    "id": Function("node-set", 1, 1),
    "local-name": Function("string", 0, 1, True),
    "namespace-uri": Function("string", 0, 1, True),
    "name": Function("string", 0, 1, True),
    "string": Function("string", 0, 1),
    "concat": Function("string", 2, _MANY),
    "starts-with": Function("boolean", 2, 2),
    "contains": Function("boolean", 2, 2),
    "substring-before": Function("string", 2, 2),
    "substring-after": Function("string", 2, 2),
    "substring": Function("string", 2, 3),
    "string-length": Function("number", 0, 1),
    "normalize-space": Function("string", 0, 1),
    "translate": Function("string", 3, 3),
    "boolean": Function("boolean", 1, 1),
    "not": Function("boolean", 1, 1),
    "true": Function("boolean", 0, 0),
    "false": Function("boolean", 0, 0),
    "lang": Function("boolean", 1, 1),
    "number": Function("number", 0, 1),
    "sum": Function("number", 1, 1, True),
    "floor": Function("number", 1, 1),
    "ceiling": Function("number", 1, 1),
    "round": Function("number", 1, 1),
}


def start_of(text: str, index: int) -> int:
    """Where a token stands; counted again, for only errors ask."""
    for number, found in enumerate(WORD.finditer(text)):
        if number == index:
            return found.start(1)
    return len(text)
