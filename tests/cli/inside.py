"""Commands in this process: for the many that differ in little, where a process of its own for each takes too long."""

import subprocess

from typer.testing import CliRunner

from tocsin.cli import application


def inside(
    *arguments: str, check: bool = True, text: str | None = None, **env: str
) -> "subprocess.CompletedProcess[str]":
    done = CliRunner().invoke(application, list(arguments), input=text, env={"COLUMNS": "120"} | env)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert not check or done.exit_code == 0, done.stderr
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout, done.stderr)
