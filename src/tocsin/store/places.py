"""Where things lie in a data directory."""

from pathlib import Path

LOG, OUTCOMES = "log", "outcomes"  # the node's log, and what came of each attempt to deliver
RING_PLACE = "ring_place"  # in the store: where on the circle of its ring the node is


class Places:
    """`home` is the data directory whose users are those of this node, if it is another."""

    def __init__(self, data: Path, home: Path | None = None) -> None:
        self.data, self.database, self.outbox = data, data / "tocsin.db", data / "outbox.db"
        self.tables, self.checkpoint, self.compiled = data / "tables", data / "checkpoint", data / "compiled"
        self.accounts, self.workers = (home or data) / "tocsin.db", data / "workers"
        self.scratch, self.spark_log, self.progress = data / "scratch", data / "spark.log", data / "pipeline.json"
        # Which nodes the pipeline here reads besides, and how far one elsewhere has read this node.
        self.nodes, self.read_elsewhere = data / "nodes.json", data / "read_elsewhere.json"

    def log(self, name: str = LOG) -> Path:
        return self.data / name

    def lock(self, job: str) -> Path:
        return self.data / f"{job}.lock"
