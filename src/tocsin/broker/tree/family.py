"""The one machine of this node in its tree, as a runtime runs it."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Raw

from tocsin.broker.tree.neighbours import Neighbours
from tocsin.delivery.retry import describe
from tocsin.model.identity import Instant
from tocsin.routing.tree.messages import (
    Above,
    Child,
    Former,
    Join,
    Joined,
    Leave,
    Left,
    Refused,
    Unknown,
)
from tocsin.routing.tree.node import Alternatives, Position, TreeNode
from tocsin.runtime.family import Family
from tocsin.runtime.peers import Link, taken_of
from tocsin.store.database import Store
from tocsin.store.machines import Codec, MachineTables
from tocsin.wire.answer import Answer
from tocsin.wire.peer_messages import UNREADABLE, Batch, Question, decode_declined, encode, letters_of

NAME = "tree"
MACHINE = "node"  # the one there is, wherever it is reached
MESSAGES = Codec(join=Join, leave=Leave, joined=Joined, unknown=Unknown, refused=Refused, left=Left)
ROWS = Codec(above=Above, child=Child, former=Former)


def tables_of(store: Store) -> MachineTables:
    return store.machines(NAME, MESSAGES, ROWS)


class Tree(Family[TreeNode]):
    title = "the tree"
    always = (MACHINE,)

    def __init__(
        self,
        at: Position,
        session: Instant,
        own: Callable[[], Mapping[str, Alternatives]],
        neighbours: Neighbours,
        link: Link,
        report: Callable[[str], None],
    ) -> None:
        self._at, self._session, self._own, self._neighbours = at, session, own, neighbours
        self._link, self._report, self._told = link, report, ""

    def make(self, name: str, rows: Mapping[str, Any]) -> TreeNode | None:
        del name
        return TreeNode(self._at, self._session, rows, self._own())

    async def deliver(self, name: str, message: Any) -> None:
        del name
        await self._neighbours.do(message)

    async def ask(self, name: str, of: str, question: Any) -> Any:
        """Once: whom it is not answered, the machine asks again with what is true by then."""
        del name
        batch = Batch(questions=(Question(0, MACHINE, Raw(MESSAGES.encode(question))),))
        answer = await self._link.ask("POST", of, letters_of(NAME), encode(batch))
        taken = taken_of(answer)
        if taken is None or not taken.replies:
            raise LookupError(self._tell(_why(of, answer)))
        heard = MESSAGES.decode(taken.replies[0].body)
        if isinstance(heard, Refused):
            self._tell(f"{of} does not take this node as a child: {heard.why}")
        elif isinstance(heard, Joined):
            self._tell(f"this node is a child of {of}")
        return heard

    def _tell(self, text: str) -> str:
        """Once while it lasts."""
        if text != self._told:
            self._told = text
            self._report(text)
        return text


def _why(node: str, answer: Answer) -> str:
    try:
        said = decode_declined(answer.body)
    except UNREADABLE:
        return f"{node} does not answer as a node of a tree does: {describe(answer)}; it is asked again"
    if said.reason == "not-proven":
        return (
            f"{node} does not believe that this node is of its tree: {said.text}."
            " Give both the same implicit.key_file, and start them again"
        )
    return f"{node} says: {said.text}; it is asked again"
