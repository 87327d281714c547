"""The same examples on every run, so that a failure seen once is seen again; and no width but what a test asks for."""

import os
from pathlib import Path

import pytest
from hypothesis import settings
from tests.effort import examples
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

os.environ.pop("COLUMNS", None)  # workers have one, and a console keeps the first it sees
settings.register_profile("tocsin", derandomize=True, deadline=None, print_blob=True, max_examples=examples(100))
settings.load_profile("tocsin")

SLOW = ("spark", "kills", "broker", "clients")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take longest go first, most of all with a JVM: no worker is left alone with one at the end."""
    place: dict[Path, int] = {}
    for item in items:
        own = next((at for at, name in enumerate(SLOW) if item.get_closest_marker(name)), len(SLOW))
        place[item.path] = min(own, place.get(item.path, own))
    items.sort(key=lambda item: place[item.path])


class _ByFile(LoadFileScheduling):  # type: ignore[misc]
    """A file at a time to each worker, and all that shares a Spark session to one."""

    def _split_scope(self, nodeid: str) -> str:
        return "tests/pipeline" if nodeid.startswith("tests/pipeline/") else nodeid.partition("::")[0]


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> _ByFile:
    return _ByFile(config, log)
