"""Looks a node over from outside: what it stands on, what it has kept, and whether it can be reached."""

import asyncio
import os
import platform
import resource
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from tocsin.broker.quantities import duration_text
from tocsin.broker.settings import Settings
from tocsin.client.answers import problem_of
from tocsin.mediation.times import instant
from tocsin.model.identity import SECOND
from tocsin.model.paths import HEALTH, OPENAPI
from tocsin.model.refusal import Refusal
from tocsin.platform.java import java_problem
from tocsin.platform.names import former
from tocsin.store.database import Store
from tocsin.store.errors import NewerFormat, StoreError
from tocsin.store.log.reader import LogReader
from tocsin.store.places import LOG, OUTCOMES, Places
from tocsin.wire.addresses import LOOPBACK, BadAddress, place
from tocsin.wire.answer import Answer
from tocsin.wire.http_client import HttpClient
from tocsin.wire.tls import SYSTEM, Trust

State = Literal["ok", "warning", "problem"]
LITTLE_SPACE, NO_SPACE = 1 << 30, 100 << 20
FEW_FILES, TOO_FEW_FILES = 4096, 512
OLD_CURL = (7, 75)
PATIENCE = 5.0
LONGEST_ANSWER = 8 << 20
SKEWED, BADLY_SKEWED = 5.0, 60.0
ANY_HOST = ("0.0.0.0", "::")  # noqa: S104 - compared with, not bound to


class Finding(Struct, frozen=True):
    """`advice` says what to do next; empty when all is well."""

    check: str
    state: State
    text: str
    advice: str = ""


class _Server(Struct):
    url: str


class _Description(Struct):
    servers: list[_Server]


async def examine(
    settings: Settings, environ: Mapping[str, str], broker: str | None = None, trust: Trust = SYSTEM
) -> list[Finding]:
    """`broker` is where it is said to run; else where the settings put it, if one runs at all."""
    here = [
        *(check(settings, environ) for check in (_python, _java, _libcurl, _open_files)),
        *await asyncio.to_thread(lambda: [*_data(settings), *_logs(settings)]),
    ]
    return [*here, *await _network(settings, broker, trust)]


def _python(settings: Settings, environ: Mapping[str, str]) -> Finding:
    del settings, environ
    name, version = platform.python_implementation(), platform.python_version()
    if name != "CPython":
        return Finding("python", "warning", f"{name} {version}", "use CPython 3.11 or newer: nothing else is tested")
    return Finding("python", "ok", f"{name} {version}")


def _java(settings: Settings, environ: Mapping[str, str]) -> Finding:
    problem = java_problem(environ)
    if problem is None:
        return Finding("java", "ok", "a JDK for Spark was found")
    needed = "spark" in (settings.engine if _engine_was_given(settings) else None, _owner(settings))
    advice = "do that, or use `tocsin serve` or --engine embedded, which need none"
    return Finding("java", "problem" if needed else "warning", problem.rstrip("."), advice)


def _libcurl(settings: Settings, environ: Mapping[str, str]) -> Finding:
    del settings, environ
    try:
        import pycurl
    except ImportError as error:
        return Finding("libcurl", "problem", f"pycurl cannot be loaded: {error}", "run `tools/setup` again")
    version, tls = str(pycurl.version_info()[1]), str(pycurl.version_info()[5])
    numbers = tuple(int(each) for each in version.split("-")[0].split(".")[:2] if each.isdigit())
    if numbers < OLD_CURL:
        return Finding(
            "libcurl", "warning", f"libcurl {version} is old", "install pycurl from PyPI, which brings a newer"
        )
    return Finding("libcurl", "ok", f"libcurl {version} with {tls or 'no TLS'}")


def _open_files(settings: Settings, environ: Mapping[str, str]) -> Finding:
    """Each consumer that is being sent to is an open file."""
    del settings, environ
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    shown = "unlimited" if soft == resource.RLIM_INFINITY else f"{soft:,}"
    if soft == resource.RLIM_INFINITY or soft >= FEW_FILES:
        return Finding("open files", "ok", f"{shown} files may be open at a time")
    upto = "" if hard == resource.RLIM_INFINITY else f", at most {hard:,}"
    advice = f"raise it before the broker is started: ulimit -n 65536{upto}, or LimitNOFILE= of its systemd unit"
    state: State = "problem" if soft < TOO_FEW_FILES else "warning"
    return Finding("open files", state, f"only {shown} files may be open at a time", advice)


