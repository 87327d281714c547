"""A world as tables: services(name, categories), categories(name, parent), topics(name, parent), edges(source, topic,
target), as files (Parquet, CSV, JSON lines) or Delta tables in one place; or a scenario in one JSON file.

Services by the million are arrays here; all else is a `World`, which checks it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet as pq
from msgspec.structs import replace
from numpy.typing import NDArray

from tocsin.model.refusal import Refusal, known_names
from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.tables.storage import Storage
from tocsin.semantics.interest import world_json
from tocsin.semantics.interest.changes import PutCategory, PutRules, PutTopic
from tocsin.semantics.interest.ino import Edge
from tocsin.semantics.interest.world import World
from tocsin.semantics.interest.world_csv import BETWEEN
from tocsin.semantics.interest.world_draft import Draft, tried
from tocsin.sim.counting import Population

COLUMNS = {
    "services": ("name", "categories"),
    "categories": ("name", "parent"),
    "topics": ("name", "parent"),
    "edges": ("source", "topic", "target"),
}
PUBLICATIONS = ("root", "topic")
ENDINGS = (".parquet", ".csv", ".jsonl", ".ndjson")


@dataclass(frozen=True)
class WorldTables:
    """`world` has no services: they are in the population, in the order of `names`. A scenario also publishes."""

    world: World
    population: Population
    names: pa.StringArray
    publish: tuple[str, str] | None = None

    def number(self, service: str) -> int:
        found = int(pc.index(self.names, service).as_py())
        if found < 0:
            shown = known_names(service, self.names[:1_000].to_pylist())
            raise PipelineError(f"there is no service {service!r} among {len(self.names):,}; the first are: {shown}")
        return found


def read_world(place: str, rules: PutRules) -> WorldTables:
    """`rules` may let edges be inherited, beyond what a scenario says itself."""
    try:
        return _scenario(Path(place), rules) if place.endswith(".json") else _tables(place, rules)
    except Refusal as refusal:
        raise PipelineError(f"{place}: {refusal.text}") from None
    except (OSError, pa.ArrowException) as problem:
        raise PipelineError(f"{place}: cannot be read: {problem}") from None


def read_publications(path: str) -> list[tuple[str, str]]:
    try:
        table = _with(PUBLICATIONS, _file(Path(path)), path)
    except (OSError, pa.ArrowException) as problem:
        raise PipelineError(f"{path}: cannot be read: {problem}") from None
    return [(row["root"] or "", row["topic"] or "") for row in table.to_pylist()]


def _scenario(path: Path, rules: PutRules) -> WorldTables:
    read = world_json.read(path.read_bytes())
    world = read.world()
    own = world.rules
    inherit_topics = own.inherit_topics or rules.inherit_topics
    inherit_categories = own.inherit_categories or rules.inherit_categories
    world.apply(replace(own, inherit_topics=inherit_topics, inherit_categories=inherit_categories))
    published = None if read.publish is None else (read.publish.root, read.publish.topic)
    return WorldTables(world, Population.of(world), pa.array(sorted(world.services), pa.string()), published)


def _tables(place: str, rules: PutRules) -> WorldTables:
    draft = Draft()
    draft.rules("rules", rules)
    for row, each in _rows(place, "topics"):
        draft.topic(row, PutTopic(each["name"] or "", each["parent"]))
    for row, each in _rows(place, "categories"):
        draft.category(row, PutCategory(each["name"] or "", each["parent"]))
    for row, each in _rows(place, "edges"):
        draft.edge(row, Edge(each["source"] or "", each["topic"] or "", each["target"] or ""))
    _, world = tried(draft.changes(None), None)
    names, population = _population(_table(place, "services"), world)
    return WorldTables(world, population, names)


def _rows(place: str, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each with where it stands."""
    for number, row in enumerate(_table(place, name).to_pylist(), 1):
        yield f"{name}, row {number}", row


def _table(place: str, name: str) -> pa.Table:
    delta = Storage.at(place).open(name)
    if delta is not None:
        return _with(COLUMNS[name], delta.to_pyarrow_table(), name)
    files = [path for ending in ENDINGS if (path := Path(place, f"{name}{ending}")).exists()]
    files += [path for path in (Path(place, name),) if path.is_dir()]
    if len(files) != 1:
        there = f"there are {' and '.join(each.name for each in files)}: keep one" if files else "there is none"
        written = ", ".join(f"{name}{ending}" for ending in ENDINGS[:3])
        raise Refusal(
            "malformed", f"one table {name!r} is needed, and {there}; write {written} or a Delta table {name}"
        )
    return _with(COLUMNS[name], _file(files[0]), name)


