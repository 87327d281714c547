"""Where tables lie: a folder, or an object store by delta-rs and its options."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pyarrow.fs as pafs
from deltalake import DeltaTable
from deltalake import Schema as DeltaSchema
from deltalake.exceptions import DeltaError
from deltalake.fs import DeltaStorageHandler

from tocsin.pipeline.errors import PipelineError, plain
from tocsin.pipeline.tables.schemas import DAY, as_stored

# Of our files the log says between which offsets their rows are, and nothing of other columns. delta-rs has to be told:
# it takes what is not said for nothing, and who filters by another column would be given no row.
_BOUNDED = "log_offset"
_STATS = "delta.dataSkippingStatsColumns"


@dataclass(frozen=True)
class Storage:
    """A place for tables. It travels to the tasks; its options are delta-rs' own, e.g. AWS_ENDPOINT_URL."""

    uri: str
    option_pairs: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # there are secrets among them

    @classmethod
    def at(cls, place: str | Path, options: Mapping[str, str] | None = None) -> "Storage":
        text = str(place)
        uri = text.rstrip("/") if urlsplit(text).scheme else str(Path(text).absolute())
        return cls(uri, tuple(sorted((options or {}).items())))

    @property
    def options(self) -> dict[str, str] | None:
        return dict(self.option_pairs) or None

    @property
    def is_local(self) -> bool:
        return not urlsplit(self.uri).scheme

    def table(self, name: str) -> str:
        return f"{self.uri}/{name}"

    def files(self, name: str) -> pafs.FileSystem:
        """A file system whose root is that table's folder."""
        if self.is_local:
            Path(self.table(name)).mkdir(parents=True, exist_ok=True)
            return pafs.SubTreeFileSystem(self.table(name), pafs.LocalFileSystem())
        return pafs.PyFileSystem(DeltaStorageHandler(self.table(name), self.options))

    def put(self, name: str, path: str, data: bytes) -> None:
        """A whole file below a table's folder, in an object store. By delta-rs' own stream: it takes bytes alone, and
        what pyarrow puts around it hands over buffers."""
        stream = DeltaStorageHandler(self.table(name), self.options)._handler.open_output_stream(path)
        stream.write(data)
        stream.close()  # type: ignore[attr-defined]

    def open(self, name: str) -> DeltaTable | None:
        """The table as it is now; None before its first commit."""
        self._check_layout(name)
        with self._in_a_sentence(name):
            if not DeltaTable.is_deltatable(self.table(name), self.options):
                return None
            return DeltaTable(self.table(name), storage_options=self.options)

    def opened(self, name: str) -> DeltaTable:
        """The table, made if it is not there; with the columns that were added since it was made."""
        found, stats = self.open(name), {_STATS: _BOUNDED} if _BOUNDED in as_stored(name).names else {}
        with self._in_a_sentence(name):
            found = found or DeltaTable.create(
                self.table(name),
                as_stored(name),
                mode="ignore",
                partition_by=[DAY],
                configuration=stats,
                storage_options=self.options,
            )
            if stats.items() - found.metadata().configuration.items():
                found.alter.set_table_properties(stats)
            had = {each.name for each in found.schema().fields}
            added = [each for each in DeltaSchema.from_arrow(as_stored(name)).fields if each.name not in had]
            if added:
                found.alter.add_columns(added)
        return found

    def check(self, name: str) -> None:
        """That the table is one to write to, or not there."""
        if (found := self.open(name)) is None:
            return
        ours = {field.name: str(field.type) for field in DeltaSchema.from_arrow(as_stored(name)).fields}
        theirs = {field.name: str(field.type) for field in found.schema().fields}
        differ = sorted(key for key in theirs if ours.get(key) != theirs[key])  # columns that are missing are added
        differ += [] if found.metadata().partition_columns == [DAY] else ["its partitions"]
        if differ:
            raise PipelineError(
                f"{self.table(name)} is a table of another layout (what differs: {', '.join(differ)}): move it away, it"
                " stays readable as it is, and start again; new rows go into a new table"
            )

    @contextmanager
    def _in_a_sentence(self, name: str) -> Iterator[None]:
        try:
            yield
        except (DeltaError, OSError) as problem:
            raise PipelineError(
                f"the table {self.table(name)} cannot be opened ({plain(str(problem))}): see that its place can be"
                " reached and used; if its _delta_log is damaged restore it from a backup, or move the table away:"
                " new rows go into a new one"
            ) from problem

    def _check_layout(self, name: str) -> None:
        """Tables that an earlier version wrote were Parquet files in folders by batch."""
        if self.is_local and next(Path(self.table(name)).glob("batch=*"), None) is not None:
            raise PipelineError(
                f"{self.table(name)} is of an earlier layout (Parquet files by batch, no Delta log): move {self.uri}"
                " away, it stays readable as Parquet, and start again; new rows go into new tables"
            )
