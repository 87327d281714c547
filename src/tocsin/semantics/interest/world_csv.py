"""The world as CSV tables: edges (columns of paper 000, Fig. 14), services, taxonomies; the header says which.

A table says less than the whole: not who proposed an edge, nor its votes, nor more of a service than its categories.
What it does not say stays as it is in the world it is read onto.
"""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec.structs import replace

from tocsin.model.refusal import Refusal
from tocsin.semantics.interest.changes import Change, PutCategory, PutTopic
from tocsin.semantics.interest.ino import Edge, Service
from tocsin.semantics.interest.world import World
from tocsin.semantics.interest.world_draft import Draft, tried

Row = Mapping[str, str]
RowReader = Callable[[Draft, str, Row, World], None]
EDGES = ("CategorySender", "Topic", "CategoryReceiver")
SERVICES = ("Service", "Categories")
TAXONOMIES = ("Kind", "Name", "Parent", "Owner")
SENDER, RECEIVER = "categorysender", "categoryreceiver"
ALSO_CALLED = {"from": SENDER, "to": RECEIVER, "source": SENDER, "target": RECEIVER}
MAY_BE_EMPTY = frozenset({"parent", "owner", "categories"})
BETWEEN = ";"
UNKNOWN = "add it, correct the name, or make all such names with --create (in HTTP ?create=true)"


def read(data: bytes, *, onto: World | None = None, create: bool = False) -> tuple[Change, ...]:
    """With `create`, names that nothing declares are made; else they must be in the world the changes are for, which
    is looked at here when it is given, and at the latest when they are applied."""
    rows = _rows(data)
    header = next(rows, (0, []))[1]
    read_row, known = _reader(header), onto or World()
    draft = Draft()
    for line, cells in rows:
        if len(cells) != len(header):
            raise Refusal("malformed", f"line {line}: {len(cells)} cells where the header has {len(header)}")
        found = dict(zip(_columns(header), cells, strict=True))
        for title, (column, cell) in zip(header, found.items(), strict=True):
            if not cell and column not in MAY_BE_EMPTY:
                raise Refusal("malformed", f"line {line}: {title} is empty; write a name")
        read_row(draft, f"line {line}", found, known)
    if create:
        draft.create_missing(onto)
    if create or onto is not None:
        return tried(draft.changes(onto), onto, UNKNOWN)[0]
    return tuple(change for _, change in draft.changes(onto))


def write(world: World, table: str = "edges", *, between: str = ",") -> bytes:
    if table not in _WRITTEN:
        raise Refusal("malformed", f"there is no table {table[:80]!r}; there are: {', '.join(_WRITTEN)}")
    header, rows = _WRITTEN[table]
    written = io.StringIO(newline="")
    lines = csv.writer(written, delimiter=between)
    lines.writerow(header)
    lines.writerows(rows(world))
    return written.getvalue().encode()


def _rows(data: bytes) -> Iterator[tuple[int, list[str]]]:
    """With the number of the line; a table that was copied from a page has tabs for commas."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise Refusal("malformed", f"not UTF-8 at byte {problem.start}; save the table as UTF-8") from None
    first = text.lstrip().partition("\n")[0]
    lines = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if "\t" in first else ",", strict=True)
    try:
        for cells in lines:
            if any(map(str.strip, cells)):
                yield lines.line_num, [cell.strip() for cell in cells]
    except csv.Error as problem:
        raise Refusal("malformed", f"line {lines.line_num}: not readable as CSV: {problem}") from None


def _columns(header: Iterable[str]) -> list[str]:
    lowered = [cell.lower() for cell in header]
    return [ALSO_CALLED.get(cell, cell) for cell in lowered]


def _reader(header: list[str]) -> RowReader:
    columns = _columns(header)
    for known, read_row in ((EDGES, _edge), (SERVICES, _service), (TAXONOMIES, _taxonomy), (TAXONOMIES[:3], _taxonomy)):
        if sorted(columns) == sorted(map(str.lower, known)):
            return read_row
    raise Refusal(
        "malformed",
        f"the first line is {','.join(header)[:80]!r}, which is no header known here; write one of: "
        f"{', or '.join(','.join(each) for each in (EDGES, SERVICES, TAXONOMIES))}",
    )


def _edge(draft: Draft, place: str, row: Row, known: World) -> None:
    key = row[SENDER], row["topic"], row[RECEIVER]
    draft.edge(place, known.edges.get(key, Edge(*key)))


def _service(draft: Draft, place: str, row: Row, known: World) -> None:
    names = tuple(name for each in row["categories"].split(BETWEEN) if (name := each.strip()))
    service = replace(known.services.get(row["service"], Service(row["service"], ())), categories=names)
    try:
        service.check()
    except Refusal as refused:
        raise Refusal(refused.reason, f"{place}: {refused.text}") from None
    draft.service(place, service)


def _taxonomy(draft: Draft, place: str, row: Row, known: World) -> None:
    name, parent = row["name"], row["parent"] or None
    owner = row.get("owner", known.owners.get(name)) or None
    match row["kind"].lower():
        case "category":
            draft.category(place, PutCategory(name, parent, owner))
        case "topic" if not row.get("owner"):
            draft.topic(place, PutTopic(name, parent))
        case "topic":
            raise Refusal("malformed", f"{place}: a topic has no owner; leave the cell empty")
        case other:
            raise Refusal("malformed", f"{place}: the kind is 'topic' or 'category', not {other[:80]!r}")


def _edge_rows(world: World) -> Iterable[Iterable[str]]:
    return world.edges


def _service_rows(world: World) -> Iterator[Iterable[str]]:
    for service in world.services.values():
        if any(BETWEEN in name for name in service.categories):
            raise Refusal(
                "bad-world",
                f"service {service.name!r} has a category with {BETWEEN!r} in its name, which stands between names in"
                " a table; write the world as JSON or Turtle",
            )
        yield service.name, BETWEEN.join(service.categories)


def _taxonomy_rows(world: World) -> Iterator[Iterable[str]]:
    for name, parent in world.topics.items():
        yield "topic", name, parent or "", ""
    for name, parent in world.categories.items():
        yield "category", name, parent or "", world.owners.get(name, "")


_WRITTEN: Mapping[str, tuple[tuple[str, ...], Callable[[World], Iterable[Iterable[str]]]]] = {
    "edges": (EDGES, _edge_rows),
    "services": (SERVICES, _service_rows),
    "taxonomies": (TAXONOMIES, _taxonomy_rows),
}