def _file(path: Path) -> pa.Table:
    if path.suffix == ".csv":
        empty = pyarrow.csv.ConvertOptions(strings_can_be_null=True, null_values=[""])
        names = pyarrow.csv.open_csv(path).schema.names
        empty.column_types = dict.fromkeys(names, pa.string())
        return pyarrow.csv.read_csv(path, convert_options=empty)
    return pyarrow.json.read_json(path) if path.suffix in (".jsonl", ".ndjson") else pq.read_table(path)


def _with(columns: tuple[str, ...], table: pa.Table, name: str) -> pa.Table:
    """The columns as text; categories as lists of it."""
    for column in columns:
        if column not in table.column_names:
            there = ", ".join(table.column_names)
            raise PipelineError(f"{name}: there is no column {column!r}, only {there}; it needs {', '.join(columns)}")
    arrays = [_texts(table[column]) if column != "categories" else _lists(table[column]) for column in columns]
    return pa.table(arrays, names=list(columns))


def _texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.string())


def _lists(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """In CSV names are parted as in the tables of `tocsin ino`."""
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return column.cast(pa.list_(pa.string()))
    return pc.split_pattern(pc.fill_null(column.cast(pa.string()), ""), BETWEEN)


def _population(table: pa.Table, world: World) -> tuple[pa.StringArray, Population]:
    names = table["name"].combine_chunks()
    nameless = pc.fill_null(pc.equal(pc.utf8_length(names), 0), True)
    if (row := pc.index(nameless, True).as_py()) >= 0:
        raise Refusal("bad-world", f"services, row {row + 1}: a service needs a name")
    order = pc.sort_indices(names)
    names = names.take(order)
    if (row := pc.index(pc.equal(names[1:], names[:-1]), True).as_py()) >= 0:
        raise Refusal("bad-world", f"services: there are two of the name {names[row].as_py()!r}; keep one")
    lists = table["categories"].combine_chunks().take(order)
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    values = pc.utf8_trim_whitespace(pc.fill_null(pc.list_flatten(lists), "")).dictionary_encode()
    owner = np.repeat(np.arange(len(names)), lengths)
    codes = values.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    known = values.dictionary.to_pylist()
    _check(names, lengths, owner, codes, known, world)
    return names, _profiles(lengths, codes[np.lexsort((codes, owner))], known)


def _check(
    names: pa.StringArray,
    lengths: NDArray[Any],
    owner: NDArray[np.int64],
    codes: NDArray[np.int64],
    known: list[str],
    world: World,
) -> None:
    for code, category in enumerate(known):
        if category not in world.categories:
            service = names[int(owner[np.argmax(codes == code)])].as_py()
            if not category:
                raise Refusal("bad-world", f"services: {service!r} has no category, or one without a name; name it")
            there = known_names(category, world.categories)
            raise Refusal(
                "bad-world",
                f"services: {service!r} is in the category {category!r}, which categories do not have; {there};"
                " add it, or correct the name",
            )
    if len(bare := np.flatnonzero(lengths == 0)):
        raise Refusal("bad-world", f"services: {names[int(bare[0])].as_py()!r} has no category; name at least one")
    pairs = np.sort(owner * len(known) + codes)
    if len(twice := np.flatnonzero(pairs[1:] == pairs[:-1])):
        service = names[int(pairs[twice[0]] // len(known))].as_py()
        raise Refusal("bad-world", f"services: {service!r} has a category twice; keep one")


def _profiles(lengths: NDArray[Any], codes: NDArray[np.int64], known: list[str]) -> Population:
    """The sets of categories there are, those of one length at a time."""
    starts, profiles = np.concatenate(([0], np.cumsum(lengths)[:-1])), list[tuple[str, ...]]()
    profile_of = np.empty(len(lengths), np.int32)
    for length in np.unique(lengths):
        at = np.flatnonzero(lengths == length)
        rows = codes[starts[at][:, None] + np.arange(length)]
        sets, numbers = np.unique(rows[:, 0] if length == 1 else rows, axis=0, return_inverse=True)
        profile_of[at] = numbers.reshape(-1) + len(profiles)
        profiles += [tuple(known[code] for code in each) for each in sets.reshape(len(sets), -1).tolist()]
    return Population(tuple(profiles), profile_of)
