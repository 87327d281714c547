"""The sums of a report, by Spark's own aggregations; a few rows of each reach the driver."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import accumulate

from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from tocsin.pipeline.report.values import (
    Asking,
    Bar,
    Cost,
    Costs,
    DeadLetters,
    Deliveries,
    Latency,
    Moment,
    NodeRates,
    Peak,
    Quarantined,
    Rates,
    Replies,
    Share,
    Spread,
    Unit,
)
from tocsin.pipeline.tables.reading import read
from tocsin.pipeline.tables.schemas import DAY, HARVESTS, HISTORY, MATCHES, NOTIFICATIONS, QUARANTINE
from tocsin.pipeline.tables.storage import Storage

PLACE = ["node", "log_offset", "item"]
DELIVERY = [*PLACE, "notification", "subscription"]
_ANSWERED, _AGAIN, _ARRIVED = (
    f"unix_micros({end}) - unix_micros({begin})"
    for end, begin in (("answered", "accepted"), ("arrived", "answered"), ("arrived", "accepted"))
)
STAGES = {
    "accepted to first answer": _ANSWERED,
    "first answer to delivered, of those tried again": f"if(arrived > answered, {_AGAIN}, null)",
    "accepted to delivered": _ARRIVED,
}
REPLY_TIMES = {
    "accepted to first reply": "unix_micros(first_reply) - unix_micros(time)",
    "accepted to last reply": "unix_micros(last_reply) - unix_micros(time)",
}
UNITS: dict[Unit, timedelta] = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}
LONGEST: Unit = "day"
MOST_MOMENTS = 720  # in a series; more of them are hours, then days
MOST_ATTEMPTS = 20  # of a delivery, that have a bar of their own
REASON_LENGTH = 160
_ACCURACY = 10_000
_PERCENTILES = [number / 100 for number in range(1, 100)]


@dataclass(frozen=True)
class Range:
    """By when a notification was accepted; None has no bound."""

    start: datetime | None = None
    stop: datetime | None = None

    def of(self, frame: DataFrame, time: str = "time") -> DataFrame:
        if self.start is not None:
            frame = frame.where(F.expr(time) >= F.lit(self.start))
        return frame if self.stop is None else frame.where(F.expr(time) < F.lit(self.stop))

    def days(self, frame: DataFrame) -> DataFrame:
        """Only the files that can hold rows of it, by the days of acceptance."""
        start, stop = (None if each is None else F.lit(each.astimezone(UTC).date()) for each in (self.start, self.stop))
        frame = frame if start is None else frame.where(F.col(DAY) >= start)
        return frame if stop is None else frame.where(F.col(DAY) <= stop)


class Sums:
    """Over the tables as they are now. `consumers` are the addresses of subscriptions, where they are known."""

    def __init__(
        self, spark: SparkSession, storage: Storage, asked: Range, top: int, consumers: Mapping[str, str]
    ) -> None:
        self._spark, self._asked, self._top, self._consumers = spark, asked, top, consumers
        said = read(spark, storage, NOTIFICATIONS).withColumn("size", F.octet_length("payload"))
        self._notifications = asked.of(asked.days(said))
        self._matches = asked.of(asked.days(read(spark, storage, MATCHES)))
        self._attempts = self._joined(read(spark, storage, HISTORY), said)
        self._quarantine = asked.of(asked.days(read(spark, storage, QUARANTINE)))
        harvests = read(spark, storage, HARVESTS).where("value IS NULL")  # one row of each publication
        self._asking = asked.of(asked.days(harvests))

    def _joined(self, history: DataFrame, said: DataFrame) -> DataFrame:
        """Attempts with the time and size of their notification. What has none, as a notice that a subscription
        ended, goes by its own time."""
        known = Range(None, self._asked.stop).days(said)
        known = known.select(*PLACE, F.col("id").alias("notification"), F.col("time").alias("accepted"), "size")
        attempts = Range(self._asked.start, None).days(history).join(known, [*PLACE, "notification"], "left")
        return self._asked.of(attempts, "coalesce(accepted, time)")

    @cached_property
    def _deliveries(self) -> DataFrame:
        tried = (F.col("attempt") > 0) & (F.col("result") != "dropped")
        counts = [_times(F.col("result") == name).alias(name) for name in ("delivered", "dead", "dropped")]
        frame = self._attempts.groupBy(*DELIVERY).agg(
            F.min("accepted").alias("accepted"),
            F.coalesce(F.max("size"), F.lit(0)).alias("size"),
            _times(tried).alias("attempts"),
            *counts,
            F.min(F.when(tried, F.col("time"))).alias("answered"),
            F.min(F.when(F.col("result") == "delivered", F.col("time"))).alias("arrived"),
        )
        return frame.persist()

    def close(self) -> None:
        if "_deliveries" in self.__dict__:
            self._deliveries.unpersist()

    def rates(self) -> Rates | None:
        times = self._times("'notifications'", "'attempts'", "time").groupBy("kind")
        bounds = {row["kind"]: row for row in times.agg(F.count("*").alias("count"), *_bounds("at")).collect()}
        if NOTIFICATIONS not in bounds:
            return None
        first, last = (_instant(bounds[NOTIFICATIONS][name]) for name in ("first", "last"))
        unit, series = self._series(first, max(_instant(each["last"]) for each in bounds.values()))
        names: dict[str, Column] = {name: F.col(name) for name in ("dialect", "topic", "producer", "node")}
        tops = self._tops(self._notifications, names | {unit: _begin_of(unit) for unit in ("minute", "hour")})
        count = bounds[NOTIFICATIONS]["count"]
        minutes = (_begin(last, "minute") - _begin(first, "minute")) // UNITS["minute"] + 1
        return Rates(
            notifications=count,
            matches=sum(each.matches for each in series),
            first=first,
            last=last,
            minutes=minutes,
            per_minute=count / minutes,
            per_hour=60 * count / minutes,
            unit=unit,
            series=series,
            busiest_minute=_peak(tops["minute"]),
            busiest_hour=_peak(tops["hour"]),
            by_dialect=tops["dialect"],
            by_topic=tops["topic"],
            by_producer=tops["producer"],
            by_node=self._by_node() if len(tops["node"]) > 1 else [],
        )

    def _by_node(self) -> list[NodeRates]:
        counts = [F.count("*").alias("notifications"), F.coalesce(F.max("hops"), F.lit(0)).alias("hops")]
        found = self._notifications.groupBy("node").agg(*counts, _times(F.col("hops") > 0).alias("received"))
        matches = self._matches.groupBy("node").agg(F.count("*").alias("matches"))
        results = [_times(F.col("result") == name).alias(name) for name in ("delivered", "retry", "dead")]
        rows = found.join(matches, "node", "left").join(self._attempts.groupBy("node").agg(*results), "node", "left")
        made = (NodeRates(**row.asDict()) for row in rows.fillna(0).orderBy(F.desc("notifications"), "node").collect())
        return [replace(each, published=each.notifications - each.received) for each in made]

    def _times(self, accepted: str, tried: str, time: str) -> DataFrame:
        """When something was accepted or tried, as `at`, and what, as `kind`."""
        said = self._notifications.selectExpr(f"{accepted} AS kind", f"{time} AS at")
        return said.unionByName(self._attempts.selectExpr(f"{tried} AS kind", f"{time} AS at"))

    def _series(self, first: datetime, last: datetime) -> tuple[Unit, list[Moment]]:
        unit: Unit = next((name for name, step in UNITS.items() if (last - first) / step <= MOST_MOMENTS), LONGEST)
        begin = f"unix_micros(date_trunc('{unit}', time))"
        times = self._times("'notifications'", "result", begin)
        times = times.unionByName(self._matches.selectExpr("'matches' AS kind", f"{begin} AS at"))
        found = {time: Moment(time) for time in _moments(first, last, unit)}
        for row in times.where("kind != 'dropped'").groupBy("at", "kind").count().collect():
            time = _instant(row["at"])
            found[time] = replace(found.get(time, Moment(time)), **{row["kind"]: row["count"]})
        return unit, [found[time] for time in sorted(found)]

    def fan_out(self) -> Spread | None:
        counted = self._matches.groupBy(*PLACE).count()
        frame = self._notifications.select(*PLACE).join(counted, PLACE, "left").fillna(0, ["count"])
        return _spread(frame, "count", _doubling)

    @cached_property
    def _delivered(self) -> Row:
        latencies = self._deliveries.select("*", *(F.expr(text).alias(name) for name, text in STAGES.items()))
        (row,) = latencies.agg(
            F.count("*").alias("count"),
            *(_times(F.col(name) > 0).alias(name) for name in ("delivered", "dead", "dropped")),
            _times(F.col("attempts") == 0).alias("untried"),
            _times(F.col("delivered") > 1).alias("repeated"),
            F.sum(F.greatest(F.col("delivered") - 1, F.lit(0))).alias("extra"),
            *_spans(STAGES),
        ).collect()
        return row

    def deliveries(self) -> Deliveries | None:
        row = self._delivered
        if not row["count"]:
            return None
        spread = _spread(self._deliveries.where("attempts > 0"), "attempts", _one)
        counts = {name: value for name, value in row.asDict().items() if name not in STAGES}
        return Deliveries(**counts, attempts=spread)

    def latencies(self) -> list[Latency] | None:
        return _latencies(self._delivered, STAGES) or None

    def replies(self) -> Replies | None:
        sums = [F.sum(name).alias(name) for name in ("receivers", "replied", "not_reached", "outstanding")]
        publications, tenth = F.count("*").alias("publications"), "least(9, 10 * replied div receivers)"
        frame = self._asking.select("*", *(F.expr(text).alias(name) for name, text in REPLY_TIMES.items()))
        (row,) = frame.agg(
            publications, F.count("first_reply").alias("answered"), *sums, *_spans(REPLY_TIMES)
        ).collect()
        if not row["publications"]:
            return None
        tenths = self._asking.where("receivers > 0").groupBy(F.expr(tenth).alias("tenth")).count().collect()
        order = [F.desc("publications"), F.asc("topic")]
        topics = self._asking.groupBy("topic").agg(publications, *sums[:2]).orderBy(*order).limit(self._top)
        return Replies(
            **{name: value for name, value in row.asDict().items() if name not in REPLY_TIMES},
            rates=_in_tenths({each["tenth"]: each["count"] for each in tenths}),
            times=_latencies(row, REPLY_TIMES),
            by_topic=[Asking(**each.asDict()) for each in topics.collect()],
        )

    def dead_letters(self) -> DeadLetters | None:
        known = self._spark.createDataFrame(list(self._consumers.items()), "subscription string, consumer string")
        dead = self._attempts.where("result = 'dead'").join(known, "subscription", "left")
        answer = F.regexp_extract("detail", r"^HTTP \d+", 0)  # what else a consumer said is different each time
        reason = F.when(answer != "", answer).otherwise(F.substring("detail", 1, REASON_LENGTH))
        found = self._tops(
            dead, {"reason": reason, "consumer": F.coalesce("consumer", "subscription"), "all": F.lit("")}
        )
        return DeadLetters(found["all"][0].count, found["reason"], found["consumer"]) if found else None

    def quarantine(self) -> Quarantined | None:
        found = self._tops(self._quarantine, {"reason": F.substring("reason", 1, REASON_LENGTH), "all": F.lit("")})
        return Quarantined(found["all"][0].count, found["reason"]) if found else None

    def costs(self) -> Costs | None:
        matched = self._matches.groupBy("subscription").agg(F.count("*").alias("matches"))
        sums = [F.sum(name).alias(name) for name in ("attempts", "delivered", "dead")]
        sent = self._deliveries.groupBy("subscription").agg(
            *sums, F.sum(F.col("attempts") * F.col("size")).alias("bytes")
        )
        frame = matched.join(sent, "subscription", "full").fillna(0).persist()
        order = [F.desc("bytes"), F.desc("attempts"), F.desc("matches"), F.col("subscription")]
        rows = [row.asDict() for row in frame.orderBy(*order).limit(self._top).collect()]
        count = frame.count()
        frame.unpersist()
        top = [Cost(consumer=self._consumers.get(row["subscription"]), **row) for row in rows]
        return Costs(count, top) if count else None

    def _tops(self, frame: DataFrame, names: Mapping[str, Column]) -> dict[str, list[Share]]:
        """The most frequent values of several columns, in one pass."""
        kinds = [F.struct(F.lit(kind).alias("kind"), name.cast("string").alias("name")) for kind, name in names.items()]
        counted = frame.select(F.explode(F.array(*kinds)).alias("each")).groupBy("each.kind", "each.name").count()
        order = Window.partitionBy("kind").orderBy(F.desc("count"), F.asc_nulls_last("name"))
        rows = counted.withColumn("rank", F.row_number().over(order)).where(F.col("rank") <= self._top)
        found: dict[str, list[Share]] = {}
        for row in rows.orderBy("rank").collect():
            found.setdefault(row["kind"], []).append(Share(row["name"], row["count"]))
        return found


def _times(flag: Column) -> Column:
    return F.sum(F.when(flag, 1).otherwise(0))


def _spread(frame: DataFrame, name: str, bar: Callable[[int], tuple[int, int | None]]) -> Spread | None:
    """What reaches the driver is small: of n rows in all, no more than the root of 2n have different counts."""
    counts = {row[name]: row["frequency"] for row in frame.groupBy(name).agg(F.count("*").alias("frequency")).collect()}
    total, bars = sum(counts.values()), Counter[tuple[int, int | None]]()
    if not total:
        return None
    for value, frequency in sorted(counts.items()):
        bars[bar(value)] += frequency
    mean = sum(value * frequency for value, frequency in counts.items()) / total
    p50, p99 = (_percentile(counts, total, share) for share in (0.5, 0.99))
    return Spread(mean, p50, p99, max(counts), [Bar(*bounds, count) for bounds, count in bars.items()])


def _percentile(counts: Mapping[int, int], total: int, share: float) -> int:
    """The least value that so many have at most."""
    reached = accumulate(counts[value] for value in sorted(counts))
    return next(value for value, count in zip(sorted(counts), reached, strict=True) if count >= share * total)


def _doubling(count: int) -> tuple[int, int]:
    """0, 1, 2 to 3, 4 to 7 and so on."""
    digits = count.bit_length()
    return (1 << digits) >> 1, (1 << digits) - 1


def _one(number: int) -> tuple[int, int | None]:
    return number, number if number < MOST_ATTEMPTS else None


def _in_tenths(counts: Mapping[int, int]) -> list[Bar]:
    """Of a hundred; the last takes the hundred too."""
    return [Bar(10 * tenth, 10 * tenth + 9 + tenth // 9, counts.get(tenth, 0)) for tenth in range(10)]


def _spans(names: Iterable[str]) -> list[Column]:
    """Of columns in microseconds: how many, their percentiles and the longest."""
    found = ((name, F.percentile_approx(name, _PERCENTILES, _ACCURACY)) for name in names)
    return [F.struct(F.count(name), percentiles, F.max(name)).alias(name) for name, percentiles in found]


def _latencies(row: Row, names: Iterable[str]) -> list[Latency]:
    return [_latency(name, *row[name]) for name in names if row[name][0]]


def _latency(stage: str, count: int, percentiles: list[float], most: float) -> Latency:
    curve = [each / 1e6 for each in percentiles]
    return Latency(stage, count, curve[49], curve[89], curve[98], most / 1e6, curve)


def _begin_of(unit: str) -> Column:
    return F.unix_micros(F.date_trunc(unit, "time"))


def _peak(found: Sequence[Share]) -> Peak:
    return Peak(_instant(int(found[0].name or 0)), found[0].count)


def _bounds(time: str) -> list[Column]:
    """As numbers: Spark would give times without a zone, in that of the driver."""
    return [F.unix_micros(F.min(time)).alias("first"), F.unix_micros(F.max(time)).alias("last")]


def _instant(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def _begin(time: datetime, unit: Unit) -> datetime:
    since = time - datetime(1970, 1, 1, tzinfo=UTC)
    return time - since % UNITS[unit]


def _moments(first: datetime, last: datetime, unit: Unit) -> list[datetime]:
    begin, step = _begin(first, unit), UNITS[unit]
    return [begin + number * step for number in range((_begin(last, unit) - begin) // step + 1)]
