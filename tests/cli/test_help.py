"""The help of all commands: in groups, each with an example that its command takes."""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.cli.inside import inside
from typer.main import get_command

from tocsin.cli import PANELS, application

GROUPS = ["Run", "Publish and subscribe", "Meaning and interest", "Operate", "Spark", "Lab"]
HEAVY = ("rich", "pydantic", "msgspec", "numpy", "numba", "pyarrow", "pyoxigraph", "lxml", "uvicorn", "asyncio")


def walk(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    yield name, command
    for each in getattr(command, "commands", {}):
        yield from walk(command.commands[each], f"{name} {each}")


ROOT = get_command(application)
COMMANDS = dict(walk(ROOT, "tocsin"))


def test_every_command_stands_in_one_of_the_groups() -> None:
    assert list(PANELS) == GROUPS
    told = inside("--help").stdout
    for title, commands in PANELS.items():
        panel = told.partition(f"╭─ {title} ─")[2].partition("╰")[0]
        assert panel and not [each for each in commands if f"│ {each} " not in panel]
    assert max(map(len, told.splitlines())) <= 80


def test_what_is_said_of_each_is_what_it_says_of_itself() -> None:
    for commands in PANELS.values():
        for name, (_, says) in commands.items():
            assert COMMANDS[f"tocsin {name}"].help.startswith(says.rstrip(".")), name


@pytest.mark.parametrize("name", [each for each in COMMANDS if each != "tocsin"])
def test_each_has_an_example_that_it_takes(name: str) -> None:
    label, _, example = COMMANDS[name].epilog.partition(": ")
    program, *words = shlex.split(example)
    assert (label, program) == ("Example", "tocsin") and f"{example} ".startswith(f"{name} ")
    parse(ROOT, words)


def parse(command: Any, words: list[str]) -> None:
    """As the command line does, but nothing is run."""
    context = command.make_context("tocsin", words)
    rest = [*context._protected_args, *context.args]
    if rest:
        parse(command.commands[rest[0]], rest[1:])


def test_help_imports_nothing_that_it_does_not_need() -> None:
    """It is drawn without rich, whose import takes longer than all the rest."""
    code = (
        "import sys\n"
        "from tocsin.cli import application\n"
        "try: application(['--help'])\n"
        "except SystemExit: pass\n"
        f"loaded = [name for name in {HEAVY} if name in sys.modules]\n"
        "own = {name for name in sys.modules if name.startswith('tocsin.')} - {'tocsin.cli', 'tocsin.cli.values'}\n"
        "sys.exit(f'{loaded} {own}' if loaded or own else 0)\n"
    )
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "Publish and subscribe" in done.stdout


def test_values_that_are_right_are_read_without_pydantic() -> None:
    """By what typer has in its place otherwise, which says what is wrong with the others."""
    code = (
        "import sys\n"
        "from tests.cli.test_help import parse, ROOT\n"
        "words = 'pull a --limit 7 --wait 1s --type x --type y --ca-file c.pem --json'.split()\n"
        "parse(ROOT, words)\n"
        "sys.exit('pydantic' in sys.modules)\n"
    )
    subprocess.run((sys.executable, "-c", code), check=True, timeout=60)
    for wrong in (("--limit", "0"), ("--limit", "1001"), ("--limit", "x")):
        done = inside("pull", "a", *wrong, check=False)
        assert done.returncode == 2 and "--limit" in done.stderr


def test_a_name_that_is_nearly_right_is_told() -> None:
    done = inside("pubish", check=False)
    assert done.returncode == 2 and "publish" in done.stderr
