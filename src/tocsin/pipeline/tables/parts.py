"""The rows of one task, on their way into tables: a few travel with the task's answer, many are a Parquet file."""

import json
import time
import uuid
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec import Struct

from tocsin.pipeline.tables.schemas import DAY, DELIVERIES, SCHEMAS
from tocsin.pipeline.tables.storage import Storage
from tocsin.store.snapshots import sync

Row = tuple[Any, ...]
INLINE_BYTES = 64 << 10  # with the task's answer; more is a file
_GROUP_ROWS, _GROUP_BYTES = 4_096, 8 << 20
_MICROSECONDS_A_DAY = 86_400_000_000


class Part(Struct, frozen=True, array_like=True):
    """Rows of one table and day: in the file `path`, or as an Arrow stream in `data`."""

    table: str
    day: str
    rows: int
    low: int  # the offsets between which its rows are, for whoever looks for some
    high: int
    size: int
    path: str = ""
    data: bytes = b""
    made: int = 0  # in ms

    def stats(self) -> str:
        bounds = ({"log_offset": self.low}, {"log_offset": self.high})
        return json.dumps({"numRecords": self.rows, "minValues": bounds[0], "maxValues": bounds[1], "nullCount": {}})


encode = msgspec.msgpack.Encoder().encode
decode = msgspec.msgpack.Decoder(Part).decode


class PartWriter:
    """Takes the rows of one task. Each attempt at a task names its files anew: none writes over another's."""

    def __init__(self, storage: Storage, inline: int = INLINE_BYTES) -> None:
        self._storage, self._inline = storage, inline
        self._open: dict[tuple[str, int], _Rows] = {}

    def add(self, table: str, added: Sequence[Row], offset: int, time: int, size: int = 0) -> None:
        """Rows of one record. `time` in microseconds decides on the day; `size` is about how many bytes they have
        beyond their words."""
        key = (table, 0 if table == DELIVERIES else time // _MICROSECONDS_A_DAY)
        rows = self._open.get(key)
        if rows is None:
            rows = self._open[key] = _Rows(self._storage, table, _day(key[1]), self._inline)
        rows.add(added, offset, size)

    def parts(self) -> list[Part]:
        """When all rows are added: everything is on disk, or in what is returned."""
        return [rows.finished() for rows in self._open.values()]


class _Rows:
    """The rows of one table and day."""

    def __init__(self, storage: Storage, table: str, day: str, inline: int) -> None:
        self._storage, self._table, self._day, self._inline = storage, table, day, inline
        self._schema = SCHEMAS[table]
        self._waiting: list[Row] = []
        self._size = self._rows = 0
        self._low, self._high = 1 << 62, -1
        self._file: _File | None = None

    def add(self, added: Sequence[Row], offset: int, size: int) -> None:
        self._waiting += added
        self._size += size
        self._low, self._high = min(self._low, offset), max(self._high, offset)
        if len(self._waiting) >= _GROUP_ROWS or self._size >= _GROUP_BYTES:
            self._to_file()

    def finished(self) -> Part:
        waiting = self._waiting
        if self._file is None:
            data = _stream(self._schema, waiting)
            if len(data) <= self._inline:
                return self._part(len(waiting), len(data), data=data)
        self._to_file()
        assert self._file is not None
        size = self._file.close()
        return self._part(self._rows, size, path=self._file.path)

    def _part(self, rows: int, size: int, *, path: str = "", data: bytes = b"") -> Part:
        made = time.time_ns() // 1_000_000
        return Part(self._table, self._day, rows, self._low, self._high, size, path, data, made)

    def _to_file(self) -> None:
        if self._file is None:
            self._file = _File(self._storage, self._table, self._day, self._schema)
        if self._waiting:
            self._file.write(batch_of(self._schema, self._waiting))
        self._rows += len(self._waiting)
        self._waiting, self._size = [], 0


class _File:
    """Parquet, or for what is read once and gone an Arrow stream."""

    def __init__(self, storage: Storage, table: str, day: str, schema: pa.Schema) -> None:
        ending = "arrow" if table == DELIVERIES else "parquet"
        self.path = f"{DAY}={day}/{uuid.uuid4()}.{ending}"
        self._storage, self._table = storage, table
        self._local = Path(storage.table(table), self.path) if storage.is_local else None
        if self._local is not None:
            self._local.parent.mkdir(parents=True, exist_ok=True)
        self._stream = pa.BufferOutputStream() if self._local is None else pa.OSFile(str(self._local), "wb")
        self._writer: Any = (
            pa.ipc.new_stream(self._stream, schema)
            if table == DELIVERIES
            else pq.ParquetWriter(self._stream, schema, compression="zstd")
        )

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def close(self) -> int:
        self._writer.close()
        size = int(self._stream.tell())
        if self._local is None:
            self._storage.put(self._table, self.path, self._stream.getvalue().to_pybytes())
        else:
            self._stream.close()
            sync(self._local)
            sync(self._local.parent)
        return size


def write(storage: Storage, table: str, day: str, rows: pa.Table, low: int, high: int) -> Part:
    """A file of all these rows."""
    file = _File(storage, table, day, rows.schema)
    for batch in rows.combine_chunks().to_batches(max_chunksize=_GROUP_ROWS * 16):
        file.write(batch)
    return Part(table, day, rows.num_rows, low, high, file.close(), file.path, made=time.time_ns() // 1_000_000)


def rows_of(storage: Storage, part: Part) -> Iterator[pa.RecordBatch]:
    """A part that is an Arrow stream, in batches."""
    source = pa.BufferReader(part.data) if part.data else storage.files(part.table).open_input_stream(part.path)
    with pa.ipc.open_stream(source) as reader:
        yield from reader


def _stream(schema: pa.Schema, rows: Sequence[Row]) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(batch_of(schema, rows))
    return bytes(sink.getvalue())


def batch_of(schema: pa.Schema, rows: Sequence[Row]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _day(number: int) -> str:
    return datetime.fromtimestamp(number * 86_400, UTC).date().isoformat()
