"""Where things lie in a data directory."""

from dataclasses import dataclass
from pathlib import Path

LOG, OUTCOMES = "log", "outcomes"  # the node's log, and what came of each attempt to deliver


@dataclass(frozen=True)
class Places:
    data: Path

    @property
    def database(self) -> Path:
        return self.data / "tocsin.db"

    @property
    def outbox(self) -> Path:
        return self.data / "outbox.db"

    @property
    def tables(self) -> Path:
        return self.data / "tables"

    @property
    def checkpoint(self) -> Path:
        return self.data / "checkpoint"

    @property
    def compiled(self) -> Path:
        return self.data / "compiled"

    @property
    def scratch(self) -> Path:
        return self.data / "scratch"

    @property
    def spark_log(self) -> Path:
        return self.data / "spark.log"

    def log(self, name: str = LOG) -> Path:
        return self.data / name

    def lock(self, job: str) -> Path:
        return self.data / f"{job}.lock"
