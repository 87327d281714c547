"""The INO learned on Spark: from tables, from subscriptions that stand, and a hidden one."""

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import SparkSession
from tests.pipeline.stage import catch_up, storage_of

from tocsin.lab.experiments.learn import learned
from tocsin.lab.workloads.hidden_ino import hidden_ino
from tocsin.model.filters import Content, Filter, ForNotifier, ProducerIs, TopicIs
from tocsin.model.identity import Instant, SubscriptionId
from tocsin.model.names import QName
from tocsin.model.subscription import Endpoint, Form, Subscription
from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.learn import Learned, LearnSettings, known_at, learn, learn_on, told_at
from tocsin.pipeline.run import RunSettings
from tocsin.semantics.interest.changes import Change, Changing, PutCategory, PutEdge, PutService, PutTopic
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.store.database import Store

if TYPE_CHECKING:
    from tests.pipeline.conftest import Recorder

pytestmark = pytest.mark.spark
LAB, TIDE = "http://127.0.0.1:9/lab", "http://127.0.0.1:9/tide"
WORLD: tuple[Change, ...] = (
    PutTopic("Alarm"),
    PutTopic("Sea Quake", "Alarm"),
    *(PutCategory(name) for name in ("Labs", "Ports", "Press", "Schools")),
    PutService(Service("lab", ("Labs",), address=LAB)),
    PutService(Service("tide", ("Labs",), address=TIDE)),
    *(
        PutService(Service(f"{kind}{number}", (category,), address=f"http://127.0.0.1:9/{kind}{number}"))
        for kind, category in (("port", "Ports"), ("press", "Press"), ("school", "Schools"))
        for number in range(2)
    ),
)
QUAKE = TopicIs(((QName("", "Alarm"), QName("", "Sea-Quake")),))


def keep_world(recorder: "Recorder", *more: Change) -> None:
    changes = [Changing(number, Instant(0), "ann", each) for number, each in enumerate((*WORLD, *more), 1)]
    with closing(Store.open(recorder.data / "tocsin.db")) as store:
        store.implicit.add_changes(changes)


def quakes(recorder: "Recorder", count: int = 6, source: str = LAB) -> list[int]:
    first = recorder.at.offset
    for _ in range(count):
        recorder.cloud_event("Alarm/Sea-Quake", source=source)
    return list(range(first, first + count))


def learned_from(recorder: "Recorder", spark: SparkSession) -> Learned:
    recorder.save()
    catch_up(spark, RunSettings(recorder.data, once=True))
    known = known_at(recorder.data)
    return learn_on(spark, known.world, told_at(spark, storage_of(recorder.data), known), removed=known.removed)


def wanting(recorder: "Recorder", name: str, *filters: Filter) -> Subscription:
    consumer = Endpoint(f"http://127.0.0.1:9/{name}")
    made = Subscription(
        SubscriptionId(name),
        None,
        consumer,
        None,
        Form("cloudevents"),
        filters,
        recorder.at,
        None,
    )
    return recorder.change(made)


def edges(found: Learned) -> set[tuple[str, str, str]]:
    return {each.key for each in found.proposals}


def test_whom_the_history_says_were_told_is_proposed(recorder: "Recorder", spark: SparkSession) -> None:
    """The subscriptions have ended; what was delivered is what is known of them."""
    keep_world(recorder)
    subscriptions = [wanting(recorder, name, QUAKE) for name in ("port0", "port1", "press0")]
    sent = quakes(recorder)
    for each in subscriptions:
        recorder.end(each)
    for offset in sent:
        for name in ("port0", "port1"):
            recorder.outcome(name, offset, "retry", "delivered")
        recorder.outcome("press0", offset, "dead")
    found = learned_from(recorder, spark)
    assert edges(found) == {("Labs", "Sea Quake", "Ports")}
    (proposal,) = found.proposals
    assert (proposal.told, proposal.chances, proposal.published) == (12, 12, 6)
    assert (proposal.support, proposal.confidence, found.publications, found.tellings) == (1.0, 1.0, 6, 12)
    assert [(each.producer, each.consumer) for each in proposal.examples[:2]] == [("lab", "port0"), ("lab", "port1")]
    assert len(proposal.examples) == 3


def test_whom_subscriptions_say_want_it_too(recorder: "Recorder", spark: SparkSession) -> None:
    """They came after what was published. One that asks for more than a topic and a producer says too little."""
    keep_world(recorder)
    quakes(recorder)
    for name in ("port0", "port1"):
        wanting(recorder, name, QUAKE, ProducerIs(categories=("Labs",)))
    for name in ("press0", "press1"):
        wanting(recorder, name, QUAKE, ProducerIs(addresses=(TIDE,)))
    for name in ("school0", "school1"):
        wanting(recorder, name, QUAKE, Content("xpath", "/depth > 3"))
    assert edges(learned_from(recorder, spark)) == {("Labs", "Sea Quake", "Ports")}


def test_a_copy_that_was_passed_on_is_told_by_who_passed_it_on(recorder: "Recorder", spark: SparkSession) -> None:
    keep_world(recorder)
    for name in ("press0", "press1"):
        wanting(recorder, name, ForNotifier(name))
    for number in range(4):
        for name in ("press0", "press1"):
            place = recorder.at.offset
            way = {"root": "lab", "sender": "port0", "hop": "2", "protocol": "din", "id": f"m{number}"}
            recorder.cloud_event("Alarm/Sea-Quake", f"/notifiers/{name}", source=LAB, **way)
            recorder.outcome(name, place, "delivered")
    assert edges(learned_from(recorder, spark)) == {("Ports", "Sea Quake", "Press")}


def test_edges_along_which_nobody_was_told(recorder: "Recorder", spark: SparkSession) -> None:
    used, idle, silent = (
        Edge(*key)
        for key in (("Labs", "Sea Quake", "Ports"), ("Labs", "Sea Quake", "Press"), ("Press", "Alarm", "Labs"))
    )
    keep_world(recorder, *map(PutEdge, (used, idle, silent)))
    quakes(recorder)
    wanting(recorder, "port0", QUAKE)
    found = learned_from(recorder, spark)
    assert not found.proposals
    assert [(each.source, each.target, each.published) for each in found.unused] == [
        ("Labs", "Press", 6),
        ("Press", "Labs", 0),
    ]
    assert "6 published, nobody under Press told" in found.unused[0].why


def test_without_a_world_or_a_history_it_says_so(recorder: "Recorder", spark: SparkSession) -> None:
    recorder.save()
    with pytest.raises(PipelineError, match=r"has no services.*tocsin ino load"):
        learn(LearnSettings(recorder.data))
    keep_world(recorder)
    with pytest.raises(PipelineError, match="there is no history to learn from"):
        learned_from(recorder, spark)


@pytest.mark.parametrize("noise", [0.0, pytest.param(0.1, marks=pytest.mark.long)])
def test_a_hidden_ino_is_found(spark: SparkSession, noise: float) -> None:
    """Fifty categories, two hundred topics."""
    found = learned(spark, hidden_ino(7, noise), noise, 7)
    assert found.precision >= 0.95
    assert found.recall >= 0.95
