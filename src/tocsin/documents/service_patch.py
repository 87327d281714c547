"""A service of the world changed in part, while its notifier runs."""

from collections.abc import Mapping, Sequence
from typing import TypeVar

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from tocsin.semantics.interest.changes import Change, PutService
from tocsin.semantics.interest.world import World

Value = TypeVar("Value")


class ServicePatch(Struct, frozen=True, forbid_unknown_fields=True):
    """What is not named stays, as in RFC 7396: in `qualities` and `tells` null takes one away."""

    categories: list[str] | UnsetType = UNSET
    qualities: dict[str, float | None] = {}
    policies: list[str] | UnsetType = UNSET
    tells: dict[str, str | None] = {}
    by: str = ""

    def changes(self, world: World, name: str) -> Sequence[Change]:
        before = world.service(name)
        for topic in self.tells:
            world.topics.check(topic)
        after = replace(
            before,
            categories=before.categories if self.categories is UNSET else tuple(dict.fromkeys(self.categories)),
            qualities=_patched(before.qualities, self.qualities),
            policies=before.policies if self.policies is UNSET else tuple(self.policies),
            tells=_patched(before.tells, self.tells),
        )
        return [] if after == before else [PutService(after)]


def _patched(before: Mapping[str, Value], said: Mapping[str, Value | None]) -> dict[str, Value]:
    return {name: value for name, value in ({**before, **said}).items() if value is not None}
