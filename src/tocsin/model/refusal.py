"""Refusals: the reasons for which a request is refused. A table of each dialect turns a reason into a fault."""

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
