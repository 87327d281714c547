"""What to say to somebody who asks for a name that there is not."""

from collections.abc import Iterable
from difflib import get_close_matches

SHOWN = 10
MOST_COMPARED = 5_000  # names; more take too long
LONGEST_COMPARED = 80  # characters


def known_names(asked: str, names: Iterable[str]) -> str:
    """The nearest first, then some of them, then how many more there are."""
    known = list(names)
    more = f" and {len(known) - SHOWN:,} more" if len(known) > SHOWN else ""
    return f"{_meant(asked, known)}there are: {', '.join(known[:SHOWN]) or 'none'}{more}"


def _meant(asked: str, known: list[str]) -> str:
    folded = {name.casefold(): name for name in known[:MOST_COMPARED] if len(name) <= LONGEST_COMPARED}
    close = get_close_matches(asked[:LONGEST_COMPARED].casefold(), folded, n=1)
    return f"did you mean {folded[close[0]]!r}? " if close else ""
