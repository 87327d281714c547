"""What can go wrong with what is kept."""

from pathlib import Path


class StoreError(Exception):
    """The root of this folder's exceptions."""


class CannotAppend(StoreError):
    """The record is not in the log, and will not appear in it."""


class LogRefuses(CannotAppend):
    """The disk failed in a way after which only opening the log again tells what is on it."""


class LogFull(CannotAppend):
    """So much waits for the disk that no more is taken; a little later there is room again."""


class LogInUse(StoreError):
    """Another process writes this log."""


class NewerFormat(StoreError):
    """Written by a later version than this one reads."""


class DatabaseFailed(StoreError):
    """SQLite could not do it; nothing of the transaction is kept."""


class NoDirectory(StoreError):
    """The data directory cannot be made or used."""


class EngineMismatch(StoreError):
    """The data directory belongs to the other engine."""


class CorruptLog(StoreError):
    """What was durable cannot be read back."""

    def __init__(self, path: Path, byte: int, offset: int, problem: str) -> None:
        super().__init__(f"{path} is damaged at byte {byte} (record {offset}): {problem}")
        self.path, self.byte, self.offset, self.problem = path, byte, offset, problem

    def __reduce__(self) -> tuple[type["CorruptLog"], tuple[Path, int, int, str]]:
        return CorruptLog, (self.path, self.byte, self.offset, self.problem)


class OffsetGone(StoreError):
    """Retention removed what was asked for."""

    def __init__(self, offset: int, start: int) -> None:
        super().__init__(f"record {offset} is no longer kept; the log starts at record {start}")
        self.offset, self.start = offset, start

    def __reduce__(self) -> tuple[type["OffsetGone"], tuple[int, int]]:
        return OffsetGone, (self.offset, self.start)
