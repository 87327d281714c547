"""Protocols of implicit notification over a world in tables, on Spark: the counts of the machines."""

import json
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession
from tests.cli.commands import process
from tests.cli.inside import inside
from tests.sim.test_counting import crowd, tallied

from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.simulate import SimulateSettings, Task, simulate_on
from tocsin.pipeline.tables.reading import scan
from tocsin.pipeline.tables.schemas import SIMULATIONS
from tocsin.pipeline.tables.storage import Storage
from tocsin.pipeline.world_tables import read_world
from tocsin.routing.implicit.protocols import PROTOCOLS
from tocsin.semantics.interest import world_json
from tocsin.semantics.interest.changes import PutRules
from tocsin.semantics.interest.world import World
from tocsin.sim import counting
from tocsin.sim.counting import Count

pytestmark = pytest.mark.spark
SCENARIOS = Path(__file__).parents[2] / "examples" / "scenarios"


def tables(world: World) -> dict[str, pa.Table]:
    categories = [list(each.categories) for each in world.services.values()]
    edges = list(world.edges)
    return {
        "services": pa.table({"name": list(world.services), "categories": categories}),
        "categories": _taxonomy(world.categories.items()),
        "topics": _taxonomy(world.topics.items()),
        "edges": pa.table({name: [key[at] for key in edges] for at, name in enumerate(("source", "topic", "target"))}),
    }


def _taxonomy(items: Iterable[tuple[str, str | None]]) -> pa.Table:
    names, parents = zip(*items, strict=True)
    return pa.table({"name": names, "parent": pa.array(parents, pa.string())})


def in_csv(table: pa.Table) -> pa.Table:
    if "categories" not in table.column_names:
        return table
    joined = [";".join(each) for each in table["categories"].to_pylist()]
    return pa.table({"name": table["name"], "categories": joined})


def write(folder: Path, world: World, form: str = "parquet", **instead: pa.Table) -> str:
    folder.mkdir(exist_ok=True)
    for name, table in (tables(world) | instead).items():
        match form:
            case "parquet":
                pq.write_table(table, folder / f"{name}.parquet")
            case "csv":
                pyarrow.csv.write_csv(in_csv(table), folder / f"{name}.csv")
            case "jsonl":
                lines = "".join(f"{json.dumps(row)}\n" for row in table.to_pylist())
                (folder / f"{name}.jsonl").write_text(lines)
            case "delta":
                write_deltalake(str(folder / name), table)
    return str(folder)


@pytest.fixture
def world() -> World:
    made = crowd(Random(7), services=40, categories=8)
    made.apply(PutRules())
    return made


def busiest(world: World, number: int) -> tuple[str, ...]:
    return tuple(sorted(world.services, key=lambda name: -len(world.neighbours(name, "t0")))[:number])


@pytest.mark.parametrize("form", ["parquet", "csv", "jsonl", "delta"])
def test_it_counts_as_the_machines_do(form: str, world: World, spark: SparkSession, tmp_path: Path) -> None:
    roots = busiest(world, 2)
    place = write(tmp_path / "world", world, form)
    found = simulate_on(spark, SimulateSettings(place, roots, ("t0", "t1"), limit=3))
    asked = [(root, topic, name) for root in roots for topic in ("t0", "t1") for name in PROTOCOLS]
    assert [(each.root, each.topic, each.protocol) for each in found.results] == asked
    for each in found.results:
        count = Count(*(getattr(each, name) for name in Count.__struct_fields__))
        assert count == tallied(world, each.root, each.topic, each.protocol, 3)
    assert (found.services, found.categories, found.edges) == (
        len(world.services),
        len(world.categories),
        len(world.edges),
    )


def test_edges_are_inherited_on_request(world: World, spark: SparkSession, tmp_path: Path) -> None:
    place, (root,) = write(tmp_path / "world", world), busiest(world, 1)
    asked = SimulateSettings(place, (root,), ("t1",), protocols=("din",), inherit_topics=True, inherit_categories=True)
    world.apply(PutRules(inherit_topics=True, inherit_categories=True))
    expected = tallied(world, root, "t1", "din", 16)
    assert simulate_on(spark, asked).results[0].notifications == expected.notifications


