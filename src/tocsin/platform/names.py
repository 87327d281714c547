"""Which workers there are, what new ones are called, and where on the circle they begin."""

import re
import secrets
from pathlib import Path

from tocsin.routing.ring.identifiers import SIZE


def former(data: Path) -> list[int]:
    """The numbers of those that have a directory in that one; the first has it all."""
    folder = data / "workers"
    names = [each.name for each in folder.iterdir()] if folder.is_dir() else []
    return sorted(int(each) for each in names if re.fullmatch(r"[1-9][0-9]{0,3}", each))


def fresh_name() -> str:
    return f"node-{secrets.token_hex(4)}"


def even_places(first: int, many: int) -> list[int]:
    """For as many more beside one alone, so that all have equal parts. Halves of halves would be uneven."""
    return [(first + at * SIZE // (many + 1)) % SIZE for at in range(1, many + 1)]
