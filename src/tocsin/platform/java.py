"""Whether there is Spark, and a Java it can run on. Only the standard library, so as to be asked before set-up."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

LEAST = 17
PATIENCE = 30.0
REMEDY = (
    f"install a JDK {LEAST} or newer (for example the package openjdk-{LEAST}-jre-headless) or set JAVA_HOME to one"
)

NO_SPARK = (
    "Spark is an extra that is not installed here: pip install 'tocsin[spark]'; `tocsin serve` runs a node without it."
)

# `17.0.15`, `21`, `22-ea`; before Java 9 it was `1.8.0_392`.
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def spark_problem(environ: Mapping[str, str]) -> str | None:
    """As `java_problem`, but first of the packages that a plain installation leaves out."""
    return java_problem(environ) if has_spark() else NO_SPARK


def has_spark() -> bool:
    return all(find_spec(name) is not None for name in ("pyspark", "pyarrow"))


def java_problem(environ: Mapping[str, str]) -> str | None:
    """One sentence that says what is wrong and what to install, or None when all is well."""
    home = environ.get("JAVA_HOME")
    # Spark looks nowhere else when JAVA_HOME is set, so a java on the PATH would not help.
    java = _executable(Path(home, "bin", "java")) if home else shutil.which("java", path=environ.get("PATH", ""))
    if java is None:
        found = f"JAVA_HOME is {home}, which has no bin/java" if home else "No Java was found"
        return f"{found}: {REMEDY}."
    try:
        said = subprocess.run([java, "-version"], env=dict(environ), capture_output=True, text=True, timeout=PATIENCE)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{java} could not be run ({_brief(error)}): {REMEDY}."
    version = _VERSION.search(said.stderr + said.stdout)
    if said.returncode != 0 or version is None:
        return f"{java} -version did not tell its version: {REMEDY}."
    if int(version[1]) < LEAST:
        return f"{java} is Java {version[1]}: {REMEDY}."
    return None


def _executable(path: Path) -> str | None:
    return str(path) if path.is_file() and os.access(path, os.X_OK) else None


def _brief(error: OSError | subprocess.TimeoutExpired) -> str:
    return error.strerror or "failed" if isinstance(error, OSError) else f"no answer in {error.timeout:g} s"


if __name__ == "__main__":
    if problem := java_problem(os.environ):
        print(problem, file=sys.stderr)
        sys.exit(2)
