"""Reads tables, with Spark or without."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from tocsin.pipeline.tables.schemas import DAY, as_stored, conformed
from tocsin.pipeline.tables.storage import Storage


def read(spark: SparkSession, storage: Storage, table: str) -> DataFrame:
    """A table as it is now, as Spark sees it. Delta's own reader does not exist for this Spark: it is given the files.

    Those in an object store are read by the tasks through delta-rs, with the options that wrote them.
    """
    schema, delta = from_arrow_schema(as_stored(table)), storage.open(table)
    paths = [] if delta is None else sorted(delta.file_uris())
    if not paths:
        return spark.createDataFrame([], schema)
    if storage.is_local:
        return spark.read.schema(schema).option("basePath", storage.table(table)).parquet(*paths)
    assert delta is not None
    relative = sorted(_relative(delta))
    frame = spark.createDataFrame([(each,) for each in relative], "path string").repartition(len(relative))
    return frame.mapInArrow(lambda batches: _read_files(storage, table, batches), schema)


def scan(storage: Storage, table: str) -> pa.Table:
    """A table as it is now, without Spark, for small ones."""
    delta = storage.open(table)
    if delta is None:
        return as_stored(table).empty_table()
    schema, rows = as_stored(table), delta.to_pyarrow_table()
    return pa.Table.from_batches([conformed(each, schema) for each in rows.to_batches()], schema)


def count(storage: Storage, table: str) -> int:
    """By what the table's log says of its files."""
    delta = storage.open(table)
    return 0 if delta is None else int(pc.sum(_actions(delta)["num_records"]).as_py() or 0)


def _relative(delta: DeltaTable) -> list[str]:
    return [str(each) for each in _actions(delta)["path"].to_pylist()]


def _actions(delta: DeltaTable) -> pa.Table:
    return pa.table(delta.get_add_actions(flatten=True))


def _read_files(storage: Storage, table: str, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    files, schema = storage.files(table), as_stored(table)
    for batch in batches:
        for path in batch.column(0).to_pylist():
            day = path.split("/")[0].removeprefix(f"{DAY}=")
            with files.open_input_file(path) as file:
                for found in pq.ParquetFile(file).iter_batches():
                    days = pa.array([day] * found.num_rows).cast(pa.date32())
                    yield conformed(found.append_column(DAY, days), schema)
