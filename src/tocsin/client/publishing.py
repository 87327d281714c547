"""How `publish` looks to who calls it: with a reply type its result is another."""

from collections.abc import Coroutine, Sequence
from typing import Any, Protocol, TypedDict, Unpack, overload

from tocsin.client.calls import Loop
from tocsin.client.replies import For, ReplyView
from tocsin.model.names import QName, Topic


class Said(TypedDict, total=False):
    """What `Client.publish` takes besides the payload."""

    media_type: str
    topic: Topic | str
    producer: str
    kind: QName | str | None
    message_id: str | None
    content_topic: str | Sequence[str]


class AwaitedPublish(Protocol):
    @overload
    def __call__(self, payload: bytes, **said: Unpack[Said]) -> Coroutine[Any, Any, str]: ...

    @overload
    def __call__(
        self, payload: bytes, *, reply_type: str, reply_for: For = "", **said: Unpack[Said]
    ) -> Coroutine[Any, Any, ReplyView[None]]: ...


class WaitedPublish(Protocol):
    @overload
    def __call__(self, payload: bytes, **said: Unpack[Said]) -> str: ...

    @overload
    def __call__(
        self, payload: bytes, *, reply_type: str, reply_for: For = "", **said: Unpack[Said]
    ) -> ReplyView[Loop]: ...


class SaidThrough(TypedDict, total=False):
    """What `client.notifiers.publish` takes besides the service, the topic and the data."""

    media_type: str
    protocol: str
    limit: int | None
    only: Sequence[str] | None


class AwaitedPublishThrough(Protocol):
    @overload
    def __call__(
        self, name: str, topic: str, data: object = "", **said: Unpack[SaidThrough]
    ) -> Coroutine[Any, Any, str]: ...

    @overload
    def __call__(
        self,
        name: str,
        topic: str,
        data: object = "",
        *,
        reply_type: str,
        reply_for: For = "",
        **said: Unpack[SaidThrough],
    ) -> Coroutine[Any, Any, ReplyView[None]]: ...


class WaitedPublishThrough(Protocol):
    @overload
    def __call__(self, name: str, topic: str, data: object = "", **said: Unpack[SaidThrough]) -> str: ...

    @overload
    def __call__(
        self,
        name: str,
        topic: str,
        data: object = "",
        *,
        reply_type: str,
        reply_for: For = "",
        **said: Unpack[SaidThrough],
    ) -> ReplyView[Loop]: ...
