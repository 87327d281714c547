"""The subscription object of the CloudEvents Subscriptions API s3.2.1, read and written."""

import re
from typing import Any, cast

import msgspec
from msgspec import UNSET, Struct, UnsetType

from tocsin.documents.latency import latency_text, with_latency
from tocsin.matching.explain.wording import filter_text
from tocsin.mediation import times
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.ce import filters as ce_filters
from tocsin.mediation.ce.filters import lower_keys
from tocsin.mediation.graph_forms import with_graph
from tocsin.mediation.operations import Subscribe
from tocsin.model.access import Secret, SecretKind
from tocsin.model.identity import Instant, Pairs
from tocsin.model.refusal import Refusal
from tocsin.model.subscription import Endpoint, Form, Subscription

PROTOCOL = "HTTP"
MODES = ("structured", "binary", "batched")
TOGETHER = 100
MOST_TOGETHER = 1000
MOST_HEADERS = 32
LONGEST_SINK = 2048
_MEMBERS = frozenset(
    ("id", "source", "types", "config", "filters", "sink", "sinkcredential", "protocol", "protocolsettings")
)
_CREDENTIALS: dict[str, SecretKind] = {"PLAIN": "basic", "ACCESSTOKEN": "bearer"}
_TYPES = {kind: name for name, kind in _CREDENTIALS.items()}
_HEADER = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}")
_VALUE = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e]{0,1022}[\x21-\x7e])?)?")
# Ours to write, or the connection's; credentials would be written down, which sinkcredential is not.
_NOT_THEIRS = re.compile(
    r"authorization|cookie|connection|content-.*|expect|host|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade"
    r"|webhook-.*|ce-.*",
    re.IGNORECASE,
)


class Credential(Struct, frozen=True):
    kind: SecretKind
    value: str

    def __repr__(self) -> str:
        return f"Credential({self.kind!r})"


class SubscriptionRequest(Struct, frozen=True):
    """`credential` is UNSET where nothing was said of it, None where there shall be none."""

    id: str
    subscribe: Subscribe
    credential: Credential | UnsetType | None


def read(document: dict[str, Any], now: Instant, *, standing: bool = False) -> SubscriptionRequest:
    """With `standing` it may be what was told of a subscription, where the secret part of a credential is left out."""
    asked = lower_keys(document, "the subscription")
    if unknown := sorted(asked.keys() - _MEMBERS):
        raise _bad(f"{unknown[0][:80]!r} is not a member of a subscription; known are {', '.join(sorted(_MEMBERS))}")
    protocol = asked.get("protocol")
    if protocol is None:
        raise _bad(f"the protocol is missing; {PROTOCOL} is supported")
    if protocol != PROTOCOL:
        raise Refusal("unsupported-delivery", f"the protocol {str(protocol)[:80]!r} is not supported; {PROTOCOL} is")
    headers = _headers(_object(asked, "protocolsettings"))
    form, expires = _config(_object(asked, "config"), now)
    filters = ce_filters.of_source_and_types(_source(asked), _types(asked)) + ce_filters.read(
        asked.get("filters") or []
    )
    reference = msgspec.json.encode(headers) if headers else b""
    subscribe = Subscribe(Endpoint(_sink(asked), reference), None, form, filters, expires)
    return SubscriptionRequest(str(asked.get("id", "")), subscribe, _credential(asked, standing))


def _sink(asked: dict[str, Any]) -> str:
    sink = asked.get("sink")
    if not isinstance(sink, str) or not 0 < len(sink) <= LONGEST_SINK:
        raise _bad("the sink is missing, or not the URI of a consumer")
    return sink


def _source(asked: dict[str, Any]) -> str | None:
    source = asked.get("source")
    if source is None:
        return None
    return _text(source, "the source")


def _types(asked: dict[str, Any]) -> tuple[str, ...]:
    types = asked.get("types") or []
    if not isinstance(types, list) or len(types) > ce_filters.MOST:
        raise _bad(f"types is not an array of at most {ce_filters.MOST} types")
    return tuple(_text(each, "each of types") for each in types)


def _text(value: object, what: str) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= ce_filters.LONGEST_VALUE:
        raise _bad(f"{what} must be a string of 1 to {ce_filters.LONGEST_VALUE} characters")
    return value


def _object(asked: dict[str, Any], name: str) -> dict[str, Any]:
    found = asked.get(name)
    if found is not None and not isinstance(found, dict):
        raise _bad(f"{name} is not an object")
    return found or {}


def _config(config: dict[str, Any], now: Instant) -> tuple[Form, Instant]:
    """Without an end it is asked to last as long as the broker lets anything last."""
    if unknown := sorted(config.keys() - _CONFIG):
        raise _bad(f"{unknown[0][:80]!r} is not known in config; {', '.join(sorted(_CONFIG))} are")
    mode, expires = config.get("mode", MODES[0]), config.get("expires")
    if mode not in MODES:
        raise _bad(f"the mode {str(mode)[:80]!r} is none of {', '.join(MODES)}")
    together = _together(config.get("together", TOGETHER)) if mode == "batched" else 1
    latency = config.get("max_latency")
    form = with_graph(
        with_latency(
            Form(cloudevents.NAME, wrapped=mode != "binary", together=together),
            None if latency is None else str(latency),
        ),
        None if config.get("graph") is None else str(config["graph"]),
        _bindings(config),
    )
    return form, times.LAST if expires is None else times.expiry(str(expires), now)


