"""What a subscription can ask for. A subscription holds a conjunction; none at all is generic."""

from typing import Literal, Union

from msgspec import Struct

from tocsin.model.names import QName

ANY = "*"
DESCEND = "//"


class TopicIs(Struct, frozen=True, tag=True):
    """The WS-Topics Full grammar; Simple and Concrete are cases of it.

    A step is a name, a name with local part `*` (any topic of that namespace), `*` (any topic) or `//` (any number
    of topics, none included). `a//.` is therefore `(a, "//")`.
    """

    alternatives: tuple[tuple[QName | str, ...], ...]


class ActionIs(Struct, frozen=True, tag=True):
    """The action dialect of DPWS: one of these URIs, or one that continues it by path segments (DPWS 1.1 s6.1.1)."""

    actions: tuple[str, ...]


class AttributeIs(Struct, frozen=True, tag=True):
    """A CloudEvents context attribute, as a CloudEvents subscriber would be told it."""

    name: str
    how: Literal["exact", "prefix", "suffix"]
    value: str


class ForNotifier(Struct, frozen=True, tag=True):
    """What a notifier passes on to its own service: those messages alone, and nobody else is told of them."""

    name: str


class AllOf(Struct, frozen=True, tag=True):
    filters: tuple["Filter", ...]


class AnyOf(Struct, frozen=True, tag=True):
    """Without any filter it wants nothing."""

    filters: tuple["Filter", ...]


class Not(Struct, frozen=True, tag=True):
    filter: "Filter"


Filter = Union[TopicIs, ActionIs, AttributeIs, ForNotifier, AllOf, AnyOf, Not]  # noqa: UP007 - names its own members
NOTHING = AnyOf(())
