"""Requests, from the tables to the normalised information set: one builder for each operation, whatever the dialect."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from tocsin.markup.xml import qname, text_of
from tocsin.mediation import operations, times
from tocsin.mediation.graph_forms import with_graph
from tocsin.mediation.rules import Dialect, Message
from tocsin.mediation.soap import soap
from tocsin.mediation.soap.content_filters import event_filter, flat_filters, wsn_filter
from tocsin.mediation.soap.entries import Values, read_entries
from tocsin.mediation.soap.namespaces import POLICY
from tocsin.mediation.soap.soap import Envelope
from tocsin.mediation.topics import filter_of, topic_of
from tocsin.model.filters import Filter
from tocsin.model.identity import SECOND, Instant
from tocsin.model.names import QName
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Form

_FROM = QName(POLICY, "From")


class RequestEntries(Struct):
    """A request with its entries found; `id` is that of the resource it is about, empty when it names none."""

    dialect: Dialect
    message: Message
    envelope: Envelope
    values: Values
    id: str
    now: Instant


def request(dialect: Dialect, message: Message, envelope: Envelope, name: str, now: Instant) -> operations.Request:
    """`name` is the id in the address; a reference parameter that is echoed, or a reference in the body, does too."""
    assert envelope.content is not None
    values = read_entries(envelope.content, message.entries)
    name = name or envelope.header("identifier") or _referred(dialect, values)
    return _BUILDERS[message.operation](RequestEntries(dialect, message, envelope, values, name, now))


def _referred(dialect: Dialect, values: Values) -> str:
    """Clients of the DHT broker (paper 004) put the SubscriptionReference into the body, early WS-Eventing the id."""
    reference = values.element("reference")
    if reference is None:
        return values.text("id") or ""
    identifier = None if dialect.identifier is None else next(reference.iter(dialect.identifier.clark), None)
    return text_of(identifier) or soap.address_of(reference).rpartition("/")[2]


def _subscribe(asked: RequestEntries) -> operations.Request:
    values = asked.values
    policy = asked.values.element("policy")
    known = {entry.path[-1].clark for entry in asked.message.entries if len(entry.path) > 1}
    for each in policy if policy is not None else ():
        if isinstance(each.tag, str) and each.tag not in known:
            raise Refusal("unknown-policy", f"the subscription policy {each.tag} is not known", qname(each.tag))
    consumer, end_to = values.element("consumer"), values.element("end_to")
    expires = values.text("expires") or ""
    secret = values.text("secret")
    endpoint = None if consumer is None else soap.endpoint(consumer, consumer.tag.rpartition("}")[2])
    if endpoint is not None and secret:
        endpoint = Endpoint(endpoint.address, endpoint.reference, secret)
    return operations.Subscribe(
        endpoint,
        None if end_to is None else soap.endpoint(end_to, "EndTo"),
        _delivered(_form(asked, expires, None if consumer is None else soap.version_of(consumer)), values),
        _filters(values),
        _expiry(asked.dialect, expires, asked.now),
        _start(values.text("start")),
    )


def _form(asked: RequestEntries, expires: str, wsa: str | None = None) -> Form:
    """A lease asked for as a time is answered as a time; anything else as a duration (WSE s3.1)."""
    envelope, dialect = asked.envelope, asked.dialect
    version = envelope.addressing or wsa or dialect.addressing
    as_time = bool(expires) and not times.is_duration(expires)
    return Form(
        dialect.name,
        envelope.soap,
        version,
        _wrapped(asked),
        "time" if as_time or (not expires and dialect.leases == "time") else "duration",
    )


def _delivered(form: Form, values: Values) -> Form:
    bindings = values.text("bindings")
    return with_graph(form, values.text("graph"), bindings is not None and bindings not in ("false", "0"))


def _wrapped(asked: RequestEntries) -> bool:
    values, mode = asked.values, asked.values.text("mode")
    if mode is not None:
        modes = asked.message.fact("modes").split()
        if mode not in modes:
            raise Refusal("unsupported-delivery", f"{mode!r} is not supported; {', '.join(modes)} is")
        return mode.endswith("/Wrap")
    if asked.dialect.wrapped is None:
        return False
    return values.element("use_raw") is None and values.text("use_notify") not in ("false", "0")


def _start(text: str | None) -> operations.Start | None:
    if text is None:
        return None
    if text.isdecimal() and len(text) < 19:
        return operations.Start(offset=int(text))
    try:
        return operations.Start(when=times.instant(text))
    except Refusal:
        hint = "such as 42 or 2030-01-31T12:00:00Z"
        raise Refusal("bad-start", f"From is an offset or a time {hint}, not {text[:40]!r}", _FROM) from None


def _filters(values: Values) -> tuple[Filter, ...]:
    """Filters are joined by and (WSN 1.3 s4.2); none at all wants everything."""
    return (
        *wsn_filter(values.element("filter")),
        *event_filter(values.element("event_filter")),
        *flat_filters(values.element("topic_expression"), values.element("selector"), values.element("precondition")),
    )


def _expiry(dialect: Dialect, text: str, now: Instant) -> Instant | None:
    """Nil or absent asks for no particular end."""
    return times.expiry(text, now) if text and text != dialect.endless else None


def _renew(asked: RequestEntries) -> operations.Request:
    expires = asked.values.text("expires") or asked.values.text("lifetime") or ""
    return operations.Renew(asked.id, _expiry(asked.dialect, expires, asked.now), _form(asked, expires))


def _current_message(asked: RequestEntries) -> operations.Request:
    return operations.GetCurrentMessage(filter_of(asked.values.needed("topic")))


def _pull(asked: RequestEntries) -> operations.Request:
    most, timeout = asked.values.text("most"), asked.values.text("timeout")
    if most is not None and (not most.isdecimal() or len(most) > 9):
        raise Refusal("malformed", f"{most[:40]!r} is not a number of messages")
    return operations.Pull(asked.id, None if most is None else int(most), _seconds(timeout) if timeout else 0.0)


def _seconds(timeout: str) -> float:
    try:
        return times.duration(timeout) / SECOND
    except Refusal as refusal:
        raise Refusal("malformed", refusal.text) from None


def _register(asked: RequestEntries) -> operations.Request:
    publisher = asked.values.element("publisher")
    return operations.RegisterPublisher(
        None if publisher is None else soap.endpoint(publisher, "PublisherReference"),
        tuple(topic_of(each) for each in asked.values.every("topic")),
        asked.values.text("demand") in ("true", "1"),
        _expiry(asked.dialect, asked.values.text("expires") or "", asked.now),
        _form(asked, asked.values.text("expires") or ""),
    )


def _properties(asked: RequestEntries) -> operations.Request:
    """The names are text of the request itself, or of its ResourceProperty children."""
    assert asked.envelope.content is not None
    holders = asked.values.every("property") or [asked.envelope.content]
    return operations.GetProperties(asked.id, tuple(_qualified(text_of(each), each.nsmap) for each in holders))


def _qualified(text: str, namespaces: Mapping[str | None, str]) -> QName:
    prefix, colon, local = text.rpartition(":")
    if colon and prefix not in namespaces:
        raise Refusal("unknown-property", f"the prefix of the property {text[:80]!r} is not declared")
    return QName(namespaces.get(prefix or None, ""), local)


def _describe(asked: RequestEntries) -> operations.Request:
    texts = ((entry.name, asked.values.text(entry.name)) for entry in asked.message.entries)
    return operations.Describe(
        asked.message.fact("what"), tuple((name, text) for name, text in texts if text is not None)
    )


_BUILDERS: Mapping[str, Callable[[RequestEntries], operations.Request]] = {
    "Subscribe": _subscribe,
    "Renew": _renew,
    "GetStatus": lambda asked: operations.GetStatus(asked.id),
    "Unsubscribe": lambda asked: operations.Unsubscribe(asked.id),
    "Pause": lambda asked: operations.Pause(asked.id),
    "Resume": lambda asked: operations.Resume(asked.id),
    "GetCurrentMessage": _current_message,
    "CreatePullPoint": lambda asked: operations.CreatePullPoint(_form(asked, "")),
    "Pull": _pull,
    "DestroyPullPoint": lambda asked: operations.Unsubscribe(asked.id),
    "RegisterPublisher": _register,
    "DestroyRegistration": lambda asked: operations.DestroyRegistration(asked.id),
    "GetProperties": _properties,
    "Describe": _describe,
    "Synchronise": lambda asked: operations.Synchronise(asked.id),
}
OPERATIONS = tuple(_BUILDERS)
