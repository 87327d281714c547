"""A wheel in an empty environment, without the extra `spark`: it runs a node."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
pytestmark = [pytest.mark.long, pytest.mark.broker, pytest.mark.timeout(900)]


def run(*command: str | Path, given: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """With nothing of this environment: what is found must have been installed."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    words = [str(word) for word in command]
    return subprocess.run(words, input=given, capture_output=True, text=True, cwd=TOP, env=clean | environment)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    made = run("tools/wheel", sys.executable, folder)
    assert made.returncode == 0, made.stderr
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def tocsin(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of an environment with the wheel and what it asks for, in the versions that are tested."""
    venv = tmp_path_factory.mktemp("empty") / "venv"
    assert run(sys.executable, "-m", "venv", venv).returncode == 0
    python, what = venv / "bin" / "python", ("-c", "requirements/runtime.txt", wheel)
    done = run(Path(sys.executable).parent / "uv", "pip", "install", "--quiet", "--python", python, *what)
    if done.returncode != 0:  # uv knows nothing of pip's own configuration
        done = run(python, "-m", "pip", "install", "--quiet", *what)
    assert done.returncode == 0, done.stderr
    return venv / "bin" / "tocsin"


def test_everything_in_the_source_is_in_the_wheel(wheel: Path) -> None:
    source = TOP / "src"
    made = ("__pycache__", ".nbi", ".nbc", ".egg-info")  # beside the source, by whoever ran it
    files = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    scripts = {f"tocsin-{version('tocsin')}.data/scripts/{path.name}" for path in (TOP / "scripts").iterdir()}
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == scripts | {name for name in files if not any(each in name for each in made)}


def test_the_command_helps(tocsin: Path) -> None:
    done = run(tocsin, "--help")
    assert done.returncode == 0, done.stderr
    assert "serve" in done.stdout


def test_a_node_takes_what_is_published(tocsin: Path, tmp_path: Path) -> None:
    serve = [str(tocsin), "serve", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "data"), "--json"]
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=clean) as node:
        try:
            assert node.stdout is not None
            url = json.loads(node.stdout.readline())["url"]
            said = run(
                tocsin, "publish", "-", "--topic", "flood/severe", "--broker", url, given="<alert>Passau</alert>"
            )
            assert said.returncode == 0, said.stderr
            with urllib.request.urlopen(f"{url}/api/topics") as answer:
                assert b"flood/severe" in answer.read()
        finally:
            node.send_signal(signal.SIGTERM)
    assert node.returncode == 0


@pytest.mark.parametrize("command", ["pipeline run", "pipeline replay", "pipeline learn", "pipeline status", "up"])
def test_what_needs_spark_says_what_to_install(tocsin: Path, tmp_path: Path, command: str) -> None:
    done = run(tocsin, *command.split(), "--data", tmp_path)
    assert done.returncode == 2
    assert "pip install 'tocsin[spark]'" in done.stderr.replace("\n", " ")
    assert "Traceback" not in done.stderr
