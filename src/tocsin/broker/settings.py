"""What a node is told: flags beat environment beat file beat defaults."""

import difflib
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

from msgspec import Struct, field

from tocsin.broker.quantities import (
    BASE_URL,
    DURATION,
    FILE_NAME,
    FLAG,
    FOLDER,
    HOST,
    OPTIONS,
    ORIGINS,
    PLACE,
    SHARED_LOG,
    SIZE,
    WORD,
    Kind,
    one_of,
    optional,
    whole,
)
from tocsin.routing.implicit.messages import MOST_PASSES
from tocsin.store.places import Places

FILE = "tocsin.toml"
PREFIX = "TOCSIN_"
_SERVICE_LINK = re.compile(r"TOCSIN_(SERVICE_(HOST|PORT)|PORT_\d+_)")

Count = Annotated[int, whole(1)]
Duration = Annotated[float, DURATION]
Size = Annotated[int, SIZE]


class SettingsError(Exception):
    """Every problem that was found, a line each."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.problems))


class Listen(Struct, frozen=True):
    host: Annotated[str, HOST] = "127.0.0.1"
    port: Annotated[int, whole(0, 65535)] = 8080


class Limits(Struct, frozen=True):
    body_bytes: Size = 1 << 20
    default_lease: Duration = 3_600.0
    longest_lease: Duration = 86_400.0
    dedup_window: Count = 100_000
    pull_queue: Count = 10_000
    pull_idle: Duration = 86_400.0
    waiting_bytes: Size = 64 << 20
    outbox_rows: Count = 1_000_000
    filter_seconds: Duration = 0.1
    filter_failures: Count = 3


class LogSettings(Struct, frozen=True):
    """`shared` is a log in Kafka by which several nodes act as one; its topics are made with so many partitions."""

    segment_bytes: Size = 64 << 20
    retain_bytes: Annotated[int | None, optional(SIZE)] = 1 << 30
    retain_age: Annotated[float | None, optional(DURATION)] = 7 * 86_400.0
    shared: Annotated[str | None, optional(SHARED_LOG)] = None
    partitions: Count = 8


class DeliverySettings(Struct, frozen=True):
    attempts: Count = 5
    first_backoff: Duration = 1.0
    longest_backoff: Duration = 60.0
    timeout: Duration = 30.0
    queue: Count = 1000
    breaker_failures: Count = 5
    breaker_cooldown: Duration = 30.0
    mode: Annotated[Literal["queue", "direct"], one_of("queue", "direct")] = "queue"
    lifetime: Annotated[float | None, optional(DURATION)] = None
    longest_latency: Duration = 60.0
    end_after: Annotated[int | None, optional(whole(1))] = None
    consent: Annotated[Literal["off", "ask"], one_of("off", "ask")] = "off"
    consent_wait: Duration = 600.0
    consent_rate: Count = 60_000  # requests a minute that are asked for
    credentials_over_http: Annotated[bool, FLAG] = False
    ca_file: Annotated[Path | None, optional(FILE_NAME)] = None
    client_cert: Annotated[Path | None, optional(FILE_NAME)] = None
    client_key: Annotated[Path | None, optional(FILE_NAME)] = None


class TopicSettings(Struct, frozen=True):
    fixed: Annotated[bool, FLAG] = False


class MeaningSettings(Struct, frozen=True):
    """Of event graphs that are published, `unknown_properties` are those that no ontology has."""

    unknown_properties: Annotated[bool, FLAG] = False


class AccessSettings(Struct, frozen=True):
    """`on` asks everybody who they are, also on loopback; `open` asks nobody, also elsewhere."""

    on: Annotated[bool, FLAG] = False
    open: Annotated[bool, FLAG] = False
    clock_skew: Duration = 300.0
    clear_text: Annotated[Literal["never", "loopback", "always"], one_of("never", "loopback", "always")] = "never"
    webhook_origins: Annotated[tuple[str, ...], ORIGINS] = ("*",)


class TlsSettings(Struct, frozen=True):
    certificate: Annotated[Path | None, optional(FILE_NAME)] = None
    key: Annotated[Path | None, optional(FILE_NAME)] = None
    client_ca: Annotated[Path | None, optional(FILE_NAME)] = None
    require_client: Annotated[bool, FLAG] = False


class TcpSettings(Struct, frozen=True):
    """SOAP over TCP with DIME frames; without a port it is not served."""

    port: Annotated[int | None, optional(whole(0, 65535))] = None


class ImplicitSettings(Struct, frozen=True):
    """`registry` is the node that keeps the world, `history` the one with the central history; none is this one, and
    the registry's. What forgets its messages after `retention` would take a copy that comes later for a new one."""

    registry: Annotated[str | None, optional(BASE_URL)] = None
    history: Annotated[str | None, optional(BASE_URL)] = None
    key_file: Annotated[Path | None, optional(FILE_NAME)] = None
    limit: Count = MOST_PASSES
    retention: Duration = 86_400.0


