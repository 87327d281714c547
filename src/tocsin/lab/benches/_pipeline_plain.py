"""Plain processes that read, normalise, match and customise as Spark's workers do, with the same compiled snapshot."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from time import perf_counter, process_time

from msgspec import Struct

from tocsin.flow.flow import normalise
from tocsin.lab.benches._pipeline_workload import Laid
from tocsin.model.records import Accepted
from tocsin.pipeline.state.published import Published, StateFiles
from tocsin.pipeline.state.standing import Standing
from tocsin.pipeline.tables.storage import Storage
from tocsin.platform.serving import patient_collector
from tocsin.store.codec import decode
from tocsin.store.log.reader import LogReader
from tocsin.store.places import Places


class Turn(Struct, frozen=True):
    """What one contestant did with a range of publications: by the clock on the wall and that of the processor."""

    events: int
    seconds: float
    cpu: float
    deliveries: int

    @property
    def rate(self) -> float:
        return self.events / self.seconds

    @property
    def cost(self) -> float:
        """Microseconds of the processor for a publication."""
        return self.cpu / self.events * 1e6


class Plain:
    def __init__(self, pipes: list[Connection]) -> None:
        self._pipes = pipes

    def turn(self, start: int, stop: int) -> Turn:
        """Each takes its share of the publications, all at the same time."""
        cuts = [start + (stop - start) * at // len(self._pipes) for at in range(len(self._pipes) + 1)]
        begun = perf_counter()
        for pipe, *cut in zip(self._pipes, cuts, cuts[1:], strict=False):
            pipe.send(cut)
        answers = [pipe.recv() for pipe in self._pipes]
        seconds = perf_counter() - begun
        cpu, deliveries = (sum(each) for each in zip(*answers, strict=True))
        return Turn(stop - start, seconds, cpu, deliveries)


@contextmanager
def plain(laid: Laid, state: Published, processes: int = 2) -> Iterator[Plain]:
    context = get_context("spawn")
    pipes = [context.Pipe() for _ in range(processes)]
    started = [context.Process(target=_work, args=(theirs, laid, state), daemon=True) for _, theirs in pipes]
    for each in started:
        each.start()
    try:
        yield Plain([ours for ours, _ in pipes])
    finally:
        for (ours, _), each in zip(pipes, started, strict=True):
            ours.send(None)
            each.join()


def _work(pipe: Connection, laid: Laid, state: Published) -> None:
    met = Standing(StateFiles(Storage.at(Places(laid.data).tables)), state)
    met.bring_to(laid.first)
    with closing(LogReader(Places(laid.data).log())) as log, patient_collector():  # as workers have it
        while (cut := pipe.recv()) is not None:
            begun = process_time()
            deliveries = _through(log, met, *(laid.first + each for each in cut))
            pipe.send((process_time() - begun, deliveries))


def _through(log: LogReader, met: Standing, start: int, stop: int) -> int:
    flow, count = met.flow, 0
    for _, payload in log.frames(start, stop):
        record = decode(payload)
        assert isinstance(record, Accepted)
        for told in normalise(record):
            for subscription in flow.match(told).wanted:
                flow.deliver(told, subscription)
                count += 1
    return count
