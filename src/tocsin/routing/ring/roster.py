"""The roster of a ring: its members as all of them agree on them, and who of them has which part of the circle.

Chord finds, the roster decides: who is responsible for a key is the same at every node that has the same roster.
"""

from bisect import bisect_left
from collections.abc import Collection
from functools import cached_property

from msgspec import Struct

Life = tuple[str, int]  # a node's name and incarnation: what it is from when it comes in until it is out
Stamp = tuple[int, int]  # of a roster: of two the greater is the newer
NOWHERE = (-1, 0)  # the stamp of no roster


class Member(Struct, frozen=True):
    """`site`: nodes that share one machine's fate; a node without one shares its own only. `incarnation` grows each
    time that it comes back."""

    name: str
    id: int
    address: str
    doors: bool = True
    site: str = ""
    incarnation: int = 0

    @property
    def life(self) -> Life:
        return self.name, self.incarnation


class Change(Struct, frozen=True):
    """From a roster to the next: `put` come in, in place of who has their name; `out` are silent, `departing` go by
    their own will."""

    put: tuple[Member, ...] = ()
    out: tuple[Life, ...] = ()
    departing: tuple[Life, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.put or self.out or self.departing)


class Roster(Struct, frozen=True, dict=True):
    """Members are in the order of their ids. `ring` is who founded it; `epoch` counts how often an operator forced a
    roster, and one of a later epoch is the newer whatever its number. `gone` are addresses of those whom operators put
    out, that are told of it in case they still run."""

    number: int
    members: tuple[Member, ...]
    ring: str = ""
    epoch: int = 0
    forced: bool = False
    gone: tuple[str, ...] = ()

    @property
    def stamp(self) -> Stamp:
        return self.epoch, self.number

    @property
    def majority(self) -> int:
        return len(self.members) // 2 + 1

    @cached_property
    def _ids(self) -> list[int]:
        return [each.id for each in self.members]

    @cached_property
    def _by_name(self) -> dict[str, Member]:
        return {each.name: each for each in self.members}

    @cached_property
    def _keepers(self) -> dict[tuple[int, int], tuple[Member, ...]]:
        return {}

    def get(self, name: str) -> Member | None:
        return self._by_name.get(name)

    def living(self, life: Life) -> Member | None:
        """The member that is this life of that name, and no other."""
        found = self._by_name.get(life[0])
        return found if found is not None and found.incarnation == life[1] else None

    def owner(self, key: int) -> Member:
        """The first member at or behind it on the circle (Chord s4.1)."""
        return self.members[bisect_left(self._ids, key) % len(self.members)]

    def predecessor(self, member: Member) -> Member:
        return self.members[bisect_left(self._ids, member.id) - 1]

    def range_of(self, member: Member) -> tuple[int, int]:
        """(after, upto]: the keys that it owns; the whole circle from its own place on when it is alone."""
        return self.predecessor(member).id, member.id

    def behind(self, member: Member) -> tuple[Member, ...]:
        """All others, in the order in which they follow it on the circle."""
        at = bisect_left(self._ids, member.id)
        return self.members[at + 1 :] + self.members[:at]

    def keepers(self, member: Member, replicas: int) -> tuple[Member, ...]:
        """Who keeps what it owns besides itself: the next ones behind it, no two of one site; fewer when there are not
        as many sites."""
        found = self._keepers.get((member.id, replicas))
        if found is None:
            found = self._keepers[member.id, replicas] = self._next_sites(member, replicas - 1)
        return found

    def _next_sites(self, member: Member, most: int) -> tuple[Member, ...]:
        sites, found = {_site(member)}, list[Member]()
        for each in self.behind(member):
            if len(found) >= most:
                break
            if _site(each) not in sites:
                sites.add(_site(each))
                found.append(each)
        return tuple(found)

    def without(self, change: Change) -> tuple[Life, ...]:
        """Whom a change puts out that did not ask for it: the silent ones, and former lives of those that come in."""
        former = (self._by_name[each.name] for each in change.put if each.name in self._by_name)
        lives = {each.life for each in change.put}
        return tuple(dict.fromkeys((*change.out, *(each.life for each in former if each.life not in lives))))

    def few(self, most: int) -> tuple[str, ...]:
        """Addresses of its members."""
        return tuple(each.address for each in self.members[:most])

    def forced_without(self, names: Collection[str]) -> "Roster":
        rest = tuple(each for each in self.members if each.name not in names)
        gone = dict.fromkeys((*self.gone, *(each.address for each in self.members if each.name in names)))
        return Roster(self.number + 1, rest, self.ring, self.epoch + 1, True, tuple(gone))

    def changed(self, change: Change) -> "Roster":
        """The next one; all who have this one and the change make the same of it."""
        gone = {name for name, _ in (*change.out, *change.departing)} | {each.name for each in change.put}
        staying = [each for each in self.members if each.name not in gone]
        members = sorted((*staying, *change.put), key=lambda each: each.id)
        back = {each.address for each in change.put}
        still_gone = tuple(each for each in self.gone if each not in back)
        return Roster(self.number + 1, tuple(members), self.ring, self.epoch, gone=still_gone)


class Difference(Struct, frozen=True):
    """Between two rosters. `changed` are pairs of before and after: another life, address, place or site."""

    came: tuple[Member, ...]
    left: tuple[Member, ...]
    changed: tuple[tuple[Member, Member], ...]


def difference(before: Roster, after: Roster) -> Difference:
    came = tuple(each for each in after.members if before.get(each.name) is None)
    left = tuple(each for each in before.members if after.get(each.name) is None)
    both = ((each, after.get(each.name)) for each in before.members)
    return Difference(came, left, tuple((old, new) for old, new in both if new is not None and new != old))


def _site(member: Member) -> str | Life:
    return member.site or member.life
