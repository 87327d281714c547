"""What the doors ask of the node about what is declared to it."""

from collections.abc import Sequence
from typing import Protocol

from tocsin.matching.catalogue import Catalogue
from tocsin.model.declarations import Declaration
from tocsin.model.identity import SubscriptionId


class DeclarationsPort(Protocol):
    @property
    def known(self) -> Catalogue:
        """As of the last record on disk; not to be changed."""
        ...

    @property
    def categories_of_world(self) -> bool:
        """Whether the categories of producers are those of the world, and are changed there."""
        ...

    async def declare(self, what: Declaration) -> None:
        """Returns when it is on disk; refuses what cannot be, and to change a space that subscriptions use."""
        ...

    def check_may_declare(self) -> None:
        """Refuses who may not, before what it sent is read: that may take long."""
        ...

    async def declare_meaning(
        self, what: Declaration, *, dry_run: bool = False
    ) -> Sequence[tuple[SubscriptionId, str]]:
        """An ontology or a lifting, or that there is none; which subscriptions are suspended by that, and why."""
        ...
