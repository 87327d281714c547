"""The errors that end a Spark job, each as one sentence for people."""

import re
from pathlib import Path

from tocsin.store.errors import StoreError

_OURS = re.compile(r"^\s*tocsin\.[\w.]+: (.+)$", re.MULTILINE)
_ANY = re.compile(r"^\s*[\w.]*(?:Error|Exception): (.+)$", re.MULTILINE)


class PipelineError(Exception):
    """The root of this folder's exceptions; its text is meant for people."""


class LostRecords(PipelineError):
    """The log no longer holds records that it held."""


class OutOfStep(PipelineError):
    """Checkpoint, outbox and tables do not belong together."""


def sentence(problem: BaseException, log: Path) -> str:
    """What the innermost Python exception said. Spark hands it on as text, inside a Java trace."""
    text = str(problem)
    if isinstance(problem, PipelineError | StoreError):
        return text
    if found := _OURS.findall(text):
        return str(found[-1])
    lines = _ANY.findall(text) or text.splitlines() or [type(problem).__name__]
    return f"{lines[-1].strip()} (more in {log})"
