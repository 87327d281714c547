"""Fig. 8 of paper 002 in the small: all ways agree, the literal one loses, and the tables say what was counted."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.commands import tocsin

from tocsin.lab import experiment
from tocsin.lab.experiments import ops
from tocsin.lab.experiments._ops_points import (
    DECOMPOSITION,
    KERNEL,
    LITERAL,
    REPAIRED,
    Answer,
    Disagreement,
    Point,
    Sample,
    bed,
    check,
    samples,
)

LISTED = """
import sys
from tocsin.lab.experiment import EXPERIMENTS
print("ops" in EXPERIMENTS.entries(), "numba" in sys.modules)
"""


def _answer(*matched: int, undecided: tuple[int, ...] = ()) -> Answer:
    return Answer(frozenset(matched), frozenset(undecided))


@pytest.mark.parametrize(
    "answers",
    [
        {REPAIRED: _answer(1, 2), KERNEL: _answer(1, 2), LITERAL: _answer(1, 2)},
        {REPAIRED: _answer(1, 2), KERNEL: _answer(1, 2), LITERAL: _answer()},
        {REPAIRED: _answer(1, 2), KERNEL: _answer(1, 2), DECOMPOSITION: _answer(1, undecided=(2,))},
    ],
    ids=["all alike", "the literal one may lose", "what is undecided is no contradiction"],
)
def test_answers_that_agree(answers: dict[str, Answer]) -> None:
    check(answers)


@pytest.mark.parametrize("wrong", [REPAIRED, DECOMPOSITION, KERNEL])
@pytest.mark.parametrize("said", [_answer(1), _answer(1, 2, 3)], ids=["one lost", "one too many"])
def test_exact_ways_must_agree(wrong: str, said: Answer) -> None:
    answers = dict.fromkeys((REPAIRED, DECOMPOSITION, KERNEL, LITERAL), _answer(1, 2)) | {LITERAL: _answer(1)}
    with pytest.raises(Disagreement, match=wrong):
        check(answers | {wrong: said})


def test_the_literal_way_may_not_invent() -> None:
    with pytest.raises(Disagreement, match="literal says that subscription 3 matches"):
        check({REPAIRED: _answer(1), KERNEL: _answer(1), LITERAL: _answer(1, 3)})


def _sample(seed: int, ms: dict[str, float], matched: dict[str, int]) -> Sample:
    return Sample(seed, ms, matched, dict.fromkeys(matched, 0), {}, nodes=30)


def test_a_point_is_made_of_its_events() -> None:
    both = dict.fromkeys((REPAIRED, KERNEL), 4)
    first = _sample(1, {REPAIRED: 3.0, LITERAL: 1.0, KERNEL: 0.5}, {**both, LITERAL: 1})
    other = _sample(2, {REPAIRED: 5.0, LITERAL: 1.0, KERNEL: 1.5}, {**both, LITERAL: 4})
    point = Point(10, 20, [first, other])
    assert (point.ms(REPAIRED), point.median_ms(KERNEL), point.ms(DECOMPOSITION)) == (4.0, 1.0, None)
    assert (point.times(REPAIRED, KERNEL), point.times(DECOMPOSITION, KERNEL)) == (4.0, None)
    assert (point.rate, point.lost, point.events_with_a_loss, point.trie_nodes) == (20.0, 3, 1, 1.5)
    assert (point.lost_percent, [each.lost_percent for each in point.by_seed()]) == (37.5, [75.0, 0.0])


def test_ways_leave_when_there_are_too_many_subscriptions() -> None:
    begun: list[int] = []
    largest = {REPAIRED: 5, DECOMPOSITION: 2, KERNEL: 9}
    found = dict(samples(bed(10, 9, 2, seed=1), (2, 5, 9), largest, begun.append))
    assert begun == [2, 5, 9]
    assert [sorted(found[size][0].ms) for size in begun] == [
        [DECOMPOSITION, KERNEL, REPAIRED],
        [KERNEL, REPAIRED],
        [KERNEL],
    ]
    assert found[5][0].counts[REPAIRED].subscriptions == 5
    assert all(ms > 0 for size in begun for each in found[size] for ms in each.ms.values())


def test_the_letter_of_section_5_3_loses_matches_and_the_repair_does_not() -> None:
    """That the repaired algorithm and the kernel agree on each event is checked on the way."""
    largest = {REPAIRED: 300, LITERAL: 300, KERNEL: 300}
    ((_, found),) = samples(bed(3, 300, 8, seed=1), (300,), largest, lambda size: None)
    point = Point(3, 300, found)
    assert point.matched(REPAIRED) == point.matched(KERNEL) > 0
    assert 0 < point.lost < point.matched(REPAIRED)


@pytest.mark.parametrize(
    ("choices", "sizes", "fixed"),
    [
        (ops.Choices(), [10, 100, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000], 1_000),
        (ops.Choices(largest=300, kernel=600), [10, 100, 300, 500, 600], 300),
        (ops.Choices(largest=300, kernel=10), [10, 100, 300], 300),
    ],
    ids=["by default", "other ones", "the kernel takes as many as the rest"],
)
def test_sizes(choices: ops.Choices, sizes: list[int], fixed: int) -> None:
    by_size, few, by_classes, lost = ops.courses(choices)
    assert (by_size.sizes, by_classes.sizes) == (sizes, [fixed])
    assert list(few.sizes) == [1, 2, 5, 10, 20]
    assert DECOMPOSITION in few.largest
    assert by_size.largest == {REPAIRED: choices.largest, LITERAL: choices.largest, KERNEL: sizes[-1]}
    assert len(lost.classes) * lost.models * lost.events > 500


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> experiment.Report:
    chosen = {"largest": "100", "kernel": "500", "models": "1", "events": "3"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ops, "FEW", (1, 2))
        patch.setattr(ops, "CLASSES", (2, 10, 20))
        patch.setattr(ops, "LOST_CLASSES", (2, 10))
        patch.setattr(ops, "MANY_EVENTS", 1)
        return experiment.run("ops", out=tmp_path_factory.mktemp("ops"), progress=lambda text: None, chosen=chosen)


@pytest.mark.long
def test_tables_and_picture(report: experiment.Report) -> None:
    by_title = {each.title.partition(":")[0]: each for each in report.tables}
    names = ["Fig. 8 (a)", "Fig. 8 (b)", "Fig. 8 (c), (d)", "Fig. 8 (e)", "Fig. 8 (f)"]
    assert list(by_title) == [*names, "What section 5.3 to the letter loses"]
    assert all(len(row) == len(each.columns) for each in report.tables for row in each.rows)
    assert [row[0] for row in by_title["Fig. 8 (a)"].rows] == [10, 100, 500]
    assert by_title["Fig. 8 (a)"].rows[-1][3] is None
    assert [row[0] for row in by_title["Fig. 8 (b)"].rows] == [1, 2]
    assert [row[0] for row in by_title["Fig. 8 (c), (d)"].rows] == [2, 10, 20]
    assert [row[0] for row in by_title["Fig. 8 (e)"].rows] == [10, 100]
    lost = by_title["What section 5.3 to the letter loses"]
    assert [row[:3] for row in lost.rows] == [(2, 100, 15), (10, 100, 15)]
    (picture,) = report.figures
    assert Path(picture).name == "ops-8.png"
    assert Path(picture).read_bytes()[:4] == b"\x89PNG"


@pytest.mark.long
def test_more_classes_mean_fewer_matches_and_smaller_trees(report: experiment.Report) -> None:
    space = next(each for each in report.tables if each.title.startswith("Fig. 8 (f)"))
    two, _, twenty = (dict(zip(space.columns, row, strict=True)) for row in space.rows)
    assert float(two["rate %"] or 0) > float(twenty["rate %"] or 0)
    assert float(two["nodes"] or 0) > float(two["grown"] or 0) > float(twenty["grown"] or 0)


def test_what_can_be_chosen_is_listed_without_loading_the_kernel() -> None:
    listed = {each["name"]: each["choices"] for each in json.loads(tocsin("lab", "list", "--json").stdout)}
    assert listed["ops"] == {"largest": 10_000, "kernel": 100_000, "models": 2, "events": 6}
    told = subprocess.run([sys.executable, "-c", LISTED], capture_output=True, text=True, check=True).stdout
    assert told.split() == ["True", "False"]
