"""What a client says to a broker: the same tables the broker reads by, written."""

import uuid
from collections.abc import Callable

from tocsin.client import filters
from tocsin.client.errors import ClientError
from tocsin.client.values import About, Mode, Terms, as_time
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.dialects import BY_NAME, DIALECTS, NAMES
from tocsin.mediation.rules import Dialect, Message
from tocsin.mediation.soap import soap, templates
from tocsin.mediation.soap.entries import Expression, Value, write
from tocsin.model import paths
from tocsin.model.identity import Instant, Node, Pairs, SubscriptionId
from tocsin.model.names import QName, Topic
from tocsin.model.notification import Notification
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Form, Position, Subscription

NOWHERE = Position(Node(""), 0)
_NOTHING = Terms()
_CHECKED = ("mode", "together", "consent")  # whether a dialect has it is told in words of its own
Written = tuple[Pairs, bytes]  # headers and body


# Which message asks for an operation


def operation(dialect: Dialect, name: str, *, needs: str = "") -> Message | None:
    """The message that asks for that operation of the normalised information set, and has that entry."""
    found = (each for each in _messages(dialect) if each.operation == name and (not needs or has(each, needs)))
    return next(found, None)


def needed(dialect: Dialect, name: str, *, needs: str = "") -> Message:
    message = operation(dialect, name, needs=needs)
    if message is None:
        raise lacking(dialect, name, lambda other: operation(other, name, needs=needs) is not None)
    return message


def own_pull_point(dialect: Dialect) -> Message | None:
    """A Subscribe without a consumer makes a pull point that feeds itself (ONVIF Core s9.1)."""
    return next(
        (each for each in dialect.requests if each.operation == "Subscribe" and not has(each, "consumer")), None
    )


def lacking(dialect: Dialect, name: str, having: Callable[[Dialect], bool]) -> ClientError:
    """What is not SOAP goes by the JSON API, which has everything."""
    others = [each for each in NAMES if not BY_NAME[each].is_soap or having(BY_NAME[each])]
    return ClientError(f"{dialect.title} has no {name}; these have: {', '.join(others)}")


def has(message: Message, entry: str) -> bool:
    return any(each.name == entry for each in message.entries)


def _messages(dialect: Dialect) -> tuple[Message, ...]:
    """Its own, and those of the dialect it is built on: the one that brought the notifications it uses."""
    base = next((each for each in DIALECTS if each.wrapped is not None and each.wrapped is dialect.wrapped), dialect)
    return dialect.requests if base is dialect else (*dialect.requests, *base.requests)


# How it is written


def request(
    dialect: Dialect, message: Message, to: str | Endpoint, values: dict[str, Value], version: str = "1.2"
) -> Written:
    try:
        content = write(message, values, dialect.addressing)
    except Refusal as refusal:
        raise ClientError(refusal.text) from None
    endpoint = Endpoint(to) if isinstance(to, str) else to
    name = f"urn:uuid:{uuid.uuid4()}"
    return soap.one_way(version, dialect.addressing, message.action, endpoint, content, name)


def publication(dialect: Dialect, notification: Notification, broker: str, version: str = "1.2") -> tuple[str, Written]:
    """Where a notification goes, and how it is said."""
    if not dialect.is_soap:
        return f"{broker}{dialect.door}", notice(dialect, notification, f"{broker}{dialect.door}")
    url = f"{broker}{paths.BROKER}" if dialect.wrapped is not None else f"{broker}{paths.PUBLISH}"
    return url, notice(dialect, notification, url, version)


def notice(dialect: Dialect, notification: Notification, to: str, version: str = "1.2") -> Written:
    form = Form(dialect.name, version, dialect.addressing)
    recipient = Subscription(SubscriptionId(""), None, Endpoint(to), None, form, (), NOWHERE, None)
    return templates.customise(notification, recipient, "")


# The values of its entries


