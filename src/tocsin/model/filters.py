"""What a subscription can ask for. A subscription holds a conjunction; none at all is generic."""

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


Filter = TopicIs
