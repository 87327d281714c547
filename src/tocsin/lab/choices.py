"""What can be chosen of an experiment or a benchmark: a struct, with what is chosen by default."""

from collections.abc import Mapping

from msgspec import Struct, ValidationError, convert, structs


class UnknownChoice(Exception):
    """Something that it lets nobody choose, or not so."""


def defaults(choices: type[Struct] | None) -> dict[str, object]:
    return structs.asdict(choices()) if choices else {}


def made(name: str, choices: type[Struct] | None, chosen: Mapping[str, str]) -> list[Struct]:
    """The struct, if there is one, from texts."""
    there = defaults(choices)
    if unknown := [each for each in chosen if each not in there]:
        shown = ", ".join(f"{key}={value}" for key, value in there.items()) or "nothing"
        raise UnknownChoice(f"{name} lets nobody choose {unknown[0]}; there is: {shown}")
    try:
        return [convert(dict(chosen), choices, strict=False)] if choices else []
    except ValidationError as error:
        raise UnknownChoice(f"{name}: {error}") from error
