"""The JSON documents of notifiers and of what became of messages."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from tocsin.documents import filled
from tocsin.documents.interactions import from_base64
from tocsin.documents.replies import VIEWS
from tocsin.flow.addressing import door_of
from tocsin.mediation.ce import cloudevents
from tocsin.mediation.dialects import outgoing
from tocsin.mediation.soap.payloads import checked_media_type
from tocsin.model.notification import Payload
from tocsin.model.refusal import Refusal
from tocsin.routing.implicit.protocols import DEFAULT, protocol
from tocsin.routing.implicit.result import Dissemination, Kept, Step
from tocsin.routing.implicit.services import Published, Running
from tocsin.semantics.interest.ino import Service

NOTIFIERS, DISSEMINATIONS = "/api/notifiers", "/api/disseminations"

JSON_TYPE = "application/json"
Limit = Annotated[int, Meta(ge=1, le=10**9)]


class NotifierRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """A service of these categories; it is told at `address` in `dialect`, or fetches what it is told without one.

    `tells` is its own rule: topic to the one service that is told. `by` says who asks where nobody has to show it.
    `owner` is the user who fetches what the service is told, and manages its subscription; by default who asks.
    """

    name: Annotated[str, Meta(min_length=1, max_length=256)]
    categories: Annotated[list[str], Meta(max_length=64)]
    address: Annotated[str, Meta(max_length=2048)] = ""
    dialect: str = ""
    qualities: dict[str, float] = {}
    policies: list[str] = []
    tells: dict[str, str] = {}
    by: str = ""
    owner: Annotated[str, Meta(max_length=256)] = ""

    def normalised(self) -> Service:
        dialect = self.dialect or (cloudevents.NAME if self.address else "")
        if dialect:
            outgoing(dialect)
        return Service(
            self.name,
            tuple(self.categories),
            self.qualities,
            tuple(self.policies),
            self.tells,
            address=self.address,
            dialect=dialect,
        )


class NotifierDocument(Struct, frozen=True):
    """`notifier` takes Publish and Notify, and `wsdl` says how; `subscription` is how its service is told.

    `handled` counts the copies that reached it, `remembered` the messages that it knows again.
    """

    name: str
    categories: list[str]
    notifier: str
    wsdl: str
    address: str
    dialect: str
    qualities: dict[str, float]
    policies: list[str]
    tells: dict[str, str]
    subscription: str
    handled: int
    remembered: int

    @classmethod
    def of(cls, running: Running, base_url: str) -> "NotifierDocument":
        service = running.service
        address = service.notifier or f"{base_url}{door_of(service.name)}"
        lists = {name: list(getattr(service, name)) for name in ("categories", "policies")}
        return filled(cls, running, service, notifier=address, wsdl=f"{address}?wsdl", **lists)


class PublishRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """`data` is JSON, or the text of what `media_type` says; bytes are `data_base64`. `only` names who is told.

    With a `reply_type` whoever is told can reply, for the time that `reply_for` says.
    """

    topic: Annotated[str, Meta(min_length=1, max_length=256)]
    data: Raw | UnsetType = UNSET
    data_base64: str | None = None
    media_type: str = JSON_TYPE
    protocol: str = DEFAULT
    limit: Limit | None = None
    only: Annotated[list[str], Meta(max_length=10_000)] | None = None
    reply_type: str = ""
    reply_for: str = ""

    def normalised(self) -> Published:
        only = None if self.only is None else tuple(dict.fromkeys(self.only))
        reply = (self.reply_type, self.reply_for) if self.reply_type else None
        chosen = protocol(self.protocol).name
        return Published(self.topic, self._payload(), chosen, limit=self.limit, only=only, reply=reply)

    def _payload(self) -> Payload:
        media_type = checked_media_type(self.media_type)
        if self.data_base64 is not None:
            return Payload(media_type, from_base64(self.data_base64))
        if self.data is UNSET:
            raise Refusal("malformed", "there is neither data nor data_base64")
        if _is_json(media_type):
            return Payload(media_type, bytes(self.data))
        try:
            return Payload(media_type, msgspec.json.decode(self.data, type=str).encode())
        except (msgspec.DecodeError, UnicodeError):
            text = f"data of the media type {media_type} is a string; bytes go into data_base64"
            raise Refusal("malformed", text) from None


class PublishedDocument(Struct, frozen=True, omit_defaults=True):
    """`result` says what became of it, `view` what was replied to it."""

    id: str
    result: str
    view: str | None = None

    @classmethod
    def of(cls, message: str, base_url: str, view: str | None = None) -> "PublishedDocument":
        return cls(
            message, f"{base_url}{DISSEMINATIONS}/{message}", None if view is None else f"{base_url}{VIEWS}/{view}"
        )


class DisseminationRow(Struct, frozen=True):
    id: str
    root: str
    topic: str
    protocol: str


class DisseminationDocument(Struct, frozen=True):
    """Who was told, by whom and at which hop (`trace`), and who was not told again (`suppressed`).

    `repetitions` reached somebody who had it; `stopped` is "limit" when notifiers stopped passing it on, which
    kept back `withheld` repetitions; of those in `waiting` nothing has been heard, and those in `gone` had left. It is
    `complete` when nobody is waited for. `ms` is when the last was told for the first time, since the publication.
    """

    id: str
    root: str
    topic: str
    protocol: str
    notifications: int
    repetitions: int
    receivers: tuple[str, ...]
    trace: tuple[Step, ...]
    stopped: str | None
    suppressed: tuple[Kept, ...]
    withheld: int
    waiting: tuple[str, ...]
    gone: tuple[str, ...]
    hops: int
    ms: float
    complete: bool

    @classmethod
    def of(cls, row: DisseminationRow, found: Dissemination) -> "DisseminationDocument":
        told = msgspec.structs.asdict(found)
        return cls(row.id, row.root, row.topic, **told, complete=found.complete)


def _is_json(media_type: str) -> bool:
    kind = media_type.partition(";")[0].strip().lower()
    return kind == JSON_TYPE or kind.endswith("+json")
