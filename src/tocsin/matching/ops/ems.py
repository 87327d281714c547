"""The array of extended meta-statements, EMS (OPS s5.2): where statement patterns wait, and who is above whom."""

from itertools import product

from tocsin.model.ontology import MetaStatement
from tocsin.semantics.concepts.concept_model import ConceptModel

ANY = ""  # the class of a pattern's vertex that asks for none: above all classes of things and of literals


class Ems:
    """Items are numbered when a subscription first names them, and a dictionary finds them.

    The paper works out all valid meta-statements beforehand, and sorts them for a binary search. Statement patterns
    wait at none but those that subscriptions name, so only these are in the ancestor lists here.
    """

    def __init__(self, model: ConceptModel) -> None:
        self._model = model
        self._numbers: dict[MetaStatement, int] = {}
        self._ancestors: dict[MetaStatement, tuple[int, ...]] = {}

    def number(self, asked: MetaStatement) -> int:
        """Of the item at which patterns with that meta-statement wait."""
        if asked not in self._numbers:
            self._numbers[asked] = len(self._numbers)
            self._ancestors.clear()
        return self._numbers[asked]

    def ancestors(self, stated: MetaStatement) -> tuple[int, ...]:
        """The items of that meta-statement and of all above it."""
        found = self._ancestors.get(stated)
        if found is None:
            above = (self._numbers.get(each) for each in self._above(stated))
            found = self._ancestors[stated] = tuple(sorted(number for number in above if number is not None))
        return found

    def _above(self, stated: MetaStatement) -> list[MetaStatement]:
        subjects, objects = self._classes(stated.subject), self._classes(stated.object)
        properties = self._model.properties_above(stated.property)
        return [MetaStatement(*each) for each in product(subjects, properties, objects)]

    def _classes(self, stated: str) -> frozenset[str]:
        return frozenset((ANY,)) if stated == ANY else self._model.classes_above(stated) | {ANY}