class ReplySettings(Struct, frozen=True):
    """A node that does not `merge` replies passes each on by itself, and keeps nothing of those of others.

    Replies count for `lifetime` unless the publisher says otherwise, at most for the `longest`; a view that has ended
    can be seen for the `retention`. So many `views` may be open at once.
    """

    merge: Annotated[bool, FLAG] = True
    lifetime: Duration = 3_600.0
    longest: Duration = 7 * 86_400.0
    retention: Duration = 3_600.0
    views: Count = 100_000


class TreeSettings(Struct, frozen=True):
    """`parent` is the node above this one in a tree, `children` how many it takes at most below it."""

    parent: Annotated[str | None, optional(BASE_URL)] = None
    children: Count = 32


class RingSettings(Struct, frozen=True):
    """`port` is where the other nodes of a ring reach this one, 0 for one that is free, none for a node that is in no
    ring; `advertise` the host they know it by. `join` is where a node of the ring is. A `dht` node has no doors.

    What is acknowledged is at so many `replicas`, no two at one `site`. Nodes hear of each other every `beat`; who
    reaches no majority for the time of a `lease` acknowledges nothing, and who is not heard of for a `silence` is put
    out. With a `max_latency` notifications of one topic wait so long at most for others that go to the same node; what
    is known of a topic is forgotten when it was `idle` so long. What nobody wants is sent to the node that it belongs
    to all the same, or `relay` is on demand: then it stays at this one. Every `balance` it is looked whether one node
    has more than twice the mean to do."""

    port: Annotated[int | None, optional(whole(0, 65535))] = None
    advertise: Annotated[str | None, optional(HOST)] = None
    join: Annotated[str | None, optional(BASE_URL)] = None
    role: Annotated[Literal["broker", "dht"], one_of("broker", "dht")] = "broker"
    replicas: Count = 3
    site: Annotated[str | None, optional(WORD)] = None
    beat: Duration = 1.0
    lease: Duration = 5.0
    silence: Duration = 8.0
    max_latency: Annotated[float | None, optional(DURATION)] = None
    idle: Duration = 60.0
    balance: Annotated[float | None, optional(DURATION)] = 60.0
    relay: Annotated[Literal["always", "on-demand"], one_of("always", "on-demand")] = "always"


class PipelineSettings(Struct, frozen=True):
    """Without `tables` they are in the data directory; `tables_options` are those of delta-rs for where they are."""

    batch_rows: Count = 10_000
    trigger_ms: Annotated[int, whole(0)] = 200
    tables: Annotated[str | None, optional(PLACE)] = None
    tables_options: Annotated[tuple[tuple[str, str], ...], OPTIONS] = ()


class Worker(Struct, frozen=True):
    """One of several nodes behind one port, that were started as one: said by who starts them, and no setting. `home`
    is the data directory of the first, whose users are those of all; `first` its name. `name` is for one that has none
    yet, and `place` where on the circle it then begins, if the ring does not say. They prove themselves to each other
    by the `key`, if there is no other. One that is `leaving` gives the rest what it has."""

    number: int
    home: Path
    name: str = ""
    first: str = ""
    key: str = ""
    leaving: bool = False
    place: int | None = None


