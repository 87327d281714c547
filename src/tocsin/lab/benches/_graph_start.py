"""How long a process takes until it found its first graph pattern."""

import os
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

FIRST_MATCH = """
import time
from tocsin.markup.graphs.graph_pattern import GraphPattern, GraphQuery, PatternVertex
from tocsin.matching.graphs.index import GraphIndex
from tocsin.semantics.concepts.concept_model import ConceptModel
from tocsin.semantics.events.event_graph import EventGraph, Vertex
imported = time.process_time()
index = GraphIndex()
index.add(0, GraphQuery((GraphPattern((PatternVertex("_:H", ("urn:example:class0",)),), ()),)))
found = index.match(EventGraph((Vertex("_:H", ("urn:example:class0",)),), ()), ConceptModel())
assert found.atoms.tolist() == [0]
print(imported, time.process_time())
"""


class Start(NamedTuple):
    """Seconds of the processor after the import and with it, and those that went by in all."""

    first: float
    cpu: float
    wall: float


def warm_start(times: int = 3) -> Start:
    """A process from its beginning to the end of its first match, with kernels that were compiled before; the best."""
    return min(_first_match({}) for _ in range(times + 1))


def cold_start() -> Start:
    """The same where nothing was compiled yet."""
    with tempfile.TemporaryDirectory(prefix="tocsin-bench-") as folder:
        return _first_match({"NUMBA_CACHE_DIR": folder})


def _first_match(more: dict[str, str]) -> Start:
    began = time.perf_counter()
    ran = subprocess.run(
        [sys.executable, "-c", FIRST_MATCH], env={**os.environ, **more}, capture_output=True, text=True, check=True
    )
    imported, ended = map(float, ran.stdout.split())
    return Start(ended - imported, ended, time.perf_counter() - began)
