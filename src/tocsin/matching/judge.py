"""The port to a judge of expressions that no index holds; it runs where it can be killed."""

from typing import Protocol

from tocsin.model.filters import Content


class Undecided(Exception):
    """A filter could not be evaluated; the text is for its subscriber. That is neither a match nor none."""


class Judge(Protocol):
    def begin(self) -> None:
        """Another notification, with time of its own."""
        ...

    def judge(self, asked: Content, document: bytes) -> bool:
        """Whether the expression holds of the document; raises `Undecided` when that cannot be told in time."""
        ...

    def written(self, size: int) -> None:
        """A message of that size is written and looked through for one subscriber alone, or what costs as much is done;
        of size 0, it is only asked whether there is time for more.

        Raises `Undecided` where who waits for the verdicts must not wait any longer.
        """
        ...
