"""Learns the INO: association rules over who published what and who was told, by FPGrowth; proposals for people.

A basket is (producer's category, topic, consumer's category). A consumer is in a basket for each category that it is
under, so that rules are counted at every level of the taxonomy; a basket has these three items and no more, or a
publication that reaches twenty categories would make a million itemsets.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.ml.fpm import FPGrowth
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from tocsin.matching.index.topics import topic_matches
from tocsin.model.filters import AllOf, Filter, ProducerIs, TopicIs
from tocsin.model.names import Topic
from tocsin.model.subscription import Subscription, notifier_of
from tocsin.pipeline.errors import PipelineError, sentence
from tocsin.pipeline.learning import (
    DEFAULT,
    OWN,
    SHARED,
    Example,
    Proposal,
    Rule,
    Thresholds,
    Unused,
    proposed,
    removed_by_people,
)
from tocsin.pipeline.progress import Progress, job_session
from tocsin.pipeline.session import HERE, SparkSettings
from tocsin.pipeline.state.publisher import open_store
from tocsin.pipeline.tables.location import located
from tocsin.pipeline.tables.reading import read
from tocsin.pipeline.tables.schemas import HISTORY, MATCHES, NOTIFICATIONS
from tocsin.pipeline.tables.storage import Storage
from tocsin.semantics.interest.ino import Key, topic_of
from tocsin.semantics.interest.world import World
from tocsin.store.places import Places

EXAMPLES = 3  # of each proposal
PLACE = ["node", "log_offset", "item"]
RULE = ["source", "topic", "target"]
FROM, TOPIC, TO = "from ", "on ", "to "


@dataclass(frozen=True)
class LearnSettings:
    data: Path
    least: Thresholds = DEFAULT
    spark: SparkSettings = HERE
    storage: Storage | None = None


@dataclass(frozen=True)
class Learned:
    """`unused` are edges that count and along which nobody was told."""

    publications: int
    tellings: int
    proposals: tuple[Proposal, ...]
    unused: tuple[Unused, ...]


@dataclass(frozen=True)
class Told:
    """What happened, by the names of services and the topics' labels: publications (notification, producer, topic), and
    tellings, which name the consumer besides; each once."""

    publications: DataFrame
    tellings: DataFrame


@dataclass(frozen=True)
class Known:
    """What the node's database says: the world, edges that people removed, and each subscription as it was last."""

    world: World
    removed: frozenset[Key]
    subscriptions: tuple[Subscription, ...]


def learn(settings: LearnSettings, progress: Progress | None = None) -> Learned:
    log = Places(settings.data).spark_log
    try:
        known = known_at(settings.data)  # what is missing need not wait for Spark
        with job_session(log, settings.spark, progress) as spark:
            told = told_at(spark, settings.storage or located(settings.data), known)
            return learn_on(spark, known.world, told, settings.least, known.removed)
    except Exception as problem:
        raise PipelineError(sentence(problem, log)) from problem


def known_at(data: Path) -> Known:
    store, _ = open_store(data)
    with closing(store):
        history = store.implicit.changes()
        world = World.of(each.change for each in history)
        if not world.services:
            raise PipelineError(
                f"the world kept in {data} has no services, so nobody knows who belongs to which category;"
                " `tocsin ino load FILE` describes one"
            )
        last = {each.subscription.id: each.subscription for each in store.past.changes()}
        return Known(world, frozenset(removed_by_people(history)), tuple(last.values()))


def told_at(spark: SparkSession, storage: Storage, known: Known) -> Told:
    """From the tables, and from subscriptions that stand: one of these is told of all that it would have taken."""
    published = _published(spark, storage, known.world)
    at = _addresses(known.world)
    consumers = [(each.id, name) for each in known.subscriptions for name in _consumers(known.world, at, each)]
    pulled = [(each.id,) for each in known.subscriptions if each.consumer is None]
    delivered = read(spark, storage, HISTORY).where("result = 'delivered'").select(*PLACE, "subscription")
    fetched = read(spark, storage, MATCHES).join(_frame(spark, pulled, "subscription"), "subscription")
    rows = delivered.unionByName(fetched.select(*PLACE, "subscription"))
    received = rows.join(F.broadcast(_frame(spark, consumers, "subscription", "consumer")), "subscription")
    columns = ["notification", "producer", "topic", "consumer"]
    happened = received.join(published, PLACE).select(columns)
    standing = _frame(spark, list(_standing(known, at)), "topic", "wanted", "consumer")
    wanted = published.join(F.broadcast(standing), "topic").where("wanted = '' or wanted = producer").select(columns)
    tellings = happened.unionByName(wanted).where("producer <> consumer").distinct()
    return Told(published.select(columns[:3]).distinct(), tellings)


