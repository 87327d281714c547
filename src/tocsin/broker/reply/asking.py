"""What is made of a publication that asks for replies when it is accepted: its view, and the secret of its tokens."""

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache

from tocsin.broker.quantities import DURATION
from tocsin.broker.settings import ReplySettings
from tocsin.model.identity import Instant, after
from tocsin.model.notification import Notification
from tocsin.model.records import Position
from tocsin.model.refusal import Refusal
from tocsin.model.replies import REPLY_FOR, REPLY_TYPE, REPLY_VIEW, ReplyRequest
from tocsin.model.reply_types import reply_type

_duration: Callable[[str], float] = lru_cache(maxsize=256)(DURATION.read)
Asked = tuple[str, str]  # the type of replies, and for how long


class Asking:
    """`views` is how many are open; `named` makes of what is unique here a name by which all nodes find it. All that is
    made is a function of the node's key, so that it is the same again."""

    def __init__(
        self,
        base_url: str,
        key: bytes,
        settings: ReplySettings,
        views: Callable[[], int],
        named: Callable[[str], str] = str,
    ) -> None:
        self._base_url, self._settings, self._views, self._named = base_url, settings, views, named
        self._keyed = hashlib.blake2b(digest_size=16, key=hashlib.sha256(key).digest())

    def view_of(self, at: Position) -> str:
        return self._named(self._mac(f"view {at.node} {at.offset}"))

    def view_of_message(self, message: str) -> str:
        return self._mac(f"message {message}")

    def asked(self, notifications: Sequence[Notification]) -> Asked | None:
        """By a publisher, as its message says."""
        for each in notifications:
            if each.attributes and (found := each.attribute(REPLY_TYPE)) is not None:
                return found, each.attribute(REPLY_FOR) or ""
        return None

    def request(self, asked: Asked, at: Position, now: Instant, notifications: Sequence[Notification]) -> ReplyRequest:
        """Of what is published here; whether it is to be kept here, and there is room, is another question."""
        if len(notifications) > 1:
            raise Refusal("bad-reply-type", "a message that asks for replies is published alone")
        return self._made(asked, self.view_of(at), now)

    def begun(self, asked: Asked, view: str, now: Instant) -> ReplyRequest:
        """Refused where it cannot be asked for."""
        self.must_have_room()
        return self._made(asked, view, now)

    def must_have_room(self) -> None:
        if self._views() >= self._settings.views:
            raise Refusal(
                "overloaded", f"{self._settings.views} views of replies are open; terminate some, or try later"
            )

    def _made(self, asked: Asked, view: str, now: Instant) -> ReplyRequest:
        reply_type(asked[0])
        return self._at(view, asked[0], after(now, self._seconds(asked[1])))

    def _at(self, view: str, type_: str, until: Instant) -> ReplyRequest:
        return ReplyRequest(view, type_, until, self._secret(view), (), (self._base_url,))

    def taken(self, request: ReplyRequest, at: Position) -> ReplyRequest:
        """Of what another node passed on. Who has it whole in the ring has all of it; to have the view is this node's
        where none was made yet."""
        if request.secret:
            return request
        if request.view:
            return self.passed_on(request)
        self.must_have_room()
        return self._at(self.view_of(at), request.type, request.until)

    def passed_on(self, request: ReplyRequest) -> ReplyRequest:
        """Of what another node published, or passed on."""
        here = self._base_url
        onward = (here,) if self._settings.merge or not request.path else (*request.path, here)
        return ReplyRequest(request.view, request.type, request.until, self._secret(request.view), request.path, onward)

    def told_service(self, notification: Notification) -> ReplyRequest | None:
        """Of what a notifier tells its service: replies go to the node of the message's root."""
        view, type_ = notification.attribute(REPLY_VIEW), notification.attribute(REPLY_TYPE)
        if view is None or type_ is None:
            return None
        name, until, node = view.split(" ", 2)  # as `for_notifiers` wrote it, at some node of this world
        path = () if node == self._base_url else (node,)
        return ReplyRequest(name, type_, Instant(int(until)), self._secret(name), path, (self._base_url,))

    def for_notifiers(self, request: ReplyRequest) -> tuple[tuple[str, str], ...]:
        """The attributes by which a message of the world carries it."""
        return (REPLY_TYPE, request.type), (REPLY_VIEW, f"{request.view} {request.until} {self._base_url}")

    def _seconds(self, text: str) -> float:
        if not text:
            return self._settings.lifetime
        try:
            seconds = _duration(text)
        except ValueError:
            raise Refusal("bad-reply-type", f"{text[:40]!r} is no time to wait for replies; write 30s or 10m") from None
        if not 0 < seconds <= self._settings.longest:
            longest = DURATION.write(self._settings.longest)
            raise Refusal("bad-reply-type", f"replies are taken for {longest} at most here, not {text[:40]}")
        return seconds

    def _secret(self, view: str) -> str:
        """This node's own: a token counts where it was given, and nowhere else."""
        return self._mac(f"secret {view} {self._base_url}")

    def _mac(self, text: str) -> str:
        made = self._keyed.copy()
        made.update(text.encode())
        return made.hexdigest()
