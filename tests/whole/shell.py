"""The broker as its operator sees it: a process, its words, its data directory."""

import asyncio
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tocsin.model.records import Accepted, Record
from tocsin.store.codec import decode
from tocsin.store.log.reader import LogReader

PATIENCE = 60.0
LOOK = 0.005
Found = TypeVar("Found")


async def wait_until(found: Callable[[], Found], what: str, seconds: float = PATIENCE) -> Found:
    """The first true value of `found`; whatever it is that does not come true is named."""
    deadline = time.monotonic() + seconds
    while not (value := found()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds} s: {what}")
        await asyncio.sleep(LOOK)
    return value


Flags = Mapping[str, str]
NONE: Flags = {}


def command(data: Path, settings: Flags = NONE, port: int = 0) -> list[str]:
    """One process, unless the settings say otherwise."""
    extra = [
        word for name, value in ({"workers": "1"} | dict(settings)).items() for word in ("--set", f"{name}={value}")
    ]
    return [sys.executable, "-m", "tocsin", "serve", "--port", str(port), "--data", str(data), "--json", *extra]


def environment() -> dict[str, str]:
    """Nothing from outside may set up a broker under test."""
    return {name: value for name, value in os.environ.items() if not name.startswith("TOCSIN_")} | {"COLUMNS": "1000"}


def run_to_end(words: list[str], cwd: Path, seconds: float = 120.0) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(words, cwd=cwd, env=environment(), capture_output=True, text=True, timeout=seconds)


@dataclass
class BrokerProcess:
    url: str
    data: Path
    errors: Path
    process: "subprocess.Popen[bytes]" = field(repr=False)

    @classmethod
    def start(cls, data: Path, settings: Flags = NONE, port: int = 0, prefix: tuple[str, ...] = ()) -> "BrokerProcess":
        errors = data.with_name(data.name + ".stderr")
        with errors.open("ab") as words:
            process = subprocess.Popen(
                [*prefix, *command(data, settings, port)],
                stdout=subprocess.PIPE,
                stderr=words,
                env=environment(),
                cwd=data.parent,
            )
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            process.wait()
            process.stdout.close()
            raise RuntimeError(f"the broker did not start: {errors.read_text()}")
        return cls(msgspec.json.decode(line)["url"], data, errors, process)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def local_url(self) -> str:
        """Where HTTP is served, whatever is advertised: the nodes of a ring have a port of their own."""
        folder = Path(f"/proc/{self.process.pid}/fd")
        sockets = {str(each.readlink()) for each in folder.iterdir() if each.is_symlink()}
        for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == "0A" and f"socket:[{inode}]" in sockets:
                url = f"http://127.0.0.1:{int(local.partition(':')[2], 16)}"
                with suppress(OSError), urllib.request.urlopen(f"{url}/healthz", timeout=PATIENCE):
                    return url
        raise LookupError(self.process.pid)

    def said(self) -> str:
        return self.errors.read_text()

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def stop(self, seconds: float = 120.0) -> int:
        return self._end(signal.SIGTERM, seconds)

    def _end(self, number: int, seconds: float = 120.0) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.ended(seconds)

    def ended(self, seconds: float = 120.0) -> int:
        """By itself."""
        code = self.process.wait(seconds)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def processor_seconds(self) -> float:
        """That it used until now, which is the same on a busy machine."""
        used = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return sum(map(int, used)) / os.sysconf("SC_CLK_TCK")

    def peak_memory(self) -> int:
        """Bytes, at most until now."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM"))


def records(data: Path) -> list[Record]:
    """The whole log, as any reader sees it."""
    reader = LogReader(data / "log")
    try:
        return [decode(payload) for _, payload in reader.frames(reader.start(), reader.end())]
    finally:
        reader.close()


def accepted(data: Path) -> list[Accepted]:
    return [record for record in records(data) if isinstance(record, Accepted)]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def document(body: bytes) -> Any:
    return msgspec.json.decode(body)
