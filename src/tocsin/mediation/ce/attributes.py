"""The context attributes of CloudEvents 1.0.2 s2: which there must be, and what each may be."""

import re
from collections.abc import Mapping

from tocsin.model.refusal import Refusal

NAME = "cloudevents"
FAMILY = "application/cloudevents"
STRUCTURED = f"{FAMILY}+json"
BATCHED = f"{FAMILY}-batch+json"
NO_PRODUCER = "urn:tocsin:no-producer"  # CloudEvents demands a source
NO_TYPE = "tocsin.notification"  # and a type
LONGEST_NAME = 4096  # of what goes into caches and headers of other dialects
REQUIRED = ("specversion", "id", "source", "type")
_ATTRIBUTE = re.compile(r"[a-z0-9]{1,64}")
_STRING = re.compile("[^\x00-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]*")  # CloudEvents 1.0 s3.1
_DAY = (  # of a month that has it; the 29th of February in leap years alone
    r"(?:\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
    r"|(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
)
_TIME = re.compile(  # RFC 3339 s5.6
    _DAY + r"[Tt](?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)",
    re.ASCII,
)
_ABSOLUTE_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:\S+")


def check(attributes: Mapping[str, str]) -> None:
    for name in REQUIRED:
        value = attributes.get(name)
        if not value or value.isspace():
            raise Refusal("malformed", f"the CloudEvents attribute {name!r} is missing or empty")
        if len(value) > LONGEST_NAME:
            raise Refusal("malformed", f"the attribute {name!r} has more than {LONGEST_NAME} characters")
    if attributes["specversion"] != "1.0":
        raise Refusal("malformed", f"CloudEvents {attributes['specversion'][:80]!r} is not supported; 1.0 is")
    # CloudEvents 1.0 s2.3: each may be absent, none may be anything.
    time = attributes.get("time")
    if time is not None and not is_time(time):
        raise Refusal("malformed", f"the time {time[:80]!r} is not as RFC 3339 has it, such as 2030-01-31T12:00:00Z")
    if attributes.get("subject") == "":
        raise Refusal("malformed", "the subject is empty; leave it out")
    schema = attributes.get("dataschema")
    if schema is not None and not _ABSOLUTE_URI.fullmatch(schema):
        raise Refusal("malformed", f"the dataschema {schema[:80]!r} is not an absolute URI")
    values = "".join(attributes.values())
    if not (values.isascii() and values.isprintable() and _GOOD_NAMES.issuperset(attributes)):
        _check_characters(attributes)


# So that most events need no look at each character of each name.
_GOOD_NAMES = frozenset(
    (*REQUIRED, "datacontenttype", "subject", "time", "dataschema", "topic", "traceparent", "partitionkey", "sequence")
)


def _check_characters(attributes: Mapping[str, str]) -> None:
    for name, value in attributes.items():
        if not _ATTRIBUTE.fullmatch(name):
            raise Refusal("malformed", f"{name[:80]!r} is no attribute name: lower-case letters and digits only")
        if not _STRING.fullmatch(value):
            raise Refusal("malformed", f"the attribute {name!r} holds control characters")


def is_time(text: str) -> bool:
    return _TIME.fullmatch(text) is not None