_CONFIG = {"mode", "expires", "together", "max_latency", "graph", "bindings"}


def _bindings(config: dict[str, Any]) -> bool:
    """Its values are strings, as the specification has them; JSON's own are taken too."""
    asked = config.get("bindings", False)
    if str(asked).lower() not in ("true", "false"):
        raise _bad(f"bindings is true or false, not {str(asked)[:80]!r}")
    return str(asked).lower() == "true"


def _together(asked: object) -> int:
    text = str(asked)
    if not text.isdecimal() or len(text) > 4 or not 2 <= int(text) <= MOST_TOGETHER:
        raise _bad(f"together is how many events may stand in one batch, from 2 to {MOST_TOGETHER}")
    return int(text)


def _headers(settings: dict[str, Any]) -> Pairs:
    if unknown := sorted(settings.keys() - {"headers", "method"}):
        raise _bad(f"{unknown[0][:80]!r} is not known in protocolsettings; headers and method are")
    method, headers = settings.get("method", "POST"), settings.get("headers") or {}
    if method != "POST":
        raise Refusal("unsupported-delivery", f"the method {str(method)[:80]!r} is not supported; POST is")
    if not isinstance(headers, dict) or len(headers) > MOST_HEADERS:
        raise _bad(f"headers is not an object of at most {MOST_HEADERS} headers")
    return tuple((_header_name(name), _header_value(name, value)) for name, value in headers.items())


def _header_name(name: str) -> str:
    if not _HEADER.fullmatch(name) or _NOT_THEIRS.fullmatch(name):
        raise _bad(f"{name[:128]!r} is not a header that can be asked for; credentials go into sinkcredential")
    return name


def _header_value(name: str, value: object) -> str:
    if not isinstance(value, str) or not _VALUE.fullmatch(value):
        raise _bad(f"the value of the header {name!r} must be a string of up to 1024 printable ASCII characters")
    return value


def _credential(asked: dict[str, Any], standing: bool) -> Credential | UnsetType | None:
    if "sinkcredential" not in asked:
        return UNSET
    if not _object(asked, "sinkcredential"):
        return None
    told = lower_keys(asked["sinkcredential"], "sinkcredential")
    if standing and told.keys() == {"credentialtype"}:
        return UNSET
    match told.get("credentialtype"):
        case "PLAIN":
            return Credential("basic", f"{_part(told, 'identifier')}:{_part(told, 'secret')}")
        case "ACCESSTOKEN":
            if str(told.get("accesstokentype", "bearer")).lower() != "bearer":
                raise _bad("an access token must be of the type bearer")
            return Credential("bearer", _part(told, "accesstoken"))
    known = " and ".join(_CREDENTIALS)
    raise Refusal("unsupported-delivery", f"the credentialtype of sinkcredential is not supported; {known} are")


def _part(told: dict[str, Any], name: str) -> str:
    """Never with the value in the words."""
    value = told.get(name)
    if not isinstance(value, str) or not value or (name == "identifier" and ":" in value):
        raise _bad(f"sinkcredential needs {name} as a string" + (" without a colon" if name == "identifier" else ""))
    return value


def _bad(text: str) -> Refusal:
    return Refusal("malformed", text)


def is_shown(subscription: Subscription) -> bool:
    """Only what speaks CloudEvents to an address can be told in the terms of this API."""
    return subscription.form.dialect == cloudevents.NAME and subscription.consumer is not None


def sink(consumer: Endpoint, base_url: str) -> str:
    """A pull point of ours is kept as a path alone."""
    return base_url + consumer.address if consumer.address.startswith("/") else consumer.address


def write(subscription: Subscription, secrets: dict[str, Secret], base_url: str) -> dict[str, Any]:
    """With what was defaulted, without what is secret."""
    consumer = cast(Endpoint, subscription.consumer)
    source, types, rest = ce_filters.taken_apart(subscription.filters)
    document: dict[str, Any] = {"id": subscription.id}
    document |= {"source": source} if source is not None else {}
    document |= {"types": list(types)} if types else {}
    document |= {"config": _config_document(subscription)}
    document |= {"filters": [ce_filters.write(each, filter_text) for each in rest]} if rest else {}
    document |= {"sink": sink(consumer, base_url)}
    if (secret := secrets.get(consumer.secret or "")) is not None:
        document["sinkcredential"] = {"credentialtype": _TYPES.get(secret.kind, secret.kind.upper())}
    headers = dict(cloudevents.own_headers(consumer.reference))
    settings = {"method": "POST"} | ({"headers": headers} if headers else {})
    return document | {"protocol": PROTOCOL, "protocolsettings": settings}


def _config_document(subscription: Subscription) -> dict[str, Any]:
    form = subscription.form
    found: dict[str, Any] = {"mode": "batched" if form.together > 1 else "structured" if form.wrapped else "binary"}
    if form.together > 1:
        found["together"] = str(form.together)
    if form.max_latency_ms:
        found["max_latency"] = latency_text(form)
    if subscription.expires is not None:
        found["expires"] = times.timestamp(subscription.expires)
    if form.graph:
        found["graph"] = form.graph
    if form.bindings:
        found["bindings"] = "true"
    return found
