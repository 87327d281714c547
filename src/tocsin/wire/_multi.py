"""libcurl's multi interface on an epoll of its own, whose descriptor is the loop's only reader."""

import asyncio
import contextlib
import select
from collections.abc import Callable
from typing import Any

import pycurl

_MASKS = {
    pycurl.POLL_NONE: 0,
    pycurl.POLL_IN: select.EPOLLIN,
    pycurl.POLL_OUT: select.EPOLLOUT,
    pycurl.POLL_INOUT: select.EPOLLIN | select.EPOLLOUT,
}
_SELECTED = {
    select.EPOLLIN: pycurl.CSELECT_IN,
    select.EPOLLOUT: pycurl.CSELECT_OUT,
    select.EPOLLIN | select.EPOLLOUT: pycurl.CSELECT_IN | pycurl.CSELECT_OUT,
}
_NOT_ARMED = float("inf")

Finished = Callable[[Any, int, str], None]


class Multi:
    """Sockets stay registered between two transfers: taking them out and in again cost 5 to 15 % of the rate."""

    def __init__(self, finished: Finished, *, idle_connections: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._finished = finished
        self._epoll = select.epoll()
        # What each socket is registered for, negative while no transfer wants it. The number of a closed socket comes
        # back as another without a word, so nothing here is trusted while a transfer has opened one: `opening`.
        self._masks: dict[int, int] = {}
        self.opening = 0
        self._timeout: int | None = None
        self._deadline = _NOT_ARMED
        self._alarm: asyncio.TimerHandle | None = None
        self._turning = False
        multi = pycurl.CurlMulti()
        multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch)
        multi.setopt(pycurl.M_TIMERFUNCTION, self._time)
        multi.setopt(pycurl.M_MAXCONNECTS, idle_connections)
        self._multi = multi
        self._action = self._multi.socket_action
        self._loop.add_reader(self._epoll.fileno(), self._ready)

    def add(self, easy: Any) -> None:
        self._multi.add_handle(easy)
        if not self._turning:
            self._turning = True
            self._loop.call_soon(self._turn)

    def remove(self, easy: Any) -> None:
        self._multi.remove_handle(easy)

    def close(self) -> None:
        self._loop.remove_reader(self._epoll.fileno())
        if self._alarm is not None:
            self._alarm.cancel()
        self._multi.close()
        self._epoll.close()

    def _watch(self, what: int, descriptor: int, _multi: object, _data: object) -> None:
        known = self._masks.get(descriptor, 0)
        if what == pycurl.POLL_REMOVE:
            self._masks[descriptor] = -abs(known)
            return
        mask = self._masks[descriptor] = _MASKS[what]
        if self.opening or abs(known) != mask:
            try:
                self._epoll.modify(descriptor, mask)
            except FileNotFoundError:
                self._epoll.register(descriptor, mask)

    def _time(self, milliseconds: int) -> None:
        self._timeout = milliseconds

    def _ready(self) -> None:
        for descriptor, event in self._epoll.poll(0):
            if self._masks.get(descriptor, 0) > 0:
                self._action(descriptor, _SELECTED.get(event, 0))
            else:
                # an idle connection the other side closed: libcurl looks at it when it wants it next
                self._masks.pop(descriptor, None)
                with contextlib.suppress(OSError):
                    self._epoll.unregister(descriptor)
        self._turn()

    def _turn(self) -> None:
        if self._epoll.closed:
            return
        self._turning = True
        self._collect()
        self._action(pycurl.SOCKET_TIMEOUT, 0)
        self._collect()
        self._turning = False
        self._arm()

    def _collect(self) -> None:
        left = 1
        while left:
            left, done, failed = self._multi.info_read()
            for easy in done:
                self._multi.remove_handle(easy)
                self._finished(easy, 0, "")
            for easy, code, text in failed:
                self._multi.remove_handle(easy)
                self._finished(easy, code, text)

    def _arm(self) -> None:
        """An alarm that is early is left alone: it finds out when it rings."""
        timeout, self._timeout = self._timeout, None
        if timeout is None:
            return
        if timeout == 0:
            self._turning = True
            self._loop.call_soon(self._turn)
            return
        self._deadline = self._loop.time() + timeout / 1000 if timeout > 0 else _NOT_ARMED
        if timeout > 0 and (self._alarm is None or self._alarm.when() > self._deadline):
            self._ring_at(self._deadline)

    def _ring_at(self, deadline: float) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self._loop.call_at(deadline, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        if self._loop.time() >= self._deadline:
            self._deadline = _NOT_ARMED
            self._turn()
            # the loop's clock may be a little behind libcurl's, which tells a time once: called early, it says
            # nothing
            if self._deadline == _NOT_ARMED and not self._turning:
                self._timeout = self._multi.timeout()
                self._arm()
        elif self._deadline != _NOT_ARMED:
            self._ring_at(self._deadline)
