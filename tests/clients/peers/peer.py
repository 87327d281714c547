"""What the matrix asks of a client: to publish one event, or to say which events it heard."""

from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from lxml import etree

FULL = "http://docs.oasis-open.org/wsn/t-1/TopicExpression/Full"
CONCRETE = "http://docs.oasis-open.org/wsn/t-1/TopicExpression/Concrete"


@dataclass(frozen=True)
class Event:
    """As its publisher means it, and as its receiver's own library gives it: a report under a topic."""

    topic: str
    payload: bytes

    @classmethod
    def of(cls, topic: str | None, element: "etree._Element") -> "Event":
        return cls(topic or "", canonical(element))


class Publisher(Protocol):
    async def publish(self, event: Event) -> None:
        """Returns when the broker has accepted it."""


class Receiver(Protocol):
    async def heard(self) -> list[Event]:
        """Everything until now; those of before are given again."""


class Publishing(Protocol):
    def __call__(self, broker: str) -> AbstractAsyncContextManager[Publisher]: ...


class Receiving(Protocol):
    """`topic` is an expression in the dialect Full; who cannot say what he wants is sent everything."""

    def __call__(self, broker: str, topic: str) -> AbstractAsyncContextManager[Receiver]: ...


def canonical(element: "etree._Element") -> bytes:
    return etree.tostring(element, method="c14n", exclusive=True)
