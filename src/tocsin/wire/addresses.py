"""The guard for outgoing addresses: what a URL may say, and which addresses may be connected to."""

import asyncio
import re
import socket
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

from msgspec import Struct

PORTS = {"http": 80, "https": 443}
SOAP_PORTS = {**PORTS, "tcp": None}  # SOAP over TCP has no port of its own, so its addresses name one
_NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))
_ALL = ("0.0.0.0", "::")  # noqa: S104 - compared with, not bound to
_THIS_NETWORK = IPv4Network("0.0.0.0/8")
# Python and libcurl read these differently, and what is read differently passes a guard.
_UNCLEAR = re.compile(r"[\x00-\x20\x7f\\]|[^\x00-\x7f]")
# A host whose last label is a number is an address to libc, however it is written: 2130706433, 0x7f.1, 127.0.0.1.
_NUMBER = re.compile(r"(?:^|\.)(?:[0-9]+|0x[0-9a-f]*)\.?$")

Address = IPv4Address | IPv6Address


def literal(host: str) -> Address | None:
    """The address a host is written as, None for a name."""
    try:
        return ip_address(host)
    except ValueError:
        return None


def unwrap(address: Address) -> Address:
    """The IPv4 address an IPv6 one stands for: mapped, NAT64, 6to4, Teredo."""
    if isinstance(address, IPv4Address):
        return address
    if any(address in network for network in _NAT64):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else address)


def place(url: str, *, soap: bool = False) -> tuple[str, int]:
    """Host and port of an address with a good form; BadAddress says what is wrong with another.

    `soap` is for messages that can go over TCP as well.
    """
    if _UNCLEAR.search(url):
        raise BadAddress("the address has a space, a backslash, a control character or one outside ASCII")
    try:
        parts = urlsplit(url)
        if parts.port == 0:
            raise BadAddress("port 0 cannot be sent to")
    except ValueError as error:
        raise BadAddress(f"the address cannot be read: {error}") from None
    ports = SOAP_PORTS if soap else PORTS
    if parts.scheme not in ports:
        good = "http://, https:// or tcp://" if soap else "http:// or https://"
        raise BadAddress(f"the address must begin with {good}, not {parts.scheme or url[:40]!r}")
    if parts.username is not None or parts.password is not None:
        raise BadAddress("the address must not carry a user name or a password")
    if not parts.hostname:
        raise BadAddress("the address names no host")
    if _NUMBER.search(parts.hostname) and literal(parts.hostname) is None:
        raise BadAddress(f"{parts.hostname[:80]!r} is a number and no usual address; write it as 192.0.2.1")
    port = parts.port or ports[parts.scheme]
    if port is None:
        raise BadAddress("the address names no port; write it as tcp://host:port/path")
    return parts.hostname, port


def origin(url: str) -> str:
    """Scheme, host and port as one text; an address without them is its own origin."""
    try:
        host, port = place(url, soap=True)
    except BadAddress:
        return url
    return f"{url.partition(':')[0].lower()}://{host}:{port}"


LOOPBACK = ("127.0.0.1", "::1", "localhost")


class AddressGuard:
    def __init__(self, *, loopback_allowed: bool, own: Collection[tuple[str, int]] = ()) -> None:
        self._loopback_allowed = loopback_allowed
        self._own = frozenset((host.lower(), port) for host, port in own)

    def check(self, url: str, *, soap: bool = False) -> None:
        """What can be said before any name is resolved; for the door at which an address comes in."""
        host, port = place(url, soap=soap)
        if (host.rstrip("."), port) in self._own:
            raise BadAddress(f"{host}:{port} is this broker's own address")
        if literal(host) is not None:
            self.permit(host, port)

    def permit(self, host: str, port: int) -> None:
        """Whether this very address may be connected to; asked again at each connect, after names are resolved."""
        address = unwrap(ip_address(host))
        if isinstance(address, IPv6Address) and address.scope_id is not None:
            raise BadAddress(f"{host} names a zone, which means something on this machine only")
        # Whoever listens on all addresses is reached by each that this machine has.
        everywhere = any((each, port) in self._own for each in _ALL)
        if (str(address), port) in self._own or (everywhere and _is_local(address)):
            raise BadAddress(f"{host}:{port} is this broker's own address")
        if address.is_loopback:
            if not self._loopback_allowed:
                raise BadAddress(f"{host} is a loopback address, allowed only while listening on loopback only")
        elif kind := _forbidden(address):
            raise BadAddress(f"{host} is {kind} address, nothing is sent there")


