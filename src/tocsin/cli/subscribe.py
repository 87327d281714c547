"""`subscribe`, `renew`, `status`, `pause`, `resume`, `unsubscribe`: a subscriber, in any dialect."""

import contextlib
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tocsin.cli.answers import Answers
from tocsin.cli.command import Connection, speaking
from tocsin.cli.filters import About, Expires, check_expires
from tocsin.cli.messages import ended, follow_own, show_received
from tocsin.cli.options import Json
from tocsin.cli.output import WRONG_USE, Output, fail, say, until_signalled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tocsin.client.client import Client
    from tocsin.client.consumer import Received
    from tocsin.client.values import Ended, Lease
    from tocsin.model.notification import Notification

application = typer.Typer()
Subscription = Annotated[str, typer.Argument(help="The id or the address of the subscription.")]


@speaking(application.command, "tocsin subscribe --print --topic flood//. --content '/alert/level > 3'")
async def subscribe(
    client: "Client",
    connection: Connection,
    to: Annotated[str | None, typer.Option(help="The consumer's address.")] = None,
    show: Annotated[bool, typer.Option("--print", help="Be the consumer, and print what comes.")] = False,
    pulled: Annotated[bool, typer.Option("--pull", help="With --print: fetch it, for want of an address.")] = False,
    *,
    about: About,
    mode: Annotated[
        str,
        typer.Option(help="wrapped or raw; of CloudEvents structured, binary or batched. By default the dialect's."),
    ] = "",
    together: Annotated[int, typer.Option(help="How many may come in one message.", min=1)] = 1,
    max_latency: Annotated[
        str, typer.Option(metavar="1s", help="How long each may wait to come together with others.")
    ] = "",
    secret: Annotated[str, typer.Option(help="The name of a secret to sign or authorise with.")] = "",
    consent: Annotated[bool, typer.Option("--consent", help="Ask the consumer first (CloudEvents).")] = False,
    thin: Annotated[bool, typer.Option("--thin", help="Tell where the data is, not the data.")] = False,
    reply: Annotated[
        bool, typer.Option("--reply", help="With --print: ask here for the reply to what wants one.")
    ] = False,
    reply_with: Annotated[
        str | None, typer.Option(metavar="VALUE", help="With --print: reply with this to all that want a reply.")
    ] = None,
    json: Json = False,
) -> None:
    """Subscribe a consumer, or this terminal with --print."""
    from tocsin.client.values import Terms

    if to is not None and show:
        fail("--to and --print exclude each other: the consumer is there, or it is this terminal", WRONG_USE)
    if to is None and not show:
        fail("name the consumer with --to URL, or be it with --print", WRONG_USE)
    if pulled and not show:
        fail("--pull goes with --print; `tocsin pull` fetches from a pull point", WRONG_USE)
    if not show and (reply or reply_with is not None):
        fail("--reply and --reply-with go with --print; a consumer at an address replies by itself", WRONG_USE)
    if reply and reply_with is not None:
        fail("--reply and --reply-with exclude each other: the reply is typed, or it is this one", WRONG_USE)
    answers = Answers(client, reply_with) if reply or reply_with is not None else None
    asked = about.options()
    form: dict[str, Any] = {"mode": mode, "together": together, "secret": secret, "consent": consent, "thin": thin}
    form |= {"max_latency": _latency(max_latency)}
    if pulled and any(value != getattr(Terms(), name) for name, value in form.items()):
        *names, last = (f"--{name.replace('_', '-')}" for name in form)
        fail(f"{', '.join(names)} and {last} are about what is sent, and with --pull nothing is", WRONG_USE)
    _check_form(connection.dialect, mode, together)
    if to is not None:
        _lease(await client.subscribe(to, **asked, **form)).show(json)
        return
    async with answers.given() if answers is not None else contextlib.nullcontext():
        hear = answers.hear if answers is not None else _unheard
        if pulled:
            await follow_own(client, asked, json, hear=hear)
        else:
            await _consume(client, asked | form, json, hear)


