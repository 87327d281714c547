"""The processes in which expressions are evaluated, as the machine sees them, and an expression that runs a minute."""

from pathlib import Path

NODES = 120
DEEP = "count(//*[count(//*[count(//*[count(//*) > 0]) > 0]) > 0]) > 0"


def wide(name: str = "a") -> bytes:
    return b"<%b>%b</%b>" % (name.encode(), b"<b/>" * NODES, name.encode())


def judges_of(parent: int) -> list[int]:
    """Its processes that evaluate expressions."""
    return [each for each in _processes() if _parent(each) == parent and b"tocsin.store.judge" in _command(each)]


def is_there(process: int) -> bool:
    """One that ended but was not waited for is not."""
    return _state(process)[:1] not in ([], ["Z"])


def ticks(process: int) -> int:
    """Of the processor, that it used in its own code."""
    return int(_state(process)[11])


def _processes() -> list[int]:
    return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdecimal()]


def _state(process: int) -> list[str]:
    """From the state on; the name before it may hold anything."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _parent(process: int) -> int:
    found = _state(process)
    return int(found[1]) if found else 0


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""
