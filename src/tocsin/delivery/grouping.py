"""How many of those that wait go out in one message."""

from collections.abc import Callable, Iterable
from itertools import islice

import msgspec

from tocsin.delivery.lane import Entry
from tocsin.mediation import between_nodes
from tocsin.mediation.ce.writing import combinable, combine
from tocsin.model.delivery import Delivery

MOST_BYTES = 1 << 20
# Bad Request, Content Too Large, Unprocessable Content: it may be but one of them that is refused.
DIVISIBLE = frozenset({400, 413, 422})


def grouped(waiting: Iterable[Entry], most: int, prepare: Callable[[Entry], Delivery]) -> tuple[Delivery, ...]:
    """From the head on, what goes out now; raises what preparing the head raises."""
    entries = islice(waiting, most)
    head = prepare(next(entries))
    found, size = [head], len(head.body)
    if not combinable(head.headers) and not between_nodes.combinable(head.headers):
        return (head,)
    for entry in entries:
        following = _prepared(entry, prepare)
        if following is None or following.headers != head.headers or following.to != head.to:
            break
        size += len(following.body)
        if size > MOST_BYTES:
            break
        found.append(following)
    return tuple(found)


def together(parts: tuple[Delivery, ...]) -> Delivery:
    """One request for all of them; it is known by the first."""
    bodies = (part.body for part in parts)
    body = b"".join(bodies) if between_nodes.combinable(parts[0].headers) else combine(bodies)
    return msgspec.structs.replace(parts[0], body=body)


def _prepared(entry: Entry, prepare: Callable[[Entry], Delivery]) -> Delivery | None:
    """None where it cannot be: it is told of when it is the head."""
    try:
        return prepare(entry)
    except Exception:
        return None
