"""The errors that end a Spark job, each as one sentence for people."""

import re
from pathlib import Path

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]

from tocsin.store.errors import StoreError

_OURS = re.compile(r"^\s*tocsin\.[\w.]+: (.+)$", re.MULTILINE)
_ANY = re.compile(r"^\s*[\w.]*(?:Error|Exception): (.+)$", re.MULTILINE)
_BACKUP = "restore the data directory from a backup, nothing was changed in it"
_ADVICE = {
    "is damaged at byte": _BACKUP,
    "it was lost or replaced": _BACKUP,
    "not a record of the log": "start the version of Tocsin that wrote it, nothing was changed",
    "No space left on device": "make room there; what was published stays, and the rest is done again",
    "Permission denied": "let the user that runs the job write there",
    "Read-only file system": "let the user that runs the job write there",
    "Not a directory": "name a folder",
}


class PipelineError(Exception):
    """The root of this folder's exceptions; its text is meant for people."""


class LostRecords(PipelineError):
    """The log no longer holds records that it held."""


class OutOfStep(PipelineError):
    """Checkpoint, outbox and tables do not belong together."""


def is_lasting(problem: BaseException) -> bool:
    """Whether starting again would end in the same: damage, loss, a wrong layout, a JVM that is gone."""
    ours = isinstance(problem, PipelineError | StoreError) or _OURS.search(str(problem)) is not None
    return ours or isinstance(problem, Py4JError | OSError)


def sentence(problem: BaseException, log: Path) -> str:
    """What went wrong, and what to do."""
    if isinstance(problem, Py4JError | ConnectionError) and not isinstance(problem, Py4JJavaError):
        return f"Spark's JVM ended; {log} may say why. Start again: it goes on where it was"
    said = _said(problem, log)
    advice = next((advice for sign, advice in _ADVICE.items() if sign in said), None)
    return said if advice is None or advice in said else f"{said}; {advice}"


def plain(text: str) -> str:
    """What delta-rs says, in one line: it draws the causes of an error as a coloured tree."""
    return " ".join(re.sub(r"\x1b\[[\d;]*m|\s*↳", "", text).split())


def _said(problem: BaseException, log: Path) -> str:
    """By the innermost Python exception. Spark hands it on as text, inside a Java trace."""
    text = str(problem)
    if isinstance(problem, PipelineError | StoreError):
        return text
    if found := _OURS.findall(text):
        return str(found[-1])
    if isinstance(problem, OSError):
        return plain(text)
    lines = _ANY.findall(text) or text.splitlines() or [type(problem).__name__]
    return f"{lines[-1].strip()} (more in {log})"
