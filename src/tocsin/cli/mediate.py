"""`mediate`: a dry run of mediation."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tocsin.cli.output import WRONG_USE, fail, give_bytes, say
from tocsin.mediation import dialects, raw
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.explain import customising, normalising
from tocsin.model.identity import Instant, Node, Pairs, SubscriptionId
from tocsin.model.notification import Notification
from tocsin.model.records import Accepted
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Form, Position, Subscription


def _forms() -> Iterator[tuple[str, Form]]:
    for each in (dialects.BY_NAME[name] for name in dialects.NAMES):
        wrapped = each.wrapped is not None or not each.is_soap
        yield each.name, Form(each.name, "1.2" if each.is_soap else None, each.addressing, wrapped)
        if each.wrapped is not None and each.raw is not None:
            yield f"{each.name}-raw", Form(each.name, "1.2", each.addressing, wrapped=False)
    yield f"{cloudevents.NAME}-binary", Form(cloudevents.NAME, wrapped=False)
    yield f"{cloudevents.NAME}-batched", Form(cloudevents.NAME, together=100)


_FORMS = dict(_forms())
application = typer.Typer()


@application.command(epilog="Example: tocsin mediate notify.xml --to cloudevents --explain")
def mediate(
    file: Annotated[str, typer.Argument(help="A message as it came: a file, or - for standard input.")],
    to: Annotated[str, typer.Option(help=f"One of {', '.join(_FORMS)}.")],
    consumer: Annotated[str, typer.Option(help="The consumer's address.")] = "http://consumer.example/",
    headers: Annotated[bool, typer.Option("--headers", help="Print the HTTP headers too.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show the action taken for each entry instead.")] = False,
    content_type: Annotated[str, typer.Option(help="Of the message; by default what it looks like.")] = "",
) -> None:
    """Print a message as another dialect would have it: what a consumer of that dialect would get."""
    if to not in _FORMS:
        fail(f"--to {to!r} is not a dialect; choose one of {', '.join(_FORMS)}", WRONG_USE)
    try:
        body = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        fail(f"{file}: {error.strerror}")
    if not body.strip():
        fail(f"{file}: there is nothing in it", WRONG_USE)
    try:
        record = _record(body, content_type)
        found = dialects.normalise(record)
    except Refusal as refusal:
        fail(f"{file}: {refusal.text}")
    say(f"{len(found)} notification{'s' if len(found) > 1 else ''} in {record.dialect}")
    recipient = Subscription(SubscriptionId("dry-run"), None, Endpoint(consumer), None, _FORMS[to], (), record.at, None)
    for each in found:
        if explain:
            _explain(record, each, recipient)
            continue
        _print(*dialects.customise(each, recipient, "http://broker.example"), headers)


def _explain(record: Accepted, read: Notification, recipient: Subscription) -> None:
    for title, steps in (
        (f"normalising {record.dialect}", normalising(record, read)),
        (f"customising for {recipient.form.dialect}", customising(read, recipient)),
    ):
        table = Table(title=title, title_justify="left", box=None, pad_edge=False)
        for name in ("entry", "action", "place in the message", "value"):
            table.add_column(name, overflow="fold")
        for step in steps:
            table.add_row(*(Text(each) for each in (step.entry, step.action, step.place, step.value)))
        Console(highlight=False).print(table)


def _record(body: bytes, content_type: str) -> Accepted:
    """A file has no content type: unless one is given it is what the message looks like."""
    kind = content_type or _looks_like(body)
    content: Pairs = (("content-type", kind),)
    if kind == _SOAP or "soap" in kind:
        name = dialects.event_dialect(dialects.open_in_full(body))
    else:
        name = dialects.EVENT_MEDIA_TYPES.get(kind.partition(";")[0].strip().lower(), raw.NAME)
        name = cloudevents.NAME if kind == cloudevents.BATCHED else name
    position = Position(Node("dry-run"), 0)
    return Accepted(position, Instant(time.time_ns()), "/broker/publish", name, content, None, "dry-run", body)


_SOAP = "application/soap+xml"


def _looks_like(body: bytes) -> str:
    start = body.lstrip()[:1]
    if start in (b"{", b"[") and b'"specversion"' in body:
        return cloudevents.STRUCTURED if start == b"{" else cloudevents.BATCHED
    if start == b"<":
        return _SOAP if b"Envelope" in body[:1024] else "application/xml"
    return "application/json" if start in (b"{", b"[") else "text/plain"


def _print(headers: Pairs, body: bytes, with_headers: bool) -> None:
    if with_headers or any(name.startswith("ce-") for name, _ in headers):
        sys.stdout.write("".join(f"{name}: {value}\n" for name, value in headers) + "\n")
    give_bytes(body + b"\n")