def learn_on(
    spark: SparkSession,
    world: World,
    told: Told,
    least: Thresholds = DEFAULT,
    removed: Iterable[Key] = (),
) -> Learned:
    publications, tellings = told.publications.cache(), told.tellings.cache()
    try:
        counts = publications.count(), tellings.count()
        if not all(counts):
            raise PipelineError(
                "there is no history to learn from: no service of the world was told of anything that another one"
                " published on a topic of the world; `tocsin pipeline status` says how much is in the tables"
            )
        return _Learner(spark, world, publications, tellings, counts).learned(least, frozenset(removed))
    finally:
        publications.unpersist()
        tellings.unpersist()


class _Learner:
    def __init__(
        self,
        spark: SparkSession,
        world: World,
        publications: DataFrame,
        tellings: DataFrame,
        counts: tuple[int, int],
    ) -> None:
        self._spark, self._world, self._counts = spark, world, counts
        services = world.services.values()
        sources = [(each.name, *names) for each in services for names in _sources(each.categories)]
        self._under = {each.name: _targets(world, each.categories) for each in services}
        targets = [(service, target) for service, names in self._under.items() for target in names]
        by_source = F.broadcast(_frame(spark, sources, "producer", "category", "source"))
        self._published = publications.join(by_source, "producer")
        self._targets = F.broadcast(_frame(spark, targets, "consumer", "target"))
        self._by_topic = self._published.groupBy(*RULE[:2]).agg(F.count("*").alias("published"))
        self._baskets = tellings.join(by_source, "producer").join(self._targets, "consumer")

    def learned(self, least: Thresholds, removed: frozenset[Key]) -> Learned:
        self._baskets.cache()
        try:
            found = proposed(self._rules(least.support), self._counted(), self._world, removed, least)
            examples = self._examples([rule.key for rule in found])
            proposals = tuple(Proposal.of(rule, examples[rule.key]) for rule in found)
            return Learned(*self._counts, proposals, tuple(self._unused()))
        finally:
            self._baskets.unpersist()

    def _rules(self, support: float) -> list[Rule]:
        sizes: defaultdict[str, int] = defaultdict(int)
        for targets in self._under.values():
            for target in targets:
                sizes[target] += 1
        # a producer is not told by itself: where it is under the target, there is a chance fewer
        own = self._published.join(self._targets.withColumnRenamed("consumer", "producer"), "producer")
        own = own.groupBy(*RULE).agg(F.count("*").alias("own"))
        at_all = self._baskets.groupBy("target").agg(
            F.countDistinct("notification", "producer", "consumer").alias("told_at_all")
        )
        frequent = self._frequent(support)
        rows = frequent.join(self._by_topic, RULE[:2]).join(own, RULE, "left").join(at_all, "target").fillna(0, ["own"])
        published, tellings = self._counts
        return [
            Rule(
                row["source"],
                row["topic"],
                row["target"],
                told=row["told"],
                chances=row["published"] * sizes[row["target"]] - row["own"],
                published=row["published"],
                tellings=tellings,
                told_at_all=row["told_at_all"],
                chances_at_all=published * sizes[row["target"]],
            )
            for row in rows.collect()
        ]

    def _counted(self) -> dict[tuple[str, str], int]:
        return {(row["source"], row["topic"]): row["published"] for row in self._by_topic.collect()}

    def _frequent(self, support: float) -> DataFrame:
        """The itemsets of all three kinds. Support is by tellings, of which each is in several baskets."""
        items = [F.concat(F.lit(kind), F.col(name)) for kind, name in zip((FROM, TOPIC, TO), RULE, strict=True)]
        baskets = self._baskets.select(F.array(*items).alias("items"))
        least = min(1.0, support * self._counts[1] / self._baskets.count())
        model = FPGrowth(itemsCol="items", minSupport=least, minConfidence=1.0).fit(baskets)
        kinds = [
            F.expr(f"substring(filter(items, each -> startswith(each, '{kind}'))[0], {len(kind) + 1})").alias(name)
            for kind, name in zip((FROM, TOPIC, TO), RULE, strict=True)
        ]
        return model.freqItemsets.where("size(items) = 3").select(*kinds, F.col("freq").alias("told"))

    def _examples(self, keys: Sequence[Key]) -> Mapping[Key, list[Example]]:
        chosen = _by_category(self._baskets).join(F.broadcast(_frame(self._spark, keys, *RULE)), RULE)
        order = Window.partitionBy(*RULE).orderBy("notification", "producer", "consumer")
        rows = chosen.withColumn("rank", F.row_number().over(order)).where(f"rank <= {EXAMPLES}").orderBy("rank")
        found: defaultdict[Key, list[Example]] = defaultdict(list)
        for row in rows.collect():
            key = row["source"], row["topic"], row["target"]
            found[key].append(Example(row["notification"], row["producer"], row["topic"], row["consumer"]))
        return found

    def _unused(self) -> list[Unused]:
        """By the messages that may go along each edge."""
        world = self._world
        counted = [edge.key for edge in world.edges.values() if world.counts(edge)]
        if not counted:
            return []
        ways = [(*key, source, topic) for key in counted for source, topic in _ways(world, key)]
        edges = F.broadcast(_frame(self._spark, ways, "edge_source", "edge_topic", "target", *RULE[:2]))
        names = ["edge_source", "edge_topic", "target"]
        used = {tuple(row) for row in _by_category(self._baskets).join(edges, RULE).select(*names).distinct().collect()}
        counts = _by_category(self._published).join(edges, RULE[:2]).groupBy(*names).count().collect()
        published = {tuple(row[name] for name in names): row["count"] for row in counts}
        return [Unused(*key, published.get(key, 0)) for key in sorted(counted) if key not in used]


