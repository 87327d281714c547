"""Replies to what was published, at a terminal: which are asked for, how they are waited for and drawn."""

import asyncio
import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from tocsin.cli.command import Connection
from tocsin.cli.output import (
    WRONG_USE,
    Output,
    console,
    counted,
    fail,
    say,
    table,
    until_signalled,
    whole_seconds,
)

if TYPE_CHECKING:
    from rich.console import Group
    from rich.table import Table

    from tocsin.client.replies import Condition, ReplyView
    from tocsin.documents.replies import ViewDocument

Patience = Annotated[str, typer.Option("--timeout", metavar="TIME", help="How long to wait for replies, such as 60s.")]
MOST_SHOWN = 20  # values; --json has the others
BAR = 30  # characters
USUAL_SECONDS = 60.0
NO_WAIT = "none"
MET = {
    "all": "everybody has replied",
    "fraction": "enough of them have replied",
    "count": "enough replies have come",
    "quiet": "hardly any reply comes any more",
    "deadline": "the time is up",
    "ended": "the view has ended",
}
_BOUNDS = {"fraction": float, "count": int, "quiet": float}


@dataclass(frozen=True)
class Replies:
    """Each field is a flag."""

    reply_type: Annotated[
        str | None,
        typer.Option(
            metavar="TYPE", help="Ask for replies: enum:yes,no int:0..500 boolean text:200 pattern:RE json:{}."
        ),
    ] = None
    reply_for: Annotated[str, typer.Option(metavar="TIME", help="How long replies count, such as 10m.")] = ""

    def checked(self) -> None:
        """Before anything is published."""
        from tocsin.model.refusal import Refusal
        from tocsin.model.reply_types import reply_type

        if self.reply_type is None:
            if self.reply_for:
                fail("--reply-for is about replies: say with --reply-type which are asked for", WRONG_USE)
            return
        try:
            reply_type(self.reply_type)
        except Refusal as refusal:
            fail(f"--reply-type: {refusal.text}", WRONG_USE)


def condition_of(text: str, timeout: str, flag: str = "--wait") -> "Condition | None":
    """None: nobody waits. Who has all replies has nothing to wait for, whatever was said."""
    from tocsin.broker.quantities import duration
    from tocsin.client.replies import Condition

    kind, _, bound = text.strip().partition("=")
    try:
        seconds = float(duration(timeout)) if timeout else USUAL_SECONDS
    except ValueError:
        fail(f"--timeout {timeout!r} is not a time such as 60s or 10m", WRONG_USE)
    if kind == NO_WAIT and not bound:
        return None
    wait = Condition(all=True, seconds=seconds)
    if kind == "all" and not bound:
        return wait
    try:
        value = _BOUNDS[kind](bound)
        if not 0 < value < 1e9 or (kind == "fraction" and value > 1):
            raise ValueError
    except (KeyError, ValueError):
        fail(f"{flag} {text!r} is not all, fraction=0.9, count=10, quiet=0.5 or {NO_WAIT}", WRONG_USE)
    return wait | Condition(**{kind: value})


