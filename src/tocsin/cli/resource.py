"""`list`, `show` and what takes away: the same for everything that a broker keeps by name."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from tocsin.cli.command import asking
from tocsin.cli.output import Output
from tocsin.documents.subscriptions import Page

if TYPE_CHECKING:
    from tocsin.client.client import Client

Item = TypeVar("Item")
Limit = Annotated[int, typer.Option(help="How many at most.", min=1)]


class Collection:
    """The commands of one group; `named` is the argument that names one of its things."""

    def __init__(self, group: typer.Typer, command: str, named: Any, example: str) -> None:
        self._group, self._command, self._named, self._example = group, command, named, example

    def add_list(
        self,
        help: str,
        ask: "Callable[[Client], Awaitable[Sequence[Item]]]",
        shown: Callable[[Sequence[Item]], object],
        none: str,
    ) -> None:
        """All of them in one page; `none` is said when there are none."""

        async def listed(client: "Client") -> Output:
            items = await ask(client)
            return Output(Page([*items], None), shown(items) if items else none)

        asking(self._group.command, f"{self._command} list", name="list", help=help)(listed)

    def add_show(
        self, help: str, ask: "Callable[[Client, str], Awaitable[Item]]", shown: Callable[[Item], object]
    ) -> None:
        async def show(client: "Client", name: str) -> Output:
            found = await ask(client, name)
            return Output(found, shown(found))

        self._add("show", help, show)

    def add_remove(self, verb: str, help: str, ask: "Callable[[Client, str], Awaitable[object]]", done: str) -> None:
        """`done` is said of the name."""

        async def remove(client: "Client", name: str) -> Output:
            await ask(client, name)
            return Output({"name": name, "removed": True}, f"{name} is {done}")

        self._add(verb, help, remove)

    def _add(self, verb: str, help: str, command: Callable[..., Any]) -> None:
        command.__annotations__["name"] = self._named
        asking(self._group.command, f"{self._command} {verb} {self._example}", name=verb, help=help)(command)


def page_of(items: Sequence[Item], limit: int) -> dict[str, Any]:
    """Of one more than were asked for: so many, and whether there are more."""
    return {"items": items[:limit], "more": len(items) > limit}
