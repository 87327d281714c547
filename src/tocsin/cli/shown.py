"""A notification as a person wants to see it: on standard output, for it is what was asked for."""

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from tocsin.cli.output import give
from tocsin.client.consumer import Received
from tocsin.model.notification import Notification

BINDINGS = "bindings"  # the CloudEvents extension; in SOAP they are a header, which --json shows in the body


def show_received(received: Received, json: bool) -> None:
    """What tells of an end is shown by who hears of it."""
    if received.end() is not None:
        return
    found = received.notifications()
    if json:
        parts = [notification_parts(each) for each in found]
        give({"headers": dict(received.headers), "body": received.body.decode(errors="replace"), "is": parts})
        return
    for each in found:
        show_notification(each)
    if not found:
        _show("not a notification", received.body)


def show_notification(notification: Notification) -> None:
    producer = notification.producer or "an unnamed producer"
    title = f"{notification.topic}  from {producer}  ({notification.dialect})"
    bindings = notification.attribute(BINDINGS)
    _show(title, notification.payload.data, f"{notification.id}  {bindings}" if bindings else notification.id)


def _show(title: str, body: bytes, below: str = "") -> None:
    """In a frame for eyes; into a pipe as it is, for a frame would break its lines."""
    out, text = Console(highlight=False), body.decode(errors="replace")
    if out.is_terminal:
        out.print(Panel(Text(text), title=Text(title), title_align="left", subtitle=Text(below)))
    else:
        out.file.write(f"{title}  {below}".rstrip() + f"\n{text}\n\n")
    out.file.flush()


def notification_parts(notification: Notification) -> dict[str, str | None]:
    return {
        "id": notification.id,
        "topic": str(notification.topic),
        "producer": notification.producer,
        "type": None if notification.type is None else str(notification.type),
        "media_type": notification.payload.media_type,
        "data": notification.payload.data.decode(errors="replace"),
        **({"bindings": bindings} if (bindings := notification.attribute(BINDINGS)) else {}),
    }
