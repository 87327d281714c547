"""A notification as a person wants to see it in a terminal."""

from typing import Any

from rich.panel import Panel
from rich.text import Text

from tocsin.cli.output import give, words
from tocsin.client import Received


def show_received(received: Received, json: bool) -> None:
    found = received.notifications()
    if json:
        give({"headers": dict(received.headers), "body": received.body.decode(errors="replace"), "is": _parts(found)})
        return
    for each in found:
        title = f"{each.topic}  from {each.producer or 'an unnamed producer'}  ({each.dialect})"
        body = each.payload.data.decode(errors="replace")
        words.print(Panel(Text(body), title=Text(title), title_align="left", subtitle=Text(each.id)))
    if not found:
        words.print(Panel(Text(received.body.decode(errors="replace")), title="not a notification"))


def _parts(found: Any) -> list[dict[str, str]]:
    return [{"id": each.id, "topic": str(each.topic), "producer": each.producer} for each in found]
