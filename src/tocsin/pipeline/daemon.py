"""The process from which Spark forks its Python workers; it imports what they need once."""

import gc

from pyspark.daemon import manager

from tocsin.pipeline import task

__all__ = ["task"]

# A task makes many rows and no cycles, and Spark collects after each. To look again and again at all that is there was
# an eighth of a worker's time, at 27 deliveries of a publication.
_THRESHOLDS = (50_000, 20, 100)

if __name__ == "__main__":
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    manager()
