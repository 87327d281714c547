"""Writes to several partitions at once, all or nothing."""

from collections.abc import Callable
from contextlib import suppress

from confluent_kafka import KafkaException, Producer

from tocsin.store.shared.address import SharedLog
from tocsin.store.shared.kafka import ANSWER_SECONDS, SharedLogError, answering, producer_of

COMMIT_SECONDS = 10.0  # somebody waits for it
_ABORT_SECONDS = 2.0


class Transactions:
    """Under a name: who comes later under it fences off who was before, and what that had begun."""

    def __init__(self, shared: SharedLog, name: str) -> None:
        self._shared, self._name = shared, f"{shared.prefix}.{name}"
        self._producer: Producer | None = None

    def open(self) -> Producer:
        if self._producer is None:
            producer = producer_of(self._shared, **{"transactional.id": self._name})
            with answering(self._shared):
                producer.init_transactions(ANSWER_SECONDS)
            self._producer = producer
        return self._producer

    def write(self, produce: Callable[[Producer], None]) -> None:
        """Raises SharedLogError: then nothing is written, unless Kafka was not heard of when asked to commit. Who
        opens it again waits until that is settled."""
        producer = self.open()
        with answering(self._shared):
            try:
                producer.begin_transaction()
                produce(producer)
                producer.commit_transaction(COMMIT_SECONDS)
            except (KafkaException, BufferError) as problem:
                self._give_up(producer, problem)
                if isinstance(problem, BufferError):
                    raise SharedLogError("it is too much to be written at once; write less at a time") from problem
                raise

    def _give_up(self, producer: Producer, problem: Exception) -> None:
        fatal = isinstance(problem, KafkaException) and problem.args[0].fatal()
        if not fatal:
            with suppress(KafkaException):
                producer.abort_transaction(_ABORT_SECONDS)
                return
        self._producer = None  # the next one begins anew