def _is_local(address: Address) -> bool:
    """Only an address of this machine can be bound to."""
    family = socket.AF_INET if isinstance(address, IPv4Address) else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(address), 0))
        except OSError:
            return False
    return True


def _forbidden(address: Address) -> str:
    if address.is_unspecified or address in _THIS_NETWORK:
        return "an unspecified"
    if address.is_link_local:
        return "a link-local"
    if address.is_multicast:
        return "a multicast"
    return "a reserved" if address.is_reserved else ""


class WireError(Exception):
    """The root of this folder's errors."""


class BadAddress(WireError):
    """An address nothing may be sent to; the text says why."""


Lookup = Callable[[str, int], Sequence[str]]
Found = Callable[["Pin"], None]
KEPT = 10_000


class Pin(Struct, frozen=True, gc=False):
    """What libcurl is told of a host: `host:port:addresses`, nothing for an address written out. Good until then."""

    resolve: str = ""
    until: float = float("inf")
    error: str = ""


def system_lookup(host: str, port: int) -> Sequence[str]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class Resolver:
    """A name that does not resolve holds one thread; names that once did go on with what was found last."""

    def __init__(self, lookup: Lookup, *, patience: float, keep: float = 60.0, threads: int = 32) -> None:
        self._loop = asyncio.get_running_loop()
        self._lookup, self._patience, self._keep = lookup, patience, keep
        self._threads = ThreadPoolExecutor(threads, "resolver")
        self._waiting: dict[tuple[str, int], list[Found]] = {}
        self._late: dict[tuple[str, int], asyncio.TimerHandle] = {}
        self._running: set[tuple[str, int]] = set()
        self._names: dict[tuple[str, int], Pin] = {}
        self.pins: dict[str, Pin] = {}

    def find(self, url: str, found: Found) -> None:
        """Calls `found` once, now or later. BadAddress when the address has no good form."""
        at = place(url)
        if literal(at[0]) is not None:
            found(self._remember(url, Pin()))
        elif (known := self._names.get(at)) and known.until > self._loop.time():
            found(self._remember(url, known))
        else:
            self._wait(at, lambda pin: found(self._remember(url, pin)))

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for at in list(self._waiting):
            self._answer(at, Pin(error="the client was closed"))

    def _remember(self, url: str, pin: Pin) -> Pin:
        if not pin.error:
            if len(self.pins) >= KEPT:
                self.pins.clear()
            self.pins[url] = pin
        return pin

    def _wait(self, at: tuple[str, int], found: Found) -> None:
        waiting = self._waiting.setdefault(at, [])
        waiting.append(found)
        if len(waiting) == 1:
            pin = self._names.get(at) or Pin(error=f"{at[0]} was not resolved in time")
            self._late[at] = self._loop.call_later(self._patience, self._answer, at, pin)
        if at not in self._running:
            self._running.add(at)
            task = self._loop.run_in_executor(self._threads, self._look, at)
            task.add_done_callback(partial(self._looked, at))

    def _look(self, at: tuple[str, int]) -> str:
        addresses = self._lookup(*at)
        return f"{at[0]}:{at[1]}:" + ",".join(f"[{one}]" if ":" in one else one for one in addresses)

    def _looked(self, at: tuple[str, int], task: "asyncio.Future[str]") -> None:
        self._running.discard(at)
        if task.cancelled():
            return
        if error := task.exception():
            self._answer(at, Pin(error=f"{at[0]} cannot be resolved: {error}"))
            return
        if len(self._names) >= KEPT:
            self._names.clear()
        pin = self._names[at] = Pin(task.result(), self._loop.time() + self._keep)
        self._answer(at, pin)

    def _answer(self, at: tuple[str, int], pin: Pin) -> None:
        if (late := self._late.pop(at, None)) is not None:
            late.cancel()
        for found in self._waiting.pop(at, ()):
            found(pin)
