"""The garbage collector of a process that does nothing but serve."""

import contextlib
import gc
from collections.abc import Iterator

# Deliveries make no cycles but many objects: by default each 70 of them are paid for by a look at what is young, and a
# window of message ids by a look at everything. That was a sixth of the work.
_THRESHOLDS = (50_000, 20, 100)


@contextlib.contextmanager
def patient_collector() -> Iterator[None]:
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
