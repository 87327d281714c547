import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.broker.staging import Stage

from tocsin.store.database import Store


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with contextlib.closing(Store.open(tmp_path / "t.db")) as store:
        yield Stage(store, tmp_path / "log")
