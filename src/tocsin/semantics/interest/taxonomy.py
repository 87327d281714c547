"""A taxonomy: a forest of names, checked as it grows."""

from collections.abc import Iterable, Iterator, Mapping

from tocsin.model.refusal import Refusal, known_names

LONGEST_NAME = 256
DEEPEST = 64


class Taxonomy:
    """A forest of names; `kind` is what a name is called in errors."""

    def __init__(self, kind: str, parents: Mapping[str, str | None] | None = None) -> None:
        self._kind = kind
        self._parents: dict[str, str | None] = {}
        self._children: dict[str, dict[str, None]] = {}
        for name in parents_first(kind, parents or {}):
            self.put(name, (parents or {})[name])

    def put(self, name: str, parent: str | None = None) -> None:
        """A new name, or one that moves with all that is under it."""
        checked_name(self._kind, name)
        if parent is not None:
            self.check(parent)
            if parent == name or name in self.above(parent):
                raise Refusal(
                    "bad-world", f"{self._kind} {name!r} cannot be under {parent!r}, which is under it: a cycle"
                )
            if len(self.above(parent)) + self._height(name) > DEEPEST:
                raise Refusal("bad-world", f"{self._kind} {name!r} would be nested deeper than {DEEPEST}")
        if name in self._parents:
            self._detach(name)
        self._parents[name] = parent
        self._children.setdefault(name, {})
        if parent is not None:
            self._children[parent][name] = None

    def remove(self, name: str) -> None:
        self.check(name)
        if self._children[name]:
            raise Refusal("in-use", f"{self._kind} {name!r} has others under it: {', '.join(self._children[name])}")
        self._detach(name)
        del self._parents[name], self._children[name]

    def check(self, name: str) -> None:
        if name not in self._parents:
            raise Refusal("unknown-name", f"there is no {self._kind} {name!r}; {known_names(name, self._parents)}")

    def parent(self, name: str) -> str | None:
        return self._parents[name]

    def children(self, name: str) -> list[str]:
        return list(self._children.get(name, ()))

    def below(self, name: str) -> Iterator[str]:
        """The name itself and all under it, at any depth."""
        waiting = [name]
        while waiting:
            found = waiting.pop()
            yield found
            waiting += self._children.get(found, ())

    def above(self, name: str) -> list[str]:
        """The name itself and all it is under, the nearest first."""
        found: list[str] = []
        at: str | None = name
        while at is not None:
            found.append(at)
            at = self._parents.get(at)
        return found

    def path(self, name: str) -> tuple[str, ...]:
        """From the top down to the name."""
        return tuple(reversed(self.above(name)))

    def items(self) -> Iterable[tuple[str, str | None]]:
        return self._parents.items()

    def __contains__(self, name: object) -> bool:
        return name in self._parents

    def __iter__(self) -> Iterator[str]:
        return iter(self._parents)

    def __len__(self) -> int:
        return len(self._parents)

    def _detach(self, name: str) -> None:
        if (parent := self._parents[name]) is not None:
            del self._children[parent][name]

    def _height(self, name: str) -> int:
        return 1 + max((self._height(child) for child in self._children.get(name, ())), default=0)


def checked_name(kind: str, name: str) -> str:
    if not name or len(name) > LONGEST_NAME or not name.isprintable() or name != name.strip():
        shown = "" if not name else f", not {name[:80]!r}"
        raise Refusal("bad-world", f"a {kind} needs a name of 1 to {LONGEST_NAME} printable characters{shown}")
    return name


def parents_first(kind: str, parents: Mapping[str, str | None]) -> list[str]:
    """Names may stand before their parents in a file; a cycle has no first."""
    ordered: dict[str, None] = {}
    for name in parents:
        chain: dict[str, None] = {}
        at: str | None = name
        while at is not None and at not in ordered and at in parents:
            if at in chain:
                raise Refusal("bad-world", f"the {kind} taxonomy has a cycle: {_cycle(list(chain), at)}; break it")
            chain[at] = None
            at = parents[at]
        ordered.update(dict.fromkeys(reversed(chain)))
    return list(ordered)


def _cycle(chain: list[str], again: str) -> str:
    names = [*chain[chain.index(again) :], again]
    return " under ".join(names if len(names) <= DEEPEST else [*names[:10], "...", again])
