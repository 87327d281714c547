"""A job over a shared log as a process, killed with what it sends in the outbox and nothing published."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from tocsin.pipeline.run import RunSettings, run
from tocsin.pipeline.session import SparkSettings
from tocsin.store.outbox import Outbox
from tocsin.store.shared.address import SharedLog


def die(*_: Any, **__: Any) -> bool:
    os.kill(os.getpid(), signal.SIGKILL)
    return False


if __name__ == "__main__":
    Outbox.publish = die  # type: ignore[method-assign]
    run(RunSettings(Path(sys.argv[2]), SparkSettings("local[2]"), once=True, shared=SharedLog.parse(sys.argv[1])))
