"""The quarantine tried again, for eyes: what is mended, and what still fails and why."""

from collections.abc import Mapping, Sequence

from tocsin.cli.output import counted, fail, give, say, show_whole, table
from tocsin.cli.progress import spark_bar
from tocsin.pipeline.errors import PipelineError
from tocsin.pipeline.mend import Mended, MendSettings, mend
from tocsin.pipeline.nodes import node_at
from tocsin.pipeline.replay import ReplaySettings


def mend_settings(asked: ReplaySettings) -> MendSettings:
    return MendSettings(
        asked.data, asked.start, asked.stop, asked.deliver, asked.as_of, asked.spark, asked.storage, asked.home
    )


def run_mend(asked: Sequence[MendSettings], *, json: bool) -> None:
    """Of several nodes one after the other, each by its name."""
    several = len(asked) > 1
    try:
        names = [str(node_at(each.data)) if several else "" for each in asked]
        with spark_bar("trying again") as bar:
            found = {name: mend(each, bar.tell) for name, each in zip(names, asked, strict=True)}
    except PipelineError as problem:
        fail(str(problem))
    if json:
        give(found if several else found[""])
        return
    for name, each in found.items():
        if name:
            say(f"{name}:")
        show(each)


def show(found: Mended) -> None:
    if not found.quarantined:
        say("there is nothing in the quarantine that is not mended")
        return
    _show("mended; it was", found.mended)
    _show("still fails", found.failing)
    say(
        f"of {counted(found.quarantined, 'row')} {sum(found.mended.values()):,} can be mended:"
        f" {counted(found.notifications, 'notification')}, {counted(found.matches, 'match', 'matches')},"
        f" {counted(found.deliveries, 'delivery', 'deliveries')}"
    )
    if found.published:
        say(f"{counted(found.deliveries, 'delivery is', 'deliveries are')} in the outbox and will be sent")
    elif found.mended:
        say("nothing was changed. Say --deliver to do it.")


def _show(title: str, reasons: Mapping[str, int]) -> None:
    if reasons:
        rows = [(reason, f"{count:,}") for reason, count in sorted(reasons.items(), key=lambda each: -each[1])]
        show_whole(table((title, "rows"), rows, right=(1,)))
