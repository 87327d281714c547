"""With the embedded engine, the log is kept for a pipeline that is at work beside it, and for no other."""

import time
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tocsin.broker.engines import retention
from tocsin.broker.node import Node
from tocsin.store.outbox import Outbox


def node_on(folder: Path) -> Node:
    return cast(Node, SimpleNamespace(settings=SimpleNamespace(data=folder), now=time.time_ns))


def test_without_a_pipeline_nothing_is_kept_for_one(tmp_path: Path) -> None:
    assert retention._seen_beside(node_on(tmp_path), "log") is None


def test_what_a_pipeline_has_not_read_is_kept(tmp_path: Path) -> None:
    Outbox.open(tmp_path / "outbox.db").publish(0, (), rows=1, end='{"log": 17, "outcomes": 3}')
    assert retention._seen_beside(node_on(tmp_path), "log") == 17
    assert retention._seen_beside(node_on(tmp_path), "outcomes") == 3


def test_a_pipeline_that_is_long_gone_holds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Outbox.open(tmp_path / "outbox.db").publish(0, (), rows=1, end='{"log": 17}')
    monkeypatch.setattr(retention, "ABANDONED", -1)
    assert retention._seen_beside(node_on(tmp_path), "log") is None
