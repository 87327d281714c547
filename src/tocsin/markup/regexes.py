"""Regular expressions of graph patterns, by RE2, whose time is linear in the text."""

import re
from functools import lru_cache
from typing import Protocol

import re2

from tocsin.markup.graphs.graph_pattern import Like

LONGEST = 1000  # characters
LARGEST = 5000  # instructions, of all expressions of a pattern together: to compile them takes time and memory
_ROOM = 128 << 10  # bytes of one
_EACH, _OF_UNICODE = 20, 100  # what it takes to read an expression, and a class such as \pL, in instructions
FLAGS = "ismxq"  # SPARQL 1.1 s17.4.3.14, XPath functions s5.6.2
_CLASS_OR_BLANK = re.compile(r"\\[\s\S]|(?P<class>\[\^?\]?(?:\\[\s\S]|[^\]\\])*+(?:\]|\Z))|(?P<blank>[ \t\r\n]+)")
_ESCAPED = re.compile(r"\\[\s\S]")
_SUBTRACTION = re.compile(r"(?<!\\)-\[")


class Regex(Protocol):
    @property
    def programsize(self) -> int: ...
    def search(self, text: str) -> object: ...


def problem_of(like: Like) -> str:
    """Why it cannot be searched for; empty when it can."""
    unknown = sorted(set(like.flags) - set(FLAGS))
    if unknown:
        return f"{''.join(unknown)!r} is no flag of a regular expression; there are i, s, m, x and q"
    if len(like.regex) > LONGEST:
        return f"the regular expression is longer than {LONGEST} characters"
    if "q" not in like.flags and _subtracts(like.regex):
        return "RE2 cannot take one class of characters from another, [a-[b]]"
    if _reading(like) > LARGEST:
        return f"the regular expression has more than {LARGEST // _OF_UNICODE - 1} classes of Unicode (\\p); say less"
    try:
        compiled(like)
    except re2.error as problem:
        what = problem.args[0] if problem.args else problem
        shown = what.decode(errors="replace") if isinstance(what, bytes) else str(what)
        hint = "repeat less" if "too large" in shown else "it has no back references and does not look around"
        return f"RE2 refuses the regular expression: {shown}; {hint}"
    return ""


def weight_of(like: Like) -> int:
    """Of one that has no problem: about how many instructions."""
    return _reading(like) + compiled(like).programsize


def _reading(like: Like) -> int:
    """The parser takes long for each class of Unicode, whatever becomes of it."""
    return _EACH + _OF_UNICODE * sum(found[0] in ("\\p", "\\P") for found in _ESCAPED.finditer(expression(like)))


def _subtracts(regex: str) -> bool:
    """RE2 would take it for something else."""
    return any(_SUBTRACTION.search(found["class"] or "") for found in _CLASS_OR_BLANK.finditer(regex))


def expression(like: Like) -> str:
    """The same with its flags inside, as RE2 compiles it alone or in a set."""
    quoted = "q" in like.flags  # of the others, i alone means something then
    flags = "".join(flag for flag in ("i" if quoted else "ism") if flag in like.flags)
    if quoted:
        text = re2.escape(like.regex)
    else:
        text = _CLASS_OR_BLANK.sub(_unless_blank, like.regex) if "x" in like.flags else like.regex
    return f"(?{flags}){text}" if flags else text


def _unless_blank(found: re.Match[str]) -> str:
    return "" if found["blank"] else found[0]


@lru_cache(4096)
def compiled(like: Like) -> Regex:
    options = re2.Options()
    options.log_errors, options.max_mem = False, _ROOM
    found: Regex = re2.compile(expression(like), options)
    return found
