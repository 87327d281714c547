"""How often atoms hold: by that the rarest atom of a term is chosen as the one it is found by."""

from msgspec import Struct

from tocsin.markup.conditions import Compare, Exists
from tocsin.matching.index.atoms import Atom
from tocsin.model.filters import ANY, DESCEND, Graph, InBox, ProducerIs, TopicIs, TypeIs

WEIGHT = 4.0  # notifications seen that a guess is worth


class Statistics(Struct, frozen=True):
    """Of so many notifications, how many each atom held of; what is not there held of none."""

    seen: int = 0
    held: dict[Atom, int] = {}


NO_STATISTICS = Statistics()


def guess(atom: Atom) -> float:
    """Before anything was seen."""
    match atom:
        case InBox() | Graph():
            return 0.02
        case TypeIs():
            return 0.05
        case TopicIs(alternatives):
            wild = any(step in (ANY, DESCEND) for path in alternatives for step in path)
            return 0.2 if wild else 0.03
        case ProducerIs(categories=categories):
            return 0.1 if categories else 0.03
        case Exists():
            return 0.6
        case Compare(how="!="):
            return 0.9
    return 0.4
