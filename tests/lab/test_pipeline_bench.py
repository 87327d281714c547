"""Small runs of the benchmark of the pipeline: that it measures what it says, not how fast anything is."""

import json
import re
import subprocess
import sys
from math import isfinite
from pathlib import Path

import pytest

from tocsin.flow.flow import normalise
from tocsin.lab.benches import pipeline
from tocsin.lab.benches._pipeline_job import Cpu, Mark
from tocsin.lab.benches._pipeline_rival import filed, keys_told
from tocsin.lab.benches._pipeline_stages import IN_TASKS, PUBLISHED, staged
from tocsin.lab.benches._pipeline_workload import DECLARED, RDF, SEMANTIC, TOLD, published, standing
from tocsin.lab.workloads.files import one_by_one
from tocsin.matching.catalogue import Catalogue
from tocsin.model.filters import Graph

SMALL = {"subscriptions": 1_500, "largest": 1_500, "batch": 100, "warm": 1, "rounds": 1, "growth": 100, "rival": 50}


def test_publications_are_in_all_dialects_and_all_kinds_of_subscriptions_are_told() -> None:
    asking, known = list(standing(4 * SEMANTIC, 1)), Catalogue(DECLARED)
    told = [each for _, record in zip(range(10 * RDF), published(0, 1), strict=False) for each in normalise(record)]
    spoken = {each.dialect for each in TOLD} | {"raw"}
    assert {each.dialect for each in told} == spoken - {"wse-2004-01"}, (
        "its events are read as those of the next version"
    )
    wanted = {name for each in told for name in one_by_one(asking, each, known)}
    kinds = {type(one) for each in asking if each.id in wanted for one in each.filters}
    assert len(kinds) == 6
    assert Graph in kinds


def test_the_rival_files_each_subscription_where_its_publications_look() -> None:
    asking, known, found = list(standing(2_000, 3)), Catalogue(DECLARED), 0
    by_name = {str(each.id): each for each in asking}
    for _, record in zip(range(60), published(0, 3), strict=False):
        for told in normalise(record):
            keys = set(keys_told(told, known))
            for name in one_by_one(asking, told, known):
                assert keys.intersection(filed(by_name[name]))
                found += 1
    assert found > 20


def test_stages_are_told_apart(tmp_path: Path) -> None:
    with pipeline.bench(pipeline.Sizes(200, 200, 60, 1, 1), 1) as made:
        found = staged(made.laid, made.state, made.scratch, [(0, 30), (30, 60)])
    assert set(found) == {*IN_TASKS, PUBLISHED}
    assert all(seconds > 0 for seconds in found.values())


def test_what_workers_took_is_divided_as_the_stages_divide_it() -> None:
    alone = dict.fromkeys(IN_TASKS, 1.0) | {PUBLISHED: 0.5}
    found = pipeline.by_stage(Cpu(2.0, 3.0, 12.0), alone, 2.0)
    assert sum(found.values()) == pytest.approx(17.0)
    assert (found[IN_TASKS[0]], found[PUBLISHED], found["JVM"]) == (2.0, 1.0, 3.0)


def test_growth_begins_when_all_is_warm() -> None:
    """Twice as many cost twice as much, however much was paid before."""
    marks = [Mark(each, Cpu(0.0, 0.0, 9.0 + each / 100), 0.0) for each in range(100, 1_100, 100)]
    found = pipeline.growth(marks, 100, 100)
    assert found.ours == pytest.approx(1.0)
    assert found.met


@pytest.mark.spark
@pytest.mark.long
def test_the_command_tells_all_of_it() -> None:
    """In a process of its own, for it starts and stops Spark. It ends by itself when Spark finds other pairs than plain
    processes do, or the rival others than Spark."""
    chosen = [word for name, value in SMALL.items() for word in ("--set", f"{name}={value}")]
    command = [sys.executable, "-m", "tocsin", "bench", "run", "pipeline", "--json", *chosen]
    ran = subprocess.run(command, capture_output=True, check=False)
    found = {each["case"]: each for each in json.loads(ran.stdout)["results"]}
    assert all(isfinite(each["ours"]) for each in found.values())
    case = "1,500 subscriptions"
    assert (found[case]["rival"], found[case]["target"]) == (pipeline.PLAIN, 0.7)
    shares = {name: each for name, each in found.items() if each["unit"] == "%" and each["target"] is None}
    assert sum(each["ours"] for each in shares.values()) == pytest.approx(100)
    assert {each["target"] for each in found.values()} == {None, 0.7, 1.0}
    pairs = re.match(r"the same ([\d,]+) pairs", found["the whole job"]["note"])
    assert pairs is not None and int(pairs[1].replace(",", "")) > 10
    for table in ("notifications", "matches", "history"):
        assert found[f"table {table}"]["sizes"]["rows"] > 0 < found[f"table {table}"]["ours"]
    assert found["table quarantine"]["sizes"]["rows"] == 100
    assert found["growth with publications"]["ours"] > 0