def _unheard(_: "Iterable[Notification]") -> None:
    """Who is not to reply."""


async def _consume(
    client: "Client", asked: dict[str, Any], json: bool, hear: "Callable[[Sequence[Notification]], None]"
) -> None:
    ends: list[Ended] = []
    with until_signalled() as stop:

        def note(end: "Ended") -> None:
            ends.append(end)
            stop.set()

        def show(one: "Received") -> None:
            show_received(one, json)
            hear(one.notifications())

        async with client.listening(received=show, ended=note, **asked) as lease:
            _lease(lease).show(json=False)
            await stop.wait()
    if ends:
        raise ended(ends[0].reason or ends[0].status)
    say("unsubscribed")


@speaking(application.command, "tocsin renew 7f3a --expires PT2H")
async def renew(client: "Client", subscription: Subscription, expires: Expires = "") -> Output:
    """Renew a subscription or a pull point."""
    check_expires(expires)
    return _lease(await client.renew(subscription, expires))


@speaking(application.command, "tocsin status 7f3a")
async def status(client: "Client", connection: Connection, subscription: Subscription) -> Output:
    """Tell until when a subscription stands, and in the JSON API's dialects how."""
    found = await client.status(subscription)
    until = found.expires or "further notice"
    if found.state == "suspended":
        again = connection.command("resume", subscription)
        because, once = (f": {found.reason}", ", once that is put right") if found.reason else ("", "")
        words = f"suspended{because}; lease until {until}; {again} makes it active again{once}"
    elif found.state:
        words = f"{found.state} until {until}"
    else:
        name = subscription.rstrip("/").rpartition("/")[2]
        other = connection.command("status", name, dialect="cloudevents")
        words = f"stands until {until}; {connection.dialect} does not tell whether it is paused, {other} does"
    document = {"expires": found.expires or None, "state": found.state or None, "reason": found.reason or None}
    return Output(document, words)


@speaking(application.command, "tocsin pause 7f3a")
async def pause(client: "Client", connection: Connection, subscription: Subscription) -> Output:
    """Hold a subscription: what is published meanwhile is not for it."""
    await client.pause(subscription)
    again = connection.command("resume", subscription)
    return Output({"subscription": subscription, "state": "paused"}, f"paused; go on with {again}")


@speaking(application.command, "tocsin resume 7f3a")
async def resume(client: "Client", subscription: Subscription) -> Output:
    """Go on with a subscription that was paused or suspended."""
    await client.resume(subscription)
    return Output({"subscription": subscription, "state": "active"}, "resumed")


@speaking(application.command, "tocsin unsubscribe 7f3a")
async def unsubscribe(client: "Client", subscription: Subscription) -> Output:
    """End a subscription."""
    await client.unsubscribe(subscription)
    return Output({"subscription": subscription, "state": "ended"}, "unsubscribed")


def _check_form(dialect: str, mode: str, together: int) -> None:
    from tocsin.client.requests import dialect_named, modes

    known = modes(dialect_named(dialect))
    if mode and mode not in known:
        choice = f"choose one of {', '.join(known)}" if known else "leave it out"
        fail(f"--mode {mode!r} is not a mode of {dialect}; {choice}", WRONG_USE)
    if together > 1 and ("batched" not in known or mode not in ("", "batched")):
        fail("--together is about batches: it goes with --as cloudevents, and --mode batched if any", WRONG_USE)


def _latency(text: str) -> str:
    """As the API has it: 250ms and PT0.25S are the same."""
    from tocsin.broker.quantities import duration
    from tocsin.mediation import times
    from tocsin.model.identity import SECOND

    if not text or times.is_duration(text):
        return text
    try:
        return times.lasting(round(duration(text) * SECOND))
    except ValueError:
        fail(f"--max-latency {text!r} is not a duration such as 250ms, 1s or PT1S", WRONG_USE)


def _lease(lease: "Lease") -> Output:
    document = {"id": lease.id, "address": lease.address, "expires": lease.expires}
    return Output(document, f"subscribed until {lease.expires or 'further notice'}: {lease.address}")
