"""The same job as a good engineer writes it in plain PySpark: user-defined functions and a join.

Each record is parsed by our own `normalise`, in a function over Arrow batches, which also gives the keys that
subscriptions may be filed under: every selection of a topic's steps in their order, types and categories with those
above them, the producer, and so on. A table of (key, subscription) is joined with them. Candidates are grouped by
notification, checked one by one with the meaning of each filter, and written by our own `customise`. So it covers every
kind of filter and finds the same pairs; what differs is how they are found, and how data moves.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

import pyarrow as pa
from pyspark import Broadcast
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from tocsin.flow.flow import Flow, normalise
from tocsin.lab.benches._pipeline_workload import BASE_URL, DECLARED
from tocsin.lab.workloads.texts import WEATHER
from tocsin.matching.catalogue import Catalogue
from tocsin.matching.evidence import Evidence
from tocsin.matching.filters import satisfies_all
from tocsin.model.filters import Content, Filter, Graph, InBox, ProducerIs, TopicIs, TypeIs
from tocsin.model.names import QName
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.space import OneOf
from tocsin.model.subscription import Subscription
from tocsin.store.codec import decode

Batches = Iterator[pa.RecordBatch]
_SKY = [each.name for each in WEATHER.dimensions].index("sky")
_TENANT = re.compile(r"tenant = '([^']*)'")
_ANY, _RDF = "any", "rdf"
_PARSED = pa.schema(
    [("offset", pa.int64()), ("item", pa.int32()), ("record", pa.binary()), ("keys", pa.list_(pa.string()))]
)
_TOLD = pa.schema(
    [
        *(("offset", pa.int64()), ("item", pa.int32()), ("subscription", pa.string()), ("to", pa.string())),
        *(("headers", pa.map_(pa.string(), pa.string())), ("body", pa.binary())),
    ]
)
_SCHEMAS = {
    "parsed": "offset bigint, item int, record binary, keys array<string>",
    "told": "offset bigint, item int, subscription string, `to` string, headers map<string,string>, body binary",
}


def keys_asked(asked: Filter) -> list[str]:
    """What a subscription with that filter may be filed under; none where that is nothing that can be joined."""
    match asked:
        case TopicIs(paths):
            return [_path(step for step in path if isinstance(step, QName) and step.local != "*") for path in paths]
        case TypeIs(names):
            return [f"type {each}" for each in names]
        case ProducerIs(addresses, categories):
            return [f"from {each}" for each in addresses] + [f"category {each}" for each in categories]
        case Content(language="cesql", text=text) if found := _TENANT.search(text):
            return [f"tenant {found[1]}"]
        case InBox(space, sides) if space == WEATHER.name:
            side = sides[_SKY]
            return [
                f"sky {each}" for each in (side.values if isinstance(side, OneOf) else WEATHER.dimensions[_SKY].values)
            ]
        case Graph():
            return [_RDF]
    return []


_ORDER = (TopicIs, TypeIs, ProducerIs, Content, InBox, Graph)  # the most telling first


def filed(subscription: Subscription) -> list[str]:
    """Under one of its filters, and of that under each alternative."""
    by_kind = sorted(subscription.filters, key=lambda each: _ORDER.index(type(each)))
    return next((keys for each in by_kind if (keys := keys_asked(each))), [_ANY])


def keys_told(told: Notification, known: Catalogue) -> list[str]:
    evidence, steps = Evidence(told, known), told.topic.steps
    keys = [_path(some) for count in range(len(steps) + 1) for some in combinations(steps, count)]
    keys += [f"type {each}" for each in evidence.types] + [f"category {each}" for each in evidence.categories]
    keys += [f"from {told.producer}", _ANY, *([_RDF] if told.payload.media_type == "text/turtle" else ())]
    tenant, areas = dict(told.attributes).get("tenant"), evidence.areas(WEATHER.name)
    keys += [f"tenant {tenant}"] if tenant else []
    return keys + [f"sky {each[_SKY]}" for each in areas if isinstance(each, tuple)]


def _path(steps: Iterator[QName] | Sequence[QName]) -> str:
    return "topic " + "/".join(map(str, steps))


def filing(spark: SparkSession, subscriptions: Sequence[Subscription]) -> DataFrame:
    rows = [(key, each.id) for each in subscriptions for key in dict.fromkeys(filed(each))]
    return spark.createDataFrame(rows, "key string, subscription string").cache()


def job(records: DataFrame, filed_under: DataFrame, standing: Broadcast[dict[str, Subscription]]) -> DataFrame:
    """From records of the log (log, offset, payload) to a row for each delivery."""
    parsed = records.mapInArrow(_parse, _SCHEMAS["parsed"]).cache()
    wanted = parsed.select("offset", "item", f.explode("keys").alias("key")).join(f.broadcast(filed_under), "key")
    grouped = wanted.groupBy("offset", "item").agg(f.collect_set("subscription").alias("candidates"))
    candidates = parsed.join(grouped, ["offset", "item"]).select("offset", "item", "record", "candidates")
    return candidates.mapInArrow(_teller(standing), _SCHEMAS["told"])


def _parse(batches: Batches) -> Batches:
    known = Catalogue(DECLARED)
    for batch in batches:
        rows = zip(batch.column("offset").to_pylist(), batch.column("payload").to_pylist(), strict=True)
        found = [
            (offset, told.index, payload, keys_told(told, known)) for offset, payload in rows for told in _read(payload)
        ]
        yield _columns(_PARSED, found)


def _teller(standing: Broadcast[dict[str, Subscription]]) -> Callable[[Batches], Batches]:
    def tell(batches: Batches) -> Batches:
        known = Catalogue(DECLARED)
        flow = Flow(BASE_URL, known)
        for batch in batches:
            yield _columns(_TOLD, list(_told(batch, standing.value, known, flow)))

    return tell


def _told(
    batch: pa.RecordBatch, standing: dict[str, Subscription], known: Catalogue, flow: Flow
) -> Iterator[tuple[object, ...]]:
    for offset, item, record, candidates in zip(*(column.to_pylist() for column in batch.columns), strict=True):
        told = _read(record)[item]
        evidence = Evidence(told, known)
        for name in candidates:
            subscription = standing[name]
            if satisfies_all(evidence, subscription.filters, subscription):
                made = flow.deliver(told, subscription)
                yield offset, item, name, made.to.address, list(made.headers), made.body


def _read(payload: bytes) -> tuple[Notification, ...]:
    record = decode(payload)
    return normalise(record) if isinstance(record, Accepted) else ()


def _columns(schema: pa.Schema, rows: Sequence[tuple[object, ...]]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    return pa.RecordBatch.from_arrays(
        [pa.array(each, of.type) for each, of in zip(columns, schema, strict=True)], schema=schema
    )
