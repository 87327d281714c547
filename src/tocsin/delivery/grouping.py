"""How many of those that wait go out in one message."""

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from urllib.parse import urlsplit

import msgspec

from tocsin.delivery.lane import Entry
from tocsin.mediation import between_nodes
from tocsin.mediation.ce.writing import combinable, combine
from tocsin.mediation.soap import several
from tocsin.model.delivery import Delivery
from tocsin.model.identity import Pairs

MOST_BYTES = 1 << 20
# Bad Request, Content Too Large, Unprocessable Content: it may be but one of them that is refused.
DIVISIBLE = frozenset({400, 413, 422})


def grouped(waiting: Iterable[Entry], most: int, prepare: Callable[[Entry], Delivery]) -> tuple[Delivery, ...]:
    """From the head on, what goes out now; raises what preparing the head raises."""
    entries = islice(waiting, most)
    head = prepare(next(entries))
    found, size, fits = [head], len(head.body), _joining(head)
    if fits is None:
        return (head,)
    for entry in entries:
        following = _prepared(entry, prepare)
        if following is None or following.headers != head.headers or following.to != head.to or not fits(following):
            break
        size += len(following.body)
        if size > MOST_BYTES:
            break
        found.append(following)
    return tuple(found)


def together(parts: tuple[Delivery, ...]) -> Delivery:
    """One request for all of them; it is known by the first."""
    return msgspec.structs.replace(parts[0], body=_joined(parts[0].headers, [part.body for part in parts]))


def saved(delivery: Delivery) -> int:
    """The bytes that it has for being a message, and not for its notification: with each that goes together with others
    so many fewer are sent. The head of the request, and what its body is wrapped in."""
    body, wrapping = delivery.body, 0
    if _joining(delivery) is not None:
        two, three = (len(_joined(delivery.headers, [body] * count)) for count in (2, 3))
        wrapping = len(body) - (three - two)
    return head_size(delivery) + wrapping


def head_size(delivery: Delivery) -> int:
    """Of the request as our client writes it."""
    to = urlsplit(delivery.to.address)
    target = f"{to.path or '/'}?{to.query}" if to.query else to.path or "/"
    lines = [f"POST {target} HTTP/1.1", f"Host: {to.netloc}", "Accept: */*"]
    lines += [f"{name}: {value}" for name, value in delivery.headers]
    return sum(len(line.encode()) + 2 for line in (*lines, f"Content-Length: {len(delivery.body)}", ""))


def _joining(head: Delivery) -> Callable[[Delivery], bool] | None:
    """Whether another, of the same headers, can be joined to it; None where nothing can."""
    if combinable(head.headers) or between_nodes.combinable(head.headers):
        return lambda _: True
    part = several.cut(head.headers, head.body)
    if part is None:
        return None
    return lambda each: (other := several.cut(each.headers, each.body)) is not None and part.fits(other)


def _joined(headers: Pairs, bodies: Sequence[bytes]) -> bytes:
    if between_nodes.combinable(headers):
        return b"".join(bodies)
    if combinable(headers):
        return combine(bodies)
    return several.combine([part for body in bodies if (part := several.cut(headers, body)) is not None])


def _prepared(entry: Entry, prepare: Callable[[Entry], Delivery]) -> Delivery | None:
    """None where it cannot be: it is told of when it is the head."""
    try:
        return prepare(entry)
    except Exception:
        return None
