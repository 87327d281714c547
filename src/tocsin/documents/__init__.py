"""The JSON documents of the API, for doors and client alike."""

from typing import Any, TypeVar

from msgspec import Struct

Filled = TypeVar("Filled", bound=Struct)


def filled(kind: type[Filled], *values: object, **said: Any) -> Filled:
    """With the attributes of these values that are called as its fields are, the first that has one; and with what is
    said of it otherwise."""
    given = dict(said)
    for name in kind.__struct_fields__:
        if name not in given and (owner := next((each for each in values if hasattr(each, name)), None)) is not None:
            given[name] = getattr(owner, name)
    return kind(**given)