class Settings(Struct, frozen=True):
    """Durations are seconds, sizes are bytes; `origins` tells for each setting where its value came from."""

    data: Annotated[Path, FOLDER] = Path("data")
    engine: Annotated[Literal["spark", "embedded"], one_of("spark", "embedded")] = "spark"
    advertise: Annotated[str | None, optional(BASE_URL)] = None
    listen: Listen = Listen()
    limits: Limits = Limits()
    log: LogSettings = LogSettings()
    delivery: DeliverySettings = DeliverySettings()
    pipeline: PipelineSettings = PipelineSettings()
    tcp: TcpSettings = TcpSettings()
    access: AccessSettings = AccessSettings()
    tls: TlsSettings = TlsSettings()
    topics: TopicSettings = TopicSettings()
    meaning: MeaningSettings = MeaningSettings()
    implicit: ImplicitSettings = ImplicitSettings()
    reply: ReplySettings = ReplySettings()
    tree: TreeSettings = TreeSettings()
    ring: RingSettings = RingSettings()
    workers: Annotated[int, whole(1)] = 1
    origins: Mapping[str, str] = field(default_factory=dict)
    worker: Worker | None = None

    @property
    def places(self) -> Places:
        return Places(self.data, None if self.worker is None else self.worker.home)


class File(Struct, frozen=True):
    name: str
    text: str


class Given(Struct, frozen=True):
    """One value as somebody wrote it, and where."""

    setting: str
    value: object
    origin: str


def _sections() -> dict[str, type[Struct]]:
    hints = get_type_hints(Settings)
    return {name: hint for name, hint in hints.items() if isinstance(hint, type) and issubclass(hint, Struct)}


def _kinds() -> Iterator[tuple[str, Kind]]:
    for owner, prefix in [(Settings, ""), *((section, f"{name}.") for name, section in SECTIONS.items())]:
        for name, hint in get_type_hints(owner, include_extras=True).items():
            if kinds := [each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Kind)]:
                yield prefix + name, kinds[0]


SECTIONS = _sections()
KINDS: dict[str, Kind] = dict(_kinds())
# `--port`, `--host` and `--parent` are what people type; `--listen HOST:PORT` is both at once.
SHORT = {"host": "listen.host", "port": "listen.port", "parent": "tree.parent"}
BY_FLAG = {setting.replace(".", "-").replace("_", "-"): setting for setting in KINDS} | SHORT
BY_VARIABLE = {PREFIX + flag.replace("-", "_").upper(): setting for flag, setting in BY_FLAG.items()}


def load(flags: Mapping[str, str], env: Mapping[str, str], file: File | None = None) -> Settings:
    """Flags by their names without dashes (`port`, `delivery-attempts`); of `env` only what begins with `TOCSIN_`."""
    problems: list[str] = []
    given = [
        *(_from_file(file, problems) if file else ()),
        *_from_env(env, problems),
        *_from_flags(flags, problems),
    ]
    winners = {each.setting: each for each in given}
    settings = _settings(_values(winners.values(), problems), {each.setting: each.origin for each in winners.values()})
    if problems := problems or list(_contradictions(settings)):
        raise SettingsError(problems)
    return settings


def load_here(flags: Mapping[str, str], env: Mapping[str, str], folder: Path) -> Settings:
    """As `load`, with the file that `--config` or TOCSIN_CONFIG names, else with tocsin.toml when there is one."""
    named = flags.get("config") or env.get(f"{PREFIX}CONFIG")
    path = folder / (named or FILE)
    if not named and not path.exists():
        return load(flags, env)
    try:
        return load(flags, env, File(named or FILE, path.read_text("utf-8")))
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError([f"{path}: cannot be read ({error})"]) from error


def rows(settings: Settings) -> list[tuple[str, str, str]]:
    """Each setting, its value as one would write it, and where it came from."""
    return [(name, kind.write(value_of(settings, name)), settings.origins[name]) for name, kind in KINDS.items()]


def value_of(settings: Settings, setting: str) -> Any:
    section, _, name = setting.rpartition(".")
    return getattr(getattr(settings, section) if section else settings, name)


def _from_file(file: File, problems: list[str]) -> Iterator[Given]:
    try:
        tables = tomllib.loads(file.text)
    except tomllib.TOMLDecodeError as error:
        problems.append(f"{file.name}: not TOML: {error}")
        return
    for setting, value in _flatten(tables):
        if setting in KINDS:
            yield Given(setting, value, file.name)
        else:
            problems.append(f"{file.name}: {setting} is not a setting{_hint(setting, KINDS)}")