def _data(settings: Settings) -> Iterator[Finding]:
    data = settings.data
    if not data.exists():
        above = next(each for each in data.absolute().parents if each.exists())
        if os.access(above, os.W_OK):
            yield Finding("data directory", "ok", f"{data} is not there yet; it is made at the first start")
        else:
            yield _unwritable(above)
        yield _space(above)
        return
    try:
        with tempfile.TemporaryFile(dir=data):
            yield Finding("data directory", "ok", f"{data} can be written to")
    except OSError as error:
        yield _unwritable(data, error.strerror)
    yield _space(data)
    yield _engine(settings)


def _unwritable(folder: Path, why: str | None = None) -> Finding:
    text = f"{folder} cannot be written to{f': {why}' if why else ''}"
    return Finding(
        "data directory", "problem", text, "give the broker's user the right to, or name another with --data"
    )


def _space(folder: Path) -> Finding:
    free = shutil.disk_usage(folder).free
    text = f"{free / (1 << 30):,.1f} GiB are free at {folder}"
    advice = "make room, or keep less with --set log-retain-bytes=SIZE"
    if free < LITTLE_SPACE:
        return Finding("disk space", "problem" if free < NO_SPACE else "warning", f"only {text}", advice)
    return Finding("disk space", "ok", text)


def _engine(settings: Settings) -> Finding:
    path = settings.places.database
    if not path.exists():
        return Finding("engine", "ok", "the data directory belongs to no engine yet")
    try:
        owner = _read_owner(path)
    except NewerFormat as error:
        return Finding("engine", "problem", str(error), "use the version of tocsin that wrote it, or a newer one")
    except StoreError as error:
        return Finding("engine", "warning", str(error), "start the broker on it once; if that fails, restore a backup")
    if owner is None:
        return Finding("engine", "ok", "the data directory belongs to no engine yet")
    if owner == settings.engine or not _engine_was_given(settings):
        return Finding("engine", "ok", f"the data directory belongs to the {owner} engine")
    text = f"the data directory belongs to the {owner} engine, and {settings.engine} is asked for"
    other = "`tocsin serve`" if owner == "embedded" else "`tocsin up`"
    advice = f"start with {other} or --engine {owner}, or name another directory with --data"
    return Finding("engine", "problem", text, advice)


def _engine_was_given(settings: Settings) -> bool:
    """The default is that of `tocsin up` alone: it asks for nothing."""
    return settings.origins.get("engine", "default") != "default"


def _owner(settings: Settings) -> str | None:
    path = settings.places.database
    try:
        return _read_owner(path) if path.exists() else None
    except StoreError:
        return None  # which is told of where the engine is


def _read_owner(path: Path) -> str | None:
    store = Store.open(path, read_only=True)
    try:
        return store.meta("engine")
    finally:
        store.close()


def _logs(settings: Settings) -> Iterator[Finding]:
    """Of each worker."""
    workers = (Places(settings.places.workers / str(number)) for number in former(settings.data))
    for places in (settings.places, *workers):
        for name in (LOG, OUTCOMES):
            if (folder := places.log(name)).exists():
                yield _log(name, folder)


def _log(name: str, folder: Path) -> Finding:
    """Its two ends are read: what lies between is read by whoever needs it, and told of then."""
    reader = LogReader(folder)
    try:
        start, end = reader.start(), reader.end()
        if start > end:
            text = f"the durable mark of {folder} is {end}, before its first record {start}"
            return Finding(
                name, "problem", text, "stop the broker, remove the file `durable` there, and start it again"
            )
        for first in {start, max(start, end - 1)}:
            for _ in reader.frames(first, min(first + 1, end)):
                pass
        return Finding(name, "ok", f"records {start:,} to {end:,} of {folder} are durable, both ends can be read")
    except (StoreError, OSError) as error:
        return Finding(name, "problem", str(error), "stop the broker, keep a copy of the directory, restore a backup")
    finally:
        reader.close()


async def _network(settings: Settings, broker: str | None, trust: Trust) -> list[Finding]:
    address = (broker or _listening_at(settings)).rstrip("/")
    client = HttpClient(connect_timeout=PATIENCE, timeout=PATIENCE, max_body=LONGEST_ANSWER, trust=trust)
    try:
        asked = time.time()
        answer = await client.request("GET", address + HEALTH)
        found = [_health(address, answer, told=broker is not None)]
        if answer.status == 200:
            found.append(_clock(answer, (asked + time.time()) / 2))
        given = await _given_address(client, address) if answer.status else None
        return [*found, await _advertised(settings, client, address, given)]
    finally:
        await client.close()