async def gathered(view: "ReplyView[None]", until: "Condition", json: bool) -> "ViewDocument":
    """Waits and draws; who presses ^C ends the view, and sees what there is."""
    with until_signalled() as stop:
        waiting, stopped = asyncio.ensure_future(view.wait(until)), asyncio.ensure_future(stop.wait())
        drawing = asyncio.ensure_future(_draw(view)) if not json and console().is_terminal else None
        try:
            await asyncio.wait({waiting, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                return waiting.result()
            say("ending the view: what comes from now on does not count")
            return await view.terminate()
        finally:
            for task in filter(None, (waiting, stopped, drawing)):
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError, Exception):
                    await task


async def _draw(view: "ReplyView[None]") -> None:
    from rich.live import Live

    with Live(console=console(), refresh_per_second=8, transient=True) as live:
        async for found in view.stream():
            live.update(drawing(found))


def drawing(view: "ViewDocument") -> "Group":
    from rich.console import Group
    from rich.text import Text

    return Group(*([_histogram(view)] if view.histogram else []), Text(figures(view)))


def figures(view: "ViewDocument") -> str:
    parts = [f"{counted(view.receivers, 'receiver')}{'' if view.exact else ' at least'}", f"{view.replied:,} replied"]
    parts.append(f"{'' if view.exact else 'at least '}{view.outstanding:,} outstanding")
    parts += [f"{view.not_reached:,} not reached"] if view.not_reached else []
    parts += [f"{view.late:,} late"] if view.late else []
    return ", ".join(parts)


def _histogram(view: "ViewDocument") -> "Table":
    largest, rows = max(each.count for each in view.histogram), list[tuple[str, ...]]()
    for each in view.histogram[:MOST_SHOWN]:
        count = f"{each.count:,}" if each.at_most is None else f"{each.count:,} to {each.at_most:,}"
        rows.append(
            (each.value, "█" * max(1, round(BAR * each.count / largest)), count, f"{each.count / view.replied:.0%}")
        )
    rest = view.rest + sum(each.count for each in view.histogram[MOST_SHOWN:])
    if rest:
        rows.append(("other values", "", f"{rest:,}", f"{rest / view.replied:.0%}"))
    return table(("reply", "", "count", "share"), rows, right=(2, 3))


def verdict(view: "ViewDocument") -> Iterator[str]:
    """How it stands in a sentence or two, for who published."""
    if view.met is not None and (view.receivers or view.met != "all"):
        yield MET[view.met]
    if view.ended:
        yield f"the view has {'been ' if view.ended == 'terminated' else ''}{view.ended}: no reply counts any more"
    if not view.receivers and view.exact:
        yield "nobody got it: there are no subscriptions that want it"
    who = f"{'' if view.exact else 'at least '}{view.outstanding:,} {'has' if view.outstanding == 1 else 'have'}"
    missing = [f"{who} not replied"] if view.outstanding else []
    missing += [f"{view.not_reached:,} could not be reached"] if view.not_reached else []
    missing += ["others may have got it"] if not view.exact and not missing else []
    if missing:
        yield "not everybody: " + ", ".join(missing)


def is_whole(view: "ViewDocument") -> bool:
    """Everybody who was to get it has replied."""
    return view.complete and not view.not_reached


def show_view(view: "ViewDocument") -> None:
    console().print(drawing(view))
    for each in verdict(view):
        say(each)


async def finish(view: "ReplyView[None]", until: "Condition | None", connection: Connection, json: bool) -> None:
    """Of a publication that asked for replies: what came of it, and the code the command ends with."""
    later = connection.api_command("views", "show", view.id)
    if until is None:
        Output({"id": view.message, "view": await view.look()}, f"accepted as {view.message}; {later}").show(json)
        return
    if not json:
        say(f"accepted as {view.message}; view {view.id}")
    found = await gathered(view, until, json)
    words = (
        [] if found.ended or is_whole(found) else [f"replies still count until {whole_seconds(found.until)}; {later}"]
    )
    Output({"id": view.message, "view": found}, lambda: show_view(found), *words).show(json)
    if not is_whole(found):
        raise SystemExit(1)


def allowed(type_: str) -> str:
    """What may be replied, in words."""
    from tocsin.model.refusal import Refusal
    from tocsin.model.reply_types import Boolean, Enumeration, Integers, Json, Pattern, Text, reply_type

    try:
        asked = reply_type(type_)
    except Refusal:
        return type_
    match asked:
        case Enumeration(values):
            return " | ".join(values)
        case Integers(None, None):
            return "an integer"
        case Integers(least, most):
            ends = [f"{word} {bound}" for word, bound in (("from", least), ("to", most)) if bound is not None]
            return f"an integer {' '.join(ends)}"
        case Boolean():
            return "true | false"
        case Pattern(text):
            return f"a text that matches {text}"
        case Text(longest):
            return f"a text of at most {longest:,} characters"
        case Json(schema):
            return f"JSON of the schema {schema}"
    return type_


def problem_of(type_: str, value: str) -> str:
    """What is wrong with a value, before it is sent; empty if nothing is, or only the broker knows."""
    from tocsin.model.refusal import Refusal
    from tocsin.model.reply_types import reply_type

    try:
        asked = reply_type(type_)
    except Refusal:
        return ""
    try:
        asked.value_of(value)
    except Refusal as refusal:
        return refusal.text
    return ""