def subscription(dialect: Dialect, message: Message, terms: Terms, now: Instant) -> dict[str, Value]:
    values: dict[str, Value] = {
        "consumer": Endpoint(terms.consumer) if terms.consumer else None,
        "end_to": Endpoint(terms.end_to) if terms.end_to else None,
        "expires": expiry(dialect, terms.expires, now),
        "start": None if terms.start is None else str(terms.start),
        "secret": terms.secret or None,
        "graph": terms.deliver_as or None,
        "bindings": True if terms.bindings else None,
        **filters.values(dialect, message, terms),
        **_form(message, terms.raw),
    }
    for name in ("end_to", "start", "secret", "graph", "bindings"):
        if values[name] is not None and not has(message, name):
            raise ClientError(f"{dialect.title} has no place for {name} in what asks for a subscription")
    if terms.consent:
        raise ClientError(f"{dialect.title} knows no consent of consumers; that is of CloudEvents over HTTP")
    for name in set(Terms.__struct_fields__).difference(values, About.__annotations__, _CHECKED):
        if getattr(terms, name) != getattr(_NOTHING, name):
            hint = "subscribe by the API, which takes any dialect"
            raise ClientError(f"{dialect.title} has no place for {name}; {hint}")
    return values


def _form(message: Message, raw: bool | None) -> dict[str, Value]:
    if raw is None:
        return {}
    if has(message, "mode"):
        return {"mode": next(each for each in message.fact("modes").split() if each.endswith("/Wrap") is not raw)}
    return {"use_raw": True, "use_notify": "false"} if raw else {}


def modes(dialect: Dialect) -> tuple[Mode, ...]:
    """In what forms it can have notifications sent, where there is a choice or at least a name."""
    if dialect.name == cloudevents.NAME:
        return ("structured", "binary", "batched")
    forms: tuple[tuple[Mode, Message | None], ...] = (("wrapped", dialect.wrapped), ("raw", dialect.raw))
    return tuple(name for name, form in forms if form is not None)


def check_form(dialect: Dialect, terms: Terms) -> None:
    """For programs, wrapped and raw are other words for what CloudEvents call structured and binary."""
    known = modes(dialect)
    understood = (*known, "wrapped", "raw") if dialect.name == cloudevents.NAME else known
    if terms.mode and terms.mode not in understood:
        choice = f"choose one of {', '.join(known)}" if known else "it has one form only"
        raise ClientError(f"{dialect.title} has no mode {terms.mode!r}; {choice}")
    if terms.together != 1 and "batched" not in known:
        raise ClientError(f"{dialect.title} has no batches; {cloudevents.NAME} has")


def lifetime(dialect: Dialect) -> str:
    """The namespace of the times that a resource of that dialect ends at; empty where it has none."""
    if dialect.end is not None and dialect.end.element is not None:
        return dialect.end.element.namespace
    renew = operation(dialect, "Renew", needs="expires")
    paths = () if renew is None else tuple(each.path for each in renew.entries if each.name == "expires")
    return paths[0][-1].namespace if paths else ""


def expiry(dialect: Dialect, expires: str, now: Instant) -> str | None:
    return (expires if dialect.durations else as_time(expires, now)) or None


def topic_path(dialect: Dialect, topic: Topic) -> Expression:
    """A concrete topic with prefixes of our own."""
    prefixes: dict[str, str] = {}
    text = "/".join(_step(each, prefixes) for each in topic.steps)
    namespaces = tuple((prefix, uri) for uri, prefix in prefixes.items())
    return Expression(text, filters.grammar(dialect, "concrete"), namespaces, dialect.topic_attribute)


def _step(step: QName, prefixes: dict[str, str]) -> str:
    if not step.namespace:
        return step.local
    return f"{prefixes.setdefault(step.namespace, f't{len(prefixes)}')}:{step.local}"


def dialect_named(name: str) -> Dialect:
    if name not in NAMES:
        raise ClientError(f"{name!r} is not a dialect; choose one of {', '.join(NAMES)}")
    return BY_NAME[name]
