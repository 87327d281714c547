"""The hop of Spark and the queues of the embedded engine find the same, whatever became of the subscriptions."""

import asyncio
from contextlib import closing
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from tests.pipeline.stage import standing
from tests.pipeline.test_same_pairs import record_everything

from tocsin.broker.engines.embedded import EmbeddedEngine
from tocsin.flow.flow import Flow
from tocsin.model.identity import SubscriptionId
from tocsin.model.records import Changed
from tocsin.pipeline.hop import hop
from tocsin.pipeline.state.publisher import open_store
from tocsin.store.judge.judge import Judges
from tocsin.store.log.reader import LogReader

if TYPE_CHECKING:
    from tests.pipeline.conftest import Recorder

Places = dict[str, list[tuple[int, int]]]
nobody: Any = None  # what is found is not sent


def by_hops(recorder: "Recorder", chance: Random) -> Places:
    """Span by span, as tasks have them; each subscription's places in the order they came in."""
    found: Places = {}
    with standing(recorder.data) as met, closing(LogReader(recorder.data / "log")) as log:
        cuts = sorted({0, *chance.sample(range(log.end()), 6), log.end()})
        for start, stop in pairwise(cuts):
            for seen in hop(log.frames(start, stop), met, customise=False, log=log):
                for told in seen.told:
                    for each in told.matched:
                        found.setdefault(each.id, []).append((told.notification.at.offset, told.notification.index))
    return found


async def by_queues(recorder: "Recorder") -> Places:
    store, base_url = open_store(recorder.data)
    with closing(store), closing(LogReader(recorder.data / "log")) as log, closing(Judges()) as judges:
        engine, found = EmbeddedEngine(Flow(base_url), store, log, judges, nobody), Places()
        for name in {each.subscription.id for each in recorder.records if isinstance(each, Changed)}:
            after = (store.past.history(name)[0].subscription.since.offset, -1)
            while page := await engine.backlog(SubscriptionId(name), after, 50):
                found.setdefault(name, []).extend(entry.place for entry in page)
                after = page[-1].place
    return found


@pytest.mark.parametrize("seed", range(5))
def test_the_same_pairs(recorder: "Recorder", seed: int) -> None:
    record_everything(recorder, 150, seed)
    hops = by_hops(recorder, Random(seed))
    assert hops == asyncio.run(by_queues(recorder))
    assert len(hops) > 5


def test_only_the_first_record_of_a_subscription_looks_back(recorder: "Recorder") -> None:
    """A renewal, a pause and a task that begins behind the first record do not; and what is told is told once."""
    recorder.raw("a")
    made = recorder.subscribe("s", "a", since=0)
    recorder.change(replace(made, state="paused"))
    recorder.raw("a")
    recorder.change(replace(made, state="active"))
    recorder.raw("a")
    recorder.save()
    for cuts in ((0, 6), (0, 1, 2, 3, 4, 5, 6), (0, 2, 6)):
        found = list[int]()
        with standing(recorder.data) as met, closing(LogReader(recorder.data / "log")) as log:
            for start, stop in pairwise(cuts):
                for seen in hop(log.frames(start, stop), met, customise=False, log=log):
                    found += [told.notification.at.offset for told in seen.told if told.matched]
        assert found == [0, 5]
