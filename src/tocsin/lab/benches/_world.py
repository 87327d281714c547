"""Nodes of one world as processes: one keeps the world and the central history, the others run the notifiers."""

import contextlib
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from tocsin.lab.benches._delay import Way, delayed
from tocsin.lab.benches._stage import Lost, Process, started

PATIENCE = 30  # seconds


class Became(Struct, frozen=True):
    """What the root's node tells of a message."""

    notifications: int
    repetitions: int
    receivers: tuple[str, ...]
    ms: float
    complete: bool
    stopped: str | None = None


class Nodes(Struct, frozen=True):
    """`way` is between the nodes with notifiers and the central history."""

    keeper: Process
    runners: tuple[Process, ...]
    way: Way

    def learn(self, world: Mapping[str, object]) -> None:
        self.keeper.ask("PUT", "/api/world", world)

    def create(self, number: int, name: str, categories: Sequence[str], address: str = "") -> None:
        """By turns on the nodes."""
        asked = {"name": name, "categories": list(categories), "address": address}
        self.runner(number).ask("POST", "/api/notifiers", asked)

    def runner(self, number: int) -> Process:
        return self.runners[number % len(self.runners)]

    def publish(self, number: int, root: str, topic: str, protocol: str) -> str:
        asked = {"topic": topic, "data": "lab", "protocol": protocol}
        told = self.runner(number).ask("POST", f"/api/notifiers/{quote(root, safe='')}/publish", asked)
        return str(told["id"])

    def became(self, number: int, message: str) -> Became:
        """Lost when it has no end."""
        path = f"/api/disseminations/{quote(message, safe='')}?wait={PATIENCE}"
        found: Became = self.runner(number).ask("GET", path, kind=Became)
        if not found.complete:
            raise Lost(f"{message} has not reached all in {PATIENCE} s")
        return found


@contextlib.contextmanager
def nodes(folder: Path, runners: int) -> Iterator[Nodes]:
    """With none to run the notifiers, the keeper does."""
    key = folder / "key"
    key.write_text(secrets.token_hex(32))
    key.chmod(0o600)
    with contextlib.ExitStack() as stack:
        keeper = stack.enter_context(_node(folder / "keeper", key))
        way = stack.enter_context(delayed(keeper.port))
        others = [f"implicit.registry={keeper.url}", f"implicit.history=http://127.0.0.1:{way.port}"]
        made = [stack.enter_context(_node(folder / f"runner-{each}", key, *others)) for each in range(runners)]
        yield Nodes(keeper, tuple(made) or (keeper,), way)


@contextlib.contextmanager
def _node(data: Path, key: Path, *settings: str) -> Iterator[Process]:
    command = ["serve", "--port", "0", "--data", str(data), "--json"]
    command += [word for each in (f"implicit.key_file={key}", *settings) for word in ("--set", each)]
    with started(command) as (pid, told):
        yield Process(pid, int(told["url"].rpartition(":")[2]))
