"""Reads and writes worlds in any form, chosen by media type or file name; the demo world."""

from collections.abc import Callable
from functools import partial
from importlib.resources import files

from tocsin.model.refusal import Refusal
from tocsin.semantics.interest import world_csv, world_json, world_rdf
from tocsin.semantics.interest.changes import Change
from tocsin.semantics.interest.world import World

Reader = Callable[[bytes, World | None, bool], tuple[Change, ...]]
Writer = Callable[[World], bytes]

ENDINGS = {
    "json": "application/json",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "ttl": "text/turtle",
    "rdf": "application/rdf+xml",
    "owl": "application/rdf+xml",
    "xml": "application/rdf+xml",
    "nt": "application/n-triples",
}
_BETWEEN = {"text/csv": ",", "text/tab-separated-values": "\t"}  # of tables
MEDIA_TYPES = tuple(dict.fromkeys(ENDINGS.values()))


def read_world(data: bytes, form: str, *, create: bool = False, onto: World | None = None) -> tuple[Change, ...]:
    """`form` is a media type or a name with an ending, such as `.ttl` or `world.csv`.

    `onto` is the world that the changes are for: what it has need not be said again. Without it a document must be
    whole, and what a table names is checked when its changes are applied. With `create`, names that are used and
    nowhere declared are made; a bare table such as the paper's Fig. 14 has no other.
    """
    return _READERS[media_type(form)](data, onto, create)


def write_world(world: World, form: str) -> bytes:
    """CSV holds one table: `text/csv; table=edges` (which is meant without it), `services` or `taxonomies`."""
    found = media_type(form)
    if found in _BETWEEN:
        return world_csv.write(world, _table(form), between=_BETWEEN[found])
    return _WRITERS[found](world)


def media_type(form: str) -> str:
    """The one of MEDIA_TYPES that is meant."""
    name = form.partition(";")[0].strip().lower()
    found = name if name in MEDIA_TYPES else ENDINGS.get(name.rpartition(".")[2])
    if found is None:
        raise Refusal(
            "malformed",
            f"a world cannot be read or written as {form[:80]!r}; there are: {', '.join(MEDIA_TYPES)},"
            f" and names that end in: {', '.join(ENDINGS)}",
        )
    return found


def accepted(said: str) -> str:
    """The one of MEDIA_TYPES that an Accept header likes best; JSON where it likes them all."""
    for kind in sorted((each.strip() for each in said.split(",")), key=_quality):
        name = kind.partition(";")[0].strip().lower()
        if name in MEDIA_TYPES:
            return name
        if name in ("", "*/*", "application/*"):
            return "application/json"
    raise Refusal("malformed", f"the world is not told as {said[:200]!r}; ask for one of {', '.join(MEDIA_TYPES)}")


def _quality(kind: str) -> float:
    _, _, quality = kind.partition("q=")
    try:
        return -float(quality.partition(";")[0] or 1)
    except ValueError:
        return 0.0


def _table(form: str) -> str:
    parameters = (each.partition("=") for each in form.split(";")[1:])
    return {name.strip().lower(): value.strip(' "').lower() for name, _, value in parameters}.get("table", "edges")


def _read_json(data: bytes, onto: World | None, create: bool) -> tuple[Change, ...]:
    return world_json.read(data, onto=onto, create=create).changes


def _read_csv(data: bytes, onto: World | None, create: bool) -> tuple[Change, ...]:
    return world_csv.read(data, onto=onto, create=create)


def _read_rdf(syntax: world_rdf.Syntax, data: bytes, onto: World | None, create: bool) -> tuple[Change, ...]:
    return world_rdf.read(data, syntax, onto=onto, create=create)


_READERS: dict[str, Reader] = {
    "application/json": _read_json,
    **dict.fromkeys(_BETWEEN, _read_csv),
    "text/turtle": partial(_read_rdf, "turtle"),
    "application/rdf+xml": partial(_read_rdf, "rdf-xml"),
    "application/n-triples": partial(_read_rdf, "n-triples"),
}
_WRITERS: dict[str, Writer] = {
    "application/json": world_json.write,
    "text/turtle": partial(world_rdf.write, syntax="turtle"),
    "application/rdf+xml": partial(world_rdf.write, syntax="rdf-xml"),
    "application/n-triples": partial(world_rdf.write, syntax="n-triples"),
}


def demo() -> World:
    data = files("tocsin.semantics").joinpath("demo", "disaster.json").read_bytes()
    return World.of(world_json.read(data).changes)
