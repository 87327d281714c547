"""What each stage of a task costs: the functions of the hop, called stage by stage in one process, by its CPU clock."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from time import process_time

from tocsin.flow.flow import Flow, normalise
from tocsin.lab.benches._pipeline_workload import Laid
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.subscription import Subscription
from tocsin.pipeline.batch import BatchResult, publish
from tocsin.pipeline.hop import MatchedNotification, RecordResult
from tocsin.pipeline.state.published import Published, StateFiles
from tocsin.pipeline.state.standing import Standing
from tocsin.pipeline.tables.parts import PartWriter
from tocsin.pipeline.tables.schemas import DELIVERIES, KEPT
from tocsin.pipeline.tables.storage import Storage
from tocsin.pipeline.task import Sink
from tocsin.platform.serving import patient_collector
from tocsin.store.codec import decode
from tocsin.store.log.reader import LogReader
from tocsin.store.outbox import Outbox
from tocsin.store.places import LOG, OUTCOMES, Places

READ, NORMALISE, MATCH, CUSTOMISE = "read and decode", "normalise", "match", "customise"
ROWS, LEFT, PUBLISHED = "rows and Parquet", "outbox, by the tasks", "outbox, by the driver"
IN_TASKS = (READ, NORMALISE, MATCH, CUSTOMISE, ROWS, LEFT)
_CHUNK = 500
_END = {LOG: 0, OUTCOMES: 0}


class Watch:
    """Seconds of the processor by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def on(self, stage: str) -> Iterator[None]:
        begun = process_time()
        yield
        self.seconds[stage] += process_time() - begun


def staged(laid: Laid, state: Published, scratch: Path, spans: list[tuple[int, int]]) -> Mapping[str, float]:
    """Of publications by their numbers, a part of a batch each; the first is to warm up, and not counted."""
    task = _Stages(laid, state, scratch)
    with closing(Outbox.open(scratch / "outbox.db")) as outbox, patient_collector():  # as workers have it
        for batch, (start, stop) in enumerate(spans):
            found = task.run(start, stop)
            with task.watch.on(PUBLISHED):
                publish(outbox, task.storage, batch, found, _END)
            if batch == 0:
                task.watch.seconds.clear()
    return task.watch.seconds


class _Stages:
    def __init__(self, laid: Laid, state: Published, scratch: Path) -> None:
        self.watch, self.storage = Watch(), Storage.at(scratch)
        self._laid, self._digest = laid, state.digest
        self._met = Standing(StateFiles(Storage.at(Places(laid.data).tables)), state)
        self._log = LogReader(Places(laid.data).log())

    def run(self, start: int, stop: int) -> BatchResult:
        kept, left = (
            Sink(PartWriter(self.storage), frozenset(tables), 0, self._digest) for tables in (KEPT, (DELIVERIES,))
        )
        first = self._laid.first
        self._met.bring_to(first + start)
        for at in range(start, stop, _CHUNK):
            seen = self._seen(first + at, first + min(at + _CHUNK, stop))
            for stage, sink in ((ROWS, kept), (LEFT, left)):
                with self.watch.on(stage):
                    for each in seen:
                        sink.add_seen(each)
        with self.watch.on(ROWS):
            parts = kept.finished()
        with self.watch.on(LEFT):
            parts += left.finished()
        return BatchResult(_END, kept.counted, Counter(), parts)

    def _seen(self, start: int, stop: int) -> list[RecordResult]:
        flow, watch = self._met.flow, self.watch
        with watch.on(READ):
            records = [decode(payload) for _, payload in self._log.frames(start, stop)]
        with watch.on(NORMALISE):
            said = [normalise(each) for each in records if isinstance(each, Accepted)]
        with watch.on(MATCH):
            matched = [[(each, tuple(flow.match(each).wanted)) for each in some] for some in said]
        with watch.on(CUSTOMISE):
            told = [tuple(_told(flow, *each) for each in some) for some in matched]
        return [RecordResult(start + at, each) for at, each in enumerate(told)]


def _told(flow: Flow, notification: Notification, wanted: tuple[Subscription, ...]) -> MatchedNotification:
    return MatchedNotification(notification, wanted, tuple([flow.deliver(notification, each) for each in wanted]))
