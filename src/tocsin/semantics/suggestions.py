"""Suggestions for a name that does not exist: the nearest known one, and a list."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from heapq import nsmallest

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
