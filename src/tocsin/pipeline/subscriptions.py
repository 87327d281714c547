"""The subscriptions that DataFrames are matched with: compiled once, and published as files that tasks map."""

import atexit
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Self, TypeAlias

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from tocsin.documents.subscriptions import SubscribeRequest
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.resolution import check_envelopes, resolve
from tocsin.model.identity import Instant, Node, SubscriptionId
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Position, Subscription
from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.ranges import check_as_of, end_of
from tocsin.pipeline.state.publisher import StatePublisher
from tocsin.pipeline.tables.storage import Storage
from tocsin.store.database import Store
from tocsin.store.places import Places

BASE_URL = "http://127.0.0.1:8080"
Document: TypeAlias = Subscription | Mapping[str, Any] | str | bytes
Wanted: TypeAlias = str | Path | Iterable[Document] | DataFrame
_FIRST = Position(Node(""), 0)


class SubscriptionRequest(SubscribeRequest, frozen=True, forbid_unknown_fields=True):
    """As the API takes it, with an id by which it is told from the others; without one it is named by its place."""

    id: str = ""


class Subscriptions:
    """Subscriptions as of one moment, for `match` and `customise`: every record meets them as if they had always stood.

    `wanted` is the data directory of a node, as of the record `as_of` (by default now); or the subscriptions
    themselves: `Subscription` values, or documents as `POST /api/subscriptions` takes them (dicts or JSON, with an `id`
    of your choice); or a DataFrame of such documents, with one column `document` of JSON or a column for each field.
    These find the spaces, types, producers and ontologies that they refer to in the data directory `node`.

    They lie as files in `_state` below `state`, a folder or an address of an object store that all machines of the
    cluster see: by default the node's tables, and without a node a temporary folder of this machine. The files are
    removed by `close`, at the end of a `with`, or when the program ends.
    """

    def __init__(
        self,
        wanted: Wanted,
        *,
        node: str | Path | None = None,
        as_of: int | None = None,
        state: str | Path | Storage | None = None,
    ) -> None:
        home = wanted if isinstance(wanted, str | Path) else node
        with ExitStack() as stack:
            data = Path(home).absolute() if home is not None else _nobody(stack)
            self.storage = _storage(state, data)
            publisher = stack.enter_context(StatePublisher(data, self.storage, f"frames-{uuid.uuid4()}"))
            offset = end_of(data) if as_of is None else as_of
            check_as_of(data, offset)
            given = None if wanted is home else list(_given(wanted, publisher.catalogue(offset)))
            self.published = publisher.publish_frozen(offset, given)
            self._closing = stack.pop_all()
        atexit.register(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """DataFrames that were matched with them can no longer be computed."""
        atexit.unregister(self.close)
        self._closing.close()


def subscriptions_of(wanted: Wanted | Subscriptions) -> Subscriptions:
    return wanted if isinstance(wanted, Subscriptions) else Subscriptions(wanted)


def _nobody(stack: ExitStack) -> Path:
    """The data directory of a node that was never started."""
    data = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tocsin-")))
    with closing(Store.open(Places(data).database)) as store:
        store.set_meta("base_url", BASE_URL)
    return data


def _storage(state: str | Path | Storage | None, data: Path) -> Storage:
    return state if isinstance(state, Storage) else Storage.at(Places(data).tables if state is None else state)


def _given(wanted: Any, catalogue: Catalogue) -> Iterator[Subscription]:
    now, seen = Instant(time.time_ns()), set[str]()
    for number, each in enumerate(_documents(wanted) if isinstance(wanted, DataFrame) else wanted, 1):
        try:
            found = each if isinstance(each, Subscription) else _read(each, number, catalogue, now)
        except (msgspec.MsgspecError, Refusal) as problem:
            reason = problem.text if isinstance(problem, Refusal) else str(problem)
            raise PipelineError(f"subscription {number} cannot be read: {reason}") from problem
        if found.id in seen:
            raise PipelineError(f"two subscriptions are called {found.id!r}; give each an id of its own")
        seen.add(found.id)
        yield found


def _documents(frame: DataFrame) -> Iterator[str]:
    texts = frame if frame.columns == ["document"] else frame.select(F.to_json(F.struct("*")).alias("document"))
    return (row["document"] for row in texts.toLocalIterator())


def _read(document: Mapping[str, Any] | str | bytes, number: int, known: Catalogue, now: Instant) -> Subscription:
    if isinstance(document, str | bytes):
        request = msgspec.json.decode(document, type=SubscriptionRequest)
    else:
        request = msgspec.convert(document, SubscriptionRequest)
    asked = request.normalised(now)
    filters = resolve(asked.filters, known)
    check_envelopes(filters, asked.form)
    name = SubscriptionId(request.id or f"subscription-{number}")
    return Subscription(name, None, asked.consumer, asked.end_to, asked.form, filters, _FIRST, asked.expires)
