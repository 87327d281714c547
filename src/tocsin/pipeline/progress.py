"""What a job tells its parent process: one JSON object a line."""

import json
import os
import sys
from typing import TextIO

from tocsin.pipeline.batch import Done


class Progress:
    def __init__(self, out: TextIO) -> None:
        self._out = out

    @classmethod
    def on_stdout(cls) -> "Progress":
        """Keeps standard output to itself: whatever else writes there from now on goes to standard error."""
        sys.stdout.flush()
        out = os.fdopen(os.dup(1), "w", encoding="utf-8")
        os.dup2(2, 1)
        return cls(out)

    def say(self, event: str, **values: object) -> None:
        try:
            print(json.dumps({"event": event, **values}), file=self._out, flush=True)
        except BrokenPipeError:  # whoever listened is gone; the work goes on until it is told to stop
            self._out = open(os.devnull, "w")  # noqa: SIM115, PTH123

    def batch(self, done: Done) -> None:
        told = {name: done.counted[name] for name in ("notifications", "matches", "deliveries", "history", "errors")}
        rest = {"seconds": round(done.seconds, 3), "repeated": done.repeated}
        self.say("batch", id=done.id, rows=done.counted["records"], **told, **rest)
