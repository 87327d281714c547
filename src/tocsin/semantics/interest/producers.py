"""Presents the services of a world as producers, so that producer filters apply to them."""

from collections.abc import Mapping

from tocsin.markup import xml
from tocsin.model.declarations import Hierarchy, Producer
from tocsin.semantics.interest.ino import Service
from tocsin.semantics.interest.ino_vocabulary import INO
from tocsin.semantics.interest.world import World
from tocsin.semantics.interest.world_rdf import NOT_IN_XML

_MARK = b'<service xmlns="%b" ' % INO.encode()


def is_of_world(producer: Producer) -> bool:
    """Whether it stands for a service, and not for itself: the world alone says what becomes of it."""
    return producer.properties.startswith(_MARK)


def categories_of(world: World) -> Hierarchy:
    pairs = ((name, (parent,)) for name, parent in world.categories.items() if parent is not None)
    return Hierarchy("categories", tuple(sorted(pairs)))


class WorldProducers:
    """Follows the services of the world, and says which producers changed by it.

    A service sends from its notifier and from its own address; services at one address are one producer.
    """

    def __init__(self) -> None:
        self.is_new = True
        self._services: dict[str, Service] = {}
        self._at: dict[str, set[str]] = {}  # by address, the names of its services

    def at(self, address: str) -> Producer | None:
        return self._producer(address) if address in self._at else None

    def update(self, services: Mapping[str, Service]) -> dict[str, Producer | None]:
        """By address; None where no service is any more. A service that is the same object is the same service."""
        before, touched = self._services, dict[str, None]()
        for name in {**before, **services}:
            old, new = before.get(name), services.get(name)
            if old is not new:
                for address in _addresses(old):
                    self._at[address].discard(name)
                for address in _addresses(new):
                    self._at.setdefault(address, set()).add(name)
                touched |= dict.fromkeys((*_addresses(old), *_addresses(new)))
        self._services, self.is_new = dict(services), False
        return {address: self._producer(address) for address in touched}

    def _producer(self, address: str) -> Producer | None:
        found = [self._services[name] for name in sorted(self._at[address])]
        if not found:
            del self._at[address]
            return None
        categories = dict.fromkeys(name for each in found for name in each.categories)
        return Producer(address, tuple(categories), _properties(found[0]))


def _addresses(service: Service | None) -> tuple[str, ...]:
    if service is None:
        return ()
    return tuple(dict.fromkeys(each for each in (service.notifier, service.address) if each))


def _properties(service: Service) -> bytes:
    """What it promises or demands, and what it is worth, for filters over a producer's properties."""
    policies = (b"<policy>%b</policy>" % xml.text(_cleaned(each)) for each in service.policies)
    qualities = (
        b"<quality name=%b>%b</quality>" % (xml.attribute(_cleaned(name)), repr(float(value)).encode())
        for name, value in sorted(service.qualities.items())
    )
    name = xml.attribute(_cleaned(service.name))
    return b"%bname=%b>%b%b</service>" % (_MARK, name, b"".join(policies), b"".join(qualities))


def _cleaned(text: str) -> str:
    return text if text.isprintable() else NOT_IN_XML.sub("\ufffd", text)
