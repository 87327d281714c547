"""The JSON documents of interactions."""

import base64
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from tocsin.documents import filled
from tocsin.mediation import times
from tocsin.mediation.ce.writing import is_json, is_valid_json, kind_of
from tocsin.mediation.soap.payloads import checked_media_type
from tocsin.model.interactions import (
    NO_DATA,
    Also,
    Ask,
    Choice,
    Interaction,
    Profile,
    Receivers,
    Request,
    RequestState,
    Tell,
)
from tocsin.model.notification import Payload
from tocsin.model.refusal import Refusal
from tocsin.routing.interaction import Pattern

PATTERNS, REQUESTS, INTERACTIONS = "/api/patterns", "/api/requests", "/api/interactions"

JSON = "application/json"
Name = Annotated[str, Meta(min_length=1, max_length=256)]


class PatternDocument(Struct, frozen=True):
    """`begins` is who does: a consumer that asks, or a producer that tells."""

    name: str
    mode: str
    cardinality: str
    strategy: str
    figure: str
    says: str
    begins: Literal["consumer", "producer"]

    @classmethod
    def of(cls, pattern: Pattern) -> "PatternDocument":
        return filled(cls, pattern, begins="consumer" if pattern.asked else "producer")


class _Said(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`data` is JSON, or the text of what `media_type` says; bytes are `data_base64`. Nothing at all is null."""

    data: Raw | UnsetType = UNSET
    data_base64: str | None = None
    media_type: str = JSON

    def payload(self) -> Payload:
        kind = checked_media_type(self.media_type) or JSON
        if self.data_base64 is not None:
            return Payload(kind, from_base64(self.data_base64))
        data = b"null" if self.data is UNSET else bytes(self.data)
        return Payload(kind, data if is_json(kind) else _text(data, kind))


class AskRequest(_Said, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`by` asks `of`; with pull-1:1-implicit the broker picks a producer of that category by the profile.

    With pull-1:n-implicit the answer also goes to those the graph of interests names, or on the topic `channel`.
    """

    pattern: str
    topic: Name
    by: Name
    of: Annotated[str, Meta(max_length=256)] = ""
    category: Annotated[str, Meta(max_length=256)] = ""
    profile: Profile = Profile()
    also: Also = ""
    channel: Annotated[str, Meta(max_length=8192)] = ""

    def normalised(self) -> Ask:
        return filled(Ask, self, asker=self.by, producer=self.of, data=self.payload())


class AnswerRequest(_Said, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`by` is the producer that was asked."""

    by: Name


class TellRequest(_Said, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`by` tells what it likes; with push-1:n-implicit by that protocol."""

    pattern: str
    topic: Name
    by: Name
    protocol: str = ""

    def normalised(self) -> Tell:
        return Tell(self.pattern, self.topic, self.by, self.payload(), self.protocol)


class RequestDocument(Struct, frozen=True):
    """`chosen_because` is how the broker picked the producer; `subscription` stands for who is pushed to. A list of
    them is without the data."""

    id: str
    pattern: str
    topic: str
    by: str
    of: str
    state: RequestState
    when: str
    answers: int
    also: Also
    channel: str
    subscription: str
    chosen_because: Choice | None
    media_type: str | UnsetType = UNSET
    data: Raw | UnsetType = UNSET

    def content(self) -> Any:
        """What was asked; None in lists."""
        return None if self.data is UNSET else msgspec.json.decode(self.data)

    @classmethod
    def of_request(cls, request: Request) -> "RequestDocument":
        return filled(
            cls,
            request,
            by=request.asker,
            of=request.producer,
            when=times.timestamp(request.when),
            media_type=UNSET if request.data == NO_DATA else request.data.media_type,
            data=UNSET if request.data == NO_DATA else shown(request.data),
        )


class ToldDocument(Struct, frozen=True):
    """`message` is what was sent, `told` the services it went to, `closed` the requests that are answered by it."""

    message: str
    told: Sequence[str]
    closed: Sequence[str]

    @classmethod
    def of(cls, told: Receivers) -> "ToldDocument":
        return filled(cls, told)


class InteractionDocument(Struct, frozen=True):
    """Who did what, and who was told by it; `of` is the producer that was asked, where one was."""

    when: str
    pattern: str
    act: str
    by: str
    told: Sequence[str]
    topic: str
    request: str | None
    message: str | None
    of: str | None = None

    @classmethod
    def of_interaction(cls, said: Interaction) -> "InteractionDocument":
        empty = {name: getattr(said, name) or None for name in ("request", "message", "of")}
        return filled(cls, said, when=times.timestamp(said.when), **empty)


def from_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise Refusal("malformed", "data_base64 cannot be decoded") from None


def _text(data: bytes, kind: str) -> bytes:
    try:
        return msgspec.json.decode(data, type=str).encode()
    except (msgspec.DecodeError, UnicodeError):
        hint = f"JSON has the media_type {JSON}, and bytes go into data_base64"
        raise Refusal("malformed", f"data of the media type {kind[:80]} is a string; {hint}") from None


def shown(payload: Payload) -> Raw:
    if is_json(payload.media_type) and is_valid_json(payload.data):
        return Raw(payload.data)
    return Raw(msgspec.json.encode(payload.data.decode(errors="replace") if _is_text(payload) else payload.data))


def _is_text(payload: Payload) -> bool:
    return kind_of(payload.media_type) == "text"