async def _given_address(client: HttpClient, address: str) -> str | None:
    """What a running broker gives as its address: flags of its own may have said so, which are not known here."""
    answer = await client.request("GET", address + OPENAPI)
    try:
        return msgspec.json.decode(answer.body, type=_Description).servers[0].url.rstrip("/")
    except (msgspec.DecodeError, UnicodeDecodeError, IndexError):
        return None


def _listening_at(settings: Settings) -> str:
    host = settings.listen.host
    return _url(settings, "127.0.0.1" if host in ANY_HOST else host)


def _url(settings: Settings, host: str) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if settings.tls.certificate else 'http'}://{shown}:{settings.listen.port}"


def _health(address: str, answer: Answer, *, told: bool) -> Finding:
    if not answer.status:
        return _silence(address, answer, told=told)
    if answer.status == 200:
        return Finding("broker", "ok", f"the broker at {address} is well ({answer.seconds * 1000:.0f} ms)")
    reason = _word(answer.body, "reason") or f"HTTP {answer.status}"
    advice = "see to the disk, then start the broker again" if answer.status == 503 else "is that a broker's address?"
    return Finding("broker", "problem", f"the broker at {address} is not well: {reason}", advice)


def _silence(address: str, answer: Answer, *, told: bool) -> Finding:
    """Who has a certificate is there."""
    advice = "start one with `tocsin serve` or `tocsin up`, or name it with --broker"
    if "certificate" in answer.error:
        advice = "name the file of its authority with --ca-file, and a certificate of your own with --client-cert"
    state: State = "problem" if told else "warning"
    return Finding("broker", state, f"at {address} {problem_of(answer)}", advice)


def _word(body: bytes, name: str) -> str:
    try:
        return str(msgspec.json.decode(body, type=dict[str, object]).get(name, ""))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""


def _clock(answer: Answer, now: float) -> Finding:
    try:
        skew = instant(_word(answer.body, "time")) / SECOND - now
    except Refusal:
        return Finding("clock", "warning", "the broker does not tell the time", "compare the clocks by hand: `date -u`")
    if abs(skew) < SKEWED:
        return Finding("clock", "ok", "the broker's clock and this one agree")
    text = f"the broker's clock is {duration_text(round(abs(skew)))} {'ahead of' if skew > 0 else 'behind'} this one"
    state: State = "problem" if abs(skew) > BADLY_SKEWED else "warning"
    return Finding("clock", state, text, "synchronise both with NTP: leases and UsernameTokens go by the clock")


async def _advertised(settings: Settings, client: HttpClient, address: str, given: str | None) -> Finding:
    """Only who listens to others needs an address that others reach; a running broker knows best what it does."""
    host = settings.listen.host
    advertised = given or settings.advertise
    if advertised is None and host in LOOPBACK:
        return Finding("advertised address", "ok", "it listens on loopback only, and says so")
    advertised = advertised or _url(settings, socket.gethostname() if host in ANY_HOST else host)
    advice = "set one that consumers reach: --set advertise=http://HOST:PORT"
    others = _listener_for_others(settings, address, given)
    try:
        alone = await asyncio.to_thread(_is_loopback, advertised)
    except (BadAddress, OSError) as error:
        return Finding("advertised address", "problem", f"{advertised} cannot be resolved: {error}", advice)
    if alone and others is not None:
        text = f"{advertised} is a loopback address, and the broker listens to others at {others}"
        return Finding("advertised address", "problem", text, advice)
    if alone and place(advertised)[0] not in LOOPBACK:
        text = f"{advertised} is a loopback address on this machine, and may lead others nowhere"
        return Finding("advertised address", "warning", text, advice)
    answer = await client.request("GET", advertised + HEALTH)
    if answer.status == 200:
        only = ", for this machine only" if alone else ""
        return Finding("advertised address", "ok", f"{advertised} leads to the broker{only}")
    why = problem_of(answer) if not answer.status else f"HTTP {answer.status}"
    text = f"{advertised} does not lead to a broker from here ({why})"
    return Finding("advertised address", "warning", text, advice if given else "start the broker and ask again")


def _listener_for_others(settings: Settings, address: str, given: str | None) -> str | None:
    """Where others reach it, as far as can be known: a broker that runs was reached at its address."""
    if given is None or settings.origins.get("listen.host", "default") != "default":
        return None if settings.listen.host in LOOPBACK else settings.listen.host
    host, _ = place(address)
    return None if host in LOOPBACK else host


def _is_loopback(address: str) -> bool:
    host, port = place(address)
    return all(ip_address(each[4][0]).is_loopback for each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
