"""What stops a job, in one sentence."""

import re

_OURS = re.compile(r"^\s*tocsin\.[\w.]+: (.+)$", re.MULTILINE)
_ANY = re.compile(r"^\s*[\w.]*(?:Error|Exception): (.+)$", re.MULTILINE)


class PipelineError(Exception):
    """The root of this folder's exceptions; its text is meant for people."""


class LostRecords(PipelineError):
    """The log does not hold what it held."""


class OutOfStep(PipelineError):
    """Checkpoint, outbox and tables do not belong together."""


def sentence(problem: BaseException) -> str:
    """What the innermost Python exception said. Spark hands it on as text, inside a Java trace."""
    text = str(problem)
    found = _OURS.findall(text) or _ANY.findall(text)
    return str(found[-1] if found else next(iter(text.splitlines()), type(problem).__name__)).strip()
