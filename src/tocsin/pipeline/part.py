"""One task's share of a batch's tables."""

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq

from tocsin.pipeline.tables import SCHEMAS, folder

_GROUP_ROWS = 4_096
_GROUP_BYTES = 8 << 20
Row = tuple[Any, ...]


class Part:
    """Writes rows where they belong. The task writes the files itself: as Spark jobs the tables took twice as long.

    A file gets its name when it is whole and on disk, so that a task tried again replaces it and never mixes with it.
    """

    def __init__(self, data: Path, batch: int, number: int) -> None:
        self._data, self._batch, self._number = data, batch, number
        self._files: dict[str, _File] = {}

    def add(self, table: str, row: Row, size: int = 0) -> None:
        file = self._files.get(table)
        if file is None:
            path = folder(self._data, table, self._batch) / f"part-{self._number:05}.parquet"
            file = self._files[table] = _File(path, SCHEMAS[table])
        file.add(row, size)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, at: TracebackType | None
    ) -> None:
        for file in self._files.values():
            file.close(keep=problem is None)


class _File:
    def __init__(self, path: Path, schema: pa.Schema) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path, self._schema = path, schema
        self._partial = path.with_suffix(f".{os.getpid()}")
        self._writer = pq.ParquetWriter(self._partial, schema, compression="zstd")
        self._rows: list[Row] = []
        self._size = 0

    def add(self, row: Row, size: int) -> None:
        self._rows.append(row)
        self._size += size
        if len(self._rows) >= _GROUP_ROWS or self._size >= _GROUP_BYTES:
            self._flush()

    def close(self, *, keep: bool) -> None:
        if keep:
            self._flush()
        self._writer.close()
        if not keep:
            self._partial.unlink()
            return
        _sync(self._partial)
        self._partial.rename(self._path)
        _sync(self._path.parent)

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_batch(_batch(self._schema, self._rows))
        self._rows, self._size = [], 0


def _batch(schema: pa.Schema, rows: Sequence[Row]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
