"""The same examples on every run, so that a failure seen once is seen again; and no width but what a test asks for."""

import os

import pytest
from hypothesis import settings
from tests.effort import examples

os.environ.pop("COLUMNS", None)  # workers have one, and a console keeps the first it sees
settings.register_profile("tocsin", derandomize=True, deadline=None, print_blob=True, max_examples=examples(100))
settings.load_profile("tocsin")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that start a JVM take longest. They go first, so that no worker is left alone with one at the end."""
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)
