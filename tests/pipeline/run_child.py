"""The job as a process of its own, as the command line runs it; on request killed around the publishing of a batch."""

import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.run import RunSettings, run
from tocsin.store.outbox import Encoded, Outbox

_publish = Outbox.publish


def killed(when: str, at: int) -> None:
    def publish(self: Outbox, batch: int, deliveries: Iterable[Encoded], *, rows: int, end: str) -> bool:
        if (when, batch) == ("before", at):
            os.kill(os.getpid(), signal.SIGKILL)
        fresh = _publish(self, batch, deliveries, rows=rows, end=end)
        if (when, batch) == ("after", at):
            os.kill(os.getpid(), signal.SIGKILL)
        return fresh

    Outbox.publish = publish  # type: ignore[method-assign]


def main(data: str, parent: str, when: str = "", at: str = "0") -> None:
    if when:
        killed(when, int(at))
    try:
        run(RunSettings(Path(data), "local[2]", rows=10, parent=int(parent) or None, once=bool(when)))
    except PipelineError as problem:
        sys.exit(str(problem))


if __name__ == "__main__":
    main(*sys.argv[1:])
