"""Values of flags: typer reads them by pydantic, whose import alone takes a fifth of a second of every command.

Those of plain types are read here. What is wrong is left to typer, which says so.
"""

from pathlib import Path
from typing import Any, get_args, get_origin

import typer.core
from typer._coercion import build_runtime_param

_BY_TYPER = build_runtime_param
_PLAIN = (str, Path, int, float, bool)


class PlainValues:
    """What typer makes of a parameter to read its value by."""

    def __init__(self, kind: type[Any], descriptor: Any) -> None:
        self._kind, self._descriptor = kind, descriptor
        self._least, self._most = descriptor.parameter_info.min, descriptor.parameter_info.max

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        several = param.nargs == -1 or getattr(param, "multiple", False)
        if value is None:
            return () if several else None
        try:
            return [self._read(each) for each in value] if several else self._read(value)
        except ValueError:
            return _BY_TYPER(self._descriptor).coerce(value, param=param, ctx=ctx)

    def _read(self, value: Any) -> Any:
        if self._kind is bool and not isinstance(value, bool):
            raise ValueError(value)
        found = self._kind(value)
        if (self._least is not None and found < self._least) or (self._most is not None and found > self._most):
            raise ValueError(value)
        return found


def _reader(descriptor: Any) -> Any:
    annotation = descriptor.annotation
    kind = get_args(annotation)[0] if get_origin(annotation) is list else annotation
    return PlainValues(kind, descriptor) if kind in _PLAIN else _BY_TYPER(descriptor)


def read_plainly() -> None:
    """From now on, in this process."""
    setattr(typer.core, "build_runtime_param", _reader)  # noqa: B010 - typer has no other place for it
