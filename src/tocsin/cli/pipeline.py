"""`pipeline`: the Spark jobs."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.text import Text

from tocsin.cli import options
from tocsin.cli.command import Connection, asking
from tocsin.cli.options import group
from tocsin.cli.output import WRONG_USE, Output, console, counted, fail, give, say, show_list, table

if TYPE_CHECKING:
    from tocsin.pipeline.learn import Learned
    from tocsin.pipeline.learning import Proposal
    from tocsin.pipeline.replay import ReplaySettings
    from tocsin.pipeline.session import SparkSettings
    from tocsin.pipeline.tables.storage import Storage
    from tocsin.store.shared.address import SharedLog

application = group("The data pipeline on Spark.", "tocsin pipeline status --data ./data")

Master = Annotated[
    str | None, typer.Option(help="Spark's master, e.g. spark://host:7077; by default this machine, local[*].")
]
Remote = Annotated[
    str | None, typer.Option(metavar="sc://HOST:PORT", help="A Spark Connect server that sees the same data directory.")
]
Conf = Annotated[list[str] | None, typer.Option(metavar="KEY=VALUE", help="A setting of Spark's; wins over ours.")]
Tables = Annotated[
    str | None,
    typer.Option(help="Where the tables are, e.g. s3://bucket/tables; by default a folder in --data."),
]
TablesOption = Annotated[
    list[str] | None,
    typer.Option(metavar="KEY=VALUE", help="delta-rs' option for where the tables are; secrets better by environment."),
]
Ui = Annotated[bool, typer.Option("--ui", help="With Spark's own pages, on port 4040 or the next free one.")]


@application.command(epilog="Example: tocsin pipeline run --data ./data --once")
def run(
    data: options.Directories = None,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    ui: Ui = False,
    rows: Annotated[int, typer.Option(help="Records in a batch at most.")] = 10_000,
    interval: Annotated[str, typer.Option(help="How often the log is looked at.")] = "100ms",
    once: Annotated[bool, typer.Option("--once", help="End when what is in the log is done.")] = False,
    parent: Annotated[int | None, typer.Option(help="A process to end with.")] = None,
    log: options.SharedLog = None,
    tables: Tables = None,
    tables_option: TablesOption = None,
    config: options.Config = None,
    json: options.Json = False,
) -> None:
    """Keep the tables, and with the Spark engine the outbox, up with the log, until stopped.

    With several --data the logs of several nodes, whose engine is embedded; the tables are in the first.
    """
    folder, others = _directories(data, config)
    from tocsin.broker.quantities import duration
    from tocsin.pipeline.errors import PipelineError
    from tocsin.pipeline.run import RunSettings
    from tocsin.pipeline.run import run as run_job

    del json
    try:
        spark, shared = _spark(master, conf, ui, remote), _shared_log(log, config)
        storage, pause = _storage(folder, tables, tables_option, config), duration(interval)
        run_job(RunSettings(folder, spark, None, rows, pause, parent, once, storage, shared=shared, others=others))
    except PipelineError as problem:
        fail(str(problem))


@application.command(epilog="Example: tocsin pipeline replay --data ./data --from 0 --current")
def replay(
    data: options.Directories = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="OFFSET|TIME", help="The first record; by default the first kept.")
    ] = None,
    stop: Annotated[
        str | None, typer.Option("--to", metavar="OFFSET|TIME", help="The record after the last; by default the end.")
    ] = None,
    deliver: Annotated[bool, typer.Option("--deliver", help="Deliver what is found; without it, only say so.")] = False,
    current: Annotated[
        bool, typer.Option("--current", help="Match with today's subscriptions, not those of the time.")
    ] = False,
    as_of: Annotated[
        str | None,
        typer.Option("--as-of", metavar="OFFSET|TIME", help="Match with the subscriptions and ontologies as of then."),
    ] = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="Say what would be matched that was not, and was that would not.")
    ] = False,
    quarantine: Annotated[
        bool, typer.Option("--quarantine", help="Try again what could not be read, decided or written.")
    ] = False,
    again: Annotated[int, typer.Option(help="Another number delivers the same range once more.")] = 0,
    log: options.SharedLog = None,
    tables: Tables = None,
    tables_option: TablesOption = None,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    ui: Ui = False,
    config: options.Config = None,
    json: options.Json = False,
) -> None:
    """Match a range of the log again as a batch: what would be delivered, and to whom."""
    folder, others = _directories(data, config)
    from tocsin.cli.mend import mend_settings, run_mend
    from tocsin.cli.progress import spark_bar
    from tocsin.cli.replay import run_shared_replay, show_replayed
    from tocsin.pipeline.errors import PipelineError
    from tocsin.pipeline.replay import ReplaySettings, replay_nodes
    from tocsin.pipeline.replay import replay as replay_job
    from tocsin.store.errors import StoreError

    if quarantine and (diff or again):
        fail("--quarantine goes with neither --diff nor --again: what is mended is marked, and mended once", WRONG_USE)
    storage, spark = _storage(folder, tables, tables_option, config), _spark(master, conf, ui, remote)
    asked, shared = (
        ReplaySettings(folder, None, None, deliver, None, again, diff, spark, storage),
        _shared_log(log, config),
    )
    if others and (shared is not None or any((text or "").isdecimal() for text in (start, stop, as_of))):
        fail("several nodes are replayed between times: each counts its records by itself", WRONG_USE)
    try:
        if shared is not None:
            found = run_shared_replay(asked, shared, (start, stop, as_of), current=current)
        else:
            nodes = [_node_asked(asked, each, (start, stop, as_of), current) for each in (folder, *others)]
            if quarantine:
                run_mend([mend_settings(each) for each in nodes], json=json)
                return
            with spark_bar("matching") as bar:
                found = replay_nodes(nodes, bar.tell) if others else replay_job(nodes[0], bar.tell)
    except (PipelineError, StoreError) as problem:
        fail(str(problem))
    give(found) if json else show_replayed(found)


@asking(application.command, "tocsin pipeline learn --data ./data --apply")
async def learn(
    connection: Connection,
    data: options.Data = None,
    min_support: Annotated[float, typer.Option(min=0, max=1, help="Of all tellings, the share of an edge.")] = 0.00005,
    min_confidence: Annotated[
        float, typer.Option(min=0, max=1, help="How likely one of its target is told when its source publishes.")
    ] = 0.6,
    apply: Annotated[
        bool, typer.Option("--apply", help="Propose them in the world, and dispute those nobody used; people decide.")
    ] = False,
    by: Annotated[str, typer.Option(help="Who says so, where nobody has to show it.", metavar="NAME")] = "learn",
    tables: Tables = None,
    tables_option: TablesOption = None,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    ui: Ui = False,
    config: options.Config = None,
) -> Output:
    """Learn edges of the interest graph (INO) from subscriptions and from who was told what."""
    folder = _ready(data, config)
    from tocsin.cli.progress import spark_bar
    from tocsin.pipeline.errors import PipelineError
    from tocsin.pipeline.learn import LearnSettings
    from tocsin.pipeline.learn import learn as learn_job
    from tocsin.pipeline.learning import Thresholds

    try:
        least, storage = Thresholds(min_support, min_confidence), _storage(folder, tables, tables_option, config)
        with spark_bar("learning") as bar:
            found = learn_job(LearnSettings(folder, least, _spark(master, conf, ui, remote), storage), bar.tell)
    except PipelineError as problem:
        fail(str(problem))
    if apply:
        await _apply(connection, found, by)
    return Output(_document(found, apply), lambda: show_learned(found, apply))


@application.command(epilog="Example: tocsin pipeline simulate ./world --sample 10 --topic Alarm")
def simulate(
    world: Annotated[str, typer.Argument(metavar="WORLD", help="A folder of tables, or a scenario.json.")],
    root: Annotated[list[str] | None, typer.Option(help="A service that publishes.")] = None,
    topic: Annotated[list[str] | None, typer.Option(help="On what each of them publishes.")] = None,
    sample: Annotated[int, typer.Option(help="So many services publish, drawn by --seed.", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="Another one draws others.")] = 1,
    publications: Annotated[str | None, typer.Option(help="A table of what is published: root, topic.")] = None,
    protocol: Annotated[str, typer.Option(help="bin, cin, din, hin, dht-cin or hin-din; all compares them.")] = "all",
    limit: Annotated[int, typer.Option(help="Passes of one notifier at most, by BIN and HIN.", min=1, max=1_000)] = 16,
    inherit: Annotated[
        list[str] | None, typer.Option(help="topics, categories: edges hold for those below theirs too.")
    ] = None,
    tables: Annotated[str | None, typer.Option(help="Where the table `simulations` is kept.")] = None,
    tables_option: TablesOption = None,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    ui: Ui = False,
    json: options.Json = False,
) -> None:
    """Count what each protocol of implicit notification sends, over millions of services and an INO in tables."""
    _need_spark()
    from tocsin.cli.simulations import inherited, protocols, run_simulation
    from tocsin.pipeline.simulate import SimulateSettings

    settings = SimulateSettings(
        world,
        tuple(root or ()),
        tuple(topic or ()),
        publications,
        sample,
        seed,
        protocols(protocol),
        limit,
        *inherited(inherit or ()),
        tables,
        _spark(master, conf, ui, remote),
        tuple(_options(tables_option).items()),
    )
    run_simulation(settings, json=json)


@application.command(epilog="Example: tocsin pipeline report --data ./data --out ./report")
def report(
    data: options.Directories = None,
    tables: Tables = None,
    tables_option: TablesOption = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="What was accepted then or later; by default all.")
    ] = None,
    stop: Annotated[str | None, typer.Option("--to", metavar="TIME", help="What was accepted before.")] = None,
    out: Annotated[Path | None, typer.Option(help="A folder for report.html, a page of plots.")] = None,
    top: Annotated[int, typer.Option(help="So many of each list.", min=1, max=1_000)] = 10,
    master: Master = None,
    remote: Remote = None,
    conf: Conf = None,
    ui: Ui = False,
    config: options.Config = None,
    json: options.Json = False,
) -> None:
    """Report on the tables: rates, fan-out, latencies, repetitions, dead letters, and what subscriptions cost."""
    folder, _ = _directories(data, config)
    from tocsin.cli.report import run_report

    storage = _storage(folder, tables, tables_option, config)
    run_report(folder, storage, (start, stop), top, _spark(master, conf, ui, remote), out=out, json=json)


@application.command(epilog="Example: tocsin pipeline status --data ./data")
def status(
    data: options.Directories = None,
    tables: Tables = None,
    tables_option: TablesOption = None,
    config: options.Config = None,
    json: options.Json = False,
) -> None:
    """How far the pipeline is; starts no Spark."""
    from tocsin.platform.java import NO_SPARK, has_spark

    if not has_spark():
        fail(NO_SPARK, WRONG_USE)
    from tocsin.cli.replay import show_counts, show_nodes
    from tocsin.pipeline.errors import PipelineError
    from tocsin.pipeline.status import status as status_of

    folder = options.settings_of(data=data[0] if data else None, config=config).data
    try:
        found = status_of(folder, _storage(folder, tables, tables_option, config))
    except PipelineError as problem:
        fail(str(problem))
    if json:
        give(found)
        return
    show_counts("rows", found.tables, "table")
    if found.nodes:
        show_nodes(found.nodes)
    lag = ", ".join(f"{name} {behind:,}" for name, behind in found.lag.items())
    say(f"{found.batches:,} batches of {found.rows:,} records, {found.deliveries:,} deliveries; behind: {lag}")
    if any(found.lag.values()):
        say(f"what waits longest has waited for {found.lag_seconds:,.1f} s")
    if found.stages:
        show_counts("ms, last batch", found.stages, "stage")
    if found.state is not None:
        say(f"the job last said: {found.state}" + (f"; its last trouble: {found.error}" if found.error else ""))


async def _apply(connection: Connection, found: "Learned", by: str) -> None:
    """An edge keeps the votes that it has. To dispute is all that is done to one that nobody used."""
    from tocsin.client.client import Client

    async with Client(connection.broker, connection.dialect, **connection.access()) as client:
        for each in found.proposals:
            told = f"learned: {each.told:,} of {each.chances:,} told in {counted(each.published, 'publication')}"
            await client.world.edge(
                *each.key, by=by, note=told, support=each.support, confidence=each.confidence, lift=each.lift
            )
        for idle in found.unused:
            await client.world.vote(*idle.key, agrees=False, by=by, note=f"learned: {idle.why}")


def _document(found: "Learned", applied: bool) -> dict[str, object]:
    return {
        "publications": found.publications,
        "tellings": found.tellings,
        "proposals": found.proposals,
        "unused": [msgspec.to_builtins(each) | {"why": each.why} for each in found.unused],
        "applied": applied,
    }


def show_learned(found: "Learned", applied: bool) -> None:
    say(f"learned from {counted(found.publications, 'publication')}, {counted(found.tellings, 'telling')}")
    titles = ("from", "topic", "to", "support %", "confidence %", "lift", "told", "of", "published", "for example")
    rows = [_row(each) for each in found.proposals]
    if rows:
        rest = ["  ".join(map(" ".join, zip(titles[3:], row[3:], strict=True))) for row in rows]
        items = [(Text(" ".join(row[:3])), Text(said)) for row, said in zip(rows, rest, strict=True)]
        show_list(table(titles, rows, right=range(3, 9)), items)
    if found.unused:
        say("nobody used:")
        console().print(table(("from", "topic", "to", "why"), [(*each.key, each.why) for each in found.unused]))
    new, idle = counted(len(found.proposals), "edge"), counted(len(found.unused), "edge")
    if not applied:
        say(f"{new} to propose, {idle} to remove; nothing was changed. Say --apply to do it.")
    else:
        say(f"{new} proposed, {idle} disputed; `tocsin ino confirm` and `dispute` decide.")


def _row(found: "Proposal") -> tuple[str, ...]:
    figures = (f"{100 * found.support:.2f}", f"{100 * found.confidence:.1f}", f"{found.lift:.1f}")
    counts = (f"{count:,}" for count in (found.told, found.chances, found.published))
    example = f"{found.examples[0].producer} told {found.examples[0].consumer}" if found.examples else ""
    return *found.key, *figures, *counts, example


def _spark(master: str | None, conf: list[str] | None, ui: bool, remote: str | None = None) -> "SparkSettings":
    from tocsin.pipeline.session import SparkSettings

    if remote is not None and (master is not None or ui):
        fail("--master and --ui are for a driver here; with --remote the server has its own", WRONG_USE)
    pairs = [each.partition("=") for each in conf or ()]
    if wrong := next((key for key, equals, _ in pairs if not equals), None):
        fail(f"--conf {wrong!r} is no KEY=VALUE, e.g. --conf spark.executor.memory=2g", WRONG_USE)
    return SparkSettings(master, tuple((key, value) for key, _, value in pairs), ui, remote)


def _storage(folder: Path, tables: str | None, given: list[str] | None, config: Path | None) -> "Storage":
    from tocsin.pipeline.tables.location import located
    from tocsin.store.errors import StoreError

    told = options.settings_of(config=config).pipeline
    try:
        return located(folder, tables or told.tables, dict(told.tables_options) | _options(given))
    except StoreError as problem:
        fail(str(problem))


def _options(given: list[str] | None) -> dict[str, str]:
    return options.pairs(given, "--tables-option", "KEY=VALUE")


def _ready(data: Path | None, config: Path | None) -> Path:
    """The data directory, when there is a JVM to work on it."""
    _need_spark()
    return options.settings_of(data=data, config=config).data


def _directories(data: list[Path] | None, config: Path | None) -> tuple[Path, tuple[Path, ...]]:
    """The first, and those of the nodes that are read besides."""
    named = data or []
    return _ready(named[0] if named else None, config), tuple(named[1:])


def _node_asked(
    asked: "ReplaySettings", data: Path, words: tuple[str | None, str | None, str | None], current: bool
) -> "ReplaySettings":
    """What is asked for, of one node: times are other records in each log."""
    from tocsin.pipeline.ranges import end_of
    from tocsin.pipeline.replay import offset_named

    start, stop, then = (None if text is None else offset_named(data, text) for text in words)
    home = None if data == asked.data else asked.data
    as_of = end_of(data) if current else then
    return replace(asked, data=data, start=start, stop=stop, as_of=as_of, home=home)


def _shared_log(log: str | None, config: Path | None) -> "SharedLog | None":
    """As for the nodes that share it: by the flag, the environment or the file."""
    from tocsin.store.shared.address import SharedLog

    url = options.settings_of(config=config, log_shared=log).log.shared
    return None if url is None else SharedLog.parse(url)


def _need_spark() -> None:
    from tocsin.platform.java import spark_problem

    if (problem := spark_problem(os.environ)) is not None:
        fail(problem, WRONG_USE)
