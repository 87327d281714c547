"""Commands as a person runs them: real processes, real HTTP."""

import os
import subprocess
import sys

TOCSIN = (sys.executable, "-m", "tocsin")


def tocsin(
    *arguments: str, check: bool = True, text: str | None = None, **env: str
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        (*TOCSIN, *arguments), input=text, capture_output=True, text=True, timeout=110, env={**os.environ, **env}
    )
    assert not check or done.returncode == 0, done.stderr
    return done
