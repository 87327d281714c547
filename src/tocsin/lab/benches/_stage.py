"""The processes of the broker's benchmark, and what the machine says of them."""

import contextlib
import http.client
import mmap
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, json

from tocsin.client.requests import request
from tocsin.lab.benches._sink import COUNT
from tocsin.mediation.ws import wsn_1_3
from tocsin.model.subscription import Endpoint

_SCHEDULED = 2  # CPUCLOCK_SCHED, the sum that the scheduler keeps; /proc has the same in steps of 10 ms


class Lost(Exception):
    """Not everything that was accepted came out."""


class Process(Struct, frozen=True):
    pid: int
    port: int

    def cpu_seconds(self) -> float:
        """Of all its threads, in user and in kernel mode, by its CPU clock (what clock_getcpuclockid(3) makes)."""
        return time.clock_gettime(~self.pid << 3 | _SCHEDULED)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str) -> Any:
        return json.decode(self._ask("GET", path))

    def ask(self, method: str, path: str, document: object = None, kind: Any = Any) -> Any:
        """JSON there and back; None where nothing comes back."""
        body = b"" if document is None else json.encode(document)
        said = self._ask(method, path, body, {"Content-Type": "application/json"} if body else None)
        return json.decode(said, type=kind) if said else None

    def post(self, path: str, body: bytes, headers: dict[str, str]) -> None:
        self._ask("POST", path, body, headers)

    def subscribe(self, consumer: str) -> None:
        url = f"http://127.0.0.1:{self.port}/broker"
        headers, body = request(wsn_1_3.DIALECT, wsn_1_3.SUBSCRIBE, url, {"consumer": Endpoint(consumer)})
        self._ask("POST", "/broker", body, dict(headers))

    def _ask(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, path, body or None, headers or {})
            answer = connection.getresponse()
            said = answer.read()
        if answer.status >= 300:
            raise Lost(f"{method} {path} was answered {answer.status}: {said.decode(errors='replace')}")
        return said


class Stage(Struct, frozen=True):
    """A broker and a sink; `progress` is where the sink counts."""

    folder: Path
    broker: Process
    sink: Process
    progress: mmap.mmap

    def came(self) -> int:
        return int(COUNT.unpack_from(self.progress)[0])

    def reset(self) -> None:
        self.sink.get("/reset")

    def wait_for(self, count: int, seconds: float = 60.0) -> None:
        """Until the sink has so many; Lost when nothing more comes for that long."""
        last, until = self.came(), time.monotonic() + seconds
        while last < count:
            time.sleep(0.005)
            if (now := self.came()) > last:
                last, until = now, time.monotonic() + seconds
            elif time.monotonic() > until:
                raise Lost(f"{count - last} of {count} deliveries are missing: {self.sink.get('/counts')}")


@contextlib.contextmanager
def stage(folder: Path, *settings: str) -> Iterator[Stage]:
    """The settings are those of the broker, each as NAME=VALUE."""
    file = folder / "progress"
    broker_command = ["serve", "--workers", "1", "--port", "0", "--data", str(folder / "data"), "--json"]
    broker_command += [word for each in settings for word in ("--set", each)]
    with (
        started([str(file)], "tocsin.lab.benches._sink") as (sink, told),
        started(broker_command) as (broker, listening),
    ):
        with file.open("rb") as opened:
            page = mmap.mmap(opened.fileno(), COUNT.size, access=mmap.ACCESS_READ)
        port = int(listening["url"].rpartition(":")[2])
        yield Stage(folder, Process(broker, port), Process(sink, told["port"]), page)


@contextlib.contextmanager
def started(arguments: Sequence[str], module: str = "tocsin") -> Iterator[tuple[int, dict[str, Any]]]:
    """A process whose first line is JSON; it is told to end on the way out."""
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        try:
            yield process.pid, json.decode(process.stdout.readline())
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def helper(module: str, task: Struct) -> Any:
    """What a module of this folder answers to a task, in a process of its own."""
    command = [sys.executable, "-m", f"tocsin.lab.benches.{module}"]
    done = subprocess.run(command, input=json.encode(task), stdout=subprocess.PIPE, check=True)
    return json.decode(done.stdout)
