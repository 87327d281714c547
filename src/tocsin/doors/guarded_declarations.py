"""Declarations as one principal sees them: everybody may read them, who manages everything declares."""

from collections.abc import Sequence

from tocsin.documents.ports.declarations_port import DeclarationsPort
from tocsin.matching.catalogue import Catalogue
from tocsin.model.declarations import Declaration
from tocsin.model.identity import SubscriptionId


class GuardedDeclarations:
    """A base of `Guarded`, which has these."""

    _broker: DeclarationsPort

    @property
    def known(self) -> Catalogue:
        return self._broker.known

    @property
    def categories_of_world(self) -> bool:
        return self._broker.categories_of_world

    async def declare(self, what: Declaration) -> None:
        self._must_manage_everything("declare spaces, types, categories or producers")
        await self._broker.declare(what)

    def check_may_declare(self) -> None:
        self._must_manage_everything("declare ontologies or liftings")

    async def declare_meaning(
        self, what: Declaration, *, dry_run: bool = False
    ) -> Sequence[tuple[SubscriptionId, str]]:
        self.check_may_declare()
        return await self._broker.declare_meaning(what, dry_run=dry_run)

    def _must_manage_everything(self, what: str) -> None:
        raise NotImplementedError
