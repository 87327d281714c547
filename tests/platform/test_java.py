import os
import subprocess
import sys
from pathlib import Path

import pytest

from tocsin.platform import java
from tocsin.platform.java import java_problem, spark_problem

OPENJDK_17 = 'openjdk version "17.0.15" 2025-04-15\\nOpenJDK Runtime Environment (build 17.0.15+6)'


def fake_java(folder: Path, says: str, *, code: int = 0) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "java"
    script.write_text(f"#!/bin/sh\n[ \"$1\" = -version ] || exit 9\nprintf '{says}\\n' >&2\nexit {code}\n")
    script.chmod(0o755)
    return script


def with_path(folder: Path) -> dict[str, str]:
    return {"PATH": str(folder)}


@pytest.mark.parametrize(
    "says",
    [
        OPENJDK_17,
        'openjdk version "21" 2023-09-19',
        'openjdk version "26-ea" 2026-03-17',
        f"Picked up JAVA_TOOL_OPTIONS: -Xmx1g\\n{OPENJDK_17}",
    ],
)
def test_a_new_enough_java_is_no_problem(tmp_path: Path, says: str) -> None:
    fake_java(tmp_path, says)
    assert java_problem(with_path(tmp_path)) is None


@pytest.mark.parametrize(("says", "number"), [('java version "1.8.0_392"', "8"), ('openjdk version "11.0.2"', "11")])
def test_an_old_java_is_named_with_what_to_install(tmp_path: Path, says: str, number: str) -> None:
    script = fake_java(tmp_path, says)
    assert java_problem(with_path(tmp_path)) == f"{script} is Java {number}: {java.REMEDY}."


def test_no_java_at_all(tmp_path: Path) -> None:
    assert java_problem(with_path(tmp_path)) == f"No Java was found: {java.REMEDY}."
    assert java_problem({}) == f"No Java was found: {java.REMEDY}."


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    fake_java(tmp_path / "old", 'java version "1.8.0_392"')
    fake_java(tmp_path / "home" / "bin", OPENJDK_17)
    assert java_problem({"JAVA_HOME": str(tmp_path / "home"), **with_path(tmp_path / "old")}) is None


def test_an_empty_java_home_is_none(tmp_path: Path) -> None:
    fake_java(tmp_path, OPENJDK_17)
    assert java_problem({"JAVA_HOME": "", **with_path(tmp_path)}) is None


def test_a_java_home_without_java_is_a_problem_whatever_the_path_has(tmp_path: Path) -> None:
    fake_java(tmp_path, OPENJDK_17)
    problem = java_problem({"JAVA_HOME": str(tmp_path / "gone"), **with_path(tmp_path)})
    assert problem == f"JAVA_HOME is {tmp_path / 'gone'}, which has no bin/java: {java.REMEDY}."


def test_a_java_that_fails(tmp_path: Path) -> None:
    script = fake_java(tmp_path, OPENJDK_17, code=1)
    assert java_problem(with_path(tmp_path)) == f"{script} -version did not tell its version: {java.REMEDY}."


def test_a_java_that_says_something_else(tmp_path: Path) -> None:
    script = fake_java(tmp_path, "no runtime present")
    assert java_problem(with_path(tmp_path)) == f"{script} -version did not tell its version: {java.REMEDY}."


def test_a_java_that_cannot_be_run(tmp_path: Path) -> None:
    script = fake_java(tmp_path, "")
    script.write_bytes(b"\x7fELF no program")
    assert java_problem(with_path(tmp_path)) == f"{script} could not be run (Exec format error): {java.REMEDY}."


def test_a_java_that_never_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "PATIENCE", 0.05)
    script = fake_java(tmp_path, "")
    script.write_text("#!/bin/sh\nread -r forever < /dev/zero\n")
    problem = java_problem({"PATH": f"{tmp_path}:{os.defpath}"})
    assert problem == f"{script} could not be run (no answer in 0.05 s): {java.REMEDY}."


def test_as_a_program_it_exits_with_2_and_one_sentence(tmp_path: Path) -> None:
    found = subprocess.run([sys.executable, java.__file__], env=with_path(tmp_path), capture_output=True, text=True)
    assert (found.returncode, found.stdout, found.stderr) == (2, "", f"No Java was found: {java.REMEDY}.\n")


def test_spark_is_missed_before_java(monkeypatch: pytest.MonkeyPatch) -> None:
    assert spark_problem({}) == java_problem({})
    monkeypatch.setattr(java, "find_spec", lambda name: None)
    assert spark_problem({}) == java.NO_SPARK