def _published(spark: SparkSession, storage: Storage, world: World) -> DataFrame:
    """What services published, with its place in the log. A copy that a notifier passed on is told by that one's
    service, whoever published it first."""
    at = [(address, name) for address, names in _addresses(world).items() for name in names]
    labels = [(text, label) for text, (label, _) in _topics(world).items()]
    rows = read(spark, storage, NOTIFICATIONS).select(
        *PLACE, F.col("id").alias("notification"), F.col("producer").alias("address"), F.col("topic").alias("path"),
        F.col("attributes")["root"].alias("root"), F.col("attributes")["sender"].alias("sender"),
    )  # fmt: skip
    known = rows.join(F.broadcast(_frame(spark, at, "address", "service")), "address")
    named = known.join(F.broadcast(_frame(spark, labels, "path", "topic")), "path")
    producer = F.when(F.col("root") == F.col("service"), F.col("sender"))
    return named.select(*PLACE, "notification", F.coalesce(producer, "service").alias("producer"), "topic")


def _addresses(world: World) -> dict[str, list[str]]:
    """Which services are at an address: their own, and that of their notifiers."""
    found: dict[str, list[str]] = {}
    for each in world.services.values():
        for address in {each.address, each.notifier} - {""}:
            found.setdefault(address, []).append(each.name)
    return found


def _topics(world: World) -> dict[str, tuple[str, Topic]]:
    """Labels and topics, by the topics' text."""
    found: dict[str, tuple[str, Topic]] = {}
    for label in world.topics:
        topic = topic_of(world.topics, label)
        found.setdefault(str(topic), (label, topic))
    return found


def _consumers(world: World, at: Mapping[str, list[str]], subscription: Subscription) -> list[str]:
    name = notifier_of(subscription)
    if name is not None:
        return [name] if name in world.services else []
    return [] if subscription.consumer is None else at.get(subscription.consumer.address, [])


def _standing(known: Known, at: Mapping[str, list[str]]) -> Iterable[tuple[str, str, str]]:
    """Topic, producer (or nothing for any) and consumer of what is subscribed to. Filters on anything else say too
    little of what would be told, and one without a topic nothing of interests."""
    now, world, topics = time.time_ns(), known.world, _topics(known.world)
    for each in known.subscriptions:
        filters = tuple(_flat(each.filters))
        wanted = [one for one in filters if isinstance(one, TopicIs)]
        producers = [one for one in filters if isinstance(one, ProducerIs)]
        if each.state == "ended" or (each.expires is not None and each.expires <= now):
            continue
        if not wanted or len(wanted) + len(producers) < len(filters):
            continue
        labels = [label for label, topic in topics.values() if all(topic_matches(one, topic) for one in wanted)]
        by = [name for name in world.services if all(_is_producer(world, name, one) for one in producers)]
        for consumer in _consumers(world, at, each):
            yield from ((label, name, consumer) for label in labels for name in (by if producers else ("",)))


def _flat(filters: Iterable[Filter]) -> Iterable[Filter]:
    for each in filters:
        yield from _flat(each.filters) if isinstance(each, AllOf) else (each,)


def _is_producer(world: World, name: str, asked: ProducerIs) -> bool:
    service = world.services[name]
    categories = {above for own in service.categories for above in world.categories.above(own)}
    return not categories.isdisjoint(asked.categories) or not {service.address, service.notifier}.isdisjoint(
        asked.addresses
    )


def _sources(categories: Sequence[str]) -> list[tuple[str, str]]:
    """The categories of a producer, and as what it is counted in rules: as one of several where it has several."""
    return [(name, name if len(categories) == 1 else f"{name}{SHARED}") for name in categories]


def _by_category(frame: DataFrame) -> DataFrame:
    return frame.withColumn("source", F.col("category"))


def _targets(world: World, categories: Iterable[str]) -> list[str]:
    """All that a service of these is under, and its own categories once more as parts of themselves."""
    above = {each for own in categories for each in world.categories.above(own)}
    return [*sorted(above), *(f"{own}{OWN}" for own in categories)]


def _ways(world: World, key: Key) -> Iterable[tuple[str, str]]:
    """The producers' categories and topics whose messages go along an edge (paper 000, Table 1, and the rules)."""
    sources = world.categories.below(key[0]) if world.rules.inherit_categories else (key[0],)
    topics = {*world.topics.above(key[1]), *(world.topics.below(key[1]) if world.rules.inherit_topics else ())}
    return [(source, topic) for source in sources for topic in topics]


def _frame(spark: SparkSession, rows: Sequence[tuple[Any, ...]], *names: str) -> DataFrame:
    return spark.createDataFrame(rows, ", ".join(f"{name} string" for name in names))
