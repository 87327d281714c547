"""Commands as a person runs them."""

import os
import subprocess
import sys

from tests.cli.inside import inside
from tests.effort import EFFORT

TOCSIN = (sys.executable, "-m", "tocsin")


def tocsin(
    *arguments: str, check: bool = True, text: str | None = None, **env: str
) -> "subprocess.CompletedProcess[str]":
    """By a process of its own where every test is run; otherwise in this one, which takes a hundredth of the time."""
    return (process if EFFORT >= 1 else inside)(*arguments, check=check, text=text, **env)


def process(
    *arguments: str, check: bool = True, text: str | None = None, **env: str
) -> "subprocess.CompletedProcess[str]":
    done = subprocess.run(
        (*TOCSIN, *arguments), input=text, capture_output=True, text=True, timeout=280, env={**os.environ, **env}
    )
    assert not check or done.returncode == 0, done.stderr
    return done
