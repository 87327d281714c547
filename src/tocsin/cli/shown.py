"""A notification as a person wants to see it in a terminal."""

from rich.panel import Panel
from rich.text import Text

from tocsin.cli.output import give, words
from tocsin.client import Received
from tocsin.model.notification import Notification


def show_received(received: Received, json: bool) -> None:
    found = received.notifications()
    if json:
        parts = [notification_parts(each) for each in found]
        give({"headers": dict(received.headers), "body": received.body.decode(errors="replace"), "is": parts})
        return
    for each in found:
        show_notification(each)
    if not found:
        words.print(Panel(Text(received.body.decode(errors="replace")), title="not a notification"))


def show_notification(notification: Notification) -> None:
    producer = notification.producer or "an unnamed producer"
    title = f"{notification.topic}  from {producer}  ({notification.dialect})"
    body = notification.payload.data.decode(errors="replace")
    words.print(Panel(Text(body), title=Text(title), title_align="left", subtitle=Text(notification.id)))


def notification_parts(notification: Notification) -> dict[str, str | None]:
    return {
        "id": notification.id,
        "topic": str(notification.topic),
        "producer": notification.producer,
        "type": None if notification.type is None else str(notification.type),
        "media_type": notification.payload.media_type,
        "data": notification.payload.data.decode(errors="replace"),
    }
