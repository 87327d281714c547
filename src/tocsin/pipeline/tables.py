"""The Parquet tables, in folders `batch=<id>`. Only committed batches count; all readers and writers are here."""

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from tocsin.store.outbox import Encoded, Outbox
from tocsin.store.places import Places

_TEXT, _NUMBER, _TIME = pa.string(), pa.int64(), pa.timestamp("us", "UTC")
_PLACE = [("node", _TEXT), ("offset", _NUMBER), ("index", pa.int32())]

NOTIFICATIONS, MATCHES, HISTORY, ERRORS = "notifications", "matches", "history", "errors"
DELIVERIES = "deliveries"  # on their way to the outbox, gone when they are in it
SCHEMAS = {
    NOTIFICATIONS: pa.schema(
        [
            ("id", _TEXT),
            *_PLACE,
            ("when", _TIME),
            *((name, _TEXT) for name in ("dialect", "producer", "topic", "type")),
            ("attributes", pa.map_(_TEXT, _TEXT)),
            ("media_type", _TEXT),
            ("payload", pa.binary()),
            ("cause", _TEXT),
        ]
    ),
    MATCHES: pa.schema([("notification", _TEXT), *_PLACE, ("subscription", _TEXT), ("when", _TIME)]),
    HISTORY: pa.schema(
        [
            ("notification", _TEXT),
            ("subscription", _TEXT),
            *_PLACE,
            ("when", _TIME),
            ("result", _TEXT),
            ("attempt", pa.int32()),
            ("detail", _TEXT),
        ]
    ),
    ERRORS: pa.schema([("log", _TEXT), ("offset", _NUMBER), ("subscription", _TEXT), ("reason", _TEXT)]),
    DELIVERIES: pa.schema([("subscription", _TEXT), ("delivery", pa.binary())]),
}
KEPT = (NOTIFICATIONS, MATCHES, HISTORY, ERRORS)


def folder(data: Path, table: str, batch: int) -> Path:
    return Places(data).tables / table / f"batch={batch}"


def clear(data: Path, batch: int, *tables: str) -> None:
    """What an earlier attempt at the batch left must not mix with what the next one writes."""
    for table in tables or SCHEMAS:
        shutil.rmtree(folder(data, table, batch), ignore_errors=True)


def files(data: Path, table: str, batches: set[int]) -> list[Path]:
    root = Places(data).tables / table
    found = [path for path in root.glob("batch=*/*.parquet") if _batch_of(path) in batches]
    return sorted(found, key=lambda path: (_batch_of(path), path.name))


def _batch_of(path: Path) -> int:
    return int(path.parent.name.removeprefix("batch="))


def committed(data: Path) -> set[int]:
    if not Places(data).outbox.exists():
        return set()
    outbox = Outbox.open(Places(data).outbox, read_only=True)
    try:
        return outbox.committed()
    finally:
        outbox.close()


def read(spark: SparkSession, data: Path, table: str) -> DataFrame:
    """A table as Spark sees it, with the column `batch`."""
    schema = from_arrow_schema(SCHEMAS[table]).add("batch", "long")
    folders = sorted({str(path.parent) for path in files(data, table, committed(data))})
    if not folders:
        return spark.createDataFrame([], schema)
    root = Places(data).tables / table
    return spark.read.schema(schema).option("basePath", str(root)).parquet(*folders)


def scan(data: Path, table: str) -> pa.Table:
    """The same without Spark, for small tables."""
    found = [pq.ParquetFile(path).read() for path in files(data, table, committed(data))]
    return pa.concat_tables(found) if found else SCHEMAS[table].empty_table()


def count(data: Path, table: str, batches: set[int]) -> int:
    return sum(int(pq.read_metadata(path).num_rows) for path in files(data, table, batches))


def deliveries(data: Path, batch: int) -> Iterator[Encoded]:
    """In the order of the log: the parts are numbered in it."""
    for path in files(data, DELIVERIES, {batch}):
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                yield from zip(*(column.to_pylist() for column in file.read_row_group(group).columns), strict=True)


_GROUP_ROWS = 4_096
_GROUP_BYTES = 8 << 20
Row = tuple[Any, ...]


class PartWriter:
    """Writes the rows of one task into the files of its batch. Written by Spark jobs, the tables took twice as long.

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
