"""What became of a message, for eyes: short however long it is, and whole when reports are still missing."""

import pytest
from msgspec.structs import replace
from rich.console import Console

from tocsin.cli.disseminations import MOST_LINES, figures, show_result, told_tree
from tocsin.routing.implicit.result import Dissemination, Kept, Step


def lines(found: Dissemination) -> list[str]:
    console = Console(width=100)
    with console.capture() as capture:
        console.print(told_tree(found, "root", "fire"))
    return [line.rstrip() for line in capture.get().splitlines()]


def result(*steps: Step, suppressed: tuple[Kept, ...] = (), waiting: tuple[str, ...] = ()) -> Dissemination:
    told = tuple(dict.fromkeys(step.to for step in steps))
    return Dissemination("din", len(steps), 0, told, steps, None, suppressed, waiting=waiting)


def test_each_is_under_the_one_that_told_it_first() -> None:
    steps = (
        Step("root", "a", 1),
        Step("a", "b", 2),
        Step("b", "a", 3, repeated=True),
        Step("b", "a", 4, repeated=True),
    )
    assert lines(result(*steps, suppressed=(Kept("b", "root", "header"),))) == [
        "root  publishes fire",
        "└── a  hop 1, 0.0 ms",
        "    └── b  hop 2, 0.0 ms",
        "        ├── a again: a repetition, 2 times",
        "        └── root not again: the header names it",
    ]


def test_one_of_which_nothing_was_heard_stands_with_those_it_told() -> None:
    shown = lines(result(Step("quiet", "b", 2), Step("b", "c", 3), waiting=("quiet",)))
    assert shown == [
        "root  publishes fire",
        "└── quiet  has passed it on, but not said so yet",
        "    └── b  hop 2, 0.0 ms",
        "        └── c  hop 3, 0.0 ms",
    ]


def test_two_that_each_heard_it_from_the_other_are_shown_once() -> None:
    """As clocks that differ may have it."""
    assert len(lines(result(Step("a", "b", 2), Step("b", "a", 2)))) == 4


def test_a_long_tree_is_cut() -> None:
    shown = lines(result(*(Step("root", f"n{number}", 1) for number in range(10_000))))
    assert len(shown) == MOST_LINES + 2 and shown[-1].endswith("... and more; --json has all of it")


def test_a_deep_tree_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    """Deeper than a terminal is wide."""
    steps = (Step(f"n{number - 1}" if number else "root", f"n{number}", number + 1) for number in range(100))
    show_result(result(*steps), "root", "fire")
    shown = capsys.readouterr().err.splitlines()
    assert len(shown) == 102 and "n99  hop 100" in shown[-1]


def test_a_root_that_has_not_begun_says_what_it_waits_for(capsys: pytest.CaptureFixture[str]) -> None:
    """Of CIN the central history; a root that is told by others is one of those who are waited for."""
    show_result(replace(result(waiting=("root",)), protocol="cin"), "root", "fire")
    shown = capsys.readouterr().err
    assert "root waits for the central history" in shown and "nothing heard" not in shown
    show_result(result(waiting=("root",)), "root", "fire")
    assert "root has not passed it on yet" in capsys.readouterr().err
    show_result(result(Step("root", "a", 1), waiting=("b", "root")), "root", "fire")
    assert "nothing heard yet of b, root" in capsys.readouterr().err


def test_one_that_is_withheld_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    for number, told in ((1, "1 more notification was not sent"), (2, "2 more notifications were not sent")):
        show_result(replace(result(Step("root", "a", 1)), stopped="limit", withheld=number), "root", "fire")
        assert told in capsys.readouterr().err.replace("\n", " ")


def test_figures_speak_of_one_and_of_many() -> None:
    assert str(figures(result(Step("root", "a", 1)))).startswith("din  1 service told, 1 notification, 0 repetitions")
