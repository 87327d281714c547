"""A service as the registry knows it."""

import math
from collections.abc import Mapping

from msgspec import Struct

from tocsin.model.refusal import Refusal
from tocsin.semantics.interest.taxonomy import checked_name

MOST_CATEGORIES = 64


class Service(Struct, frozen=True):
    """Its notifier has the same name.

    `notifier` is the address where the notifier takes Publish and Notify, `node` the node that runs it (empty: it is
    somebody else's, and is spoken to in SOAP). `address` is where the service itself is told, in `dialect`; without one
    it fetches. `qualities` are numbers such as price or availability, `policies` what it promises or demands.
    `tells` is the producer's own rule: topic to the one service that is told (the paper's Push-1:1-Implicit).
    """

    name: str
    categories: tuple[str, ...]
    qualities: Mapping[str, float] = {}
    policies: tuple[str, ...] = ()
    tells: Mapping[str, str] = {}
    notifier: str = ""
    node: str = ""
    address: str = ""
    dialect: str = ""

    def check(self) -> None:
        checked_name("service", self.name)
        if "/" in self.name:
            raise Refusal(
                "bad-world", f"service {self.name!r}: a slash cannot stand in a name, which is part of an address"
            )
        if self.name in (".", ".."):
            raise Refusal("bad-world", f"{self.name!r} cannot be the name of a service: in an address it is no name")
        if not self.categories:
            raise Refusal("bad-world", f"service {self.name!r} has no category; name at least one")
        if len(self.categories) > MOST_CATEGORIES:
            raise Refusal("bad-world", f"service {self.name!r} has more than {MOST_CATEGORIES} categories")
        if not all(map(math.isfinite, self.qualities.values())):
            raise Refusal("bad-world", f"service {self.name!r}: each of its qualities must be a number")