def _flatten(tables: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in tables.items():
        if isinstance(value, dict) and (name in SECTIONS or value):
            yield from _flatten(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _from_env(env: Mapping[str, str], problems: list[str]) -> Iterator[Given]:
    for variable, text in sorted(env.items()):
        if (
            not variable.startswith(PREFIX)
            or variable == f"{PREFIX}CONFIG"
            or not text
            or _is_service_link(variable, text)
        ):
            continue
        if variable == f"{PREFIX}LISTEN":
            yield from _host_and_port(text, variable)
        elif variable in BY_VARIABLE:
            yield Given(BY_VARIABLE[variable], text, variable)
        else:
            problems.append(f"{variable} is not a setting{_hint(variable, BY_VARIABLE)}")


def _is_service_link(variable: str, text: str) -> bool:
    # Kubernetes puts these into every pod beside a service named tocsin, TOCSIN_PORT=tcp://10.0.0.1:8080 among them.
    return _SERVICE_LINK.match(variable) is not None or (variable == f"{PREFIX}PORT" and "://" in text)


def _from_flags(flags: Mapping[str, str], problems: list[str]) -> Iterator[Given]:
    for flag, text in flags.items():
        if flag == "listen":
            yield from _host_and_port(text, "--listen")
        elif flag in BY_FLAG:
            yield Given(BY_FLAG[flag], text, f"--{flag}")
        elif flag != "config":
            problems.append(f"{flag} is not a setting{_hint(flag, BY_FLAG)}")


def _host_and_port(text: str, origin: str) -> Iterator[Given]:
    host, _, port = text.rpartition(":")
    yield Given("listen.host", host.removeprefix("[").removesuffix("]"), origin)
    yield Given("listen.port", port, origin)


def _hint(name: str, known: Iterable[str], before: str = "") -> str:
    close = difflib.get_close_matches(name, list(known), 1, cutoff=0.5)
    return f"; did you mean {before}{close[0]}?" if close else ""


def _values(given: Iterable[Given], problems: list[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for each in given:
        kind = KINDS[each.setting]
        try:
            values[each.setting] = kind.read(_text(each.value, kind))
        except ValueError:
            shown = "(not shown)" if kind.is_secret else repr(each.value)
            problems.append(f"{each.setting} = {shown} (from {each.origin}): expected {kind.expects}")
    return values


def _text(value: object, kind: Kind) -> str:
    # A bool is an int to Python, but `port = true` is a mistake.
    if isinstance(value, bool) and kind is FLAG:
        return FLAG.write(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError(value)
    return str(value).strip()


def _settings(values: Mapping[str, Any], origins: Mapping[str, str]) -> Settings:
    fields: dict[str, Any] = {name: value for name, value in values.items() if "." not in name}
    for name, section in SECTIONS.items():
        before = f"{name}."
        of_section = {key.removeprefix(before): value for key, value in values.items() if key.startswith(before)}
        fields[name] = section(**of_section)
    return Settings(**fields, origins={name: origins.get(name, "default") for name in KINDS})


def _contradictions(settings: Settings) -> Iterator[str]:
    for low, high in [
        ("limits.default_lease", "limits.longest_lease"),
        ("delivery.first_backoff", "delivery.longest_backoff"),
    ]:
        if value_of(settings, low) > value_of(settings, high):
            yield f"{_shown(settings, low)} is longer than {_shown(settings, high)}"
    if settings.delivery.mode == "direct" and settings.engine != "embedded":
        yield f"{_shown(settings, 'delivery.mode')} needs the embedded engine, not {_shown(settings, 'engine')}"
    if settings.access.on and settings.access.open:
        yield f"{_shown(settings, 'access.on')} is the contrary of {_shown(settings, 'access.open')}"
    if settings.tree.parent and settings.log.shared:
        yield f"{_shown(settings, 'tree.parent')} needs a log of its own, not {_shown(settings, 'log.shared')}"
    yield from _incomplete(settings)


def _incomplete(settings: Settings) -> Iterator[str]:
    for name, needs in [
        ("implicit.registry", "implicit.key_file"),
        ("implicit.history", "implicit.key_file"),
        ("tree.parent", "implicit.key_file"),
        ("tls.key", "tls.certificate"),
        ("tls.client_ca", "tls.certificate"),
        ("tls.require_client", "tls.client_ca"),
    ]:
        if value_of(settings, name) and not value_of(settings, needs):
            yield f"{_shown(settings, name)} needs {needs}"


def _shown(settings: Settings, name: str) -> str:
    return f"{name} = {KINDS[name].write(value_of(settings, name))} (from {settings.origins[name]})"