def test_a_scenario_says_what_is_published(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "scenario.json"
    services = {"N1": ["C1"], "N2": ["C2"], "N3": ["C2"]}
    said = {"topics": {"T": None}, "categories": {"C1": None, "C2": None}, "services": services}
    publish = {"root": "N1", "topic": "T", "data": ""}
    path.write_text(json.dumps(said | {"edges": [["C1", "T", "C2"]], "publish": publish}))
    found = simulate_on(spark, SimulateSettings(str(path), protocols=("cin", "hin")))
    assert [(each.root, each.notifications, each.receivers) for each in found.results] == [("N1", 2, 2)] * 2


def test_a_scenario_weighs_votes_as_the_world_does(world: World, spark: SparkSession, tmp_path: Path) -> None:
    path, (root,) = tmp_path / "scenario.json", busiest(world, 1)
    written = json.loads(world_json.write(world))
    source, _, target = next(key for key in world.edges if key[1] == "t0")
    written["edges"] = [{"source": source, "topic": "t0", "target": target, "proposed_by": "somebody"}]
    path.write_text(json.dumps(written))
    found = simulate_on(spark, SimulateSettings(str(path), (root,), ("t0",), protocols=("din",)))
    assert found.results[0].notifications == 0


def test_many_publications_are_rows_of_a_table(world: World, spark: SparkSession, tmp_path: Path) -> None:
    place, roots = write(tmp_path / "world", world), sorted(world.services)
    published = tmp_path / "publications.csv"
    published.write_text("root,topic\n" + "".join(f"{root},t0\n" for root in roots))
    seen: list[tuple[int, int]] = []
    kept = str(tmp_path / "tables")
    asked = SimulateSettings(place, publications=str(published), protocols=("din", "hin-din"), tables=kept)
    found = simulate_on(spark, asked, lambda done, total: seen.append((done, total)))
    assert len(found.results) == 2 * len(roots) and seen[-1][0] == seen[-1][1]
    again = simulate_on(spark, asked)
    rows = scan(Storage.at(kept), SIMULATIONS).to_pylist()
    assert len(rows) == 4 * len(roots) and {row["simulation"] for row in rows} == {found.id, again.id}
    stored = {(row["root"], row["protocol"]): (int(row["withheld"]), row["notifications"]) for row in rows}
    assert stored == {(each.root, each.protocol): (each.withheld, each.notifications) for each in found.results}


def test_a_sample_is_the_same_for_the_same_seed(world: World, spark: SparkSession, tmp_path: Path) -> None:
    place = write(tmp_path / "world", world)
    asked = SimulateSettings(place, topics=("t0",), sample=5, protocols=("cin",))
    first, second = (simulate_on(spark, asked).results for _ in range(2))
    assert [each.root for each in first] == [each.root for each in second] and len(first) == 5


def test_what_is_not_counted_has_a_note(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_FOLLOWED", 1)
    task = Task.of(read_world(write(tmp_path / "world", world), PutRules()), 16)
    asked = [{"number": 0, "root": "r", "topic": "t0", "protocol": name} for name in ("hin", "hin-din")]
    hin, other = (row for batch in task.run(iter([pa.RecordBatch.from_pylist(asked)])) for row in batch.to_pylist())
    assert hin["notifications"] is None and hin["note"].startswith("hin follows the copies of each class")
    assert other["notifications"] is not None and other["note"] is None


@pytest.mark.long
def test_the_command_counts_as_a_dry_run_does() -> None:
    scenario = str(SCENARIOS / "fig-13.json")
    done = process("pipeline", "simulate", scenario, "--master", "local[1]", "--json")
    found = json.loads(done.stdout)
    dry = json.loads(inside("implicit", "run", scenario, "--protocol", "all", "--json").stdout)
    names = ("protocol", "notifications", "repetitions", "withheld", "hops")
    assert [[each[name] for name in names] for each in found["results"]] == [
        [each[name] for name in names] for each in dry["results"]
    ]
    assert (found["services"], found["edges"], done.stderr) == (5, 5, "")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("nowhere", "--root", "a", "--topic", "t"), "one table 'topics' is needed"),
        (("nowhere", "--protocol", "gossip"), "'gossip' is no protocol; there are: bin"),
        (("nowhere", "--inherit", "all"), "--inherit 'all': it is topics or categories"),
    ],
)
def test_the_command_says_what_is_wrong(arguments: tuple[str, ...], why: str) -> None:
    done = inside("pipeline", "simulate", *arguments, check=False)
    assert done.returncode and why in done.stderr and not done.stdout


CATEGORIES = pa.table({"name": ["c0", "c1"], "parent": ["c1", "c0"]})


@pytest.mark.parametrize(
    ("instead", "why"),
    [
        ({"categories": CATEGORIES}, "the category taxonomy has a cycle: c0 under c1 under c0; break it"),
        ({"topics": pa.table({"name": ["t0"], "parent": ["tx"]})}, r"topics, row 1: there is no topic 'tx'"),
        (
            {"services": pa.table({"name": ["a", "b"], "categories": [["c1"], ["c1", "d7"]]})},
            "'b' is in the category 'd7', which categories do not have; there are: c0, .*add it, or correct",
        ),
        ({"services": pa.table({"name": ["a", "a"], "categories": [["c1"], ["c0"]]})}, "two of the name 'a'; keep one"),
        ({"services": pa.table({"name": ["a"], "categories": [["c1", "c1"]]})}, "'a' has a category twice; keep one"),
        (
            {"services": pa.table({"name": ["a"], "categories": pa.array([[]], pa.list_(pa.string()))})},
            "'a' has no category; name at least one",
        ),
        ({"services": pa.table({"name": [None], "categories": [["c1"]]})}, "services, row 1: a service needs a name"),
        ({"services": pa.table({"name": ["a"], "kind": ["c1"]})}, "services: there is no column 'categories', only"),
        (
            {"edges": pa.table({"source": ["c1"], "topic": ["t0"], "target": ["c77"]})},
            "edges, row 1: there is no category 'c77'",
        ),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    instead: dict[str, pa.Table], why: str, world: World, spark: SparkSession, tmp_path: Path
) -> None:
    place = write(tmp_path / "world", world, **instead)
    with pytest.raises(PipelineError, match=why):
        simulate_on(spark, SimulateSettings(place, ("a",), ("t0",)))


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"roots": ("nobody",)}, "there is no service 'nobody' among"),
        ({"topics": ("tx",)}, "there is no topic 'tx'"),
        ({"topics": ()}, "say both who publishes"),
        ({"roots": (), "topics": ()}, "nothing is published; say --root and --topic"),
        ({"protocols": ("gossip",)}, "'gossip' is no protocol"),
        ({"world": "nowhere"}, "one table 'topics' is needed, and there is none; write topics.parquet"),
        ({"publications": "nowhere.csv"}, "nowhere.csv: cannot be read"),
    ],
)
def test_what_cannot_be_asked_is_said_before_spark_works(
    changed: dict[str, str], why: str, world: World, spark: SparkSession, tmp_path: Path
) -> None:
    given = {"world": write(tmp_path / "world", world), "roots": busiest(world, 1), "topics": ("t0",)} | changed
    with pytest.raises(PipelineError, match=why):
        simulate_on(spark, SimulateSettings(**given))  # type: ignore[arg-type]
