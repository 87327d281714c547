"""Names that are asked for, each with a number as long as somebody does."""

from __future__ import annotations


class Names:
    def __init__(self, most: int) -> None:
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._uses: list[int] = []
        self._free: list[int] = []
        self._most = most
        self.version = 0

    @classmethod
    def of(cls, names: list[str]) -> Names:
        made = cls(len(names))
        for each in names:
            made.take(each)
        return made

    def take(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = self._new(name)
            self.version += 1
        self._uses[number] += 1
        return number

    def use(self, number: int) -> None:
        self._uses[number] += 1

    def release(self, number: int) -> None:
        self._uses[number] -= 1
        if not self._uses[number]:
            del self._numbers[self._names[number]]
            self._free.append(number)
            self.version += 1

    def number(self, name: str) -> int | None:
        return self._numbers.get(name)

    def names(self) -> list[str]:
        return list(self._names)

    def used(self) -> int:
        return len(self._numbers)

    def __len__(self) -> int:
        return len(self._names)

    def _new(self, name: str) -> int:
        if self._free:
            number = self._free.pop()
            self._names[number] = name
            return number
        if len(self._names) >= self._most:
            raise OverflowError(f"more than {self._most:,} different names are asked for")
        self._names.append(name)
        self._uses.append(0)
        return len(self._names) - 1
