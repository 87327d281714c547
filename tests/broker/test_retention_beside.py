"""With the embedded engine, the log is kept for a pipeline that is at work beside it, and for no other."""

import time
from pathlib import Path
from typing import Any

import pytest

from tocsin.broker.engines import retention
from tocsin.broker.engines.retention import Retention
from tocsin.broker.settings import Settings
from tocsin.model.identity import Instant
from tocsin.store import read_elsewhere
from tocsin.store.outbox import Outbox


def retention_on(folder: Path) -> Retention:
    nothing: Any = None
    return Retention(nothing, nothing, nothing, Settings(folder), lambda: Instant(time.time_ns()))


def test_without_a_pipeline_nothing_is_kept_for_one(tmp_path: Path) -> None:
    assert retention_on(tmp_path)._seen_beside("log") is None


def test_what_a_pipeline_has_not_read_is_kept(tmp_path: Path) -> None:
    Outbox.open(tmp_path / "outbox.db").publish(0, (), rows=1, end='{"log": 17, "outcomes": 3}')
    assert retention_on(tmp_path)._seen_beside("log") == 17
    assert retention_on(tmp_path)._seen_beside("outcomes") == 3


def test_a_pipeline_that_is_long_gone_holds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Outbox.open(tmp_path / "outbox.db").publish(0, (), rows=1, end='{"log": 17}')
    monkeypatch.setattr(retention, "ABANDONED", -1)
    assert retention_on(tmp_path)._seen_beside("log") is None


def test_what_is_read_into_the_tables_of_another_node_is_kept_for_that(tmp_path: Path) -> None:
    read_elsewhere.note(tmp_path, {"log": 5, "outcomes": 9}, Instant(time.time_ns()))
    assert retention_on(tmp_path)._seen_beside("log") == 5
    Outbox.open(tmp_path / "outbox.db").publish(0, (), rows=1, end='{"log": 17, "outcomes": 3}')
    assert [retention_on(tmp_path)._seen_beside(name) for name in ("log", "outcomes")] == [5, 3]
    read_elsewhere.note(tmp_path, {"log": 5, "outcomes": 9}, Instant(0))
    assert retention_on(tmp_path)._seen_beside("log") == 17, "it is given up"
