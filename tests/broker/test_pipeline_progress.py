"""What the API tells of the data pipeline, from the files that its process leaves."""

import json
from contextlib import closing
from pathlib import Path

from tests.broker.test_pull_points import running
from tests.broker.test_trace_rights import ANN, MAX, say

from tocsin.broker.node import Node
from tocsin.store.blocks import single
from tocsin.store.outbox import Outbox
from tocsin.store.places import Places


def leave_files(node: Node, places: Places) -> None:
    """Of a job that published one batch, and a replay, and had trouble."""
    end = json.dumps({"log": node.journal.log.durable - 1, "outcomes": 0})
    with closing(Outbox.open(places.outbox)) as outbox:
        outbox.publish(0, [single("s", b"d")], rows=7, end=end)
        outbox.publish(-5, [single("s", b"d")], rows=7, end=json.dumps({"log": 0, "outcomes": 0}))
    told = {"state": "ready", "stages": {"addBatch": 120}, "error": "an executor is gone", "failed": 1.0}
    places.progress.write_text(json.dumps(told), "utf-8")


async def test_before_any_job_all_of_the_log_waits(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        await say(node, "flood")
        found = node.pipeline.figures(MAX)
        assert (found.batches, found.lag["log"], found.last, found.state) == (0, node.journal.log.durable, None, None)


async def test_what_the_job_left_is_told_and_its_trouble_to_managers_alone(tmp_path: Path) -> None:
    async with running(tmp_path) as node:
        await say(node, "flood", "fire")
        leave_files(node, Places(node.settings.data))
        found = node.pipeline.figures(MAX)
        assert (found.batches, found.rows, found.deliveries, found.replays) == (1, 7, 2, 1)
        assert (found.lag, found.state, found.stages) == ({"log": 1, "outcomes": 0}, "ready", {"addBatch": 120})
        assert found.lag_seconds >= 0 and found.last is not None
        assert found.error == "an executor is gone"
        assert node.pipeline.figures(ANN).error is None
