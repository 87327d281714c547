"""Refusals: the reasons for which a request is refused, and suggestions for a name that does not exist."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from heapq import nsmallest
from typing import Literal

from tocsin.model.names import QName

Reason = Literal[
    "malformed",  # not readable as what it claims to be
    "must-understand",
    "unknown-operation",
    "unknown-subscription",
    "unknown-topic-dialect",
    "bad-topic-expression",
    "unsupported-filter",
    "bad-filter",
    "bad-producer-filter",
    "unknown-topic",  # not one of a fixed set
    "several-topics",
    "no-current-message",
    "bad-expiry",
    "bad-start",  # from where in the log a subscription begins
    "unsupported-delivery",
    "unknown-policy",
    "unknown-property",
    "bad-registration",
    "not-authenticated",
    "not-allowed",
    "bad-consumer",
    "no-consumer",
    "unknown-secret",
    "unknown-consent",
    "in-use",
    "bad-reply-type",  # that a publisher asks replies of
    "bad-reply",  # not of the type that was asked for
    "over",  # a request that was answered or ended before
    "unknown-name",  # of a topic, category, service or edge of the world
    "bad-world",  # it would contradict itself: a cycle, a service without category
    "bad-ontology",  # it would contradict itself, or names what is not there
    "bad-event-graph",  # against OPS s3.1 or the concept model
    "bad-lifting",  # a mapping to event graphs that cannot be used
    "not-proven",  # a notification whose root cannot be believed
    "not-here",  # another node keeps the world
    "changed-since",  # by somebody else than who asks to change it now
    "too-large",
    "too-slow",
    "overloaded",
    "cannot-store",
]
OUR_FAULT: frozenset[Reason] = frozenset({"overloaded", "cannot-store"})


class Refusal(Exception):
    """Carries what is wrong and, where there is one, what to do about it; `about` names the element at fault."""

    def __init__(self, reason: Reason, text: str, about: QName | None = None) -> None:
        super().__init__(text)
        self.reason: Reason = reason
        self.text = text
        self.about = about


SHOWN = 10
MOST_SEEN, MOST_COMPARED = 5_000, 200  # names; a comparison takes long, a look does not
LONGEST_COMPARED = 64  # characters


def known_names(asked: str, names: Iterable[str], shown: Callable[[str], str] = str) -> str:
    """The nearest first, then some of them, then how many more there are; `shown` is how a name is written."""
    listed = list(names)
    known = list(map(shown, listed[:MOST_SEEN]))
    more = f" and {len(listed) - SHOWN:,} more" if len(listed) > SHOWN else ""
    return f"{_meant(asked, known)}there are: {', '.join(known[:SHOWN]) or 'none'}{more}"


def _meant(asked: str, known: list[str]) -> str:
    meant = asked[:LONGEST_COMPARED].casefold()
    folded = {name.casefold(): name for name in known if len(name) <= LONGEST_COMPARED}
    likely = nsmallest(
        MOST_COMPARED, folded, key=lambda name: (name[:1] != meant[:1]) * LONGEST_COMPARED + abs(len(name) - len(meant))
    )
    close = get_close_matches(meant, likely, n=1)
    return f"did you mean {folded[close[0]]!r}? " if close else ""
